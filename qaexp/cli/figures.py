"""Figures of single runs and of sweeps: a command for each.

python -m qaexp.figures heat_map RUN --to FOLDER
python -m qaexp.figures neurons RUN --to FOLDER
python -m qaexp.figures pretraining RUN... --to FOLDER
python -m qaexp.figures gates RUN --to FOLDER
python -m qaexp.figures sweep SWEEP
"""

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from qaexp.cli.command import non_negative_int, positive_int, print_lines

MODULES = {
    "heat_map": "qaexp.explain.heat_map",
    "neurons": "qaexp.explain.neurons",
    "gates": "qaexp.explain.gates",
    "pretraining": "qaexp.reproduction.figures.pretraining",
    "sweep": "qaexp.reproduction.figures.sweep",
}

Parsers = argparse._SubParsersAction  # what `add_subparsers` returns has no public name


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, or 2 for a mistake of the user."""
    parser = argparse.ArgumentParser(
        prog="python -m qaexp.figures",
        description="Draw what finished runs show. Each figure is written as PNG and SVG, with what is drawn as CSV.",
        epilog="Figures whose points are runs of a table come from python -m qaexp.reproduce --figure N.",
    )
    parsers = parser.add_subparsers(dest="figure", required=True, metavar="FIGURE")
    for add in FIGURES:
        add(parsers)
    options = parser.parse_args(arguments)
    return print_lines(lambda: import_module(MODULES[options.figure]).drawn(options))  # drawing takes seconds to import


def add_heat_map(parsers: Parsers) -> None:
    """`heat_map`: figures 5 and 6 of dos Santos et al. 2016."""
    parser = parsers.add_parser(
        "heat_map",
        help="attention weights, gates and grids of a pair over its words, such as Figures 5 and 6 of dos Santos et al. 2016",
        description="Draw what a trained model shows of a pair, such as Figures 5 and 6 of dos Santos et al. 2016. Without a question: the "
        "first ones of the run's test set, each with the right answer that it ranked best.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="a run's folder, or a checkpoint")
    parser.add_argument("--question", help="a text, or, without --answer, the id of a question of the run's test set")
    parser.add_argument("--answer", metavar="TEXT")
    parser.add_argument("--pairs", type=positive_int, default=2, help="without --question: how many (default: %(default)s)")
    parser.add_argument("--show", nargs="+", metavar="NAME", help="only these, such as pair.attention (default: everything over words)")
    parser.add_argument("--unit", type=non_negative_int, help="of a grid, this slice or neuron, from 0 (default: their mean)")
    _add_places(parser, "heat_map.png, .svg and .csv go, or heat_map1...")


def add_neurons(parsers: Parsers) -> None:
    """`neurons`: table 3 and figure 3 of Liu et al. 2016."""
    parser = parsers.add_parser(
        "neurons",
        help="the pairs of words that excite each neuron of a grid, as Table 3 and Figure 3 of Liu et al. 2016",
        description="List the pairs of words that excite each neuron of a grid over two texts, and draw some neurons, as Liu et al. 2016 "
        "do in Table 3 and Figure 3.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a finished run, such as of model=tc_lstm")
    parser.add_argument("--units", type=non_negative_int, nargs="+", help="neurons to draw, from 0 (default: the two that stand out most)")
    parser.add_argument(
        "--pairs", type=positive_int, default=200, help="of the test set, how many are looked through (default: %(default)s)"
    )
    _add_places(parser, "neurons.csv and figure3.png, .svg and .csv go")


def add_pretraining(parsers: Parsers) -> None:
    """`pretraining`: figure 3 of Lei et al. 2016."""
    parser = parsers.add_parser(
        "pretraining",
        help="perplexity against dev MRR during pre-training, Figure 3 of Lei et al. 2016",
        description="Draw figure 3 of Lei et al. 2016: held-out perplexity (dotted) against dev MRR (solid), by steps of pre-training. "
        "Runs of one encoder are averaged, with the standard deviation of three or more as bars.",
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a folder that qaexp.pretrain left, or one with several of them")
    _add_to(parser, "figure3.png, .svg and .csv go")


def add_gates(parsers: Parsers) -> None:
    """`gates`: figures 4 and 5 of Lei et al. 2016."""
    parser = parsers.add_parser(
        "gates",
        help="how much of each word the gate of an RCNN lets in, Figures 4 and 5 of Lei et al. 2016",
        description="Draw figures 4 and 5 of Lei et al. 2016: how much of each word the gate of an RCNN lets in, in chosen questions and "
        "by position over the dev and test sets.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a finished run of model=rcnn")
    figure4 = "questions of figure 4, drawn in the words that the model reads; without any there is none"
    parser.add_argument("--words", nargs="+", default=[], metavar="QUESTION", help=figure4)
    _add_places(parser, "figure4 and figure5, .png, .svg and .csv, go")


def add_sweep(parsers: Parsers) -> None:
    """`sweep`: parallel coordinates, and the effect of each option."""
    parser = parsers.add_parser(
        "sweep",
        help="parallel coordinates, and the effect of each hyper-parameter on the dev score",
        description="Draw a sweep: a line a run across its hyper-parameters to its dev score, and the dev scores by the values of each.",
    )
    parser.add_argument("folder", type=Path, metavar="SWEEP", help="a sweep's folder, as the sweep has named it")
    where = "where parallel and effects, .png, .svg and .csv, go (default: the sweep's folder)"
    parser.add_argument("--to", type=Path, metavar="FOLDER", help=where)


FIGURES: Sequence[Callable[[Parsers], None]] = (add_heat_map, add_neurons, add_pretraining, add_gates, add_sweep)


def _add_places(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--data", metavar="DIR", help="the data folder (default: the one that the run was given)")
    _add_to(parser, what)


def _add_to(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER", help=f"where {what}")
