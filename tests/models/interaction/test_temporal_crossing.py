"""CTRN's crossing against loops over words, written from Tay et al. 2018, "Lightweight Temporal Crossing"."""

import math

import pytest
import torch
from small_texts import some_states
from torch import Tensor

from qaexp.models.encoder.qrnn import QRNN
from qaexp.models.interaction.temporal_crossing import TemporalCrossing

LENGTHS = [(5, 8), (3, 1), (1, 4), (6, 6)]


def cell(z: Tensor, f: Tensor, o: Tensor, partner_f: Tensor, partner_o: Tensor, alignment: str) -> list[Tensor]:
    """One text's states, given its own and its partner's gates, each (length, dim)."""
    c = crossed = torch.zeros(z.shape[1])
    states = []
    for t in range(len(z)):
        star = min(math.ceil((t + 1) * len(partner_f) / len(z)) - 1 if alignment == "proportional" else t, len(partner_f) - 1)
        c = f[t] * c + (1 - f[t]) * z[t]
        crossed = partner_f[star] * crossed + (1 - partner_f[star]) * z[t]
        states.append((o[t] * c) * (partner_o[star] * crossed))
    return states


@pytest.mark.parametrize("alignment", ["proportional", "index"])
@torch.no_grad()
def test_each_text_runs_under_its_own_and_its_partners_gates(alignment: str) -> None:
    torch.manual_seed(3)
    encoder, crossing = QRNN(input_dim=3, hidden_dim=4, window=2), TemporalCrossing(input_dim=4, alignment=alignment)
    question, candidate = (encoder.begin(some_states([pair[side] for pair in LENGTHS], 3, longest=9, seed=side)) for side in (0, 1))
    crossed = crossing(question, candidate)
    for row, lengths in enumerate(LENGTHS):
        (zq, fq, oq), (za, fa, oa) = (
            text["qrnn_gates"][row, :length].chunk(3, dim=1) for text, length in zip((question, candidate), lengths, strict=True)
        )
        expected = cell(zq, fq, oq, fa, oa, alignment), cell(za, fa, oa, fq, oq, alignment)
        for states, rows, length in zip(crossed, expected, lengths, strict=True):
            torch.testing.assert_close(states["states"][row, :length], torch.stack(rows), rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_a_text_crossed_with_itself_squares_its_states() -> None:
    encoder, crossing = QRNN(input_dim=3, hidden_dim=4, window=2), TemporalCrossing(input_dim=4, alignment="proportional")
    text = some_states([5, 2], 3)
    begun = encoder.begin(text)
    states, _ = crossing(begun, begun)
    torch.testing.assert_close(states["states"][text["mask"]], encoder(text)["states"][text["mask"]] ** 2)
