"""Weights that begin within one interval."""

from torch import nn


def draw_uniformly(model: nn.Module, bound: float) -> None:
    """Draw every trained weight and bias but the word vectors anew, from U(−bound, bound).

    Liu et al. 2016, §6.1, of all their models: "The other parameters are initialized by randomly sampling from uniform distribution in
    [−0.1, 0.1]."
    """
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and not name.startswith("embedding.words"):
            nn.init.uniform_(parameter, -bound, bound)
