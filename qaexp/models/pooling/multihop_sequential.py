"""Multihop attention that scores a word of the answer in its context, the pooling of Multihop-Sequential-LSTM."""

from jaxtyping import Float
from torch import Tensor, nn

from qaexp.errors import ConfigError
from qaexp.models.ops.packed import run_packed
from qaexp.models.pooling.multihop import MultihopPooling
from qaexp.models.types import Text


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

    def __init__(self, input_dim: int, num_hops: int) -> None:
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
