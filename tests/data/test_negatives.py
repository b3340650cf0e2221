"""What an epoch's groups hold: right answers against negatives that are never right, drawn evenly and from a seed."""

import numpy as np
import pytest

from qaexp.data.corpus import RankingCorpus, RankingSplit, TokenTable
from qaexp.data.negatives import Groups, PoolNegatives, PoolPairs, QuestionLists, RandomNegatives
from qaexp.data.vocabulary import SPECIAL_WORDS, Vocabulary
from qaexp.errors import ConfigError


def split(*questions: tuple[int, list[int], list[int]]) -> RankingSplit:
    """A split of (question's text, candidates' texts, labels)."""
    sizes = [len(candidates) for _, candidates, _ in questions]
    num_pairs = sum(sizes)
    return RankingSplit(
        questions=np.array([text for text, _, _ in questions]),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        candidates=np.array([text for _, candidates, _ in questions for text in candidates]),
        labels=np.array([label for _, _, labels in questions for label in labels], dtype=np.int8),
        question_ids=np.array([f"q{i}" for i in range(len(questions))], dtype=np.bytes_),
        candidate_ids=np.array([f"c{i}" for i in range(num_pairs)], dtype=np.bytes_),
    )


def listed(groups: Groups) -> list[tuple[int, list[int], list[int]]]:
    """(question, candidates, labels) of each group."""
    ends = zip(groups.offsets[:-1], groups.offsets[1:], strict=True)
    spans = [(groups.candidates[start:end].tolist(), groups.labels[start:end].tolist()) for start, end in ends]
    return [(int(question), *span) for question, span in zip(groups.questions, spans, strict=True)]


def rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng(list(seed))


def among(*answers: int) -> RankingCorpus:
    """A corpus of 2,000 texts of one word, with this answer set."""
    texts = TokenTable(np.ones(2000, dtype=np.int32), np.arange(2001))
    return RankingCorpus(Vocabulary(SPECIAL_WORDS), texts, {}, np.array(answers, dtype=np.int64))


ANSWERS = among(*range(10))
TABLE = split((100, [0, 1], [1, 1]), (101, [2, 3], [1, 0]), (102, [4], [0]), (100, [5, 5], [1, 1]))  # 100 is asked twice


def test_random_negatives_are_never_right_answers_of_their_question() -> None:
    right = {100: {0, 1, 5}, 101: {2}}
    drawn: dict[int, set[int]] = {100: set(), 101: set()}
    for epoch in range(50):
        groups = listed(RandomNegatives(num=3).draw(TABLE, ANSWERS, rng(1, epoch)))
        assert [(question, candidates[0]) for question, candidates, _ in groups] == [(100, 0), (100, 1), (101, 2), (100, 5), (100, 5)]
        for question, candidates, labels in groups:
            assert labels == [1, 0, 0, 0]
            assert not right[question] & set(candidates[1:])
            drawn[question] |= set(candidates[1:])
    assert drawn == {question: set(range(10)) - answers for question, answers in right.items()}


def test_a_draw_depends_on_its_seed_alone() -> None:
    many = split(*[(100 + q, [q], [1]) for q in range(200)])
    for sampling in (RandomNegatives(num=2), PoolNegatives(num=1)):
        table = many if isinstance(sampling, RandomNegatives) else split(*[(100 + q, [0, 1, 2, 3, 4], [1, 0, 0, 0, 0]) for q in range(200)])
        first, again, next_epoch, other_seed = (
            sampling.draw(table, among(*range(200)), rng(*seed)).candidates for seed in ((1, 0), (1, 0), (1, 1), (2, 0))
        )
        np.testing.assert_array_equal(first, again)
        for other in (next_epoch, other_seed):
            assert (first != other).mean() > 0.2


def test_random_negatives_are_drawn_evenly() -> None:
    table = split(*[(1000, [0], [1])] * 9000)  # negatives: 1 to 9
    negatives = RandomNegatives(num=1).draw(table, ANSWERS, rng(3)).candidates[1::2]
    counts = np.bincount(negatives, minlength=10)
    assert counts[0] == 0
    chi_squared = ((counts[1:] - 1000) ** 2 / 1000).sum()  # 8 degrees of freedom: above 26.1 once in a thousand
    assert chi_squared < 26.1


