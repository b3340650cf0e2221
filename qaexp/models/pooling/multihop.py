"""Multihop attention (Tran & Niederée 2018): several vectors of the question, each with an answer vector of its own."""

from abc import abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from qaexp.errors import ConfigError
from qaexp.limits import PositiveInt
from qaexp.models.intermediates import show
from qaexp.models.masking import masked_mean, masked_softmax
from qaexp.models.ops.packed import run_packed
from qaexp.models.stage import Stage
from qaexp.models.types import Text


class MultihopPooling(Stage):
    """The question attends to itself `num_hops` times, guided by a memory of what it has read; each hop has an attention to the answer.

        o_q^(0) = m^(0) = mean_t h_q(t)
        α^(k)_t = softmax_t(w_kᵀ·(tanh(W_k·h_q(t)) ⊙ tanh(U_k·m^(k−1))))
        o_q^(k) = Σ_t α^(k)_t·h_q(t),  m^(k) = m^(k−1) + o_q^(k),               k = 1 ... K
        o_a^(k) = Σ_t β^(k)_t·h_a(t),                                           k = 0 ... K

    Tran & Niederée 2018, "Multihop attention networks for question answer matching", §3.2; β comes from the subclass, and the scorer sums
    the similarities of (o_q^(k), o_a^(k)). The vectors are (pair, hop, dim) with K + 1 hops.

    Reading: k = 0, the plain mean of the question, is one of the summed similarities, as in the authors' release. One answer attention
    serves all hops, each question hop has weights of its own, and none has a bias (both as in the release, with its ±0.1 uniform start).

    Departs: the release adds o_q^(k−1) to the memory of hop k, so that its first two memories have the same direction; here it is
    o_q^(k), as in the equations.

    Shows `question_attention` (text, k, length), α of the hops 1 ... K, and `attention` (pair, hop, length), β of the candidate's words.
    """

    pairwise: ClassVar[bool] = True

    def __init__(self, input_dim: int, num_hops: PositiveInt) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.empty(num_hops, input_dim, input_dim).uniform_(-0.1, 0.1))
        self.U = nn.Parameter(torch.empty(num_hops, input_dim, input_dim).uniform_(-0.1, 0.1))
        self.w = nn.Parameter(torch.empty(num_hops, input_dim).uniform_(-0.1, 0.1))
        self.output_dim = input_dim

    def once_per_text(self, side: str, text: Text) -> Text:
        """o_q^(0) ... o_q^(K) of a question; `prepare_candidate` of a candidate."""
        if side == "question":
            return {"mask": text["mask"], "vector": self.read_question(text["states"], text["mask"])}
        return self.prepare_candidate(text)

    def prepare_candidate(self, text: Text) -> Text:
        """The candidate's share of the answer attention."""
        return {"mask": text["mask"], "states": text["states"]}

    def read_question(self, H: Float[Tensor, "text length dim"], mask: Bool[Tensor, "text length"]) -> Float[Tensor, "text hop dim"]:
        """o_q^(0) ... o_q^(K)."""
        m = o = masked_mean(H, mask)
        hops, shown = [o], []
        for W, U, w in zip(self.W, self.U, self.w, strict=True):
            scores = (H @ W).tanh() @ ((m @ U).tanh() * w).unsqueeze(-1)  # (text, length, 1)
            alpha = masked_softmax(scores.squeeze(-1), mask)
            o = torch.einsum("tl,tld->td", alpha * mask, H)
            m = m + o
            hops.append(o)
            shown.append(alpha)
        show("question_attention", torch.stack(shown, dim=1))
        return torch.stack(hops, dim=1)

    @abstractmethod
    def answer_scores(self, o_q: Float[Tensor, "pair hop dim"], candidate: Text) -> Float[Tensor, "pair hop length"]:
        """The scores whose softmax is β."""

    def forward(self, question: Text, candidate: Text) -> tuple[Text, Text]:
        o_q, mask = question["vector"], candidate["mask"].unsqueeze(1)
        beta = masked_softmax(self.answer_scores(o_q, candidate), mask)  # (pair, hop, length)
        show("attention", beta)
        return {"vector": o_q}, {"vector": (beta * mask) @ candidate["states"]}


class MultihopMLP(MultihopPooling):
    """β^(k)_t = softmax_t(vᵀ·tanh(W_a·h_a(t) + W_q·o_q^(k))): Tran & Niederée 2018, the MLP attention of §3.3."""

    def __init__(self, input_dim: int, num_hops: PositiveInt) -> None:
        super().__init__(input_dim, num_hops)
        self.W_a = nn.Linear(input_dim, input_dim, bias=False)
        self.W_q = nn.Linear(input_dim, input_dim, bias=False)
        self.v = nn.Linear(input_dim, 1, bias=False)
        for weight in self.W_a.weight, self.W_q.weight, self.v.weight:
            nn.init.uniform_(weight, -0.1, 0.1)

    def prepare_candidate(self, text: Text) -> Text:
        """Adds W_a·h_a to the states."""
        return {"mask": text["mask"], "states": text["states"], "keys": self.W_a(text["states"])}

    def answer_scores(self, o_q: Float[Tensor, "pair hop dim"], candidate: Text) -> Float[Tensor, "pair hop length"]:
        queries = self.W_q(o_q).unbind(dim=1)  # each (pair, dim); hop by hop, so that (pair, length, dim) is the largest tensor
        return torch.cat([self.v((candidate["keys"] + query.unsqueeze(1)).tanh()).transpose(1, 2) for query in queries], dim=1)


class MultihopSequential(MultihopPooling):
    """An LSTM reads the word-by-word products with the question's vector, and the sum of its state is the word's score.

        γ^(k)_t = h_a(t) ⊙ o_q^(k)
        η^(k)_t = [LSTM→(γ^(k)) ; LSTM←(γ^(k))]_t
        β^(k)_t = softmax_t(Σ_i η^(k)_{t,i})

    Tran & Niederée 2018, the sequential attention of §3.3, after Brarda et al. 2017, "Sequential attention". Each direction is half as
    wide as the states, as in the authors' release.

    Raises:
        ConfigError: the width cannot be halved.
    """

    def __init__(self, input_dim: int, num_hops: PositiveInt) -> None:
        super().__init__(input_dim, num_hops)
        if input_dim % 2:
            raise ConfigError(
                f"model/pooling=MultihopSequential halves the width {input_dim} that the encoder gives, which is odd; "
                "change the encoder's width or choose model/pooling=multihop_mlp"
            )
        self.lstm = nn.LSTM(input_dim, input_dim // 2, batch_first=True, bidirectional=True)

    def answer_scores(self, o_q: Float[Tensor, "pair hop dim"], candidate: Text) -> Float[Tensor, "pair hop length"]:
        H, num_hops = candidate["states"], o_q.shape[1]
        gamma = (H.unsqueeze(1) * o_q.unsqueeze(2)).flatten(0, 1)  # (pair · hop, length, dim)
        eta = run_packed(self.lstm, gamma, candidate["mask"].repeat_interleave(num_hops, dim=0))
        return eta.sum(dim=-1).unflatten(0, (-1, num_hops))
