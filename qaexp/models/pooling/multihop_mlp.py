"""Multihop attention that scores each word of the answer by itself, the pooling of Multihop-MLP-LSTM."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from qaexp.models.pooling.multihop import MultihopPooling
from qaexp.models.types import Text


class MultihopMLP(MultihopPooling):
    """β^(k)_t = softmax_t(vᵀ·tanh(W_a·h_a(t) + W_q·o_q^(k))): Tran & Niederée 2018, the MLP attention of §3.3."""

    def __init__(self, input_dim: int, num_hops: int) -> None:
        super().__init__(input_dim, num_hops)
        self.W_a = nn.Linear(input_dim, input_dim, bias=False)
        self.W_q = nn.Linear(input_dim, input_dim, bias=False)
        self.v = nn.Linear(input_dim, 1, bias=False)
        for weight in self.W_a.weight, self.W_q.weight, self.v.weight:
            nn.init.uniform_(weight, -0.1, 0.1)

    def prepare_candidate(self, text: Text) -> Text:
        """W_a·h_a, beside the states."""
        return {"mask": text["mask"], "states": text["states"], "keys": self.W_a(text["states"])}

    def answer_scores(self, o_q: Float[Tensor, "pair hop dim"], candidate: Text) -> Float[Tensor, "pair hop length"]:
        queries = self.W_q(o_q).unbind(dim=1)  # each (pair, dim); hop by hop, so that (pair, length, dim) is the largest tensor
        return torch.cat([self.v((candidate["keys"] + query.unsqueeze(1)).tanh()).transpose(1, 2) for query in queries], dim=1)
