"""`python -m qaexp.results.table`: see `qaexp.cli.table`."""

import sys

from qaexp.cli.table import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
