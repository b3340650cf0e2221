"""`qaexp evaluate` and `qaexp rank` on the command line: what they print and write, from files of every kind."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_table import SMALL

import qaexp
from qaexp.cli import rank
from qaexp.cli.commands import main

LINES = ["what is hot soup?\tSoup.\t1", "what is hot soup?\tA violin.\t0", "who plays?\tNobody.\t0", "who plays?\tA violin player.\t1"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained run, whose scores differ from each other."""
    places: dict[str, Any] = {"runs": tmp_path_factory.mktemp("runs"), "cache_dir": tmp_path_factory.mktemp("cache")}
    return qaexp.train(["model=gru", "model.encoder.hidden_dim=4", "trainer.max_epochs=1", *SMALL], logger="none", **places).folder


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def by_python(run: Path) -> list[float]:
    """The scores of the first two columns of LINES."""
    ranker = qaexp.load(run)
    return [ranker.rank(question, [answer])[0].score for question, answer, _ in (line.split("\t") for line in LINES)]


def test_a_run_of_trec_has_each_pool_by_rank_with_the_ids_of_own_data(
    run: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("faq.tsv").write_text("question\tcandidate\tlabel\n" + "\n".join(LINES) + "\n")
    monkeypatch.setattr(rank, "CHUNK", 3)
    caplog.set_level("INFO")
    assert main(["rank", str(run), "faq.tsv"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    expected = by_python(run)
    assert [(row[0], row[3]) for row in rows] == [("Q2", "1"), ("Q2", "2"), ("Q4", "1"), ("Q4", "2")]
    for row in rows:
        assert float(row[4]) == pytest.approx(expected[int(row[2].rpartition("-")[2]) - 2], abs=1e-6)
    assert float(rows[0][4]) > float(rows[1][4])
    assert "words are not in the run's vocabulary" in caplog.text
    assert main(["evaluate", str(run), "dataset=own", "dataset.reader.folder=faq.tsv", "cache_dir=cache", "--to", "there"]) == 0
    evaluated = {tuple(line.split()[:3]) for line in Path("there/test.run").read_text().splitlines()}
    assert {tuple(row[:3]) for row in rows} == evaluated
    shown = capsys.readouterr().out
    assert shown.splitlines()[0].split() == ["split", "P@1", "MRR", "MAP", "P@5", "nDCG@10", "questions", "pairs"]
    assert "are new to the run, which read them as one unknown word" in shown
    assert main(["evaluate", str(run), "dataset=own", "dataset.reader.folder=faq.tsv", "cache_dir=cache", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["test"]["pairs"] == 4


@pytest.mark.parametrize("name", ["faq.csv", "faq.tsv.gz", "faq.jsonl", "pools.jsonl"])
def test_every_kind_of_file_gives_the_same_scores(run: Path, name: str) -> None:
    pairs = [line.split("\t")[:2] for line in LINES]
    texts = {
        "faq.csv": "question,Reply\n" + "".join(f"{question},{reply}\n" for question, reply in pairs),
        "faq.tsv.gz": "".join(f"{question}\t{reply}\n" for question, reply in pairs),
        "faq.jsonl": "".join(json.dumps({"question": question, "Reply": reply}) + "\n" for question, reply in pairs),
        "pools.jsonl": "".join(
            json.dumps({"question": pairs[first][0], "Reply": [pairs[first][1], pairs[first + 1][1]]}) + "\n" for first in (0, 2)
        ),
    }
    Path(name).write_bytes(gzip.compress(texts[name].encode()) if name.endswith(".gz") else texts[name].encode())
    columns = [] if name.endswith(".gz") else ["--columns", "candidate=Reply"]
    assert main(["rank", str(run), name, "--to", "out.jsonl", *columns]) == 0
    entries = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [(entry["question"], entry["candidate"]) for entry in entries] == [tuple(pair) for pair in pairs]
    assert [entry["score"] for entry in entries] == pytest.approx(by_python(run), abs=1e-6)


def test_equal_scores_are_in_the_order_of_trec_eval_and_repeated_candidates_count_once(run: Path) -> None:
    same = [{"question": "who?", "candidate": "me", "question_id": "q", "candidate_id": name} for name in ("a", "c", "b", "c")]
    Path("faq.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in same))
    assert main(["rank", str(run), "faq.jsonl", "--to", "out.run"]) == 0
    assert [line.split()[:4] for line in Path("out.run").read_text().splitlines()] == [
        ["q", "Q0", name, str(place)] for place, name in enumerate("cba", start=1)
    ]


def test_a_question_without_words_is_a_question(run: Path) -> None:
    same = [{"question": question, "candidate": candidate} for question, candidate in (("", "me"), ("", "you"), ("who?", "me"))]
    Path("faq.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in same))
    assert main(["rank", str(run), "faq.jsonl", "--to", "out.run"]) == 0
    assert [line.split()[0] for line in Path("out.run").read_text().splitlines()] == ["Q1", "Q1", "Q3"]


IDS = '{"question": "a", "candidate": "b", "question_id": "1", "candidate_id": "2"}\n'


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("faq.tsv", "a\tb\nc\td\na\te\n", "line 3: other questions stand between this line and those of its question"),
        ("faq.tsv", "a\tb\nc\n", "line 2: 1 field, 2 expected"),
        ("faq.jsonl", '{"question": "a", "candidate": 3}\n', "line 1: 3 is not text"),
        ("faq.jsonl", '{"question": "a", "candidate": "b", "candidate_id": "1 2"}\n', "line 1: the id '1 2' has white space"),
        ("faq.jsonl", 2 * IDS + IDS.replace('"b"', '"c"'), "line 3: candidate 2 had another text in an earlier line"),
        ("faq.jsonl", IDS + IDS.replace('"a"', '"c"'), "line 2: id 1 already belongs to another question"),
        ("faq.txt", "a\tb\n", "name the file by its format"),
        ("faq.tsv", "", "the file is empty"),
    ],
)
def test_a_faulty_file_is_refused_and_nothing_is_written(
    run: Path, caplog: pytest.LogCaptureFixture, name: str, text: str, says: str
) -> None:
    Path(name).write_text(text)
    assert main(["rank", str(run), name, "--to", "out.run"]) == 2
    assert says in caplog.text
    assert not Path("out.run").exists()


def test_a_file_is_read_as_it_is_ranked(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it is: a chunk is scored before the next one is read."""
    Path("faq.tsv").write_text("".join(f"q{line // 2}\tc{line}\n" for line in range(40)))
    monkeypatch.setattr(rank, "CHUNK", 4)
    read = list[int]()
    pairs = rank._pairs

    def noted(*arguments: Any) -> Any:
        for pair in pairs(*arguments):
            read.append(pair.line)
            yield pair

    monkeypatch.setattr(rank, "_pairs", noted)
    scored = list[int]()
    monkeypatch.setattr("qaexp.runs.ranker.Ranker.scores", lambda _, chunk: scored.append(len(read)) or rank_of(chunk))
    assert main(["rank", str(run), "faq.tsv", "--to", "out.run"]) == 0
    assert scored == list(range(4, 41, 4))
    assert len(Path("out.run").read_text().splitlines()) == 40


def rank_of(chunk: Any) -> Any:
    import torch

    return torch.arange(len(chunk)).float()


@pytest.mark.parametrize("drop", [False, True])
def test_words_that_the_run_has_not_met_get_vectors_from_its_files_as_in_evaluate(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, drop: bool
) -> None:
    rng, words = np.random.default_rng(0), ["is", "the", "a", "what", "violin", "who", "nobody", "soup"]
    Path("glove.txt").write_text("".join(" ".join([word, *map(str, rng.normal(size=50))]) + "\n" for word in words))
    vectors = ["dataset/vectors=glove50", "dataset.vectors.path=glove.txt"]
    small = [option for option in SMALL if not option.startswith("dataset.vectors")]
    options = [
        "model=gru",
        "model.encoder.hidden_dim=4",
        "trainer.max_epochs=1",
        "cache_dir=cache",
        *small,
        *vectors,
        f"dataset.drop_unknown={drop}",
    ]
    run = qaexp.train(options, logger="none", runs="runs").folder
    Path("faq.tsv").write_text("question\tcandidate\tlabel\nwho is zebra violin?\ta zebra violin\t1\nwho is zebra violin?\tnobody\t0\n")
    caplog.set_level("INFO")
    assert main(["rank", str(run), "faq.tsv", "--to", "ranked.run"]) == 0
    assert "4 words are new to the run; 3 of them have vectors in its files" in caplog.text
    assert ("and the others are left out" in caplog.text) == drop
    assert main(["evaluate", str(run), "dataset=own", "dataset.reader.folder=faq.tsv", "cache_dir=cache", "--to", "there"]) == 0
    ranked, evaluated = ([line.split() for line in Path(name).read_text().splitlines()] for name in ("ranked.run", "there/test.run"))
    assert [line[2] for line in ranked] == [line[2] for line in evaluated]
    assert [float(line[4]) for line in ranked] == pytest.approx([float(line[4]) for line in evaluated], abs=1e-6)


def test_the_file_that_is_read_is_not_written(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    Path("faq.tsv").write_text("question\tcandidate\tlabel\n" + "\n".join(LINES) + "\n")
    before = Path("faq.tsv").read_bytes()
    assert main(["rank", str(run), "faq.tsv", "--to", "./faq.tsv"]) == 2
    assert "is the file that is read; name another one" in caplog.text
    assert Path("faq.tsv").read_bytes() == before


@pytest.mark.parametrize("name", ["scores.csv", "scores.tsv", "ranking.trec.gz"])
def test_a_name_promises_no_format_that_is_not_written(run: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    Path("faq.tsv").write_text("question\tcandidate\tlabel\n" + "\n".join(LINES) + "\n")
    assert main(["rank", str(run), "faq.tsv", "--to", name]) == 2
    assert f"--to {name}: only JSONL and TREC run files are written; name a file such as scores.jsonl" in caplog.text
    assert not Path(name).exists()


def test_unknown_columns_are_named(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    Path("faq.tsv").write_text("a\tb\n")
    assert main(["rank", str(run), "faq.tsv", "--columns", "answer=b"]) == 2
    assert "--columns answer=b: write OURS=THEIRS, with question, candidate" in caplog.text
