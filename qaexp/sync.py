"""`python -m qaexp.sync`: see `qaexp.cli.sync`."""

import sys

from qaexp.cli.commands import main

if __name__ == "__main__":
    sys.exit(main(["sync", *sys.argv[1:]]))
