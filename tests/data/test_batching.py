"""Batches and blocks: everything exactly once, in the right row, with little padding."""

from pathlib import Path

import numpy as np
import pytest
import torch

from qaexp.data.batching import ScoringBlocks, TrainingBatches, batches_by_length
from qaexp.data.corpus import RankingCorpus, RankingSplit, TokenTable
from qaexp.data.datasets.insuranceqa import InsuranceQAReader
from qaexp.data.datasets.toy import ToyReader
from qaexp.data.negatives import Groups, NegativeSampling, PoolNegatives, PoolPairs, RandomNegatives
from qaexp.data.tokenise import words_v1

QUESTION_LENGTH, CANDIDATE_LENGTH = 9, 12  # both cut some texts of the corpus


@pytest.fixture(scope="module")
def corpus() -> RankingCorpus:
    return ToyReader(generator_seed=7, num_train=120, num_dev=25, num_test=10, num_candidates=6, tokenise=words_v1).read()


def row(texts: TokenTable, text: int, limit: int) -> list[int]:
    return texts.ids[texts.offsets[text] : texts.offsets[text + 1]][:limit].tolist()


def unpadded(tokens: torch.Tensor) -> list[list[int]]:
    """The rows without their padding, which must be on the right and no longer than the longest row needs."""
    rows = [[int(token) for token in tokens_of_one if token != 0] for tokens_of_one in tokens]
    for short, padded in zip(rows, tokens.tolist(), strict=True):
        assert padded == short + [0] * (tokens.shape[1] - len(short))
    assert max(map(len, rows)) == tokens.shape[1]
    return rows


