"""SNLI 1.0 (Bowman et al. 2015): pairs of sentences, each with one of three classes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.data.fetch.remotes import fetch_hint
from qaexp.data.files import json_lines, locate, published
from qaexp.data.tokenise import bare

FIELDS = ("gold_label", "pairID", "sentence1_binary_parse", "sentence2_binary_parse")
SENTENCES = ("sentence1", "sentence2")
"""The sides as they were written. A line may lack them."""
NO_LABEL = "-"
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def leaves(binary_parse: str) -> str:
    """The published tokens: a binary parse without its brackets.

    >>> leaves("( ( Two women ) ( are ( here -LRB- . ) ) )")
    'Two women are here ( .'
    """
    return " ".join(BRACKETS.get(token, token) for token in binary_parse.split() if token not in "()")


@dataclass(frozen=True)
class SNLIReader:
    """Reads `snli_1.0_{train,dev,test}.jsonl`. The premise is the question, the hypothesis its only candidate.

    Pairs whose annotators did not agree (gold label `-`) are left out and counted, as everybody does (Bowman et al. 2015, §2.2). A pair
    that stands in several files of a split is read once.
    """

    folder: str
    splits: Mapping[str, Sequence[str]]
    """Split to files."""
    classes: Sequence[str]
    """The gold labels, in the order of their numbers."""
    tokenise: Callable[[str], list[str]]
    """Its input is the published tokens, separated by spaces."""

    version = 1

    def files(self) -> list[Path]:
        """The files to read, in the order of the splits.

        Raises:
            MissingDataError: naming those that are absent.
        """
        return locate([Path(self.folder) / name for names in self.splits.values() for name in names], fetch_hint("snli"))

    def read(self) -> RankingCorpus:
        """Read every split.

        Raises:
            BadDataError: a line is not a JSON object, lacks a field, or has an unknown label.
        """
        builder, tokenise, paths = CorpusBuilder(), bare(self.tokenise), iter(self.files())
        for split, names in self.splits.items():
            builder.split(split)
            seen = set[str]()
            for path in (next(paths) for _ in names):
                for pair_id, label, *sides in self._pairs(path, split, builder):
                    if pair_id in seen:
                        builder.note(f"{split}: repeated pairs (dropped)")
                        continue
                    seen.add(pair_id)
                    first, second = (builder.text(tokenise(leaves(parse)), written=sentence) for parse, sentence in sides)
                    builder.pair(split, pair_id, first, second, label)
        return builder.build()

    def _pairs(self, path: Path, split: str, builder: CorpusBuilder) -> Iterator[tuple[str, int, tuple[str, str], tuple[str, str]]]:
        """Id, label, and parse and sentence of either side."""
        number = {name: place for place, name in enumerate(self.classes)}
        with published(path, fetch_hint("snli")) as faults:
            for line, pair in json_lines(faults):
                wrong = [name for name in FIELDS if not isinstance(pair, dict) or not isinstance(pair.get(name), str)]
                if wrong:
                    faults.add(line, f"no text in field {', '.join(wrong)}")
                    continue
                label, pair_id, *parses = (pair[name] for name in FIELDS)
                if label == NO_LABEL:
                    builder.note(f"{split}: pairs without a gold label (left out)")
                elif label not in number:
                    faults.add(line, f"field gold_label is {label!r}, {', '.join(self.classes)} or {NO_LABEL} expected")
                else:
                    first, second = ((parse, str(pair.get(name) or "")) for parse, name in zip(parses, SENTENCES, strict=True))
                    yield pair_id, number[label], first, second
