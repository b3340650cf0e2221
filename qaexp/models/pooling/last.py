"""The state of the last word."""

from typing import ClassVar

import torch

from qaexp.models.stage import Stage
from qaexp.types import Text


class LastPooling(Stage):
    """v = h_L with L the last real token (Lei et al. 2016, §4.1). A text that is all padding gives zeros."""

    needs_last_state: ClassVar[bool] = True

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, text: Text) -> Text:
        lengths = text["mask"].sum(dim=1)
        last = text["states"][torch.arange(len(lengths), device=lengths.device), (lengths - 1).clamp(min=0)]  # (text, dim)
        return {"vector": last.masked_fill((lengths == 0).unsqueeze(1), 0.0)}
