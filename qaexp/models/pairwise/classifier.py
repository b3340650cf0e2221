"""The output layers of the models outside the chain: one hidden layer over the features of a pair."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from qaexp.models.similarity.bilinear import by_class


class Classifier(nn.Module):
    """s = W_s·f(W_h·x + b_h) + b_s: one score per pair if `num_classes` is 1, else one per class.

    Reading: with two classes, the softmax over (z_0, z_1) is the logistic function of s = z_1 − z_0, so one score per pair is enough.
    """

    def __init__(self, input_dim: int, hidden_dim: int, activation: nn.Module, num_classes: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(input_dim, hidden_dim)
        self.activation = activation
        self.output = nn.Linear(hidden_dim, num_classes)

    def forward(self, x: Float[Tensor, "pair dim"]) -> Float[Tensor, "pair *class"]:
        with torch.autocast(x.device.type, enabled=False):  # in bfloat16, scores within a pool would tie
            return by_class(self.output(self.activation(self.hidden(x.float()))))
