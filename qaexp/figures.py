"""`python -m qaexp.figures`: see `qaexp.cli.figures`."""

import sys

from qaexp.cli.figures import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
