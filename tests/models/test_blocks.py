"""Texts and pairs in blocks of similar length: the same encodings, scores and gradients, in order, with less padding."""

from typing import Any

import numpy as np
import pytest
import torch
from hydra.utils import instantiate
from small_texts import built, some_tokens
from torch import Tensor

from qaexp.config import compose
from qaexp.errors import ConfigError
from qaexp.models.blocks import blocks_by_length, blocks_of_pairs, encode_by_length, encode_fields, score_pairs
from qaexp.models.scorer import AnswerScorer
from qaexp.models.types import Text

WORDS = 40


@pytest.mark.parametrize("model", ["ggsa", "qa_lstm", "ap_cnn", "iggsa"])
def test_blocks_of_similar_length_change_no_encoding(model: str) -> None:
    scorer, calls = built(f"model={model}", words=WORDS, dim=12), list[tuple[int, int]]()
    lengths = torch.randint(1, 120, (48,), generator=torch.Generator().manual_seed(4)).tolist()
    tokens = some_tokens(lengths, WORDS)

    def counted(block: Tensor) -> dict[str, Tensor]:
        calls.append((block.shape[0], block.shape[1]))
        return scorer.encode_candidate(block)

    with torch.no_grad():
        whole, blocked = scorer.encode_candidate(tokens), encode_by_length(counted, tokens)
    assert len(calls) > 1
    assert sum(rows for rows, _ in calls) == 48
    assert sum(lengths) / sum(rows * longest for rows, longest in calls) > 0.7  # 0.59 in one block
    for name in whole:
        if name == "vector":
            torch.testing.assert_close(blocked[name], whole[name], rtol=1e-5, atol=1e-5)
        else:
            real = tokens != 0
            torch.testing.assert_close(blocked[name][real], whole[name][real], rtol=1e-5, atol=1e-5)


def test_each_cut_saves_enough_padding_to_be_worth_a_block() -> None:
    lengths = sorted(torch.randint(1, 200, (300,), generator=torch.Generator().manual_seed(5)).tolist())
    sizes = blocks_by_length(lengths, least=500)
    assert sum(sizes) == 300
    ends = torch.tensor(sizes).cumsum(0).tolist()
    for place in range(len(sizes) - 1):
        assert sizes[place] * (lengths[ends[place + 1] - 1] - lengths[ends[place] - 1]) >= 500
    assert blocks_by_length([7] * 500, least=1) == [500]


def test_fields_are_encoded_apart_and_those_that_are_there_averaged() -> None:
    """Lei et al. 2016, §4.1."""
    scorer = built("model=qa_lstm", words=WORDS, dim=12)
    title, body = some_tokens([3, 5, 2], WORDS), some_tokens([9, 1, 4], WORDS, seed=1)
    body[2] = 0  # the last question has a title only
    tokens = torch.zeros(3, 2, 9, dtype=torch.int64)
    tokens[:, 0, :5], tokens[:, 1] = title, body
    with torch.no_grad():
        together = encode_fields(scorer.encode_question, tokens)["vector"]
        titles, bodies = (scorer.encode_question(field)["vector"] for field in (title, body))
    torch.testing.assert_close(together[:2], (titles[:2] + bodies[:2]) / 2, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(together[2], titles[2], rtol=1e-5, atol=1e-5)


def test_fields_need_a_vector_for_each_text() -> None:
    with pytest.raises(ConfigError, match=r"keeps keys, mask, states of each text .* dataset\.reader\.fields a single field"):
        encode_fields(built("model=ap_cnn", words=WORDS, dim=12).encode_question, torch.ones(2, 2, 3, dtype=torch.int64))


PAIRS = 24


def texts(seed: int, longest: int) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (10,), generator=random)
    return torch.randint(1, WORDS, (10, longest), generator=random) * (torch.arange(longest) < lengths[:, None])


QUESTIONS, CANDIDATES = texts(1, 14), texts(2, 40)
ROWS = torch.randint(0, 10, (2, PAIRS), generator=torch.Generator().manual_seed(3))


def build(model: str) -> AnswerScorer:
    torch.manual_seed(1)
    return instantiate(compose([f"model={model}"]).model, vectors=torch.randn(WORDS, 12)).eval()


def scores_of(scorer: AnswerScorer, seen: list[tuple[int, int, int]]) -> Tensor:
    def score(question: Text, candidate: Text) -> Tensor:
        seen.append((*question["mask"].shape, candidate["mask"].shape[1]))
        return scorer.score(question, candidate)

    return score_pairs(score, scorer.encode_question(QUESTIONS), scorer.encode_candidate(CANDIDATES), *ROWS, work_per_cell=1)


