"""`python -m qaexp.reproduce`: see `qaexp.cli.reproduce`."""

import sys

from qaexp.cli.reproduce import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