def test_an_answer_set_of_right_answers_alone_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"none is left to draw as a negative\. Use dataset/negatives=pool"):
        RandomNegatives(num=1).draw(TABLE, among(0, 1, 5), rng(1))
    with pytest.raises(ConfigError, match="none is left to draw"):  # where it has one twice
        RandomNegatives(num=1).draw(TABLE, among(0, 0, 1, 5), rng(1))
    with pytest.raises(ConfigError, match=r"gives no answer set to draw negatives from\. Use dataset/negatives=pool"):
        RandomNegatives(num=1).draw(TABLE, among(), rng(1))
    [*_, last] = listed(RandomNegatives(num=2).draw(TABLE, among(0, 1, 5, 7), rng(1)))
    assert last == (100, [5, 7, 7], [1, 0, 0])


POOLS = split(
    (100, [0, 1, 2, 3], [1, 0, 0, 1]),
    (101, [4, 5], [1, 1]),  # no wrong candidate
    (102, [6, 7], [0, 0]),  # no right candidate
    (103, [8, 9, 8], [1, 0, 0]),  # text 8 is right under one id, wrong under another
)


@pytest.mark.parametrize("num", [1, 2, 5])
def test_pool_negatives_are_wrong_candidates_of_their_own_pool(num: int) -> None:
    seen: set[int] = set()
    for epoch in range(20):
        groups = listed(PoolNegatives(num=num).draw(POOLS, ANSWERS, rng(epoch)))
        assert [(question, candidates[0]) for question, candidates, _ in groups] == [(100, 0), (100, 3), (103, 8)]
        for question, candidates, labels in groups:
            wrong = {100: {1, 2}, 103: {9}}[question]
            assert labels == [1] + [0] * min(num, len(wrong))
            assert len(set(candidates[1:])) == len(candidates) - 1
            assert set(candidates[1:]) <= wrong
            seen |= set(candidates[1:])
    assert seen == {1, 2, 9}


def test_pool_negatives_are_drawn_evenly() -> None:
    table = split(*[(100, [0, 1, 2, 3, 4], [0, 0, 1, 0, 0])] * 4000)
    counts = np.bincount(PoolNegatives(num=1).draw(table, ANSWERS, rng(3)).candidates[1::2], minlength=5)
    assert counts[2] == 0
    assert ((counts[[0, 1, 3, 4]] - 1000) ** 2 / 1000).sum() < 16.3  # 3 degrees of freedom: once in a thousand


def test_pools_without_a_negative_are_refused_when_there_is_no_other() -> None:
    with pytest.raises(ConfigError, match=r"both a right and a wrong candidate in its pool\. Use dataset/negatives=random"):
        PoolNegatives(num=1).draw(split((101, [4, 5], [1, 1]), (102, [6], [0])), ANSWERS, rng(1))


def test_pool_pairs_are_every_labelled_pair_by_itself() -> None:
    assert listed(PoolPairs().draw(POOLS, ANSWERS, rng(1))) == [
        (question, [candidate], [label])
        for question, candidates, labels in (
            (100, [0, 1, 2, 3], [1, 0, 0, 1]),
            (101, [4, 5], [1, 1]),
            (102, [6, 7], [0, 0]),
            (103, [8, 9, 8], [1, 0, 0]),
        )
        for candidate, label in zip(candidates, labels, strict=True)
    ]


LISTS = split(
    (100, [0, 1, 2, 3], [1, 0, 0, 1]),
    (101, [4, 5], [1, 1]),  # no wrong candidate
    (102, [6, 7], [0, 0]),  # no right candidate
    (103, [8, 9, 8, 7], [1, 0, 0, 0]),  # text 8 is right under one id, wrong under another
    (104, [10, 11, 12, 13], [1, 1, 1, 0]),  # more right ones than `max_answers`
)


