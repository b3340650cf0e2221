"""The data module: which questions are used, what a record says of them, and that a second start reads nothing again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from hydra.utils import instantiate

from qaexp.config import compose
from qaexp.data.datasets.wikiqa import COLUMNS, WikiQAReader
from qaexp.data.module import RankingDataModule
from qaexp.data.negatives import PoolNegatives, RandomNegatives
from qaexp.data.tokenise import words_v1
from qaexp.data.vectors import sources as embeddings
from qaexp.data.vectors.sources import PublishedVectors, RandomVectors
from qaexp.errors import BadDataError, ConfigError
from qaexp.evaluation.conventions import METRICS

Make = Callable[..., Any]
WIKIQA_HEADER = "\t".join(COLUMNS)


@pytest.fixture
def module(cache_dir: Path) -> Callable[..., RankingDataModule]:
    def make(reader: Any, **options: Any) -> RankingDataModule:
        settings = {
            "name": "small",
            "partial_data": False,
            "vectors": RandomVectors(dim=4, deviation=1.0),
            "negatives": PoolNegatives(num=1),
            "tokenise": words_v1,
            "num_classes": 1,
            "convention": "trec",
            "selection_metric": "dev/map",
            "keep_unanswered": False,
            "shuffle_seed": 20,
            "max_question_length": 40,
            "max_candidate_length": 40,
            "batch_size": 4,
            "block_tokens": 100,
            "seed": 1,
            "cache_dir": str(cache_dir),
            "expected": None,
        }
        return RankingDataModule(reader=reader, **(settings | options))

    return make


@pytest.mark.parametrize(("keep", "used"), [(False, ["Q3"]), (True, ["Q3", "Q4"])])
def test_dev_questions_without_an_answer_are_left_out_or_kept(wikiqa: Make, module: Make, keep: bool, used: list[str]) -> None:
    data = module(wikiqa(), keep_unanswered=keep)
    assert [name.decode() for name in data.splits["dev"].question_ids] == used
    described = data.describe()
    assert described["splits"]["dev"] == {
        "questions": len(used),
        "pairs": 1 + len(used),
        "answers": 1,
        "without answer": len(used) - 1,
        "cut questions": 0,
        "cut candidates": 0,
    }
    assert described["notes"]["dev: questions without a right candidate"] == 1


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("negatives", [PoolNegatives(num=2), RandomNegatives(num=2)], ids=lambda sampling: type(sampling).__name__)
def test_training_draws_nothing_from_an_unanswered_question(wikiqa: Make, module: Make, spelled: Any, negatives: Any, keep: bool) -> None:
    data = module(wikiqa(), keep_unanswered=keep, negatives=negatives)
    assert spelled(data.corpus, data.splits["train"].questions) == ["who wrote it"]
    batches = [batch for epoch in range(5) for batch in data.training_batches(epoch)]
    rows = {tuple(row.tolist()) for batch in batches for row in batch.questions}
    assert [[data.corpus.vocabulary.words[i] for i in row] for row in rows] == [["who", "wrote", "it"]]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_fraction_of_training_questions_is_drawn_by_the_seed(module: Make, cache_dir: Path, seed: int) -> None:
    reader = instantiate(compose(["dataset.reader.num_train=40", "dataset.reader.num_dev=5", "dataset.reader.num_test=5"]).dataset.reader)
    quarter, half, whole = (module(reader, seed=seed, train_fraction=fraction).splits for fraction in (0.25, 0.5, 1.0))
    names = [splits["train"].question_ids.tolist() for splits in (quarter, half, whole)]
    assert [len(each) for each in names] == [10, 20, 40]
    assert set(names[0]) < set(names[1]) < set(names[2])
    assert names[0] != module(reader, seed=3, train_fraction=0.25).splits["train"].question_ids.tolist()
    assert [splits["dev"].num_questions for splits in (quarter, half, whole)] == [5, 5, 5]
    assert len(module(reader, seed=seed, train_fraction=1e-6).splits["train"].question_ids) == 1


def test_words_that_the_vectors_lack_are_left_out(wikiqa: Make, module: Make, spelled: Any, tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("who 1 0\nit 0 1\n")
    known = PublishedVectors("v", str(tmp_path / "vectors.txt"), 1.0)
    whole, data = module(wikiqa(), vectors=known), module(wikiqa(), vectors=known, drop_unknown=True)
    assert data.corpus.vocabulary.words[2:] == [word for word in whole.corpus.vocabulary.words if word in ("who", "it")]
    texts = range(len(whole.texts))
    expected = [" ".join(word for word in text.split() if word in ("who", "it")) or "<unk>" for text in spelled(whole.corpus, texts)]
    assert spelled(data.corpus, texts) == expected
    assert "<unk>" in expected
    assert data.word_vectors[2:].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert data.word_vectors[:2].tolist() == whole.word_vectors[:2].tolist()
    assert data.corpus.fingerprint != whole.corpus.fingerprint
    with pytest.raises(ConfigError, match="would leave no word"):
        _ = module(wikiqa(), drop_unknown=True, vectors=RandomVectors(4, 0.2)).corpus


@pytest.mark.parametrize(("every", "expected"), [(1, [0, 1, 2, 3]), (0, [0, 0, 0, 0])])
def test_a_resumed_run_has_the_batches_of_the_epoch_that_drew_them(wikiqa: Make, module: Make, every: int, expected: list[int]) -> None:
    data, drawn = module(wikiqa()), list[int]()
    batches = data.training_batches
    data.training_batches = lambda epoch: (drawn.append(epoch), batches(epoch))[1]
    for epoch in range(4):
        data.trainer = pl.Trainer(accelerator="cpu", logger=False, reload_dataloaders_every_n_epochs=every)
        data.trainer.fit_loop.epoch_progress.current.completed = epoch
        data.train_dataloader()
    assert drawn == expected


def test_pages_show_the_first_test_set_or_dev(module: Make) -> None:
    reader = instantiate(compose(["dataset.reader.num_train=4", "dataset.reader.num_dev=2", "dataset.reader.num_test=2"]).dataset.reader)
    data = module(reader)
    assert data.shown_split == "test"
    splits = data.splits
    data.__dict__["splits"] = dict.fromkeys(("train", "test1", "test2"), splits["test"])
    assert data.shown_split == "test1"  # without dev it was the second one
    data.__dict__["splits"] = {name: split for name, split in splits.items() if name != "test"}
    assert data.shown_split == "dev"


def test_a_model_that_trains_its_vectors_in_place_changes_no_other_models(wikiqa: Make, module: Make) -> None:
    """Runs of a sweep share a data module."""
    data = module(wikiqa())
    before = data.word_vectors.clone()
    data.word_vectors.add_(1.0)
    assert torch.equal(data.word_vectors, before)


def test_long_texts_are_cut_and_counted(wikiqa: Make, module: Make) -> None:
    data = module(wikiqa(), max_question_length=2, max_candidate_length=3)
    counted = {name: (split["cut questions"], split["cut candidates"]) for name, split in data.describe()["splits"].items()}
    assert counted == {"train": (1, 1), "dev": (1, 0), "test": (1, 0)}  # "a book was sold" has four words
    [batch] = data.training_batches(0)
    assert batch.questions.shape == (1, 2)
    assert batch.candidates.shape == (2, 3)


def test_epochs_differ_and_repeat(module: Make, cache_dir: Path) -> None:
    cfg = compose(["dataset.reader.num_train=60", "dataset.reader.num_dev=5", "dataset.reader.num_test=5", f"cache_dir={cache_dir}"])
    data = instantiate(cfg.dataset)
    first, again, second = ([batch.candidates for batch in data.training_batches(epoch)] for epoch in (0, 0, 1))
    assert all(torch.equal(*pair) for pair in zip(first, again, strict=True))
    assert not all(one.shape == other.shape and torch.equal(one, other) for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize("keep", [False, True])
def test_a_split_without_a_question_to_use_is_refused(wikiqa: Make, module: Make, keep: bool) -> None:
    data = module(wikiqa(train=[WIKIQA_HEADER, "Q1\tWho?\tD\tT\tS1\tShe.\t0", "Q2\tWhen?\tD\tT\tS2\tNow.\t0"]), keep_unanswered=keep)
    with pytest.raises(BadDataError) as error:
        _ = data.splits
    assert str(error.value) == (
        "data set small: 1 fault\n  split train: none of its 2 questions has a right candidate, so there is nothing to learn or measure\n"
        "Restore the published files; in your own data, give questions a candidate that is labelled 1."
    )


def test_an_unknown_convention_is_refused_before_anything_is_read(wikiqa: Make, module: Make) -> None:
    with pytest.raises(ConfigError, match="no scoring convention is called 'treck'"):
        module(wikiqa(), convention="treck")


def test_an_empty_pool_is_never_ranked(insuranceqa: Make, module: Make) -> None:
    reader = insuranceqa(dev=["11\tidx_1 idx_4\t13 11 10", "11\tidx_1\t"])
    for keep in (False, True):
        data = module(reader, keep_unanswered=keep, negatives=RandomNegatives(num=1))
        assert data.splits["dev"].question_ids.tolist() == [b"dev-1"]
        assert data.describe()["notes"]["dev: questions without any candidate (left out)"] == 1


def test_pools_are_shuffled_alike_at_every_start(wikiqa: Make, module: Make) -> None:
    rows = [f"Q1\tWho?\tD\tT\tS{i:02}\tNumber {i}.\t{int(i == 0)}" for i in range(40)]
    reader = wikiqa(test=[WIKIQA_HEADER, *rows])
    in_file, one, same, other = (module(reader, shuffle_seed=seed).splits["test"].candidate_ids.tolist() for seed in (None, 20, 20, 21))
    assert in_file == sorted(in_file)
    assert one == same
    assert len({tuple(order) for order in (in_file, one, other)}) == 3
    assert sorted(one) == sorted(other) == in_file


def test_a_second_start_reads_nothing_again(
    wikiqa: Make, module: Make, write: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "vectors.txt", [f"{word} 1 2 3" for word in ("who", "wrote", "it")])
    reader, vectors = wikiqa(), PublishedVectors(name="glove.6B", path=str(tmp_path / "vectors.txt"), scale=1.0)
    first = module(reader, vectors=vectors)
    described, rows = first.describe(), first.word_vectors

    def refused(*_: Any) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(WikiQAReader, "read", refused)
    monkeypatch.setattr(embeddings, "read_glove", refused)
    second = module(reader, vectors=vectors)
    assert second.describe() == described
    assert torch.equal(second.word_vectors, rows)
    batch = next(iter(second.training_batches(0)))
    assert batch.labels.tolist() == [1, 0]


def test_the_record_of_the_whole_of_wikiqa(data_dir: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (data_dir / "wikiqa").is_dir():
        pytest.skip(f"{data_dir / 'wikiqa'} is not at hand")
    cfg = compose(["dataset=wikiqa", "dataset/vectors=random", f"data_dir={data_dir}", f"cache_dir={cache_dir}"])
    data = instantiate(cfg.dataset)
    described = data.describe()
    assert {name: split["questions"] for name, split in described["splits"].items()} == {"train": 873, "dev": 126, "test": 243}
    assert {name: split["answers"] for name, split in described["splits"].items()} == {"train": 1_040, "dev": 140, "test": 293}
    assert {name: split["pairs"] for name, split in described["splits"].items()} == {"train": 8_672, "dev": 1_130, "test": 2_351}
    assert described["notes"]["dev: questions without a right candidate"] == 170
    groups = sum(batch.num_groups for batch in data.training_batches(0))
    pools = np.diff(data.splits["train"].offsets)
    only_right = data.splits["train"].answers_per_question == pools
    assert groups == 1_040 - data.splits["train"].answers_per_question[only_right].sum()


@pytest.mark.parametrize(("negatives", "more"), [(PoolNegatives(num=2), set()), (RandomNegatives(num=2), {"it", "burned"})])
def test_training_words_are_those_of_the_texts_that_training_may_draw(wikiqa: Make, module: Make, negatives: Any, more: set[str]) -> None:
    data = module(wikiqa(), negatives=negatives)
    words = {data.corpus.vocabulary.words[word] for word in data.training_words}
    assert {"who", "wrote", "it", "she", "a", "book", "was", "sold"} | more <= words
    assert not words & {"when", "why", "shop"}, "these are in questions of dev and test alone"
    read = {int(word) for batch in data.training_batches(0) for word in torch.cat([batch.questions.flatten(), batch.candidates.flatten()])}
    assert read - {0} <= set(data.training_words.tolist())


@pytest.mark.parametrize(
    ("convention", "seed", "told"), [("semeval10", 20, True), ("lei16", 3, True), ("semeval10", None, False), ("trec", 20, False)]
)
def test_a_shuffle_under_a_convention_of_file_order_is_told(
    wikiqa: Make, module: Make, convention: str, seed: int | None, told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    _ = module(wikiqa(), convention=convention, shuffle_seed=seed).splits
    said = f"{convention} breaks ties by the order of the files, but dataset.shuffle_seed={seed} shuffles it; null keeps it"
    assert (said in caplog.text) == told


def test_measures_by_name_are_added_to_those_of_every_run(wikiqa: Make, module: Make) -> None:
    data = module(wikiqa(), measures=["R@2", "map"], selection_metric="dev/nDCG@3")
    assert data.measures == (*METRICS, "r@2", "ndcg@3")
    assert data.selection_metric == "dev/ndcg@3"
    assert module(wikiqa(), selection_metric="dev/AP").selection_metric == "dev/map"
    scores = torch.zeros(data.splits["dev"].num_pairs)
    assert list(data.metrics("dev", scores).compute()) == list(data.measures)
    with pytest.raises(ConfigError, match="there is no measure 'nDGC@3'; did you mean nDCG@10"):
        module(wikiqa(), selection_metric="dev/nDGC@3")
    with pytest.raises(ConfigError, match="classes are not ranked"):
        module(wikiqa(), num_classes=3, measures=["R@2"])
