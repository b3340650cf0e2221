"""Evaluating a trained run: its own numbers again, other data sets, words that it has not met."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf
from small_table import SMALL

import qaexp
from qaexp.config import compose
from qaexp.errors import ConfigError, QaexpError
from qaexp.evaluation.run_files import Qrels, measure_run
from qaexp.runs.checkpoint import open_checkpoint, rebuild_scorer
from qaexp.runs.record import RunRecord
from qaexp.runs.sources import Sources
from qaexp.train import train
from qaexp.training.evaluate import evaluate_run

GRU = ["model=gru", "model.encoder.hidden_dim=8"]
MV_LSTM = ["model=mv_lstm", "model.encoder.hidden_dim=4", "model.overlap=true"]

OWN = [
    "What is hot soup?\tSoup is a zebra dish.\t1",
    "What is hot soup?\tA violin.\t0",
    "Who plays the violin?\tThe zebra does.\t0",
    "Who plays the violin?\tA violin player.\t1",
]


@pytest.fixture
def own(tmp_path: Path) -> list[str]:
    """Options of a data set of test alone."""
    (tmp_path / "faq.tsv").write_text("\n".join(OWN) + "\n")
    return ["dataset=own", f"dataset.reader.folder={tmp_path / 'faq.tsv'}", f"cache_dir={tmp_path / 'cache'}"]


@pytest.fixture
def vectors(tmp_path: Path) -> list[str]:
    """Options of published vectors, which have `violin` and not `zebra`."""
    rng, words = np.random.default_rng(0), ["is", "the", "a", "what", "chain", "violin"]
    lines = [" ".join([word, *(f"{value:.4f}" for value in rng.normal(size=50))]) for word in words]
    (tmp_path / "glove.txt").write_text("\n".join(lines) + "\n")
    return ["dataset/vectors=glove50", f"dataset.vectors.path={tmp_path / 'glove.txt'}"]


def trained(tmp_path: Path, *options: str) -> Path:
    folder = tmp_path / "run"
    cfg = compose([*SMALL, "logger=none", "trainer.max_epochs=1", f"cache_dir={tmp_path / 'cache'}", *options])
    folder.mkdir()
    (folder / "config.yaml").write_text(OmegaConf.to_yaml(cfg, resolve=True))
    train(cfg, folder)
    return folder


@pytest.mark.parametrize("model", [GRU, ["model=bm25"], MV_LSTM])
def test_its_own_data_set_gives_the_numbers_of_the_run(tmp_path: Path, model: list[str]) -> None:
    run = trained(tmp_path, *model)
    done = evaluate_run(run)
    assert done.folder == run / "evaluations" / "toy"
    record = json.loads((run / "record.json").read_text())
    assert done.metrics == record["metrics"]
    assert done.words.outside == 0
    for name in ("test.run", "test.qrels", "dev.questions.csv"):
        assert (done.folder / name).read_bytes() == (run / name).read_bytes()
    facts = json.loads((done.folder / "evaluation.json").read_text())
    assert facts["data"]["fingerprint"] == record["data"]["fingerprint"]
    assert qaexp.compare(run, done.folder, measures=["AP"])["difference"].item() == 0


def test_a_pretrained_model_reads_other_data_by_its_own_tokenizer(tmp_path: Path, own: list[str], tiny_weights: Path) -> None:
    run = trained(tmp_path, "model=bi_encoder")
    done = evaluate_run(run, own)
    assert done.words.outside == 0
    ranked = qaexp.load(run).rank("Who plays the violin?", ["The zebra does.", "A violin player."])
    lines = [line.split() for line in (done.folder / "test.run").read_text().splitlines()]
    assert [float(line[4]) for line in lines if line[0] == "Q3"] == pytest.approx([answer.score for answer in ranked], abs=1e-6)


def test_a_pretrained_model_reads_each_text_as_it_is_written(tmp_path: Path, tiny_weights: Path) -> None:
    """Texts with the same words are one text for models of words, and were all read in the spelling of the first."""
    texts = {"1": "What is C?", "2": "what is C, then?", "3": "what is c, then"}
    pools = {
        "1": ["C is a letter.", "A letter is C."],
        "2": ["c is a letter?", "A letter, is C"],
        "3": ["C, is a letter", "a letter IS c?"],
    }
    lines = [f"{texts[name]}\t{text}\t{1 - place}\t{name}\n" for name, pool in pools.items() for place, text in enumerate(pool)]
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.tsv").write_text("".join(["question\tcandidate\tlabel\tquestion_id\n", *lines]))
    run = tmp_path / "run"
    own = ["dataset=own", f"dataset.reader.folder={tmp_path}", f"cache_dir={tmp_path / 'cache'}"]
    train(compose(["model=bi_encoder", "loss=info_nce", "logger=none", "trainer.max_epochs=1", *own]), run)
    by_ranker = {name: [answer.score for answer in qaexp.load(run).rank(texts[name], pool)] for name, pool in pools.items()}
    assert len({score for scores in by_ranker.values() for score in scores}) == 6
    rows = [line.split() for line in (run / "test.run").read_text().splitlines()]
    for name, scores in by_ranker.items():
        assert [float(row[4]) for row in rows if row[0] == name] == pytest.approx(scores, abs=1e-6)
    record = RunRecord.load(run)
    assert record.has_read(Sources(record.data["fingerprint"], written=instantiate(compose(own).dataset).corpus.written_fingerprint))
    assert "written" in record.data


def test_new_words_are_one_unknown_word_without_a_source_of_vectors_and_are_counted(tmp_path: Path, own: list[str]) -> None:
    run = trained(tmp_path, *GRU)
    done = evaluate_run(run, own)
    known = set(qaexp.load(run).vocabulary.words)
    words = [word.strip("?.").lower() for line in OWN for word in {*line.split("\t")[0].split(), *line.split("\t")[1].split()}]
    assert done.words.outside == len(set(words) - known)
    assert done.words.unknown == done.words.outside > 0
    assert 0 < done.words.share_unknown < 1
    by_ranker = qaexp.load(run).rank("What is hot soup?", ["Soup is a zebra dish.", "A violin."])
    lines = [line.split() for line in (done.folder / "test.run").read_text().splitlines()]
    assert [float(line[4]) for line in lines if line[0] == "Q1"] == pytest.approx([answer.score for answer in by_ranker], abs=1e-6)


@pytest.mark.parametrize("model", [GRU, MV_LSTM])
def test_new_words_get_vectors_from_the_files_of_the_run(tmp_path: Path, own: list[str], vectors: list[str], model: list[str]) -> None:
    run = trained(tmp_path, *model, *vectors)
    done = evaluate_run(run, own)
    assert (done.words.with_vectors, done.words.unknown) == (1, 0)
    assert done.words.outside > 1
    measured = measure_run(done.folder / "test.run", Qrels.read(done.folder / "test.qrels"), ["map"]).values["map"].mean()
    assert done.metrics["test"]["map"] == pytest.approx(measured)
    (tmp_path / "glove.txt").write_text("is" + " 0.5" * 50 + "\n")
    assert evaluate_run(run, own).words.unknown == done.words.outside


def test_a_run_that_leaves_unknown_words_out_does_so_on_other_data(tmp_path: Path, own: list[str], vectors: list[str]) -> None:
    run = trained(tmp_path, *GRU, *vectors, "dataset.drop_unknown=true")
    record = json.loads((run / "record.json").read_text())
    ranker = qaexp.load(run)
    assert {"what", "chain"} <= set(ranker.vocabulary.words[2:]) <= {"is", "the", "a", "what", "chain"}
    assert record["data"]["vectors"]["coverage"]["running words"] < 1
    assert record["data"]["notes"]["words without a vector (left out)"] > 0
    assert evaluate_run(run).metrics == record["metrics"]
    done = evaluate_run(run, own)
    assert (done.words.outside, done.words.with_vectors, done.words.unknown) == (1, 1, 0)  # violin
    scores = [float(line.split()[4]) for line in (done.folder / "test.run").read_text().splitlines() if line.startswith("Q1 ")]
    [soup] = ranker.rank("What is hot soup?", ["Soup is a zebra dish."])
    assert soup.score == ranker.rank("what is", ["is a"])[0].score
    assert min(abs(soup.score - score) for score in scores) < 1e-6
    assert ranker.words("zebra?", "soup is a dish") == ([""], ["is", "a"])


def test_an_added_word_has_the_vector_that_training_would_have_given_it(tmp_path: Path, vectors: list[str]) -> None:
    run = trained(tmp_path, *GRU, *vectors)
    scorer = rebuild_scorer(open_checkpoint(run)).eval()
    before = scorer.encode_question(torch.tensor([[5, 6]]))
    new = torch.full((1, 50), 0.25)
    count = len(open_checkpoint(run)["qaexp"]["vocabulary"])
    assert scorer.add_words(["violin"], new)
    assert torch.equal(scorer.embedding.words(torch.tensor([count])), new)  # type: ignore[union-attr, operator]
    after = scorer.encode_question(torch.tensor([[5, 6]]))
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_overlap_counts_added_words(tmp_path: Path) -> None:
    cfg = compose(["model=mv_lstm", "model.overlap=true"])
    scorer = instantiate(cfg.model, vectors=torch.randn(10, 50)).eval()
    scorer.add_words(["violin", "the"], torch.zeros(2, 50))
    shared, other = (scorer.overlap(torch.tensor([[3, word]]), torch.tensor([[4, 10]])) for word in (10, 5))
    assert shared.tolist() == [[0.25] * 4]
    assert other.tolist() == [[0.0] * 4]
    assert scorer.overlap(torch.tensor([[3, 11]]), torch.tensor([[4, 11]]))[0, 2] == 0  # a stop word


def test_an_evaluation_replaces_an_earlier_one_of_the_same_name(tmp_path: Path, own: list[str]) -> None:
    run, splits = trained(tmp_path, *GRU), tmp_path / "splits.tsv"
    lines = ["question\tcandidate\tlabel\tsplit", *(f"{line}\t{split}" for split in ("dev", "test") for line in OWN)]
    splits.write_text("\n".join(lines) + "\n")
    done = evaluate_run(run, ["dataset=own", f"dataset.reader.folder={splits}", f"cache_dir={tmp_path / 'cache'}"])
    assert (done.folder / "dev.run").is_file()
    (done.folder / "mine.txt").write_text("kept")
    assert evaluate_run(run, own).folder == done.folder
    assert sorted(path.name for path in done.folder.iterdir()) == [
        "evaluation.json",
        "mine.txt",
        "test.qrels",
        "test.questions.csv",
        "test.run",
    ]


def test_an_evaluation_that_is_interrupted_leaves_the_earlier_one(tmp_path: Path, own: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained(tmp_path, "model=bm25")
    before = {path.name: path.read_bytes() for path in evaluate_run(run, own).folder.iterdir()}

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("qaexp.training.evaluate.score_blocks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        evaluate_run(run, own)
    assert {path.name: path.read_bytes() for path in (run / "evaluations" / "own").iterdir()} == before


def test_mistakes_are_one_sentence(tmp_path: Path, own: list[str]) -> None:
    run = trained(tmp_path, "model=bm25")
    with pytest.raises(ConfigError, match="model=gru is not an option of a data set"):
        evaluate_run(run, ["model=gru"])
    with pytest.raises(ConfigError, match=r"dataset\.batch_size=3 changes the data set; name it, too"):
        evaluate_run(run, ["dataset.batch_size=3"])
    with pytest.raises(QaexpError, match="did you mean toy"):
        qaexp.evaluate(run, dataset="toyy")
    (run / "evaluations").write_text("in the way")
    with pytest.raises(QaexpError, match="--to FOLDER"):
        evaluate_run(run, own)
    done = qaexp.evaluate(run, own, to=tmp_path / "there")
    assert done.folder == tmp_path / "there"


def test_a_lone_checkpoint_needs_a_data_set(tmp_path: Path, own: list[str]) -> None:
    run = trained(tmp_path, *GRU)
    lone = tmp_path / "lone" / "model.ckpt"
    lone.parent.mkdir()
    (run / "best.ckpt").rename(lone)
    with pytest.raises(ConfigError, match=r"choose one with dataset=NAME"):
        evaluate_run(lone)
    done: Any = evaluate_run(lone, own)
    assert done.words.unknown == done.words.outside > 0
