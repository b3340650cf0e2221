"""Sinusoidal positions."""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def sinusoids(length: int, dim: int, like: Tensor) -> Float[Tensor, "length dim"]:
    """PE(i, j) = sin(i / 10000^(j/D)) for even j, cos(i / 10000^((j-1)/D)) for odd j; positions i count from 0.

    Reading: Xu et al. 2019, §2.2, prints the exponent as 2j/D and takes the encoding from Vaswani et al. 2017, where j
    numbers the (sine, cosine) couples; so do we, and dimension j belongs to couple ⌊j/2⌋.

    >>> sinusoids(2, 4, like=torch.zeros(0))  # sin and cos of i, then of i / 100
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    couple = torch.arange(0, dim, 2, dtype=torch.float32, device=like.device)
    rates = torch.exp(couple * (-math.log(10000.0) / dim))  # (⌈dim/2⌉)
    angles = torch.arange(length, dtype=torch.float32, device=like.device)[:, None] * rates  # (length, ⌈dim/2⌉)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :dim].to(like.dtype)