@pytest.mark.parametrize("num", [1, 2, 20])
def test_a_list_is_every_right_candidate_and_some_wrong_ones(num: int) -> None:
    seen: dict[int, set[int]] = {100: set(), 103: set()}
    for epoch in range(30):
        groups = listed(QuestionLists(num=num, max_answers=2).draw(LISTS, ANSWERS, rng(epoch)))
        assert [question for question, _, _ in groups] == [100, 103]
        for question, candidates, labels in groups:
            right, wrong = {100: ([0, 3], {1, 2}), 103: ([8], {7, 9})}[question]
            size = min(num, len(wrong))
            assert labels == [1] * len(right) + [0] * size
            assert candidates[: len(right)] == right
            drawn = set(candidates[len(right) :])
            assert len(drawn) == size
            assert drawn <= wrong
            seen[question] |= drawn
    assert seen == {100: {1, 2}, 103: {7, 9}}


def test_questions_with_many_right_candidates_come_with_a_higher_limit() -> None:
    groups = listed(QuestionLists(num=5, max_answers=3).draw(LISTS, ANSWERS, rng(1)))
    assert groups[-1] == (104, [10, 11, 12, 13], [1, 1, 1, 0])


def test_wrong_candidates_of_a_list_are_drawn_evenly() -> None:
    table = split(*[(100, [0, 1, 2, 3, 4], [0, 0, 1, 0, 0])] * 4000)
    counts = np.bincount(QuestionLists(num=1, max_answers=1).draw(table, ANSWERS, rng(3)).candidates[1::2], minlength=5)
    assert counts[2] == 0
    assert ((counts[[0, 1, 3, 4]] - 1000) ** 2 / 1000).sum() < 16.3  # 3 degrees of freedom: once in a thousand


def test_the_draw_of_a_list_depends_on_its_seed_alone() -> None:
    table = split(*[(100 + q, list(range(10)), [1] + [0] * 9) for q in range(50)])
    draw = QuestionLists(num=4, max_answers=10).draw
    first, again, next_epoch, other_seed = (draw(table, ANSWERS, rng(*seed)).candidates for seed in ((1, 0), (1, 0), (1, 1), (2, 0)))
    np.testing.assert_array_equal(first, again)
    for other in (next_epoch, other_seed):
        assert (first != other).mean() > 0.2


def test_pools_that_give_no_list_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"1 to 2 right candidates in its pool\. Raise dataset\.negatives\.max_answers"):
        QuestionLists(num=1, max_answers=2).draw(split((101, [4, 5], [1, 1]), (104, [1, 2, 3, 4], [1, 1, 1, 0])), ANSWERS, rng(1))


def test_a_question_is_no_wrong_answer_to_itself() -> None:
    """Where questions are candidates, as on AskUbuntu."""
    answers = among(100, 101, 102)
    table = split((100, [101], [1]), (101, [100, 102], [1, 0]))
    drawn = {
        (question, text)
        for epoch in range(20)
        for question, texts, _ in listed(RandomNegatives(2).draw(table, answers, rng(epoch)))
        for text in texts[1:]
    }
    assert drawn == {(100, 102), (101, 102)}
    with pytest.raises(ConfigError, match="none is left to draw"):
        RandomNegatives(num=1).draw(table, among(100, 101), rng(1))


def test_the_texts_of_a_sampling_are_all_that_any_epoch_may_draw() -> None:
    corpus = among(7, 8, 9)
    pool = {100, 101, 102, 0, 1, 2, 3, 4, 5}
    assert set(PoolNegatives(num=2).texts(TABLE, corpus).tolist()) == pool
    assert set(PoolPairs().texts(TABLE, corpus).tolist()) == pool
    assert set(QuestionLists(num=2, max_answers=9).texts(TABLE, corpus).tolist()) == pool
    assert set(RandomNegatives(num=2).texts(TABLE, corpus).tolist()) == pool | {7, 8, 9}
    for sampling in (PoolNegatives(num=2), RandomNegatives(num=2), PoolPairs()):
        for epoch in range(20):
            groups = sampling.draw(TABLE, corpus, rng(epoch))
            assert {*groups.questions.tolist(), *groups.candidates.tolist()} <= set(sampling.texts(TABLE, corpus).tolist())
