"""`python -m qaexp`: see `qaexp.cli.main`."""

import sys

from qaexp.cli.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
