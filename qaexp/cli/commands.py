"""The command `qaexp`, also `python -m qaexp`: its subcommands, and which function runs each. Without one, it trains."""

import logging
import os
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from qaexp.errors import missing_library
from qaexp.processes import INTERRUPTED


class Command(NamedTuple):
    """A subcommand."""

    function: str
    """`module:name` of a function that takes the remaining arguments and returns the exit status. It is imported when it is called."""
    help: str


COMMANDS = {
    "pretrain": Command("qaexp.cli.main:pretrain", "pre-train an encoder"),
    "evaluate": Command("qaexp.cli.evaluate:main", "rank and measure any data set with a trained run"),
    "rank": Command("qaexp.cli.rank:main", "rank the pairs of a file with a trained run"),
    "measure": Command("qaexp.cli.measure:main", "measure run files of any system, as trec_eval does"),
    "compare": Command("qaexp.cli.compare:main", "test the differences of runs, or of run files"),
    "show": Command("qaexp.cli.show:main", "show a run at a glance, or its ranking of one question"),
    "report": Command("qaexp.cli.report:main", "write the page of a run, or of several side by side"),
    "demo": Command("qaexp.cli.demo:main", "open a page that ranks what is typed"),
    "export": Command("qaexp.cli.export:main", "write a run as ONNX, as a sentence-transformers folder, or as a model card"),
    "table": Command("qaexp.cli.table:main", "tabulate finished runs"),
    "figures": Command("qaexp.cli.figures:main", "draw what finished runs show"),
    "reproduce": Command("qaexp.cli.reproduce:main", "make the papers' tables and figures"),
    "site": Command("qaexp.cli.site:main", "write the results as static pages"),
    "data": Command("qaexp.cli.data:main", "fetch, check and describe data sets"),
    "sync": Command("qaexp.cli.sync:main", "upload the W&B runs that are only on this machine"),
    "dashboard": Command("qaexp.cli.dashboard:main", "make the W&B workspace and reports"),
}
"""`qaexp NAME`. The older ones also run as `python -m qaexp.NAME`."""


def main(arguments: Sequence[str]) -> int:
    """Run a subcommand, or train. Returns the exit status."""
    first = next(iter(arguments), "")
    if first == "--version":
        sys.stdout.write(f"qaexp {installed_version()}\n")
        return 0
    if first in ("-sc", "--shell-completion"):
        return _complete(arguments)
    if first == "train":
        return _refuse("to train, leave out the word train, as in qaexp model=ggsa dataset=toy")
    if first not in COMMANDS and re.fullmatch("[a-z]+", first) and (near := get_close_matches(first, COMMANDS, n=1)):
        return _refuse(f"qaexp has no command {first}; did you mean {near[0]}?")
    function, rest = (COMMANDS[first].function, arguments[1:]) if first in COMMANDS else ("qaexp.cli.main:main", arguments)
    module, _, name = function.partition(":")
    try:
        return getattr(import_module(module), name)(rest)
    except KeyboardInterrupt:  # while modules are imported, or an error is explained
        return INTERRUPTED
    except ModuleNotFoundError as error:
        if sentence := missing_library(error):
            return _refuse(sentence)
        raise


def _complete(arguments: Sequence[str]) -> int:
    """Tab completion of subcommands and of Hydra's options. The arguments of other subcommands are files, which the shell completes."""
    from qaexp.cli.main import main, pretrain

    if "install=zsh" in arguments:  # which completes with bash's rules
        sys.stdout.write("autoload -U +X compinit && compinit; autoload -U +X bashcompinit && bashcompinit\n")
        return main(["install=bash" if argument == "install=zsh" else argument for argument in arguments])
    line = os.environ.get("COMP_LINE", "")
    words = [*line.split(), *([""] if line.endswith(" ") else [])]
    if "query=bash" not in arguments:
        return main(arguments)
    if len(words) == 2:
        sys.stdout.write(" ".join(name for name in COMMANDS if name.startswith(words[1])) + "\n")
    if len(words) > 2 and words[1] == "pretrain":
        os.environ["COMP_LINE"] = line.replace(" pretrain", "", 1)
        return pretrain(arguments)
    return 0 if len(words) > 2 and words[1] in COMMANDS else main(arguments)


def _refuse(sentence: str) -> int:
    logging.basicConfig(format="%(message)s")
    logging.getLogger(__name__).error("%s", sentence)
    return 2


def installed_version() -> str:
    try:
        return version("qaexp")
    except PackageNotFoundError:  # a checkout in PYTHONPATH
        return "(a checkout that is not installed)"


def script() -> None:
    """The console script `qaexp`."""
    sys.exit(main(sys.argv[1:]))
