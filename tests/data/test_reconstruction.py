"""Which titles are told from which contexts: exactly those of the paper, nothing of a held-out question, in batches that a seed decides."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from hydra.utils import instantiate

from qaexp.config import PRETRAIN, compose
from qaexp.data.batch import ReconstructionBatch
from qaexp.data.corpus import RankingCorpus
from qaexp.data.datasets.askubuntu import AskUbuntuReader
from qaexp.data.reconstruction import ReconstructionDataModule, held_out_pairs, title_pairs
from qaexp.data.tokenise import published_tokens_v1

TEXTS = [
    "1\tone title\tone body",
    "2\ttwo\t",
    "3\tthree\tbody of three",
    "4\tfour\tfour body",
    "5\theld five\tbody five",
    "6\theld six\t",
    "7\tseven\tof dev",
]
TRAIN = ["1\t2 3\t4", "3\t1 5\t4", "5\t4\t1"]
"""1 and 3 mark one another; 5 is held out, on either side of a mark."""


@pytest.fixture
def folder(tmp_path: Path, write: Callable[..., Path]) -> Path:
    """The files of AskUbuntu in `askubuntu/`."""
    files = {"text_tokenized.txt": TEXTS, "train_random.txt": TRAIN, "heldout.txt": ["5", "6"]}
    for name, lines in {**files, "dev.txt": ["7\t3\t3 4\t2 1"], "test.txt": ["7\t4\t3 4\t2 1"]}.items():
        write(tmp_path / "askubuntu" / name, lines)
    return tmp_path


def read(folder: Path, fields: Sequence[str] = ("title", "body")) -> RankingCorpus:
    splits = {"train": "train_random.txt", "dev": "dev.txt"}
    names = "text_tokenized.txt", splits, "heldout.txt", fields
    return AskUbuntuReader("askubuntu", str(folder / "askubuntu"), *names, published_tokens_v1).read()


def module(folder: Path, *overrides: str) -> ReconstructionDataModule:
    places = [f"data_dir={folder}", f"cache_dir={folder / 'cache'}", "dataset.expected=null", "dataset/vectors=random"]
    cfg = compose(["pairs.batch_size=2", "pairs.steps_per_epoch=3", *places, *overrides], PRETRAIN)
    return instantiate(cfg.pairs)(ranking=instantiate(cfg.dataset))


def spelled(corpus: RankingCorpus, tokens: torch.Tensor) -> str:
    return " ".join(corpus.vocabulary.words[i] for i in tokens.tolist() if i)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("title", {(t, t) for t in ("one title", "two", "three", "four", "seven")}),
        ("body", {("one title", "one body"), ("three", "body of three"), ("four", "four body"), ("seven", "of dev")}),
        (
            "similar",
            {
                ("one title", "two"),
                ("two", "one title"),
                ("two", "one body"),
                ("one title", "three"),
                ("one title", "body of three"),
                ("three", "one title"),
                ("three", "one body"),
            },
        ),
    ],
)
def test_pairs_of_each_kind(folder: Path, kind: str, expected: set[tuple[str, str]]) -> None:
    corpus = read(folder)
    pairs, offsets = title_pairs(corpus, kind), corpus.texts.offsets

    def field(number: int) -> str:
        return spelled(corpus, torch.from_numpy(corpus.texts.ids[offsets[number] : offsets[number + 1]]))

    found = [(field(title), field(context)) for title, context in zip(pairs.titles, pairs.contexts, strict=True)]
    assert set(found) == expected
    assert len(found) == len(expected)


def test_held_out_titles_have_their_bodies_as_contexts_or_else_themselves(folder: Path) -> None:
    assert len(held_out_pairs(read(folder))) == 1  # question 6 has no body
    titles = held_out_pairs(read(folder, fields=("title",)))
    assert len(titles) == 2
    assert titles.titles.tolist() == titles.contexts.tolist()


def pairs_of(data: ReconstructionDataModule, batches: Sequence[ReconstructionBatch]) -> list[tuple[str, str]]:
    corpus = data.ranking.corpus
    return [
        (spelled(corpus, title), spelled(corpus, context))
        for batch in batches
        for title, context in zip(batch.titles, batch.contexts, strict=True)
    ]


def test_epochs_walk_through_all_pairs_once_before_any_comes_again(folder: Path) -> None:
    data = module(folder)  # 16 pairs, 8 batches a pass, 3 steps an epoch
    assert data.describe() == {"title": 5, "body": 4, "similar": 7, "held out": 1}
    steps = [batch for epoch in range(6) for batch in data.steps(epoch)]
    first, second = pairs_of(data, steps[:8]), pairs_of(data, steps[8:16])
    everything = [pair for kind in ("title", "body", "similar") for pair in pairs_of(data, list(all_of(data, kind)))]
    assert sorted(first) == sorted(second) == sorted(everything)
    assert first != second
    assert pairs_of(data, list(module(folder).steps(4))) == pairs_of(data, steps[12:15])
    assert pairs_of(data, list(module(folder, "seed=2").steps(0))) != pairs_of(data, steps[:3])


def all_of(data: ReconstructionDataModule, kind: str) -> Sequence[ReconstructionBatch]:
    pairs = title_pairs(data.ranking.corpus, kind)
    return [data.batch(pairs, torch.tensor([i]).numpy()) for i in range(len(pairs))]


def test_contexts_can_be_chosen(folder: Path) -> None:
    data = module(folder, "pairs.contexts=[body]")
    assert data.describe() == {"body": 4, "held out": 1}
    assert ("one title", "one body") in pairs_of(data, list(data.steps(0)))


def test_word_uses_are_those_of_the_training_titles(folder: Path) -> None:
    data = module(folder)
    uses, words = data.word_uses, data.ranking.corpus.vocabulary.words
    assert uses[0] == 5  # as many titles
    counted = {words[i]: n for i, n in enumerate(uses.tolist()) if n and i}
    assert counted == {"one": 1, "title": 1, "two": 1, "three": 1, "four": 1, "seven": 1}


def test_long_contexts_are_cut_and_titles_are_not(folder: Path) -> None:
    data = module(folder, "dataset.max_candidate_length=1", "dataset.max_question_length=1")
    found = pairs_of(data, [batch for epoch in range(3) for batch in data.steps(epoch)])
    assert ("one title", "one") in found
    assert not [context for _, context in found if " " in context]


def test_dev_questions_are_ranked_by_titles_alone(folder: Path) -> None:
    data = module(folder)
    blocks = list(data.title_blocks("dev"))
    texts = {spelled(data.ranking.corpus, row) for block in blocks for row in block.tokens}
    assert texts == {"seven", "three", "four"}
    assert sum(len(block.pairs) for block in blocks) == 2
