"""`python -m qaexp.sync`: see `qaexp.cli.sync`."""

import sys

from qaexp.cli.sync import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
