"""`python -m qaexp`: see `qaexp.terminal.command_line`."""

import sys

from qaexp.terminal.command_line import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
