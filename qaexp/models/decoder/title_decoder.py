"""The decoder of pre-training: a title word by word, from what the encoder knew at the end of a context (Lei et al. 2016, §4.2)."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.data.batch import token_mask
from qaexp.errors import ConfigError
from qaexp.models.decoder.word_output import WordOutput
from qaexp.models.encoder.recurrent import RecurrentEncoder, State
from qaexp.models.stage import Encoder, Stage


class TitleDecoder(nn.Module):
    """log P(title | context) = Σ_t log P(y_t | y_1 … y_{t−1}, context), with y_{L+1} the end of the title.

        s_0 = the encoder's last state,  s_t = cell(x(y_{t−1}), s_{t−1}),  P(y_t | …) = output(h_t)

    where x are the encoder's own word vectors and h_t is the visible part of s_t. Cell and width are the encoder's, the weights are not.

    Reading: y_0, which begins a title, is padding's vector, zero but for a projection's bias; the paper's figure draws a mark.

    Reading: the state handed on is the cell's whole state, the c of an RCNN or LSTM with its h, as in the authors' release.

    Raises:
        ConfigError: the encoder's cell cannot start from a given state.
    """

    def __init__(self, cell: Callable[..., Encoder], input_dim: int, output: Callable[..., WordOutput], uses: Int[Tensor, " word"]) -> None:
        super().__init__()
        built = cell(input_dim=input_dim)
        if not isinstance(built, RecurrentEncoder):
            raise ConfigError(
                f"model/encoder={type(built).__name__} has no state from which a decoder of its make could start; "
                "pre-train model/encoder=rcnn, lstm or gru"
            )
        self.cell = built
        self.output = output(input_dim=self.cell.output_dim, uses=uses)

    def forward(self, titles: Int[Tensor, "text length"], start: State, embedding: Stage) -> Float[Tensor, " token"]:
        """The log probability of each word of each title, its end included, title after title."""
        lengths = token_mask(titles).sum(dim=1, keepdim=True)  # (text, 1)
        read, wanted = F.pad(titles, (1, 0)), F.pad(titles, (0, 1))  # y_0 … y_L and y_1 … y_{L+1}: id 0 begins and ends
        mask = torch.arange(read.shape[1], device=titles.device) <= lengths  # (text, 1 + length)
        states, _ = self.cell.run(embedding({"tokens": read, "mask": mask}), start)
        return self.output(states[mask], wanted[mask])
