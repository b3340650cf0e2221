"""Scoring a split block by block: the order of questions, chunks of pairs, and what is kept in memory."""

import weakref

import pytest
import torch
from jaxtyping import Float, Int
from torch import Tensor

from qaexp.data.batch import ScoringBlock
from qaexp.models.blocks import MAX_TOKENS
from qaexp.models.scorer import AnswerScorer
from qaexp.models.types import Text, concatenate_texts
from qaexp.training.scoring import SplitScores, score_blocks

NONE = torch.empty(0, dtype=torch.int64)


class Digits(AnswerScorer):
    """Reads a text as a number and scores 1000 · question + candidate, and remembers what it was asked to do."""

    def __init__(self, with_states: bool) -> None:
        super().__init__()
        self.with_states = with_states
        self.pairs_at_once: list[int] = []
        self.encoded: list[weakref.ref[Tensor]] = []

    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        return {"states": tokens[:, :, None].float(), "mask": tokens != 0} if self.with_states else {"vector": _number(tokens)[:, None]}

    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        text = self.encode_question(tokens)
        self.encoded += [weakref.ref(tensor) for tensor in text.values()]
        return text

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        first = next(iter(question.values()))
        self.pairs_at_once.append(len(first))
        assert not torch.is_grad_enabled()
        return 1000 * self._value(question) + self._value(candidate)

    def _value(self, text: Text) -> Tensor:
        return _number(text["states"][:, :, 0]) if self.with_states else text["vector"][:, 0]


class Classes(Digits):
    """Gives a pair the scores of two classes."""

    def score(self, question: Text, candidate: Text) -> Float[Tensor, "pair class"]:
        score = super().score(question, candidate)
        return torch.stack([score, -score], dim=1)


def _number(digits: Tensor) -> Tensor:
    """[1, 2, 0] is 12; zeros behind it are padding."""
    value = torch.zeros(len(digits))
    for column in digits.T:
        value = torch.where(column > 0, value * 10 + column, value)
    return value


def question(*rows: list[int]) -> ScoringBlock:
    return ScoringBlock("dev", "question", torch.tensor(rows), NONE, NONE, NONE)


def candidate(rows: list[list[int]], pairs: list[int], questions: list[int], candidates: list[int]) -> ScoringBlock:
    return ScoringBlock("dev", "candidate", torch.tensor(rows), torch.tensor(pairs), torch.tensor(questions), torch.tensor(candidates))


BLOCKS = [
    question([1, 0], [2, 0]),
    question([3, 4, 5]),
    candidate([[6], [7]], [5, 0, 2, 3], [2, 0, 1, 0], [0, 0, 1, 1]),
    candidate([[8, 9, 1, 2]], [1, 4], [0, 2], [0, 0]),
]
EXPECTED = [1006, 1000 + 8912, 2007, 1007, 345_000 + 8912, 345_006]


@pytest.mark.parametrize("pair_tokens", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("with_states", [True, False])
def test_each_pair_lands_in_its_place_whatever_the_blocks_and_chunks(
    with_states: bool, pair_tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MAX_TOKENS, "cpu", pair_tokens)
    scorer = Digits(with_states)
    split = SplitScores(scorer, num_pairs=6)
    for block in BLOCKS:
        split.add(block)
    assert split.scores.tolist() == EXPECTED
    longest = (3, 4) if with_states else (1, 1)  # the longer side of each block of candidates
    assert all(size <= max(1, pair_tokens // min(longest)) for size in scorer.pairs_at_once)
    assert sum(scorer.pairs_at_once) == 6


def test_long_questions_bound_a_chunk_as_long_candidates_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MAX_TOKENS, "cpu", 100)
    scorer = Digits(with_states=True)
    split = SplitScores(scorer, num_pairs=8)
    split.add(question([1] + [0] * 49))
    split.add(candidate([[2]], list(range(8)), [0] * 8, [0] * 8))
    assert scorer.pairs_at_once == [2, 2, 2, 2]


def test_all_pairs_of_a_split() -> None:
    assert score_blocks(Digits(with_states=True), BLOCKS, num_pairs=6).tolist() == EXPECTED


class Tables(Digits):
    """A scorer without weights, as BM25 is: its tables are where it was moved to."""

    def __init__(self) -> None:
        super().__init__(with_states=False)
        self.register_buffer("idf", torch.ones(2, device="meta"))


def test_blocks_go_where_the_tables_are_if_there_are_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[torch.device] = []
    monkeypatch.setattr(ScoringBlock, "to", lambda block, device: places.append(device) or block)
    score_blocks(Tables(), BLOCKS, num_pairs=6)
    assert {place.type for place in places} == {"meta"}


def test_a_pair_that_no_block_brought_has_no_score() -> None:
    scores = score_blocks(Digits(with_states=False), BLOCKS[:3], num_pairs=6)
    assert scores.isnan().tolist() == [False, True, False, False, True, False]


def test_candidates_are_freed_after_their_block() -> None:
    scorer = Digits(with_states=True)
    split = SplitScores(scorer, num_pairs=6)
    for block in BLOCKS:
        split.add(block)
        assert [reference for reference in scorer.encoded if reference() is not None] == []


def test_blocks_of_texts_are_padded_to_the_longest() -> None:
    short = {"states": torch.ones(1, 1, 2), "mask": torch.ones(1, 1, dtype=torch.bool)}
    long = {"states": torch.ones(2, 3, 2), "mask": torch.ones(2, 3, dtype=torch.bool)}
    both = concatenate_texts([short, long])
    assert both["states"].shape == (3, 3, 2)
    assert both["mask"].tolist() == [[True, False, False], [True] * 3, [True] * 3]
    assert not both["states"][0, 1:].any()


def test_blocks_that_were_scored_before_are_skipped() -> None:
    scorer, nan = Digits(with_states=True), float("nan")
    split = SplitScores(scorer, num_pairs=6, begun=torch.tensor([7.0, nan, 7.0, 7.0, 7.0, 7.0]))
    for block in BLOCKS:
        split.add(block)
    assert split.scores.tolist() == [7, 1000 + 8912, 7, 7, 345_000 + 8912, 7]  # a block counts as a whole
    assert (split.num_scored, sum(scorer.pairs_at_once)) == (6, 2)


def test_a_model_of_classes_gives_a_score_of_each() -> None:
    blocks = [question([1], [2]), candidate([[3], [4]], [0, 1, 2], [0, 1, 1], [0, 0, 1])]
    assert score_blocks(Classes(with_states=False), blocks, 3).tolist() == [[1003, -1003], [2003, -2003], [2004, -2004]]
