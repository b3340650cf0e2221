"""`python -m qaexp`: see `qaexp.cli.commands`."""

from qaexp.cli.commands import script

if __name__ == "__main__":
    script()
