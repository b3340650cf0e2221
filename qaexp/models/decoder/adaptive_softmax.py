"""Softmax in two steps, for large vocabularies: few frequent words and some clusters of rare ones, then the word within its cluster."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from qaexp.errors import ConfigError
from qaexp.models.decoder.word_output import WordOutput


class AdaptiveSoftmax(WordOutput):
    """Grave et al. 2017 ("Efficient softmax approximation for GPUs", §4), torch's implementation.

        log P(w | h) = log P_head(w | h)                             for the `cutoffs[0]` most frequent words
        log P(w | h) = log P_head(cluster i | h) + log P_i(w | h)    for those between cutoffs i and i + 1

    where cluster i sees h through a projection that is `div_value` times as narrow as that of the one before. It is another model
    than the full softmax, not an estimate of it: the probabilities of all words sum to one, so perplexity is exact. Most words of a
    title are frequent, so most tokens pay for the head alone.

    Departs: Lei et al. 2016 do not name their output layer, and the authors' release has the full softmax, which is `output=full`.

    Cutoffs beyond the vocabulary are left out.

    Raises:
        ConfigError: none is left.
    """

    def __init__(self, input_dim: int, uses: Int[Tensor, " word"], cutoffs: Sequence[int], div_value: float) -> None:
        super().__init__()
        reached = sorted({cutoff for cutoff in cutoffs if 0 < cutoff < len(uses)})
        if not reached:
            raise ConfigError(
                f"output.cutoffs={list(cutoffs)}: the vocabulary has {len(uses)} words, none of them rare by these; "
                "give smaller ones, or use output=full"
            )
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(input_dim, len(uses), reached, div_value)
        self.rank: Tensor
        """The place of each word among all, most frequent first."""
        self.register_buffer("rank", uses.argsort(descending=True, stable=True).argsort(stable=True))

    def forward(self, states: Float[Tensor, "token dim"], words: Int[Tensor, " token"]) -> Float[Tensor, " token"]:
        with torch.autocast(states.device.type, enabled=False):  # it adds to a tensor of its own, of one type
            return self.softmax(states.float(), self.rank[words]).output
