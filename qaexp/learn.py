"""`python -m qaexp.learn`: see `qaexp.cli.learn`."""

import sys

from qaexp.cli.commands import main

if __name__ == "__main__":
    sys.exit(main(["learn", *sys.argv[1:]]))
