"""`python -m qaexp.dashboard`: see `qaexp.cli.dashboard`."""

import sys

from qaexp.cli.dashboard import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
