"""`python -m qaexp.dashboard`: see `qaexp.cli.dashboard`."""

import sys

from qaexp.cli.commands import main

if __name__ == "__main__":
    sys.exit(main(["dashboard", *sys.argv[1:]]))
