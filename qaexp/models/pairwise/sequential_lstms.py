"""Three LSTM models that read the candidate after the question (Rocktäschel et al. 2016, §2), rows of Liu et al. 2016, Tables 2 and 4.

    SingleLSTM           §2.1, one LSTM over both texts, end to end
    AttentionLSTMs       §2.3, the candidate's last state attends to the question's words
    WordAttentionLSTMs   §2.4, every word of the candidate attends to the question's words

The question is the paper's premise. It is read once per text; the candidate, which starts from the question's state, once per pair.

Departs: Rocktäschel et al. map the last vector to the classes without a hidden layer; Liu et al. 2016, §4.4, have one in their own model,
and so do these. All weights start uniformly within ±`initial_bound` (Liu et al. 2016, §6.1: 0.1).
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from qaexp.limits import PositiveInt
from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.intermediates import show
from qaexp.models.masking import last_real, masked_softmax, zero_padding
from qaexp.models.ops.packed import freeze_second_bias, run_packed, run_packed_from
from qaexp.models.pairwise.classifier import Classifier
from qaexp.models.scorer import AnswerScorer, draw_uniformly
from qaexp.models.types import Text


class SingleLSTM(AnswerScorer):
    """h = the last state of LSTM([x ; delimiter ; y]), followed by a hidden layer and the output. The delimiter's vector is learned."""

    def __init__(
        self,
        embedding: Callable[..., WordEmbedding],
        hidden_dim: PositiveInt,
        output_dim: PositiveInt,
        num_classes: int,
        initial_bound: float,
        vectors: Float[Tensor, "word dim"],
    ) -> None:
        super().__init__()
        self.embedding = embedding(vectors=vectors)
        self.lstm = nn.LSTM(self.embedding.output_dim, hidden_dim, batch_first=True)
        freeze_second_bias(self.lstm)
        self.delimiter = nn.Parameter(torch.empty(self.embedding.output_dim))
        self.output = Classifier(hidden_dim, output_dim, nn.Tanh(), num_classes)
        draw_uniformly(self, initial_bound)

    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        text = self.embedding.of(tokens)
        _, (h, c) = run_packed_from(self.lstm, text["states"], text["mask"], None)
        return {"vector": torch.cat([h[0], c[0]], dim=1)}

    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self.embedding.of(tokens)

    def score(self, question: Text, candidate: Text) -> Float[Tensor, "pair *class"]:
        delimiter = self.delimiter.to(candidate["states"].dtype).expand(len(candidate["mask"]), 1, -1)
        states = torch.cat([delimiter, candidate["states"]], dim=1)
        mask = torch.cat([torch.ones_like(candidate["mask"][:, :1]), candidate["mask"]], dim=1)
        h, c = (half.contiguous().unsqueeze(0) for half in question["vector"].chunk(2, dim=1))
        return self.output(last_real(run_packed(self.lstm, states, mask, (h, c)), mask))


class ConditionalLSTMs(AnswerScorer):
    """Conditional encoding (§2.2): the second LSTM starts from the memory of the first.

        Y, c = LSTM(x)
        h_1 … h_N = LSTM'(y), started from the memory c
        s = output layers over h* = `read`(Y, h)

    Departs: no delimiter stands before the second text.
    """

    def __init__(
        self,
        embedding: Callable[..., WordEmbedding],
        hidden_dim: PositiveInt,
        output_dim: PositiveInt,
        num_classes: int,
        vectors: Float[Tensor, "word dim"],
    ) -> None:
        super().__init__()
        self.embedding = embedding(vectors=vectors)
        self.question_lstm = nn.LSTM(self.embedding.output_dim, hidden_dim, batch_first=True)
        self.candidate_lstm = nn.LSTM(self.embedding.output_dim, hidden_dim, batch_first=True)
        freeze_second_bias(self.question_lstm)
        freeze_second_bias(self.candidate_lstm)
        self.output = Classifier(hidden_dim, output_dim, nn.Tanh(), num_classes)

    @abstractmethod
    def read(
        self,
        Y: Float[Tensor, "pair question_length dim"],
        question: Bool[Tensor, "pair question_length"],
        H: Float[Tensor, "pair candidate_length dim"],
        candidate: Bool[Tensor, "pair candidate_length"],
    ) -> Float[Tensor, "pair dim"]:
        """The vector of a pair, from the states and masks of both texts."""

    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        text = self.embedding.of(tokens)
        Y, (_, memory) = run_packed_from(self.question_lstm, text["states"], text["mask"], None)
        return {"mask": text["mask"], "states": zero_padding(Y, text["mask"]), "vector": memory[0]}  # an empty text attends to zeros

    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self.embedding.of(tokens)

    def score(self, question: Text, candidate: Text) -> Float[Tensor, "pair *class"]:
        memory = question["vector"].unsqueeze(0)
        H = run_packed(self.candidate_lstm, candidate["states"], candidate["mask"], (torch.zeros_like(memory), memory))
        return self.output(self.read(question["states"], question["mask"], H, candidate["mask"]))


