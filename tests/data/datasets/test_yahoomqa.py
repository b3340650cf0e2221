"""Yahoo MQA: which pairs are used, where the wrong answers come from, the splits, and both sources of pairs."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra.utils import instantiate

from qaexp.config import compose
from qaexp.data.bm25 import BM25Index
from qaexp.data.corpus import RankingCorpus
from qaexp.data.datasets.yahoomqa import YahooMQATextReader, YahooMQAWebscopeReader
from qaexp.data.tokenise import words_v1
from qaexp.errors import BadDataError, ConfigError, MissingDataError

Make = Callable[..., YahooMQAWebscopeReader]
WORDS = [f"word{n}" for n in range(40)]


def sentences(seed: int, num: int) -> list[str]:
    """Different texts of four to eight words."""
    rng = np.random.default_rng(seed)
    return [f"text{n} " + " ".join(rng.choice(WORDS, size=rng.integers(3, 8))) for n in range(num)]


PAIRS = list(zip(sentences(1, 66), sentences(2, 66), strict=True))


@pytest.fixture
def webscope(tmp_path: Path) -> Make:
    """A reader of two small parts, cut in the midst of a post. Settings can be given."""

    def reader(pairs: list[tuple[str, str]] = PAIRS, language: str = "en", pack: bool = True, **settings: Any) -> YahooMQAWebscopeReader:
        documents = [
            f'<vespaadd><document type="wisdom"><uri>{n}</uri><subject>{question}</subject><content>Not read.</content>'
            f"<bestanswer>{answer}</bestanswer><qlang>{language}</qlang></document></vespaadd>\n"
            for n, (question, answer) in enumerate(pairs)
        ]
        content = "".join(documents).encode()
        for name, part in (("part1", content[: len(content) // 2]), ("part2", content[len(content) // 2 :])):
            (tmp_path / (f"{name}.gz" if pack else name)).write_bytes(gzip.compress(part) if pack else part)
        options: dict[str, Any] = {
            "folder": str(tmp_path),
            "tokenise": words_v1,
            "min_length": 4,
            "max_length": 30,
            "num_pairs": None,
            "num_candidates": 5,
            "hits": 12,
            "k1": 1.2,
            "b": 0.75,
            "parts": {"train": 20, "dev": 1, "test": 1},
            "split_seed": 1,
            "candidate_seed": 1,
            "wrong_from": "all",
            "file_parts": ["part1", "part2"],
            "language": "en",
        }
        return YahooMQAWebscopeReader(**(options | settings))

    return reader


@pytest.fixture
def told(pools: Any) -> Callable[[RankingCorpus], dict[str, tuple[str, str, list[str]]]]:
    """{question id: (question, right answer, wrong answers)} of all splits together."""

    def tell(corpus: RankingCorpus) -> dict[str, tuple[str, str, list[str]]]:
        table = {}
        for split in corpus.splits.values():
            for name, (question, pool) in pools(corpus, split).items():
                [right] = [text for _, text, label in pool if label]
                table[name] = (question, right, [text for _, text, label in pool if not label])
        return table

    return tell


@pytest.mark.parametrize("pack", [False, True])
def test_pools_are_a_pair_and_wrong_answers_that_its_answer_retrieves(webscope: Make, told: Any, pack: bool) -> None:
    table = told(webscope(pack=pack).read())
    assert {(question, right) for question, right, _ in table.values()} == set(PAIRS)
    answers = [answer for _, answer in PAIRS]
    numbers = {word: number for number, word in enumerate(sorted({word for answer in answers for word in answer.split()}))}
    index = BM25Index([[numbers[word] for word in answer.split()] for answer in answers], len(numbers), 1.2, 0.75)
    for _, right, wrong in table.values():
        scores = index.scores([numbers[word] for word in right.split()])
        twelfth = sorted((score for answer, score in zip(answers, scores, strict=True) if answer != right), reverse=True)[11]
        assert len(set(wrong)) == 4
        assert all(scores[answers.index(answer)] >= twelfth - 1e-6 for answer in wrong)
        assert right not in wrong


def test_wrong_answers_of_a_split_alone_are_right_ones_of_its_own_questions(webscope: Make, told: Any) -> None:
    parts = {"train": 2, "dev": 1, "test": 1}
    for wrong_from, mixed in (("split", False), ("all", True)):
        corpus = webscope(parts=parts, wrong_from=wrong_from).read()
        pools, split_of = told(corpus), {}
        for split, members in corpus.splits.items():
            split_of |= {pools[name.decode()][1]: split for name in members.question_ids}
        of_another = [split_of[text] != split_of[right] for _, right, wrong in pools.values() for text in wrong]
        assert any(of_another) == mixed
        assert len(of_another) == 66 * 4
    with pytest.raises(ConfigError, match="wrong_from: there is no 'dev'; choose among all, split"):
        webscope(wrong_from="dev")
    with pytest.raises(ConfigError, match="have only 3 different answers"):
        webscope(wrong_from="split").read()  # 3 of 66 are dev


def test_ten_candidates_hold_the_five_and_seeds_choose_them(webscope: Make, told: Any) -> None:
    five, ten, again, other = (told(webscope(**options).read()) for options in ({}, {"num_candidates": 10}, {}, {"candidate_seed": 2}))
    assert five == again
    assert five.keys() == ten.keys() == other.keys()
    for name, (question, right, wrong) in five.items():
        assert ten[name][:2] == (question, right)
        assert ten[name][2][:4] == wrong
        assert len(set(ten[name][2])) == 9
    assert sum(five[name][2] != other[name][2] for name in five) > 40


def test_splits_have_their_parts_and_depend_on_their_seed_alone(webscope: Make) -> None:
    corpus = webscope().read()
    assert {name: split.num_questions for name, split in corpus.splits.items()} == {"train": 60, "dev": 3, "test": 3}
    dev = {seed: tuple(sorted(webscope(split_seed=seed).read().splits["dev"].question_ids)) for seed in range(5)}
    assert len(set(dev.values())) == 5
    of_ten = webscope(num_candidates=10).read().splits["dev"]
    assert of_ten.question_ids.tolist() == corpus.splits["dev"].question_ids.tolist()
    assert corpus.fingerprint == webscope().read().fingerprint


def test_negatives_of_an_epoch_come_from_training_pools(webscope: Make) -> None:
    corpus = webscope().read()
    assert set(corpus.answer_set) == set(corpus.splits["train"].candidates)


def test_texts_of_other_lengths_and_questions_asked_before_are_left_out(webscope: Make, told: Any) -> None:
    long = " ".join(WORDS[:31])
    more = [("too short it", PAIRS[0][1]), (f"fine {long}", PAIRS[0][1]), ("this one is fine", "no it is"), ("this one is fine", long)]
    again = [(PAIRS[3][0].upper() + "?", "an answer of some words")]
    corpus = webscope([*PAIRS, *more, *again]).read()
    assert len(told(corpus)) == len(PAIRS)
    assert corpus.notes == {
        "pairs with a text of fewer than 4 or more than 30 tokens (left out)": 4,
        "pairs whose question was asked before (left out)": 1,
    }
    fitting = [("one two three four", " ".join(WORDS[:30])), (" ".join(WORDS[:30]), "one two three four")]
    assert len(told(webscope([*PAIRS, *fitting]).read())) == len(PAIRS) + 2


def test_pairs_are_drawn_evenly(webscope: Make, told: Any) -> None:
    counts = np.zeros(66)
    for seed in range(60):
        names = told(webscope(num_pairs=22, split_seed=seed, pack=False).read()).keys()
        assert len(names) == 22
        counts[[int(name) for name in names]] += 1
    assert ((counts - 20) ** 2 / 20).sum() < 105  # at most 65 degrees of freedom: above it once in a thousand
    assert webscope(num_pairs=22).read().notes["pairs beyond the 22 drawn (left out)"] == 44


def test_posts_in_another_language_are_left_out(webscope: Make) -> None:
    with pytest.raises(ConfigError, match=r"dataset\.reader\.num_candidates is 5, but the pairs of 4 to 30 tokens have only 0 different"):
        webscope(language="es").read()
    assert webscope(language="").read().splits["train"].num_questions == 60


def test_answers_that_share_no_word_are_filled_up_and_equal_ones_are_never_wrong(webscope: Make, told: Any) -> None:
    alone = [(f"question number {n} is this", f"a{n} b{n} c{n} d{n}") for n in range(6)]
    alone += [("question number six is this", "a0 b0 c0 d0")]  # the same answer
    corpus = webscope(alone, parts={"train": 1}).read()
    assert corpus.notes == {"wrong answers that share no word with the right one (drawn from the other answers)": 7 * 4}
    for _, right, wrong in told(corpus).values():
        assert len({right, *wrong}) == 5


def test_faults_and_missing_parts_are_named(webscope: Make, tmp_path: Path) -> None:
    reader = webscope()
    (tmp_path / "part2.gz").write_bytes(gzip.compress(b"cut"))
    with pytest.raises(BadDataError, match="it ends within a document") as bad:
        reader.read()
    assert "FullOct2007.xml.part1.gz" in str(bad.value)
    (tmp_path / "part2.gz").unlink()
    with pytest.raises(MissingDataError, match=r"given to researchers on request, at https://webscope") as missing:
        reader.files()
    assert f"  {tmp_path}/part2\n" in str(missing.value)
    (tmp_path / "part2.bz2").touch()
    assert reader.files() == [tmp_path / "part1.gz", tmp_path / "part2.bz2"]


def test_the_text_files_give_their_right_pairs(tmp_path: Path, write: Any, told: Any) -> None:
    def pool(question: str, number: int) -> list[str]:
        return [f"{question}|answer number {number} {place}|{int(place == 2)}" for place in range(5)]

    hashed = [line.replace("|", "#") for n in range(4) for line in pool(f"What is hash {n}?", n)]
    tabbed = [line.replace("|", "\t") for n in range(4, 7) for line in pool(f"what is tab {n}", n)]
    write(tmp_path / "hash.txt", hashed)
    write(tmp_path / "tab.txt", [*tabbed, "what is"], packed=True)
    reader = YahooMQATextReader(
        folder=str(tmp_path),
        tokenise=words_v1,
        min_length=4,
        max_length=30,
        num_pairs=None,
        num_candidates=3,
        hits=4,
        k1=1.2,
        b=0.75,
        parts={"train": 5, "dev": 1, "test": 1},
        split_seed=1,
        candidate_seed=1,
        wrong_from="all",
        hash_separated="hash.txt",
        tab_separated="tab.txt",
    )
    corpus = reader.read()
    expected = {f"hash-{1 + 5 * n}": (f"what is hash {n}", f"answer number {n} 2") for n in range(4)}
    expected |= {f"tab-{1 + 5 * n}": (f"what is tab {n + 4}", f"answer number {n + 4} 2") for n in range(3)}
    table = told(corpus)
    assert {name: entry[:2] for name, entry in table.items()} == expected
    assert {text for _, _, wrong in table.values() for text in wrong} <= {f"answer number {n} 2" for n in range(7)}
    assert {name: split.num_questions for name, split in corpus.splits.items()} == {"train": 5, "dev": 1, "test": 1}
    write(tmp_path / "tab.txt", ["what\tis\t2"], packed=True)
    with pytest.raises(BadDataError, match=r"tab\.txt\.gz: 1 fault\n  line 1: the label is '2'"):
        reader.read()


@pytest.mark.parametrize(("name", "size"), [("yahoomqa_partial", 5), ("yahoomqa_partial_10", 10)])
def test_the_excerpts_give_whole_pools_of_short_texts(data_dir: Path, name: str, size: int) -> None:
    if not (data_dir / "yahooqa").is_dir():
        pytest.skip(f"{data_dir / 'yahooqa'} is not at hand")
    corpus = instantiate(compose([f"dataset={name}", f"data_dir={data_dir}"]).dataset.reader).read()
    lengths = np.diff(corpus.texts.offsets)
    assert (lengths.min(), lengths.max()) == (4, 30)
    asked = [set(split.questions.tolist()) for split in corpus.splits.values()]
    assert sum(map(len, asked)) == len(set.union(*asked)) == 2_414
    for split in corpus.splits.values():
        assert set(np.diff(split.offsets)) == {size}
        assert set(split.answers_per_question) == {1}


def test_partial_data_say_so() -> None:
    for name in ("yahoomqa", "yahoomqa_10"):
        assert not compose([f"dataset={name}"]).dataset.partial_data
        assert compose([f"dataset={name.replace('mqa', 'mqa_partial')}"]).dataset.partial_data
