"""The decoder of pre-training: writes a title word by word from the encoder's last state (Lei et al. 2016, §4.2), and its output layers."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.data.batch import token_mask
from qaexp.errors import ConfigError
from qaexp.models.encoder.recurrent import RecurrentEncoder, State
from qaexp.models.stage import Encoder, Stage


class WordOutput(nn.Module):
    """log P(word | state) over the whole vocabulary.

    Id 0 is padding everywhere else; here it stands for the end of the title. Subclasses are built with `input_dim`, the width of the
    states, and `uses`, how often each word occurs in the training titles (`uses[0]` is the number of titles).
    """

    def forward(self, states: Float[Tensor, "token dim"], words: Int[Tensor, " token"]) -> Float[Tensor, " token"]:
        """The log probability of each word, given the state in the same row."""
        raise NotImplementedError


class FullSoftmax(WordOutput):
    """log P(w | h) = v_w·h + b_w − log Σ_u exp(v_u·h + b_u)."""

    def __init__(self, input_dim: int, uses: Int[Tensor, " word"]) -> None:
        super().__init__()
        self.linear = nn.Linear(input_dim, len(uses))

    def forward(self, states: Float[Tensor, "token dim"], words: Int[Tensor, " token"]) -> Float[Tensor, " token"]:
        return -F.cross_entropy(self.linear(states).float(), words, reduction="none")


class AdaptiveSoftmax(WordOutput):
    """Softmax in two steps for large vocabularies (Grave et al. 2017, "Efficient softmax approximation for GPUs", §4; torch's version).

        log P(w | h) = log P_head(w | h)                             for the `cutoffs[0]` most frequent words
        log P(w | h) = log P_head(cluster i | h) + log P_i(w | h)    for words of rank cutoffs[i − 1] to cutoffs[i]

    Each cluster sees h through a projection that is `div_value` times narrower than the previous one. Most words of a title are frequent,
    so most tokens need the head alone. This is a different model from the full softmax, not an approximation of it: the probabilities of
    all words sum to one, so perplexity is exact. Cutoffs beyond the vocabulary are ignored.

    Departs: Lei et al. 2016 do not name their output layer, and the authors' release has the full softmax, which is `output=full`.

    Raises:
        ConfigError: no cutoff lies within the vocabulary.
    """

    def __init__(self, input_dim: int, uses: Int[Tensor, " word"], cutoffs: Sequence[int], div_value: float) -> None:
        super().__init__()
        reached = sorted({cutoff for cutoff in cutoffs if 0 < cutoff < len(uses)})
        if not reached:
            raise ConfigError(
                f"output.cutoffs={list(cutoffs)}: the vocabulary has {len(uses)} words, so no word is beyond a cutoff; "
                "give smaller cutoffs, or use output=full"
            )
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(input_dim, len(uses), reached, div_value)
        self.rank: Tensor
        """Each word's rank by frequency, the most frequent first."""
        self.register_buffer("rank", uses.argsort(descending=True, stable=True).argsort(stable=True))

    def forward(self, states: Float[Tensor, "token dim"], words: Int[Tensor, " token"]) -> Float[Tensor, " token"]:
        with torch.autocast(states.device.type, enabled=False):  # torch's layer fills an output of one type, which autocast would mix
            return self.softmax(states.float(), self.rank[words]).output


class TitleDecoder(nn.Module):
    """log P(title | context) = Σ_t log P(y_t | y_1 … y_{t−1}, context), where y_{L+1} is the end of the title.

        s_0 = the encoder's last state,  s_t = cell(x(y_{t−1}), s_{t−1}),  P(y_t | …) = output(h_t)

    x are the encoder's own word vectors, and h_t is the visible part of s_t. The cell has the encoder's type and width, with weights of its
    own.

    Reading: the start symbol y_0 has the vector of padding (zero, plus the bias of a projection); the paper's figure draws a mark.

    Reading: the encoder hands over the cell's whole state (for an RCNN or LSTM, c and h), as in the authors' release.

    Raises:
        ConfigError: the encoder's cell cannot start from a given state.
    """

    def __init__(self, cell: Callable[..., Encoder], input_dim: int, output: Callable[..., WordOutput], uses: Int[Tensor, " word"]) -> None:
        super().__init__()
        built = cell(input_dim=input_dim)
        if not isinstance(built, RecurrentEncoder):
            raise ConfigError(
                f"model/encoder={type(built).__name__} has no state for the decoder to start from; "
                "pre-train model/encoder=rcnn, lstm or gru"
            )
        self.cell = built
        self.output = output(input_dim=self.cell.output_dim, uses=uses)

    def forward(self, titles: Int[Tensor, "text length"], start: State, embedding: Stage) -> Float[Tensor, " token"]:
        """The log probability of each word of each title and of its end, title after title."""
        lengths = token_mask(titles).sum(dim=1, keepdim=True)  # (text, 1)
        read, wanted = F.pad(titles, (1, 0)), F.pad(titles, (0, 1))  # y_0 … y_L and y_1 … y_{L+1}: id 0 begins and ends
        mask = torch.arange(read.shape[1], device=titles.device) <= lengths  # (text, 1 + length)
        states, _ = self.cell.run(embedding({"tokens": read, "mask": mask}), start)
        return self.output(states[mask], wanted[mask])