class AttentionLSTMs(ConditionalLSTMs):
    """The candidate's last state attends to the question's words.

        M = tanh(W^y·Y + W^h·h_N ⊗ e_L)                                         eq. 7
        α = softmax(wᵀ·M)                                                       eq. 8, over real tokens
        r = Y·αᵀ                                                                eq. 9
        h* = tanh(W^p·r + W^x·h_N)                                              eq. 10

    Shows `question_attention` (pair, question length): α.
    """

    def __init__(self, hidden_dim: PositiveInt, initial_bound: float, **settings: Any) -> None:
        super().__init__(hidden_dim=hidden_dim, **settings)
        self.W_y, self.W_h, self.W_p, self.W_x = (nn.Linear(hidden_dim, hidden_dim, bias=False) for _ in range(4))
        self.w = nn.Linear(hidden_dim, 1, bias=False)
        draw_uniformly(self, initial_bound)

    def read(
        self,
        Y: Float[Tensor, "pair question_length dim"],
        question: Bool[Tensor, "pair question_length"],
        H: Float[Tensor, "pair candidate_length dim"],
        candidate: Bool[Tensor, "pair candidate_length"],
    ) -> Float[Tensor, "pair dim"]:
        h = last_real(H, candidate)
        M = torch.tanh(self.W_y(Y) + self.W_h(h).unsqueeze(1))  # (pair, question_length, dim)
        weights = masked_softmax(self.w(M).squeeze(2), question)
        show("question_attention", weights)
        r = (weights.unsqueeze(1) @ Y).squeeze(1)  # (pair, dim)
        return torch.tanh(self.W_p(r) + self.W_x(h))


class WordAttentionLSTMs(ConditionalLSTMs):
    """Each word of the candidate attends to the question's words, and to what the words before it attended to.

        M_t = tanh(W^y·Y + (W^h·h_t + W^r·r_{t−1}) ⊗ e_L)                       eq. 11
        α_t = softmax(wᵀ·M_t)                                                   eq. 12, over real tokens
        r_t = Y·α_tᵀ + tanh(W^t·r_{t−1}),  r_0 = 0                              eq. 13
        h* = tanh(W^p·r_L + W^x·h_N)                                            eq. 14

    Shows `alignment` (pair, question length, candidate length): α of each word of the candidate.
    """

    def __init__(self, hidden_dim: PositiveInt, initial_bound: float, **settings: Any) -> None:
        super().__init__(hidden_dim=hidden_dim, **settings)
        self.W_y, self.W_h, self.W_r, self.W_t, self.W_p, self.W_x = (nn.Linear(hidden_dim, hidden_dim, bias=False) for _ in range(6))
        self.w = nn.Linear(hidden_dim, 1, bias=False)
        draw_uniformly(self, initial_bound)

    def read(
        self,
        Y: Float[Tensor, "pair question_length dim"],
        question: Bool[Tensor, "pair question_length"],
        H: Float[Tensor, "pair candidate_length dim"],
        candidate: Bool[Tensor, "pair candidate_length"],
    ) -> Float[Tensor, "pair dim"]:
        keys, queries = self.W_y(Y), self.W_h(H)  # do not depend on r
        r, attention = torch.zeros_like(Y[:, 0]), []
        for t in range(H.shape[1]):
            M = torch.tanh(keys + (queries[:, t] + self.W_r(r)).unsqueeze(1))  # (pair, question_length, dim)
            weights = masked_softmax(self.w(M).squeeze(2), question)
            after = (weights.unsqueeze(1) @ Y).squeeze(1) + torch.tanh(self.W_t(r))
            r = torch.where(candidate[:, t : t + 1], after, r)  # padding does not change it
            attention.append(weights)
        show("alignment", torch.stack(attention, dim=2))
        return torch.tanh(self.W_p(r) + self.W_x(last_real(H, candidate)))
