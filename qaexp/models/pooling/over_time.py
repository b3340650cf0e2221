"""Pooling of one text over time: maximum, mean, sum, or the last state."""

from typing import ClassVar

import torch
from torch.nn import functional as F

from qaexp.models.masking import last_real, masked_max, masked_mean, zero_padding
from qaexp.models.stage import Stage
from qaexp.models.types import Text


class MaxPooling(Stage):
    """v = max_t h_t over real tokens; with `squash`, v = tanh(max_t h_t), as dos Santos et al. 2016, eq. 9–10, have it."""

    def __init__(self, input_dim: int, squash: bool) -> None:
        super().__init__()
        self.squash = squash
        self.output_dim = input_dim

    def forward(self, text: Text) -> Text:
        vector = masked_max(text["states"], text["mask"])
        return {"vector": vector.tanh() if self.squash else vector}


class MeanPooling(Stage):
    """v = Σ_t h_t / L over real tokens; with `normalise`, v = Σ_t (h_t / ‖h_t‖) / L.

    Lei et al. 2016, §4.1, note 4: "We also normalize state vectors before averaging, which empirically gets better performance."
    """

    def __init__(self, input_dim: int, normalise: bool) -> None:
        super().__init__()
        self.normalise = normalise
        self.output_dim = input_dim

    def forward(self, text: Text) -> Text:
        states = F.normalize(text["states"], dim=2) if self.normalise else text["states"]
        return {"vector": masked_mean(states, text["mask"])}


class SumPooling(Stage):
    """v = Σ_t h_t over real tokens."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, text: Text) -> Text:
        return {"vector": zero_padding(text["states"], text["mask"]).sum(dim=1)}


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
