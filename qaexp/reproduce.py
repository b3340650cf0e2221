"""`python -m qaexp.reproduce`: see `qaexp.cli.reproduce`."""

import sys

from qaexp.cli.commands import main

if __name__ == "__main__":
    sys.exit(main(["reproduce", *sys.argv[1:]]))
