"""`qaexp export RUN --onnx FILE`: a trained run in the formats of other programs."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from qaexp.cli.command import print_lines


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0, or 2 when the run cannot be exported."""
    parser = argparse.ArgumentParser(
        prog="qaexp export",
        description="Write a trained run for other programs, and print what was written. Several options may be given at once.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="a run's folder or, without --card, a checkpoint")
    parser.add_argument(
        "--onnx",
        type=Path,
        metavar="FILE",
        help="write a model that is a chain of slots (qa_cnn, ggsa, ctrn, bi_encoder, ...) as one graph. Inputs: token ids of distinct "
        "questions and candidates, and which of them form pairs; output: scores. The metadata have the vocabulary or tokenizer",
    )
    parser.add_argument(
        "--sentence-transformers",
        type=Path,
        metavar="FOLDER",
        help="a bi-encoder as a folder that SentenceTransformer(FOLDER) loads",
    )
    parser.add_argument("--card", type=Path, metavar="FILE", help="a model card in the form of Hugging Face, such as README.md")
    options = parser.parse_args(arguments)
    if not (options.onnx or options.sentence_transformers or options.card):
        parser.error("name what to write: --onnx FILE, --sentence-transformers FOLDER or --card FILE")
    return print_lines(lambda: _written(options))


def _written(options: argparse.Namespace) -> Iterator[Path]:
    if options.onnx:
        from qaexp.export.onnx import write_onnx  # needs torch, as the next

        yield write_onnx(options.run, options.onnx)
    if options.sentence_transformers:
        from qaexp.export.sentence_transformers import write_sentence_transformers

        yield write_sentence_transformers(options.run, options.sentence_transformers)
    if options.card:
        from qaexp.export.card import write_card

        yield write_card(options.run, options.card)
