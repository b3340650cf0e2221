"""Dense layers to a score, or to one for each class: the end of every model that has no similarity in closed form."""

from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from qaexp.errors import ConfigError


class DenseLayers(nn.Module):
    """x ← dropout(ReLU(W·x + b)), `num_layers` times; s = W_f·x + b_f. Without layers, a linear score.

    Raises:
        ConfigError: there are fewer than no layers, or no class.
    """

    def __init__(self, input_dim: int, hidden_dim: int, num_layers: int, num_classes: int, dropout_rate: float) -> None:
        super().__init__()
        if num_layers < 0 or num_classes < 1:
            raise ConfigError(f"num_layers={num_layers} and num_classes={num_classes}: there must be at least 0 layers and 1 class")
        widths = [input_dim, *[hidden_dim] * num_layers]
        self.hidden = nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(widths))
        self.output = nn.Linear(widths[-1], num_classes)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, *vectors: Float[Tensor, "pair _"]) -> Float[Tensor, "pair *class"]:
        x = torch.cat(vectors, dim=1)
        for layer in self.hidden:
            x = self.dropout(layer(x).relu())
        scores = self.output(x)
        return scores if scores.shape[1] > 1 else scores.squeeze(1)
