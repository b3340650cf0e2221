"""The two cells of Liu et al. 2016, tightly and loosely coupled LSTMs: their equations on a diagonal of the grid, and the gradients.

A cell has one part if it is tight, and two parts, one for each LSTM, if it is loose. Gates are in the order c̃, o, i, f.
"""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from qaexp.limits import PositiveInt

WordGates = Float[Tensor, "gates cell pair"]
Gates = Float[Tensor, "gates part cell pair"]
State = Float[Tensor, "dim part cell pair"]
Read = Float[Tensor, "two_states part cell pair"]
"""The two hidden states that a part reads, concatenated."""


class CoupledCell(nn.Module):
    """A cell's weights and its equations on a diagonal. Methods named `of_…` compute the gradients."""

    num_gates: ClassVar[int]
    num_parts: ClassVar[int]
    from_question: nn.Linear
    """From a question's words to their share of the gates; in a stacked block, from the states of the block below."""
    from_candidate: nn.Linear | None
    """From a candidate's words to their share of the gates; None in a stacked block."""
    recurrent: nn.Linear
    """From the hidden states that a part reads to their share of the gates."""

    @staticmethod
    def begin(gates: Gates, question: WordGates, candidate: WordGates) -> None:
        """Write the words' shares into the gates."""
        raise NotImplementedError

    @staticmethod
    def of_begin(of_gates: Gates) -> tuple[WordGates, WordGates]:
        raise NotImplementedError

    @staticmethod
    def read(up: State, left: State) -> Read:
        """What each part reads from the hidden states above and to the left."""
        raise NotImplementedError

    @staticmethod
    def of_read(of_read: Read) -> tuple[State, State]:
        raise NotImplementedError

    @staticmethod
    def remember(c: State, forget: Gates, up: State, left: State) -> None:
        """Add to c what the forget gates keep of the memories above and to the left."""
        raise NotImplementedError

    @staticmethod
    def of_remember(of_forget: Gates, of_c: State, forget: Gates, up: State, left: State) -> tuple[State, State]:
        """Write the gradient of the forget gates, and return those of the memories above and to the left."""
        raise NotImplementedError


class TightCell(CoupledCell):
    """TC-LSTMs: one hidden state and one memory for each pair of words.

        [c̃ ; o ; i ; f¹ ; f²] = [tanh ; σ ; σ ; σ ; σ](A·[x_i ; y_j ; h_{i,j−1} ; h_{i−1,j}] + b)     eq. 9
        c_{i,j} = c̃ ⊙ i + c_{i,j−1} ⊙ f¹ + c_{i−1,j} ⊙ f²                                              eq. 10
        h_{i,j} = o ⊙ tanh(c_{i,j})                                                                    eq. 11

    Liu et al. 2016, §3.2; 5((2e + 2d)d + d) parameters. In a block that is stacked on another one, the state of the cell below replaces
    the two words: 5((d + 2d)d + d) parameters.
    """

    num_gates = 5
    num_parts = 1

    def __init__(self, input_dim: int, hidden_dim: PositiveInt, stacked: bool) -> None:
        super().__init__()
        self.from_question = nn.Linear(input_dim, 5 * hidden_dim)
        self.from_candidate = None if stacked else nn.Linear(input_dim, 5 * hidden_dim, bias=False)
        self.recurrent = nn.Linear(2 * hidden_dim, 5 * hidden_dim, bias=False)

    @staticmethod
    def begin(gates: Gates, question: WordGates, candidate: WordGates) -> None:
        torch.add(question, candidate, out=gates[:, 0])

    @staticmethod
    def of_begin(of_gates: Gates) -> tuple[WordGates, WordGates]:
        return of_gates[:, 0], of_gates[:, 0]

    @staticmethod
    def read(up: State, left: State) -> Read:
        return torch.cat([left, up])

    @staticmethod
    def of_read(of_read: Read) -> tuple[State, State]:
        left, up = of_read.chunk(2)
        return up, left

    @staticmethod
    def remember(c: State, forget: Gates, up: State, left: State) -> None:
        of_left, of_up = forget.chunk(2)
        c.addcmul_(left, of_left).addcmul_(up, of_up)

    @staticmethod
    def of_remember(of_forget: Gates, of_c: State, forget: Gates, up: State, left: State) -> tuple[State, State]:
        for part, before in zip(of_forget.chunk(2), (left, up), strict=True):
            torch.mul(of_c, before, out=part)
        of_left, of_up = forget.chunk(2)
        return of_c * of_up, of_c * of_left


class LooseCell(CoupledCell):
    """LC-LSTMs: two LSTMs that read each other's hidden states and have their own memories.

        h¹_{i,j} = LSTM([h¹_{i−1,j} ; h²_{i−1,j}], c¹_{i−1,j}, x_i)                                     eq. 5, 7
        h²_{i,j} = LSTM([h¹_{i,j−1} ; h²_{i,j−1}], c²_{i,j−1}, y_j)                                     eq. 6, 8

    Liu et al. 2016, §3.1.

    Reading: both LSTMs share one set of weights, 4((e + 2d)d + d), as only this gives the counts of Table 2. In a stacked block each LSTM
    reads its own state in the cell below: "the information x_i and y_j are accepted by two corresponding LSTMs at the higher layer
    separately" (§3.3).
    """

    num_gates = 4
    num_parts = 2

    def __init__(self, input_dim: int, hidden_dim: PositiveInt, stacked: bool) -> None:
        super().__init__()
        self.from_question = nn.Linear(input_dim, 4 * hidden_dim)
        self.from_candidate = None if stacked else self.from_question
        self.recurrent = nn.Linear(2 * hidden_dim, 4 * hidden_dim, bias=False)

    @staticmethod
    def begin(gates: Gates, question: WordGates, candidate: WordGates) -> None:
        torch.stack([question, candidate], dim=1, out=gates)

    @staticmethod
    def of_begin(of_gates: Gates) -> tuple[WordGates, WordGates]:
        return of_gates[:, 0], of_gates[:, 1]

    @staticmethod
    def read(up: State, left: State) -> Read:
        return torch.stack([up.transpose(0, 1), left.transpose(0, 1)], dim=2).flatten(0, 1)

    @staticmethod
    def of_read(of_read: Read) -> tuple[State, State]:
        up, left = of_read.unflatten(0, (2, -1)).transpose(0, 1).unbind(2)
        return up, left

    @staticmethod
    def remember(c: State, forget: Gates, up: State, left: State) -> None:
        for part, before in enumerate((up, left)):
            c[:, part].addcmul_(before[:, part], forget[:, part])

    @staticmethod
    def of_remember(of_forget: Gates, of_c: State, forget: Gates, up: State, left: State) -> tuple[State, State]:
        of_before = torch.zeros_like(of_c), torch.zeros_like(of_c)
        for part, (before, of) in enumerate(zip((up, left), of_before, strict=True)):
            torch.mul(of_c[:, part], before[:, part], out=of_forget[:, part])
            torch.mul(of_c[:, part], forget[:, part], out=of[:, part])
        return of_before
