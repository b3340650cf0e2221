"""`python -m qaexp.data`: see `qaexp.cli.data`."""

import sys

from qaexp.cli.data import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
