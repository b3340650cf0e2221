"""Lightweight temporal crossing (Tay et al. 2018), which turns a QRNN into CTRN: each text is also read under the other's gates."""

from typing import ClassVar

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from qaexp.errors import ConfigError
from qaexp.models.encoder.recurrent import with_last_state
from qaexp.models.intermediates import show
from qaexp.models.ops.recurrence import crossed_fo_pool
from qaexp.models.stage import Encoder, Interaction
from qaexp.models.types import Text


class TemporalCrossing(Interaction):
    """Runs each text's recurrence under its own gates and under its partner's, and multiplies the two. It has no parameters.

        c_t^(q) = f_t^q ⊙ c_{t−1}^(q) + (1 − f_t^q) ⊙ z_t^q,             h_t^(q) = o_t^q ⊙ c_t^(q)
        c_t^(q†) = f_{t*}^a ⊙ c_{t−1}^(q†) + (1 − f_{t*}^a) ⊙ z_t^q,     h_t^(q†) = o_{t*}^a ⊙ c_t^(q†)
        h_t^q = h_t^(q) ⊙ h_t^(q†)

    and the same for the answer under the question's gates. Tay et al. 2018, "Lightweight Temporal Crossing". Shows the steps t* (from 0):
    `question_alignment`, (pair, question length), and `candidate_alignment`, (pair, candidate length).

    Under autocast the recurrences stay in float32.

    Reading: the printed t* = t·⌈max(|q|,|a|) / min(|q|,|a|)⌉ runs beyond the end of a text. `alignment: proportional` takes
    t* = ⌈t·|a| / |q|⌉. For the shorter text this is the printed step if one length divides the other; for the longer text the printed step
    runs beyond its partner's end almost at once. `alignment: index` takes t* = t, the "simple index-wise alignment" of "Why does this
    work?". Both are clamped to the partner's last token.

    Reading: CTRN-A's equations print z_{t*}^a and o_t^q; "CTRN-A and CTRN-Q are functionally symmetrical", so ours are z_t^a and o_{t*}^q.

    Raises:
        ConfigError: the alignment is neither.
    """

    pairwise: ClassVar[bool] = True

    def __init__(self, input_dim: int, alignment: str) -> None:
        super().__init__()
        if alignment not in ("proportional", "index"):
            raise ConfigError(f"model.interaction.alignment={alignment}: choose proportional or index")
        self.proportional = alignment == "proportional"
        self.output_dim = input_dim

    def encode(self, side: str, encoder: Encoder, words: Text) -> Text:
        return self.first_half(encoder, words, "qrnn_gates")

    def forward(self, question: Text, candidate: Text) -> tuple[Text, Text]:
        of_question = aligned(question["mask"], candidate["mask"], self.proportional)
        of_candidate = aligned(candidate["mask"], question["mask"], self.proportional)
        show("question_alignment", of_question)
        show("candidate_alignment", of_candidate)
        H_question, H_candidate = crossed_fo_pool(
            question["qrnn_gates"].float(), candidate["qrnn_gates"].float(), of_question, of_candidate
        )
        return with_last_state(H_question, question["mask"]), with_last_state(H_candidate, candidate["mask"])


def aligned(
    mask: Bool[Tensor, "pair length"], partner: Bool[Tensor, "pair partner_length"], proportional: bool
) -> Int[Tensor, "pair length"]:
    """The partner's step for each step of a text, both counted from 0.

    >>> two, five = torch.ones(1, 2, dtype=torch.bool), torch.ones(1, 5, dtype=torch.bool)
    >>> aligned(two, five, proportional=True), aligned(five, two, proportional=True), aligned(five, two, proportional=False)
    (tensor([[2, 4]]), tensor([[0, 0, 1, 1, 1]]), tensor([[0, 1, 1, 1, 1]]))
    """
    length, partner_length = mask.sum(dim=1, keepdim=True), partner.sum(dim=1, keepdim=True)  # (pair, 1)
    step = torch.arange(1, mask.shape[1] + 1, device=mask.device).expand(mask.shape)  # (pair, length)
    if proportional:
        step = -(-step * partner_length // length.clamp(min=1))  # rounded up
    return (torch.minimum(step, partner_length) - 1).clamp(min=0)
