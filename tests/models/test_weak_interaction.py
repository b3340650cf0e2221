"""NBOW and parallel LSTMs, whose texts meet in the dense layers alone, against Liu et al. 2016, §6.2; the classes of all its models."""

import pytest
import torch
from small_texts import built, some_tokens
from torch import Tensor, nn

from qaexp.data.batch import RankingBatch

WORDS, DIM = 20, 5
QUESTIONS, CANDIDATES = [3, 1, 6], [4, 2, 7]


def all_pairs() -> RankingBatch:
    q, c = torch.arange(3).repeat_interleave(3), torch.arange(3).repeat(3)
    return RankingBatch(
        some_tokens(QUESTIONS, WORDS, longest=8),
        some_tokens(CANDIDATES, WORDS, longest=9, seed=1),
        q,
        c,
        torch.zeros(9, dtype=torch.int64),
        q,
    )


def last_state(layer: nn.LSTM, words: Tensor) -> Tensor:
    h = c = torch.zeros(layer.hidden_size)
    for x in words:
        i, f, z, o = (layer.weight_ih_l0 @ x + layer.bias_ih_l0 + layer.weight_hh_l0 @ h + layer.bias_hh_l0).chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * z.tanh()
        h = o.sigmoid() * c.tanh()
    return h


@torch.no_grad()
def test_nbow_is_the_sum_of_each_texts_words_end_to_end_in_dense_layers() -> None:
    """ "Each sequence as the sum of the embeddings of the words it contains, then they are concatenated and fed to a MLP." """
    scorer, batch = built("model=nbow", words=WORDS, dim=DIM), all_pairs()
    table = scorer.get_submodule("embedding.words").weight
    sums = [[sum(table[word] for word in text if word) for text in side] for side in (batch.questions, batch.candidates)]
    _check_dense_layers(scorer, batch, *sums)


@torch.no_grad()
def test_parallel_lstms_are_the_last_states_of_two_lstms_end_to_end_in_dense_layers() -> None:
    """ "Two sequences are encoded by two LSTMs separately, then they are concatenated and fed to a MLP." """
    scorer, batch = built("model=parallel_lstms", "model.encoder.hidden_dim=4", words=WORDS, dim=DIM), all_pairs()
    table = scorer.get_submodule("embedding.words").weight
    layers = [scorer.get_submodule(f"{side}_encoder.lstm") for side in ("question", "candidate")]
    assert layers[0] is not layers[1]
    states = [
        [last_state(layer, table[text[text != 0]]) for text in side]
        for layer, side in zip(layers, (batch.questions, batch.candidates), strict=True)
    ]
    _check_dense_layers(scorer, batch, *states)


def _check_dense_layers(scorer: nn.Module, batch: RankingBatch, questions: list[Tensor], candidates: list[Tensor]) -> None:
    hidden, output = scorer.get_submodule("similarity.dense.0"), scorer.get_submodule("similarity.output")
    pairs = zip(batch.pair_question.tolist(), batch.pair_candidate.tolist(), strict=True)
    expected = [output(torch.relu(hidden(torch.cat([questions[q], candidates[c]])))).squeeze(0) for q, c in pairs]
    torch.testing.assert_close(scorer(batch), torch.stack(expected), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "model", ["nbow", "single_lstm", "parallel_lstms", "attention_lstms", "word_attention_lstms", "lc_lstm", "tc_lstm"]
)
@torch.no_grad()
def test_each_pair_of_a_data_set_with_classes_has_a_score_of_each(model: str) -> None:
    scores = built(f"model={model}", "dataset=snli", words=WORDS, dim=DIM)(all_pairs())
    assert scores.shape == (9, 3)
    assert len(scores.unique(dim=0)) == 9
