"""Dropout of word vectors whose draw can be had again for some of the texts."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

FACTOR = 6_364_136_223_846_793_005
"""The multiplier of Knuth's MMIX, odd, so that every word of a text counts modulo 2⁶⁴."""


class WordDropout(nn.Module):
    """x ⊙ b / (1 − p) with b ~ Bernoulli(1 − p), in training; the same draws as `nn.Dropout`'s.

    Srivastava et al. 2014, "Dropout: a simple way to prevent neural networks from overfitting", §4.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self._draws: list[tuple[Tensor, Tensor]] | None = None  # of each block of texts: their names, b

    def forward(self, states: Float[Tensor, "text length dim"], tokens: Int[Tensor, "text length"]) -> Float[Tensor, "text length dim"]:
        if self._draws is None or not self.training or not self.rate:
            return F.dropout(states, self.rate, self.training)
        if torch.is_grad_enabled() and (again := self._drawn_before(_names(tokens), tokens.shape[1])) is not None:
            return states * (again * (1 / (1 - self.rate)))
        dropped, kept = torch.native_dropout(states, self.rate, train=True)
        self._draws.append((_names(tokens), kept))
        return dropped

    @contextmanager
    def repeatable(self) -> Iterator[None]:
        """Within, texts that are read without gradients keep their draw when they are then read with gradients.

        A text is known by its words. One that is new, or whose words were read twice, so that two draws could be taken for each other,
        is drawn for anew, as the state of torch's random numbers then tells.
        """
        self._draws = []
        try:
            yield
        finally:
            self._draws = None

    def _drawn_before(self, names: Int[Tensor, " text"], length: int) -> Bool[Tensor, "text length dim"] | None:
        """b of these texts, None unless it is known of each."""
        if not self._draws:
            return None
        if len(self._draws) > 1:
            longest = max(kept.shape[1] for _, kept in self._draws)
            padded = [F.pad(kept, (0, 0, 0, longest - kept.shape[1])) for _, kept in self._draws]
            self._draws = [(torch.cat([drawn for drawn, _ in self._draws]), torch.cat(padded))]
        drawn, kept = self._draws[0]
        same = names.unsqueeze(1) == drawn  # (text, text drawn for)
        if bool(((same.sum(dim=1) != 1) & (names != 0)).any()):  # 0 has no words, as a field of a text may: any draw will do
            return None
        return kept[same.int().argmax(dim=1), :length]


def _names(tokens: Int[Tensor, "text length"]) -> Int[Tensor, " text"]:
    """A number for each text, the same with more padding: a polynomial of its words, modulo 2⁶⁴."""
    return (tokens * FACTOR ** torch.arange(tokens.shape[1], device=tokens.device)).sum(dim=1)
