"""CTRN's lightweight temporal crossing (Tay et al. 2018): each text's recurrence runs under its partner's gates as well."""

from typing import ClassVar

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from qaexp.errors import ConfigError
from qaexp.models.recurrence import crossed_fo_pool
from qaexp.models.scorer import Interaction
from qaexp.models.shown import show, watched
from qaexp.types import Text

ALIGNMENTS = ("proportional", "index")


class TemporalCrossing(Interaction):
    """Takes both texts as a quasi-recurrent layer has begun them, and does their recurrences itself. It has no weights.

        c_t = f^q_t ⊙ c_{t−1} + (1 − f^q_t) ⊙ z^q_t,          h_t = o^q_t ⊙ c_t              under its own gates
        c†_t = f^a_{t*} ⊙ c†_{t−1} + (1 − f^a_{t*}) ⊙ z^q_t,  h†_t = o^a_{t*} ⊙ c†_t         under its partner's
        h_t ⊙ h†_t                                                                            goes to the pooling

    and likewise for the answer. Tay et al. 2018, "Lightweight Temporal Crossing".

    Reading: the printed t* = t·⌈max/min⌉ runs past the end of the shorter text. `alignment: proportional` takes the token that
    stands as far into the partner as t stands into its text, t* = ⌊t · L_partner / L⌋; `index` takes t itself. Both stop at the
    partner's last token.

    Reading: the print has z^a_{t*} in the answer's c†; the cells are called "functionally symmetrical", so it is z^a_t.

    Shows `forget gate lent to the question` and `... to the candidate` (pair, length, dim), the aligned gates of the partner.

    Raises:
        ConfigError: an unknown alignment.
    """

    pairwise: ClassVar[bool] = True
    joint: ClassVar[str | None] = "recurrence gates"
    begun: ClassVar[tuple[str, ...]] = ("question", "candidate")
    finishes: ClassVar[bool] = True

    def __init__(self, input_dim: int, alignment: str) -> None:
        super().__init__()
        if alignment not in ALIGNMENTS:
            raise ConfigError(f"model.interaction.alignment={alignment}: choose {' or '.join(ALIGNMENTS)}")
        self.alignment = alignment
        self.output_dim = input_dim

    def forward(self, question: Text, candidate: Text) -> tuple[Text, Text]:
        of_question = aligned(question["mask"], candidate["mask"], self.alignment)
        of_candidate = aligned(candidate["mask"], question["mask"], self.alignment)
        if watched():
            _show_loan("question", candidate, of_question)
            _show_loan("candidate", question, of_candidate)
        states = crossed_fo_pool(question["gates"].contiguous(), candidate["gates"].contiguous(), of_question, of_candidate)
        return {"mask": question["mask"], "states": states[0]}, {"mask": candidate["mask"], "states": states[1]}


def _show_loan(side: str, partner: Text, places: Int[Tensor, "pair length"]) -> None:
    forget = partner["gates"].chunk(3, dim=2)[1]
    show(f"forget gate lent to the {side}", forget.take_along_dim(places.unsqueeze(2), dim=1))


def aligned(mask: Bool[Tensor, "pair length"], partner: Bool[Tensor, "pair partner_length"], alignment: str) -> Int[Tensor, "pair length"]:
    """The partner's token whose gates each token of a text is given.

    >>> of = lambda length: (torch.arange(6) < length)[None]
    >>> aligned(of(6), of(3), "proportional").tolist(), aligned(of(6), of(3), "index").tolist()
    ([[0, 0, 1, 1, 2, 2]], [[0, 1, 2, 2, 2, 2]])
    """
    lengths, partner_lengths = (each.sum(dim=1, keepdim=True).clamp(min=1) for each in (mask, partner))
    t = torch.arange(mask.shape[1], device=mask.device).expand(len(mask), -1)
    places = t * partner_lengths // lengths if alignment == "proportional" else t
    return places.minimum(partner_lengths - 1)
