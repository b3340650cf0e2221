"""IARNN-GATE's interaction (Wang et al. 2016): the question changes the gates of the answer's GRU."""

from typing import ClassVar

import torch
from torch import nn

from qaexp.models.masking import masked_mean
from qaexp.models.stage import Interaction
from qaexp.models.types import Text


class QuestionGates(Interaction):
    """The pooled question is added to the inputs of the answer's reset and update gates, at every word.

        r_q = mean_t h_q(t)
        g^r_t ← g^r_t + M_qr·r_q,  g^z_t ← g^z_t + M_qz·r_q

    Wang et al. 2016, "Inner attention based recurrent neural networks for answer selection", §4.3: z_t and f_t (here r_t) read M_qz·r_q and
    M_qf·r_q beside x_t and h_{t−1}; the new state does not. The answer's encoder then runs its recurrence.

    Reading: r_q is the mean of the question's states, as the answer's own vector is; each direction has an M of its own, and both read
    r_q of both directions.
    """

    pairwise: ClassVar[bool] = True
    candidate_joint: ClassVar[str] = "gru_gates"

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.M = nn.Linear(input_dim, 2 * input_dim, bias=False)
        self.output_dim = input_dim

    def forward(self, question: Text, candidate: Text) -> tuple[Text, Text]:
        r_q = masked_mean(question["states"], question["mask"])  # (pair, dim)
        gates = candidate["gru_gates"]  # (pair, length, direction, 3, hidden)
        moved = self.M(r_q).unflatten(1, (1, gates.shape[2], 2, -1))  # (pair, 1, direction, 2, hidden): for r and z
        return question, {"mask": candidate["mask"], "gru_gates": torch.cat([gates[:, :, :, :2] + moved, gates[:, :, :, 2:]], dim=3)}