@pytest.mark.parametrize("model", ["ap_cnn", "iggsa", "ctrn", "tc_lstm", "stacked_lc_lstm", "arc_ii", "mv_lstm", "word_attention_lstms"])
def test_blocks_change_neither_scores_nor_gradients(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer, whole, blocks = build(model), list[tuple[int, int, int]](), list[tuple[int, int, int]]()
    expected = scores_of(scorer, whole)
    expected.sum().backward()
    gradients = {name: p.grad.clone() for name, p in scorer.named_parameters() if p.grad is not None}
    scorer.zero_grad()
    monkeypatch.setattr("qaexp.models.blocks.CELLS_PER_BLOCK", {"cpu": 1, "cuda": 1})
    scores = scores_of(scorer, blocks)
    scores.sum().backward()
    assert [len(whole), sum(pairs for pairs, _, _ in blocks)] == [1, PAIRS]
    assert sum(np.prod(block) for block in blocks) < 0.7 * np.prod(whole[0])
    torch.testing.assert_close(scores, expected, rtol=1e-5, atol=1e-5)
    for name, p in scorer.named_parameters():
        if p.grad is not None:
            torch.testing.assert_close(p.grad, gradients[name], rtol=1e-4, atol=1e-4)


def test_a_single_long_pair_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy took an index tensor of one number for a number."""
    scorer = built("model=ap_cnn", words=WORDS, dim=12).eval()
    question, candidate = (scorer.encode_question(some_tokens([5], WORDS)), scorer.encode_candidate(some_tokens([9], WORDS)))
    first = torch.zeros(1, dtype=torch.int64)
    whole = scorer.score_all(question, candidate, first, first)
    monkeypatch.setattr("qaexp.models.blocks.CELLS_PER_BLOCK", {"cpu": 1, "cuda": 1})
    assert torch.equal(scorer.score_all(question, candidate, first, first), whole)


def test_each_cut_saves_enough_cells_to_be_worth_a_block() -> None:
    lengths = np.random.default_rng(4).integers(1, [[20], [200]], (2, 300))
    blocks = blocks_of_pairs(lengths, least=20_000)
    assert sorted(np.concatenate(blocks).tolist()) == list(range(300))
    cells = [lengths[:, block].max(axis=1).prod() * len(block) for block in blocks]
    assert len(blocks) > 3
    assert sum(cells) + 20_000 * (len(blocks) - 1) <= lengths.max(axis=1).prod() * 300


@pytest.mark.parametrize("lengths", [[[7] * 50, [3] * 50], [[4], [5]]])
def test_where_nothing_is_saved_there_is_one_block(lengths: list[list[int]]) -> None:
    blocks = blocks_of_pairs(np.array(lengths, dtype=np.int64), least=1)
    assert [block.tolist() for block in blocks] == [list(range(len(lengths[0])))]


def test_pairs_of_vectors_are_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qaexp.models.blocks.CELLS_PER_BLOCK", {"cpu": 1, "cuda": 1})
    vectors, calls = {"vector": torch.arange(10.0)[:, None]}, list[int]()

    def score(question: Text, candidate: Text) -> Tensor:
        calls.append(len(question["vector"]))
        return (10 * question["vector"] + candidate["vector"])[:, 0]

    scores = score_pairs(score, vectors, vectors, *ROWS, work_per_cell=1)
    assert calls == [PAIRS]
    assert scores.tolist() == (10 * ROWS[0] + ROWS[1]).tolist()


@pytest.mark.parametrize("model", ["ap_cnn", "tc_lstm", "mv_lstm"])
def test_candidates_without_a_word_may_be_a_block_of_their_own(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = build(model)
    candidates = CANDIDATES * (torch.arange(10) % 2)[:, None]
    texts = scorer.encode_question(QUESTIONS), scorer.encode_candidate(candidates)
    whole = score_pairs(scorer.score, *texts, *ROWS, work_per_cell=1)
    monkeypatch.setattr("qaexp.models.blocks.CELLS_PER_BLOCK", {"cpu": 1, "cuda": 1})
    torch.testing.assert_close(score_pairs(scorer.score, *texts, *ROWS, work_per_cell=1), whole, rtol=1e-5, atol=1e-5)


def test_words_behind_a_gap_are_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a title, whose padding stands before the body."""
    monkeypatch.setattr("qaexp.models.blocks.CELLS_PER_BLOCK", {"cpu": 1, "cuda": 1})
    tokens = torch.tensor([[1, 0, 0, 0, 0, 0, 7, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7, 8, 9]])
    texts, rows = {"tokens": tokens, "mask": tokens != 0}, torch.tensor([0, 0, 1, 1, 2])
    scores = score_pairs(lambda question, candidate: candidate["tokens"].sum(dim=1).float(), texts, texts, rows, rows, work_per_cell=1)
    assert scores.tolist() == [8, 8, 1, 1, 45]


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (torch.zeros(3, 2), "returned a Tensor: a dict of tensors is expected"),
        ({"vector": torch.zeros(2, 3)}, r"returned vector of shape \(2, 3\) for 3 texts: its first axes have to be \(3,\), text"),
        ({"states": torch.zeros(3, 2, 5), "mask": torch.ones(3, 4)}, r"returned states of shape \(3, 2, 5\) .* \(3, 4\), text and length"),
    ],
)
def test_what_an_own_model_makes_of_texts_is_checked(returned: Any, says: str) -> None:
    def encode_question(tokens: Tensor) -> Any:
        return returned

    with pytest.raises(ConfigError, match=f"encode_question {says}"):
        encode_by_length(encode_question, torch.ones(3, 4, dtype=torch.int64))


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        (
            torch.zeros(4),
            r"a tensor of shape \(4,\) and type torch.float32 for 3 pairs: a floating-point score for each, of shape \(3,\), is",
        ),
        (torch.zeros(3, dtype=torch.long), r"a tensor of shape \(3,\) and type torch.int64 for 3 pairs: a floating-point score"),
        (torch.zeros(()), r"a tensor of shape \(\) and type torch.float32 for 3 pairs"),
        (0.5, "a float for 3 pairs"),
        (torch.zeros(3, 1), r"a column of scores, \(pair, 1\); return \(pair,\)"),
    ],
)
def test_the_scores_of_an_own_model_are_checked(scores: Any, says: str) -> None:
    class Mine(AnswerScorer):
        def encode_question(self, tokens: Tensor) -> Text:
            return {"vector": tokens.float()}

        encode_candidate = encode_question

        def score(self, question: Text, candidate: Text) -> Any:
            return scores

    texts, rows = {"vector": torch.zeros(3, 2)}, torch.arange(3)
    with pytest.raises(ConfigError, match=f"Mine.score returned {says}"):
        Mine().score_all(texts, texts, rows, rows)
