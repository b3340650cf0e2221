"""AskUbuntu's duplicates: what is cut from the HTML, who is right, and that no group of questions is in two splits."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from qaexp.data.datasets.duplicates import AskUbuntuDuplicatesReader, title_and_body
from qaexp.data.reconstruction import title_pairs
from qaexp.data.tokenise import words_v1
from qaexp.errors import BadDataError, ConfigError, MissingDataError


def reader(
    folder: Path, fields: tuple[str, ...] = ("title", "body"), dev: float = 0.2, seed: int = 1, held_out: int = 0
) -> AskUbuntuDuplicatesReader:
    return AskUbuntuDuplicatesReader(str(folder), "pairs.tsv", 4, seed, dev, 0.2, held_out, fields, words_v1)


def write(folder: Path, *rows: tuple[str, str, str]) -> None:
    (folder / "pairs.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


def test_notes_that_give_the_duplicate_away_are_cut() -> None:
    note = '<blockquote> <p><strong>Possible Duplicate:</strong><br> <a href="u">Leak</a></p> </blockquote>'
    assert title_and_body(f"Why < 3?{note} <p>Since <code>a &lt; b</code></p>") == ("Why < 3?", "Since  a < b")
    assert title_and_body("No body") == ("No body", "")


def test_partners_are_right_and_what_pairs_connect_is_never_wrong(tmp_path: Path) -> None:
    """a = b = c: b and c are right for a and b; a, right for b only, is not a candidate of c; d and e fill the pools by BM25."""
    a, b, c, d, e = (f"grub {name}<p>boot</p>" for name in ("one", "two", "three", "boot", "disk"))
    write(tmp_path, ("duplicate", a, b), ("duplicate", b, c), ("non-duplicate", d, e))
    corpus = reader(tmp_path, dev=0.0).read()
    train = corpus.splits["train"]
    names = dict(enumerate("abcde"))
    pools = {}
    for q, question in enumerate(train.question_ids):
        pairs = range(train.offsets[q], train.offsets[q + 1])
        pools[names[int(question)]] = {names[int(train.candidate_ids[p])]: int(train.labels[p]) for p in pairs}
    assert pools == {"a": {"b": 1, "d": 0, "e": 0}, "b": {"a": 1, "c": 1, "d": 0, "e": 0}, "c": {"b": 1, "d": 0, "e": 0}}
    for q in range(3):
        scores = train.retrieval_scores[train.offsets[q] : train.offsets[q + 1]].tolist()
        assert scores == sorted(scores, reverse=True)


def test_held_out_questions_are_in_no_pool_and_no_pair(tmp_path: Path) -> None:
    """Of c, d, e and f, which no pair of duplicates has, two are held out; the other two fill the pools."""
    a, b, c, d, e, f = (f"grub {name}<p>boot</p>" for name in "abcdef")
    write(tmp_path, ("duplicate", a, b), ("non-duplicate", c, d), ("non-duplicate", e, f))
    corpus = reader(tmp_path, dev=0.0, held_out=2).read()
    train, held_out = corpus.splits["train"], set(corpus.held_out.tolist())
    assert len(held_out) == 2
    assert np.diff(train.offsets).tolist() == [3, 3]
    assert not held_out & {*train.candidates.tolist(), *corpus.answer_set.tolist()}
    pairs = title_pairs(corpus, "title")
    assert not held_out & {title // 2 for title in pairs.titles.tolist()}
    assert len(pairs) == 4


def test_settings_that_cannot_be_are_named(tmp_path: Path) -> None:
    a, b = (f"grub {name}<p>boot</p>" for name in "ab")
    write(tmp_path, ("duplicate", a, b))
    with pytest.raises(ConfigError, match=r"dev_share=0.9 and test_share=0.2 leave nothing to train on"):
        reader(tmp_path, dev=0.9).read()
    with pytest.raises(ConfigError, match=r"dataset.reader.fields: there is no 'titel'; did you mean title\?"):
        reader(tmp_path, fields=("titel",))


def test_a_bad_label_and_a_missing_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"pairs\.tsv"):
        reader(tmp_path).read()
    write(tmp_path, ("duplicate", "a", "b"), ("true", "c", "d"))
    with pytest.raises(BadDataError, match="line 2: 'true' is not duplicate or non-duplicate"):
        reader(tmp_path).read()


def test_no_group_of_the_published_file_is_in_two_splits(data_dir: Path, tmp_path: Path) -> None:
    file = data_dir / "askubuntu" / "duplicates" / "noclue-val.tsv.gz"
    if not file.is_file():
        pytest.skip(f"{file} is not at hand")
    (tmp_path / "pairs.tsv").write_bytes(gzip.decompress(file.read_bytes()))
    corpus = reader(tmp_path, fields=("title",)).read()
    groups = {
        name: set(split.questions.tolist()) | set(split.candidates[split.labels == 1].tolist()) for name, split in corpus.splits.items()
    }
    assert all(len(group) > 100 for group in groups.values())
    assert not groups["train"] & groups["dev"]
    assert not groups["train"] & groups["test"]
    assert not groups["dev"] & groups["test"]
    again, other = reader(tmp_path, fields=("title",)).read(), reader(tmp_path, fields=("title",), seed=2).read()
    assert again.compute_fingerprint() == corpus.compute_fingerprint() != other.compute_fingerprint()
