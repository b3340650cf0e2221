"""The two cells of Liu et al. 2016: tightly and loosely coupled LSTMs, as they run along the diagonals of a grid."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from qaexp.models.diagonals import Diagonals, State, run
from qaexp.models.tight_grid import tight_grid


class CoupledCell(nn.Module):
    """What a grid needs of its cell."""

    from_question: nn.Linear
    """A question's words to their share of the gates; in a stacked block, the states below to all of them."""
    from_candidate: nn.Linear | None
    """A candidate's words to their share; None in a stacked block."""

    def over_words(
        self, question: Float[Tensor, "row pair gates"], candidate: Float[Tensor, "column pair gates"], order: Diagonals
    ) -> Float[Tensor, "cell pair dim"]:
        """The state of every cell, from the words' shares of the gates."""
        raise NotImplementedError

    def over_cells(self, below: Float[Tensor, "cell pair gates"], order: Diagonals) -> Float[Tensor, "cell pair dim"]:
        """The state of every cell, from the share of the cells below."""
        raise NotImplementedError


class TightCell(CoupledCell):
    """TC-LSTMs: one hidden state and one memory for each pair of words.

        [c̃ ; o ; i ; f¹ ; f²] = [tanh ; σ ; σ ; σ ; σ](A·[x_i ; y_j ; h_{i,j−1} ; h_{i−1,j}] + b)     eq. 9
        c_{i,j} = c̃ ⊙ i + c_{i,j−1} ⊙ f¹ + c_{i−1,j} ⊙ f²                                              eq. 10
        h_{i,j} = o ⊙ tanh(c_{i,j})                                                                    eq. 11

    Liu et al. 2016, §3.2; 5((2e + 2d)d + d) parameters. In a block that is stacked on another one, the state of the cell below takes the
    place of the two words: 5((d + 2d)d + d).
    """

    def __init__(self, input_dim: int, hidden_dim: int, stacked: bool) -> None:
        super().__init__()
        self.from_question = nn.Linear(input_dim, 5 * hidden_dim)
        self.from_candidate = None if stacked else nn.Linear(input_dim, 5 * hidden_dim, bias=False)
        self.recurrent = nn.Linear(2 * hidden_dim, 5 * hidden_dim, bias=False)

    def over_words(
        self, question: Float[Tensor, "row pair gates"], candidate: Float[Tensor, "column pair gates"], order: Diagonals
    ) -> Float[Tensor, "cell pair dim"]:
        return tight_grid(self.recurrent.weight, order, question, candidate)

    def over_cells(self, below: Float[Tensor, "cell pair gates"], order: Diagonals) -> Float[Tensor, "cell pair dim"]:
        return tight_grid(self.recurrent.weight, order, below)


class LooseCell(CoupledCell):
    """LC-LSTMs: two LSTMs that read each other's hidden states and keep memories of their own.

        h¹_{i,j} = LSTM([h¹_{i−1,j} ; h²_{i−1,j}], c¹_{i−1,j}, x_i)                                     eq. 5, 7
        h²_{i,j} = LSTM([h¹_{i,j−1} ; h²_{i,j−1}], c²_{i,j−1}, y_j)                                     eq. 6, 8

    Liu et al. 2016, §3.1.

    Reading: both LSTMs have one set of weights, 4((e + 2d)d + d), as only then Table 2's counts come out; the state of a cell, d wide, is
    h¹ + h²; in a stacked block both read the state of the cell below.
    """

    def __init__(self, input_dim: int, hidden_dim: int, stacked: bool) -> None:
        super().__init__()
        self.from_question = nn.Linear(input_dim, 4 * hidden_dim)
        self.from_candidate = None if stacked else self.from_question
        self.recurrent = nn.Linear(2 * hidden_dim, 4 * hidden_dim, bias=False)
        self.hidden_dim = hidden_dim

    def over_words(
        self, question: Float[Tensor, "row pair gates"], candidate: Float[Tensor, "column pair gates"], order: Diagonals
    ) -> Float[Tensor, "cell pair dim"]:
        rows, columns = order.rows.to(question.device), order.columns.to(question.device)
        return self._over(torch.cat([question[rows], candidate[columns]], dim=2), order)

    def over_cells(self, below: Float[Tensor, "cell pair gates"], order: Diagonals) -> Float[Tensor, "cell pair dim"]:
        return self._over(torch.cat([below, below], dim=2), order)

    def _over(self, inputs: Float[Tensor, "cell pair both_gates"], order: Diagonals) -> Float[Tensor, "cell pair dim"]:
        first, second = run(self._step, inputs, order, 2 * self.hidden_dim).chunk(2, dim=2)
        return first + second

    def _step(self, inputs: Float[Tensor, "cell pair both_gates"], up: State, left: State) -> State:
        read = torch.stack([up[0], left[0]], dim=2)  # (cell, pair, 2, h¹ and h²)
        gates = inputs.unflatten(2, (2, -1)) + self.recurrent(read)
        write, keep, output, new = gates.chunk(4, dim=3)
        before = torch.stack([up[1][:, :, : self.hidden_dim], left[1][:, :, self.hidden_dim :]], dim=2)  # c¹ from above, c² from the left
        c = keep.sigmoid() * before + write.sigmoid() * new.tanh()
        h = output.sigmoid() * c.tanh()
        return h.flatten(2), c.flatten(2)
