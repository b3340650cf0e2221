"""`qaexp table`: see `qaexp.cli.table`."""

import sys

from qaexp.cli.commands import main

if __name__ == "__main__":
    sys.exit(main(["table", *sys.argv[1:]]))
