"""Negatives by BM25: the question's best matches, never a right one, evenly drawn from a seed, retrieved once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qaexp.data import bm25 as retrieved
from qaexp.data.bm25 import BM25Index, BM25Negatives
from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.data.negatives import Groups
from qaexp.errors import ConfigError

ANSWERS = ["hot soup is good", "cold soup is bad", "soup is soup", "bread is good", "tea", "hot tea", "hot bread", "hot soup"]
QUESTIONS = {
    "q1": ("hot soup", ["hot soup is good"]),
    "q2": ("hot soup", ["hot soup"]),  # asked twice: both are right for both
    "q3": ("is bread good", ["bread is good", "hot bread"]),
    "q4": ("milk", ["tea"]),  # no answer holds the word
}


def build(answers: list[str]) -> RankingCorpus:
    builder = CorpusBuilder()
    for answer in answers:
        builder.answer(builder.text(answer.split()))
    for name, (question, right) in QUESTIONS.items():
        pool = [(str(place), builder.text(answer.split()), 1) for place, answer in enumerate(right)]
        builder.question("train", name, builder.text(question.split()), pool)
    return builder.build()


@pytest.fixture
def corpus() -> RankingCorpus:
    return build(ANSWERS)


def sampling(cache: Path, num: int = 2, hits: int = 3) -> BM25Negatives:
    return BM25Negatives(num=num, hits=hits, k1=1.2, b=0.75, cache_dir=str(cache))


def rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng(list(seed))


def listed(corpus: RankingCorpus, groups: Groups) -> list[tuple[str, list[str], list[int]]]:
    words, texts = corpus.vocabulary.words, corpus.texts

    def spell(text: int) -> str:
        return " ".join(words[i] for i in texts.ids[texts.offsets[text] : texts.offsets[text + 1]])

    ends = zip(groups.questions, groups.offsets[:-1], groups.offsets[1:], strict=True)
    return [(spell(q), [spell(c) for c in groups.candidates[s:e]], groups.labels[s:e].tolist()) for q, s, e in ends]


RIGHT = {"hot soup": {"hot soup is good", "hot soup"}, "is bread good": {"bread is good", "hot bread"}}


def test_negatives_are_the_best_matches_that_are_not_right(corpus: RankingCorpus, cache_dir: Path) -> None:
    index = BM25Index([[corpus.vocabulary.ids([word])[0] for word in answer.split()] for answer in ANSWERS], 50, 1.2, 0.75)
    ranked = {question: [ANSWERS[i] for i in index.best(corpus.vocabulary.ids(question.split()), 8)] for question in RIGHT}
    expected = {question: {answer for answer in order if answer not in RIGHT[question]} for question, order in ranked.items()}
    best = {question: [answer for answer in order if answer not in RIGHT[question]][:3] for question, order in ranked.items()}
    assert len(expected["hot soup"]) > 3
    drawn: dict[str, set[str]] = {question: set() for question in RIGHT}
    for epoch in range(60):
        groups = listed(corpus, sampling(cache_dir).draw(corpus.splits["train"], corpus, rng(1, epoch)))
        assert [(question, candidates[0]) for question, candidates, _ in groups] == [
            ("hot soup", "hot soup is good"),
            ("hot soup", "hot soup"),
            ("is bread good", "bread is good"),
            ("is bread good", "hot bread"),
        ]
        for question, candidates, labels in groups:
            assert labels == [1, 0, 0]
            assert candidates[1] != candidates[2]
            drawn[question] |= set(candidates[1:])
    assert drawn == {question: set(order) for question, order in best.items()}


def test_a_question_with_few_matches_has_few_negatives(corpus: RankingCorpus, cache_dir: Path) -> None:
    groups = listed(corpus, sampling(cache_dir, num=50, hits=100).draw(corpus.splits["train"], corpus, rng(1)))
    negatives = {question: candidates[1:] for question, candidates, _ in groups}
    assert sorted(negatives["hot soup"]) == ["cold soup is bad", "hot bread", "hot tea", "soup is soup"]
    assert sorted(negatives["is bread good"]) == ["cold soup is bad", "hot soup is good", "soup is soup"]


def test_every_set_of_negatives_is_as_likely(corpus: RankingCorpus, cache_dir: Path) -> None:
    source, counts = sampling(cache_dir, num=2, hits=4), dict[frozenset[str], int]()
    for epoch in range(3000):
        [(_, candidates, _), *_] = listed(corpus, source.draw(corpus.splits["train"], corpus, rng(epoch)))
        counts[frozenset(candidates[1:])] = counts.get(frozenset(candidates[1:]), 0) + 1
    assert len(counts) == 6
    assert sum((count - 500) ** 2 / 500 for count in counts.values()) < 20.5  # 5 degrees of freedom: above it once in a thousand


def test_a_draw_depends_on_its_seed_alone(corpus: RankingCorpus, cache_dir: Path) -> None:
    source = sampling(cache_dir, num=1, hits=4)

    def draws(*seed: int) -> list[int]:
        generator = rng(*seed)
        return [int(c) for _ in range(20) for c in source.draw(corpus.splits["train"], corpus, generator).candidates]

    assert draws(1, 0) == draws(1, 0)
    assert draws(1, 0) != draws(1, 1)
    assert draws(1, 0) != draws(2, 0)


def test_retrieval_happens_once_a_corpus_and_setting(corpus: RankingCorpus, cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []
    monkeypatch.setattr(retrieved, "BM25Index", lambda *given: (built.append(1), BM25Index(*given))[1])
    train = corpus.splits["train"]
    one = sampling(cache_dir)
    for epoch in range(3):
        one.draw(train, corpus, rng(epoch))
    sampling(cache_dir).draw(train, corpus, rng(1))  # as another process would
    assert len(built) == 1
    sampling(cache_dir, hits=2).draw(train, corpus, rng(1))
    sampling(cache_dir).draw(train.keep(np.array([0, 2])), corpus, rng(1))  # other right answers
    other = build(ANSWERS[:5])
    sampling(cache_dir).draw(other.splits["train"], other, rng(1))
    assert len(built) == 4


@pytest.mark.parametrize(("answers", "words"), [(["tea"], "shares a word with it"), ([], "the answer set is empty")])
def test_nothing_to_draw_is_refused(cache_dir: Path, answers: list[str], words: Any) -> None:
    corpus = build(answers)
    with pytest.raises(ConfigError, match=rf"{words}.*Use dataset/negatives=(random|pool)"):
        sampling(cache_dir).draw(corpus.splits["train"], corpus, rng(1))


def test_a_question_does_not_retrieve_itself(cache_dir: Path) -> None:
    corpus = build([*ANSWERS, *(question for question, _ in QUESTIONS.values())])
    groups = listed(corpus, sampling(cache_dir, num=50, hits=2).draw(corpus.splits["train"], corpus, rng(1)))
    assert all(question not in candidates[1:] for question, candidates, _ in groups)
    assert [len(candidates) for _, candidates, _ in groups] == [1 + 2] * 4  # and has as many as it may
