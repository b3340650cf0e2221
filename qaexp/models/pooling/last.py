"""The state of the last word."""

from typing import ClassVar

import torch

from qaexp.models.masking import last_real
from qaexp.models.stage import Stage
from qaexp.models.types import Text


class LastPooling(Stage):
    """v = h_L, the state of the last real token; zeros for a text that has none. Lei et al. 2016, §4.1: "simply taking the last one".

    Reading: title and body are averaged by their states as they are; the authors' release divides each by its norm before.

    Reading: where an encoder has two directions, v is the last state of each (Tan et al. 2016, §3.1: "the last vectors on both
    directions"), and the backward one's is h_1: at the last word it has read that word alone.
    """

    needs_last_state: ClassVar[bool] = True

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, text: Text) -> Text:
        H, mask = text["states"], text["mask"]
        last = last_real(H, mask)  # (text, dim)
        forward_dim = self.output_dim - self.backward_dim
        both = torch.cat([last[:, :forward_dim], H[:, 0, forward_dim:]], dim=1)
        return {"vector": both.masked_fill(~mask.any(dim=1, keepdim=True), 0.0)}
