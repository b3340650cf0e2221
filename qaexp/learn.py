"""`python -m qaexp.learn`: see `qaexp.cli.learn`."""

import sys

from qaexp.cli.learn import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
