"""Canaries: their expectations against every order there is, sound data pass, and data or metrics that are not sound are named."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from qaexp.cli import check as check_command
from qaexp.cli.data import main
from qaexp.config import choices
from qaexp.data.audit import canaries
from qaexp.data.audit.canaries import BROKEN, LEAK, NOTE, OK, chance, check
from qaexp.data.audit.class_canaries import check_classes
from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.data.datasets.wikiqa import COLUMNS
from qaexp.data.module import RankingDataModule
from qaexp.data.negatives import PoolNegatives
from qaexp.data.tokenise import words_v1
from qaexp.data.vectors.sources import RandomVectors
from qaexp.errors import ConfigError, MissingDataError
from qaexp.evaluation.conventions import CONVENTIONS, Convention, file_tie_order
from qaexp.evaluation.questions import measure_questions


@pytest.mark.parametrize("depth", [None, 2, 10])
@pytest.mark.parametrize("pools", [[(1, 0)], [(1, 1)], [(3, 3)], [(4, 1)], [(5, 2)], [(6, 3), (2, 1), (5, 0), (4, 4)]], ids=str)
def test_expectations_are_those_of_all_orders(pools: list[tuple[int, int]], depth: int | None) -> None:
    convention = Convention(file_tie_order, True, depth, False, False)
    means, variances = dict.fromkeys(("p@1", "mrr"), 0.0), dict.fromkeys(("p@1", "mrr"), 0.0)
    for size, right in pools:
        orders = torch.tensor(list(permutations(range(size))))
        labels = (torch.arange(size) < right).long().repeat(len(orders))
        questions = torch.arange(len(orders)).repeat_interleave(size)
        measured = measure_questions(orders.flatten().float(), labels, questions, torch.zeros(len(labels), dtype=torch.int64), convention)
        for name in means:
            means[name] += float(measured[name].mean()) / len(pools)
            variances[name] += float(measured[name].var(correction=0)) / len(pools) ** 2
    expected = chance([size for size, _ in pools], [right for _, right in pools], depth)
    for name in means:
        assert expected[name].mean == pytest.approx(means[name], abs=1e-12)
        assert expected[name].error == pytest.approx(variances[name] ** 0.5, abs=1e-9)


@dataclass(frozen=True)
class PlacedReader:
    """Pools of five with one right candidate, at a given place of the files and of the ids; None: at a random one."""

    place: int | None
    id_place: int | None
    num_questions: int = 200
    share_placed: float = 1.0
    asked_in_train: int = 0
    wrong_in_train: int = 0
    """Of so many questions the wrong candidates are wrong ones of training, too."""
    right_in_train: bool = False
    """The wrong candidates of dev and test are right ones of training."""

    version = 1

    def files(self) -> list[Path]:
        return []

    def read(self) -> RankingCorpus:
        builder, rng = CorpusBuilder(), np.random.default_rng(5)
        for split in ("train", "dev", "test"):
            for q in range(self.num_questions):
                placed = rng.random() < self.share_placed
                drawn, drawn_id = rng.integers(5, size=2).tolist()
                place = self.place if self.place is not None and placed else drawn
                id_place = self.id_place if self.id_place is not None and placed else drawn_id
                ids = [n for n in range(5) if n != id_place]
                rng.shuffle(ids)
                ids.insert(place, id_place)
                wrong = 0
                pool = []
                for at, n in enumerate(ids):
                    said = [f"{split}{q}", f"word{n}"]
                    if at != place:
                        wrong += 1
                        if self.right_in_train and split != "train":
                            said = ["right", str((4 * q + wrong) % self.num_questions)]
                        elif q < self.wrong_in_train:
                            said = ["wrong", str(q), str(wrong)]
                    elif self.right_in_train and split == "train":
                        said = ["right", str(q)]
                    pool.append((f"{split}{q}-{n}", builder.text(said), int(at == place)))
                asker = "train" if q < self.asked_in_train else split
                builder.question(split, f"{split}{q}", builder.text(["what", f"{asker}{q}"]), pool)
        return builder.build()


@pytest.fixture
def verdicts(cache_dir: Path) -> Callable[..., dict[str, str]]:
    """{canary: verdict} of the test split, dev having the same."""

    def build(reader: Any, convention: str, shuffle_seed: int | None, kind: type[RankingDataModule]) -> RankingDataModule:
        return kind(
            name="small",
            partial_data=False,
            num_classes=1,
            reader=reader,
            vectors=RandomVectors(dim=4, deviation=1.0),
            negatives=PoolNegatives(num=1),
            tokenise=words_v1,
            convention=convention,
            selection_metric="dev/map",
            keep_unanswered=False,
            shuffle_seed=shuffle_seed,
            expected=None,
            max_question_length=40,
            max_candidate_length=40,
            batch_size=4,
            block_tokens=100,
            seed=1,
            cache_dir=str(cache_dir),
        )

    def found(reader: Any, convention: str = "trec", shuffle_seed: int | None = 20, kind: Any = RankingDataModule) -> dict[str, str]:
        findings = check(build(reader, convention, shuffle_seed, kind), build(reader, convention, None, kind), seed=1)
        dev, test = ({f.canary: f.verdict for f in findings if f.split == split} for split in ("dev", "test"))
        assert dev == test
        return test

    return found


CANARIES = [
    "label-leaking",
    "random",
    "constant",
    "constant: ties",
    "order in use",
    "order in files",
    "shuffled, trec",
    "asked in train",
    "right in train",
]
ALL_OK = dict.fromkeys(CANARIES, OK)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("shuffle_seed", [20, None])
def test_sound_data_pass_under_every_convention(verdicts: Any, convention: str, shuffle_seed: int | None) -> None:
    assert verdicts(PlacedReader(place=None, id_place=None), convention, shuffle_seed) == ALL_OK


SORTED = PlacedReader(place=0, id_place=4)  # right candidates come first, and ids ascend towards them


@pytest.mark.parametrize(
    ("reader", "shuffle_seed", "fallen"),
    [
        (SORTED, None, {"constant": LEAK, "order in use": LEAK, "order in files": NOTE}),
        (SORTED, 20, {"constant": LEAK, "order in files": NOTE}),
        (PlacedReader(place=0, id_place=None), None, {"order in use": LEAK, "order in files": NOTE}),
        (PlacedReader(place=4, id_place=None), None, {"order in use": LEAK, "order in files": NOTE}),
        (PlacedReader(place=0, id_place=None), 20, {"order in files": NOTE}),
        (PlacedReader(place=None, id_place=0), 20, {"constant": NOTE}),
        (PlacedReader(place=None, id_place=4, share_placed=0.3), 20, {"constant": LEAK}),
        (PlacedReader(place=None, id_place=None, asked_in_train=3), 20, {"asked in train": NOTE}),
        (PlacedReader(place=None, id_place=None, wrong_in_train=80), 20, {"right in train": NOTE}),
        (PlacedReader(place=None, id_place=None, wrong_in_train=150), 20, {"right in train": LEAK}),
        (PlacedReader(place=None, id_place=None, right_in_train=True), 20, {"right in train": NOTE}),
    ],
    ids=[
        *("sorted", "sorted, shuffled", "first", "last", "first, shuffled", "smallest ids", "some ids", "asked before"),
        *("some wrong before", "most wrong before", "wrong ones right before"),
    ],
)
def test_leaks_by_order_ids_or_training_are_named(
    verdicts: Any, reader: PlacedReader, shuffle_seed: int | None, fallen: dict[str, str]
) -> None:
    assert verdicts(reader, "trec", shuffle_seed) == ALL_OK | fallen


@pytest.mark.parametrize("convention", ["semeval10", "lei16"])
@pytest.mark.parametrize(("share", "verdict"), [(0.3, NOTE), (1.0, LEAK)])
def test_a_published_order_may_tell_something_but_not_most(verdicts: Any, convention: str, share: float, verdict: str) -> None:
    fallen = verdicts(PlacedReader(place=0, id_place=None, share_placed=share), convention, None)
    assert fallen == ALL_OK | {"constant": verdict, "order in use": verdict, "order in files": NOTE}
    if share == 1:
        shuffled = verdicts(PlacedReader(place=0, id_place=None), convention, 20)
        assert shuffled == ALL_OK | {"order in files": NOTE}


class Upside(RankingDataModule):
    """Ranks the worst first."""

    def metrics(self, split: str, scores: torch.Tensor) -> Any:
        return super().metrics(split, -scores)


class Knowing(RankingDataModule):
    """Breaks ties, and all else, by the labels."""

    def metrics(self, split: str, scores: torch.Tensor) -> Any:
        return super().metrics(split, scores + 1000 * torch.from_numpy(self.splits[split].labels.astype(np.float32)))


def test_metrics_that_rank_in_another_way_are_broken(verdicts: Any) -> None:
    sound = PlacedReader(place=None, id_place=None)
    assert verdicts(sound, kind=Upside) == ALL_OK | {"label-leaking": BROKEN}
    of_knowing = {
        "random": BROKEN,
        "constant": LEAK,
        "constant: ties": BROKEN,
        "order in use": LEAK,
        "order in files": NOTE,
        "right in train": LEAK,
    }
    assert verdicts(sound, kind=Knowing) == ALL_OK | of_knowing


def test_a_tie_order_that_sees_the_pools_order_is_broken(verdicts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    by_place = Convention(file_tie_order, counts_unanswered=True, depth=None, divides_by_found=False, precision_divides_by_pool=False)
    monkeypatch.setattr(canaries, "find_convention", lambda _: by_place)
    assert verdicts(PlacedReader(place=None, id_place=None)) == ALL_OK | {"shuffled, trec": BROKEN}


@pytest.fixture
def private_cache(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QAEXP_CACHE", str(cache_dir))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("private_cache")
def test_without_names_toy_passes_and_what_is_missing_is_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qaexp.cli.check.choices", lambda _: ["toy", "wikiqa"])
    assert main(["check", "--data", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "toy, scored by trec" in shown
    assert shown.count(" OK") == 2 * len(ALL_OK)
    assert "…" not in shown, "it does not fit a terminal"
    assert "wikiqa: not checked, because files are missing (`qaexp data check wikiqa` names them)" in shown
    assert "nothing leaks or is broken" in shown
    assert main(["check", "wikiqa", "--data", str(tmp_path)]) == 2
    assert f"{tmp_path}/wikiqa/WikiQA-dev.tsv" in capsys.readouterr().err


def wikiqa_rows(split: str, leaking: bool) -> list[str]:
    rows = ["\t".join(COLUMNS)]
    for q in range(60):
        right = 4 if leaking else q % 5
        rows += [f"{split}{q}\tWho {split} {q}?\tD{q}\tBook\tD{q}-{n}\tText {split} {q} {n}.\t{int(n == right)}" for n in range(5)]
    return rows


@pytest.mark.usefixtures("private_cache")
@pytest.mark.parametrize("leaking", [False, True])
def test_the_command_exits_1_on_a_leak(
    tmp_path: Path, write: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, leaking: bool
) -> None:
    monkeypatch.setattr("qaexp.data.audit.card.require", lambda *_: None)  # the files are not WikiQA's
    for split in ("train", "dev", "test"):
        write(tmp_path / f"wikiqa/WikiQA-{split}.tsv", wikiqa_rows(split, leaking))
    assert main(["check", "wikiqa", "--data", str(tmp_path)]) == int(leaking)
    out = capsys.readouterr().out
    assert ("wikiqa, dev, constant: LEAK\nwikiqa, test, constant: LEAK\n" in out) == leaking
    assert ("dev, constant: LEAK: candidate ids, which break ties, reveal the labels: ties are worth points" in out) == leaking


def test_an_unknown_name_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "toyy"]) == 2
    assert capsys.readouterr().err == "dataset: there is no 'toyy'; did you mean toy?\n"


def test_a_wrong_value_is_answered_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """It ended in a traceback."""
    assert main(["check", "toy", "dataset.convention=treck"]) == 2
    assert capsys.readouterr().err == "no scoring convention is called 'treck'; did you mean trec?\n"


FIRST = {"dev": ["order in files"], "test": ["order in files"]}
PUBLISHED = {
    "insuranceqa_subset": (
        "insuranceqa/V1_subset",
        {"dev": ["constant", "asked in train", "right in train"], "test": ["constant", "right in train"]},
        {"dev": 40, "test": 0},
    ),
    "wikiqa": (
        "wikiqa",
        {"dev": ["constant", "order in files"], "test": ["constant", "order in files", "asked in train"]},
        {"dev": 0, "test": 1},
    ),
    "wikiqa_all": (
        "wikiqa",
        {"dev": ["constant", "order in files"], "test": ["constant", "order in files", "asked in train"]},
        {"dev": 0, "test": 1},
    ),
    "qatarliving_partial": (
        "qatarliving",
        {
            "dev": ["constant", "order in use", "order in files"],
            "test": ["constant", "order in use", "order in files", "asked in train"],
        },
        {"dev": 0, "test": 7},  # as lemmas; as words 5
    ),
    "trecqa_toks": ("trecqa/toks", FIRST, {"dev": 0, "test": 0}),
    "yahooqa_partial": ("yahooqa", {"dev": [], "test": []}, {"dev": 0, "test": 0}),
    "yahoomqa_partial": ("yahooqa", FIRST, {"dev": 0, "test": 0}),
    "yahoomqa_partial_10": ("yahooqa", FIRST, {"dev": 0, "test": 0}),
}
"""Data set to its folder, what is noted of each split, and how many questions of each are asked in train."""


@pytest.mark.usefixtures("private_cache")
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_data_leak_nothing_and_have_only_known_notes(data_dir: Path, name: str) -> None:
    folder, noted, asked = PUBLISHED[name]
    if not (data_dir / folder).is_dir():
        pytest.skip(f"{data_dir / folder} is not at hand")
    data, in_files = (check_command._built(name, str(data_dir), **order) for order in ({}, {"shuffle_seed": None}))
    findings = check(data, in_files, seed=1)
    assert {f.verdict for f in findings} <= {OK, NOTE}
    assert {split: [f.canary for f in findings if f.split == split and f.verdict == NOTE] for split in noted} == noted
    assert {f.split: f.measured["count"] for f in findings if f.canary == "asked in train"} == asked


@pytest.mark.parametrize("name", choices("dataset"))
def test_nothing_leaks_or_is_broken_in_any_data_set_at_hand(name: str, data_dir: Path, cache_dir: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("QAEXP_CACHE", str(cache_dir))
    try:
        data = check_command._built(name, str(data_dir))
    except MissingDataError as error:
        pytest.skip(str(error).splitlines()[0])
    if data.classes:
        findings = check_classes(data, seed=1)
        assert {f.canary for f in findings} >= {"label-leaking", "random", *(f"always {c}" for c in data.classes)}
    else:
        findings = check(data, check_command._built(name, str(data_dir), shuffle_seed=None), seed=1)
        assert {f.canary for f in findings} >= {"label-leaking", "random", "constant", "order in use", "shuffled, trec"}
    assert {f.verdict for f in findings} <= {OK, NOTE}, [f for f in findings if f.verdict not in (OK, NOTE)]


def test_wrong_accuracies_and_telling_neighbours_are_named(cache_dir: Path, data_dir: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("QAEXP_CACHE", str(cache_dir))
    data = check_command._built("snli_partial", str(data_dir))
    order = np.argsort(data.splits["dev"].labels, kind="stable")
    monkeypatch.setitem(data.splits, "dev", data.splits["dev"].keep(order))
    assert {f.canary: f.verdict for f in check_classes(data, 1) if f.split == "dev"}["class of the pair before"] == LEAK
    monkeypatch.setattr(type(data), "metrics", lambda self, split, scores: Fixed())
    verdicts = {f.canary: f.verdict for f in check_classes(data, 1) if f.split == "test"}
    assert verdicts["label-leaking"] == verdicts["random"] == verdicts["always neutral"] == BROKEN


class Fixed:
    def compute(self) -> dict[str, torch.Tensor]:
        return {"accuracy": torch.tensor(0.9)}


def test_options_of_training_name_the_files_to_check(tmp_path: Path, monkeypatch: Any, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    lines = [
        f"{split},what is {number}?,{answer} {number},{label}"
        for split in ("dev", "test")
        for number in range(9)
        for answer, label in (("yes", 1), ("no", 0))
    ]
    (tmp_path / "faq.csv").write_text("\n".join(["split,question,answer,label", *lines]) + "\n")
    shown = list[Any]()
    monkeypatch.setattr(check_command, "show", lambda data, findings, console: shown.append(data))
    check_command.check_all(["own", f"dataset.reader.folder={tmp_path / 'faq.csv'}"], None, seed=1)
    assert [data.splits["test"].num_questions for data in shown] == [9]
    with pytest.raises(ConfigError, match=r"dataset\.reader\.folder"):
        check_command.check_all(["own", "dataset.reader.foldr=faq.csv"], None, seed=1)
