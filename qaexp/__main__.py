"""`python -m qaexp`: see `qaexp.command_line`."""

import sys

from qaexp.cli.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