@pytest.mark.parametrize(
    "sampling", [RandomNegatives(num=2), PoolNegatives(num=3), PoolPairs()], ids=lambda sampling: type(sampling).__name__
)
def test_an_epoch_holds_every_group_once(corpus: RankingCorpus, sampling: NegativeSampling) -> None:
    texts = corpus.texts
    groups = sampling.draw(corpus.splits["train"], corpus, np.random.default_rng(1))
    expected = sorted(
        (
            row(texts, question, QUESTION_LENGTH),
            [row(texts, text, CANDIDATE_LENGTH) for text in groups.candidates[start:end]],
            groups.labels[start:end].tolist(),
        )
        for question, start, end in zip(groups.questions, groups.offsets[:-1], groups.offsets[1:], strict=True)
    )
    batches = TrainingBatches(texts, groups, 16, QUESTION_LENGTH, CANDIDATE_LENGTH, np.random.default_rng(2))
    assert len(batches) == -(-len(groups) // 16)
    found, sizes = [], []
    for batch in batches:
        questions, candidates = unpadded(batch.questions), unpadded(batch.candidates)
        assert len({tuple(row) for row in questions}) <= len(questions) <= batch.num_groups
        sizes.append(batch.num_groups)
        for group in range(batch.num_groups):
            pairs = torch.nonzero(batch.groups == group).flatten()
            [question] = {tuple(questions[i]) for i in batch.pair_question[pairs]}
            found.append((list(question), [candidates[i] for i in batch.pair_candidate[pairs]], batch.labels[pairs].tolist()))
    assert sorted(found) == expected
    assert sorted(sizes)[1:] == [16] * (len(batches) - 1)


def test_a_text_of_several_pairs_is_one_row(corpus: RankingCorpus) -> None:
    groups = Groups(np.array([3, 3]), np.array([0, 2, 4]), np.array([5, 6, 7, 6]), np.array([1, 0, 1, 0], dtype=np.int8))
    [batch] = TrainingBatches(corpus.texts, groups, 8, 50, 50, np.random.default_rng(1))
    assert (len(batch.questions), len(batch.candidates), len(batch.labels)) == (1, 3, 4)


def test_batches_are_random_yet_of_similar_length() -> None:
    lengths = np.random.default_rng(5).integers(1, 200, size=5000)
    first, again, other = (batches_by_length(lengths, 32, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert [batch.tolist() for batch in first] == [batch.tolist() for batch in again]
    assert [batch.tolist() for batch in first] != [batch.tolist() for batch in other]
    assert sorted(np.concatenate(first)) == list(range(5000))
    assert sorted(map(len, first)) == [5000 % 32, *[32] * (5000 // 32)]  # only one is short
    assert 3 < np.mean([np.ptp(lengths[batch]) for batch in first]) < 12  # about 1 if all of an epoch were in one order
    means = [lengths[batch].mean() for batch in first]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.25  # batches are not met from short to long
    assert np.abs(np.diff(means)).mean() > 40  # nor from short to long time and again


def test_padding_on_insuranceqa_is_what_its_pairs_force(data_dir: Path) -> None:
    """Negatives are drawn regardless of length, and both texts of a pair get the length of the longer: that alone makes a fifth of
    the tokens padding, in whatever order. Batching by length may add two points; without it more than half would be padding."""
    folder = data_dir / "insuranceqa"
    if not (folder / "V1_subset").is_dir():
        pytest.skip(f"{folder / 'V1_subset'} is not at hand")
    corpus = InsuranceQAReader(
        name="insuranceqa_subset",
        folder=str(folder / "V1_subset"),
        vocabulary=str(folder / "V1" / "vocabulary"),
        answers="answers.label.token_idx",
        train="question.train.token_idx.label",
        pools={},
    ).read()
    groups = RandomNegatives(num=1).draw(corpus.splits["train"], corpus, np.random.default_rng(1))
    batches = list(TrainingBatches(corpus.texts, groups, 128, 200, 200, np.random.default_rng(2)))
    longest = groups.offsets[-1] * 200
    lengths = corpus.texts.lengths(groups.candidates, 200).reshape(-1, 2)
    forced = 1 - lengths.mean() / lengths.max(axis=1).mean()
    of_pairs = 1 - lengths.sum() / sum(len(batch.pair_candidate) * batch.candidates.shape[1] for batch in batches)
    of_rows = 1 - sum(int((batch.candidates != 0).sum()) for batch in batches) / sum(batch.candidates.numel() for batch in batches)
    assert forced == pytest.approx(0.195, abs=0.005)
    assert of_pairs < forced + 0.02
    assert of_rows < 0.24  # a text that occurs twice in a batch is one row
    assert 1 - lengths.sum() / longest > 0.5


@pytest.mark.parametrize("block_tokens", [1, 60, 400, 10**6])
def test_blocks_score_every_text_and_pair_once(corpus: RankingCorpus, block_tokens: int) -> None:
    texts, split = corpus.texts, corpus.splits["dev"].shuffled(3)
    blocks = ScoringBlocks("dev", texts, split, QUESTION_LENGTH, CANDIDATE_LENGTH, block_tokens)
    listed = list(blocks)
    assert len(blocks) == len(listed)
    sides = [block.side for block in listed]
    assert sides == sorted(sides, reverse=True)  # questions first
    questions: list[list[int]] = []
    candidates: list[list[int]] = []
    pairs: dict[int, tuple[list[int], list[int]]] = {}
    for block in listed:
        assert block.split == "dev"
        assert block.tokens.numel() <= block_tokens or len(block.tokens) == 1
        rows = unpadded(block.tokens)
        if block.side == "question":
            questions += rows
            assert len(block.pairs) == len(block.pair_question) == len(block.pair_candidate) == 0
            continue
        candidates += rows
        for pair, question, candidate in zip(block.pairs.tolist(), block.pair_question, block.pair_candidate, strict=True):
            assert pair not in pairs
            pairs[pair] = questions[question], rows[candidate]
    assert sorted(questions) == sorted(row(texts, text, QUESTION_LENGTH) for text in np.unique(split.questions))
    assert sorted(candidates) == sorted(row(texts, text, CANDIDATE_LENGTH) for text in np.unique(split.candidates))
    assert pairs == {
        pair: (row(texts, split.questions[question], QUESTION_LENGTH), row(texts, candidate, CANDIDATE_LENGTH))
        for pair, (question, candidate) in enumerate(zip(split.pair_question, split.candidates, strict=True))
    }
    if block_tokens == 10**6:
        assert len(listed) == 2


def test_blocks_sort_by_length_so_that_padding_is_rare(corpus: RankingCorpus) -> None:
    split = corpus.splits["dev"]
    blocks = list(ScoringBlocks("dev", corpus.texts, split, 100, 100, 300))
    rows, real = (sum(int(count(block.tokens)) for block in blocks) for count in (torch.Tensor.numel, torch.count_nonzero))
    assert len(blocks) > 5
    assert 1 - real / rows < 0.1


def test_keeping_and_shuffling_questions(corpus: RankingCorpus) -> None:
    def pools(split: RankingSplit) -> dict[bytes, list[tuple[bytes, int, int]]]:
        spans = zip(split.question_ids.tolist(), split.offsets[:-1], split.offsets[1:], strict=True)
        columns = (split.candidate_ids, split.candidates, split.labels)
        return {name: list(zip(*(column[start:end].tolist() for column in columns), strict=True)) for name, start, end in spans}

    split = corpus.splits["dev"]
    whole = pools(split)
    kept = split.keep(np.array([4, 0, 9]))
    assert pools(kept) == {split.question_ids[q]: whole[split.question_ids[q]] for q in (4, 0, 9)}
    assert kept.questions.tolist() == split.questions[[4, 0, 9]].tolist()
    assert pools(split.keep(np.array([], dtype=np.int64))) == {}
    shuffled = pools(split.shuffled(3))
    assert shuffled == pools(split.shuffled(3))
    assert shuffled != pools(split.shuffled(4))
    assert shuffled != whole
    assert {name: sorted(pool) for name, pool in shuffled.items()} == {name: sorted(pool) for name, pool in whole.items()}
    places = [pool.index(whole[name][0]) for name, pool in shuffled.items()]
    assert len(set(places)) >= 4  # where the first candidate of a file goes is anybody's guess
