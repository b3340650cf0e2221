"""`python -m qaexp.data`: see `qaexp.cli.data`."""

import sys

from qaexp.cli.commands import main

if __name__ == "__main__":
    sys.exit(main(["data", *sys.argv[1:]]))
