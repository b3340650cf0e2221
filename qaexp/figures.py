"""`python -m qaexp.figures`: see `qaexp.cli.figures`."""

import sys

from qaexp.cli.commands import main

if __name__ == "__main__":
    sys.exit(main(["figures", *sys.argv[1:]]))
