"""Figures of single runs and of sweeps: a command for each.

qaexp figures heat_map RUN --to FOLDER
qaexp figures neurons RUN --to FOLDER
qaexp figures pretraining RUN... --to FOLDER
qaexp figures gates RUN --to FOLDER
qaexp figures sweep SWEEP
"""

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from qaexp.cli.command import non_negative_int, positive_int, print_lines


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, or 2 for a mistake of the user."""
    parser = argparse.ArgumentParser(
        prog="qaexp figures",
        description="Draw what finished runs show. Each figure is written as PNG and SVG, and its data as CSV.",
        epilog="Figures whose points are runs of a table come from qaexp reproduce --figure N.",
    )
    parsers = parser.add_subparsers(dest="figure", required=True, metavar="FIGURE")
    for name, figure in FIGURES.items():
        figure.add_options(parsers.add_parser(name, help=figure.help, description=figure.description))
    options = parser.parse_args(arguments)
    return print_lines(lambda: import_module(FIGURES[options.figure].module).write_figures(options))  # the import takes seconds


class Command(NamedTuple):
    """A figure's command."""

    module: str
    """Its `write_figures(options)` yields the lines to print: the files that it wrote."""
    help: str
    description: str
    add_options: Callable[[argparse.ArgumentParser], None]


def _heat_map_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, metavar="RUN", help="a run's folder, or a checkpoint")
    parser.add_argument("--question", help="a text, or, without --answer, the id of a question of the run's test set")
    parser.add_argument("--answer", metavar="TEXT", help="draw this text beside that of --question")
    parser.add_argument("--pairs", type=positive_int, default=2, help="without --question: how many pairs (default: %(default)s)")
    parser.add_argument("--show", nargs="+", metavar="NAME", help="draw only these, such as pair.attention (default: all over words)")
    parser.add_argument("--unit", type=non_negative_int, help="draw this slice or neuron of a grid, counted from 0 (default: their mean)")
    _add_data_and_to(parser, "for heat_map.png, .svg and .csv, or heat_map1.png and so on for several pairs")


def _neurons_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a finished run, such as of model=tc_lstm")
    parser.add_argument("--units", type=non_negative_int, nargs="+", help="neurons to draw, from 0 (default: the two that stand out most)")
    parser.add_argument("--pairs", type=positive_int, default=200, help="how many pairs of the test set to search (default: %(default)s)")
    _add_data_and_to(parser, "for neurons.csv and figure3.png, .svg and .csv")


def _pretraining_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="a folder that `qaexp pretrain` left, or one with several of them"
    )
    _add_to(parser, "for figure3.png, .svg and .csv")


def _gates_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a finished run of model=rcnn")
    figure4 = "questions to draw in figure 4, word by word as the model reads them (default: draw figure 5 alone)"
    parser.add_argument("--words", nargs="+", default=[], metavar="QUESTION", help=figure4)
    _add_data_and_to(parser, "for figure4 and figure5, .png, .svg and .csv")


def _sweep_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="SWEEP", help="the folder that a sweep has printed")
    where = "folder for parallel and effects, .png, .svg and .csv (default: the sweep's folder)"
    parser.add_argument("--to", type=Path, metavar="FOLDER", help=where)


def _add_data_and_to(parser: argparse.ArgumentParser, files: str) -> None:
    parser.add_argument("--data", metavar="DIR", help="the data folder (default: that of the run)")
    _add_to(parser, files)


def _add_to(parser: argparse.ArgumentParser, files: str) -> None:
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER", help=f"folder {files}")


FIGURES = {
    "heat_map": Command(
        "qaexp.explain.heat_map",
        "attention weights, gates and grids of a pair over its words, such as Figures 5 and 6 of dos Santos et al. 2016",
        "Draw the attention weights, gates and grids of a pair over its words, as in Figures 5 and 6 of dos Santos et al. 2016. Without a "
        "question: the first questions of the run's test set, each with its best-ranked right answer.",
        _heat_map_options,
    ),
    "neurons": Command(
        "qaexp.explain.neurons",
        "the pairs of words that excite each neuron of a grid, as in Table 3 and Figure 3 of Liu et al. 2016",
        "List the pairs of words that excite each neuron of a grid over two texts, and draw some neurons, as in Table 3 and Figure 3 of "
        "Liu et al. 2016.",
        _neurons_options,
    ),
    "pretraining": Command(
        "qaexp.reproduction.figures.pretraining",
        "perplexity against dev MRR during pre-training, Figure 3 of Lei et al. 2016",
        "Draw Figure 3 of Lei et al. 2016: held-out perplexity (dotted) and dev MRR (solid) by steps of pre-training. Runs of one encoder "
        "are averaged; bars show the standard deviation of three or more.",
        _pretraining_options,
    ),
    "gates": Command(
        "qaexp.explain.gates",
        "how much of each word the gate of an RCNN lets in, Figures 4 and 5 of Lei et al. 2016",
        "Draw Figures 4 and 5 of Lei et al. 2016: how much of each word the gate of an RCNN lets in, in chosen questions and by position "
        "over the dev and test sets.",
        _gates_options,
    ),
    "sweep": Command(
        "qaexp.reproduction.figures.sweep",
        "parallel coordinates, and the effect of each hyper-parameter on the dev score",
        "Draw a sweep: parallel coordinates, with a line for each run across its hyper-parameters to its dev score; and the dev scores "
        "by the values of each hyper-parameter.",
        _sweep_options,
    ),
}
