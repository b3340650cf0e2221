"""A training step of the RCNN cell against the loop as printed, with every product inside it, and against an LSTM of as many parameters."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from benchmarks.row import Row
from benchmarks.timing import CPU, paired
from qaexp.models.encoder.rcnn import RCNN

TEXTS, LENGTH, INPUT = 22, 60, 200  # a query, a similar question and 20 negatives; bodies have 59.7 words on average
HIDDEN, ORDER, LSTM_HIDDEN = 400, 2, 240  # Lei et al. 2016, Table 3: 400,800 and 423,360 parameters
NUM_PAIRS = 7


def rows() -> Iterator[Row]:
    torch.manual_seed(0)
    rcnn, lstm = RCNN(INPUT, HIDDEN, ORDER, gate="vector"), nn.LSTM(INPUT, LSTM_HIDDEN, batch_first=True)
    X, mask = torch.randn(TEXTS, LENGTH, INPUT), torch.ones(TEXTS, LENGTH, dtype=torch.bool)
    ours = step(rcnn, X, lambda x: rcnn({"states": x, "mask": mask})["states"])
    what = f"training step of the RCNN cell, {TEXTS} texts of {LENGTH} words, d = {HIDDEN}: ours"
    yield paired(ours, step(rcnn, X, lambda x: as_printed(rcnn, x)), NUM_PAIRS, CPU).at_least(f"{what}, the loop as printed", 1.5)
    against = f"{what}, torch's LSTM of d = {LSTM_HIDDEN}"
    yield paired(ours, step(lstm, X, lambda x: lstm(x)[0]), NUM_PAIRS, CPU).at_most(against, 2.5)


def step(module: nn.Module, X: Tensor, states: Callable[[Tensor], Tensor]) -> Callable[[], None]:
    """Forward and backward, to the words too."""

    def run() -> None:
        module.zero_grad()
        states(X.clone().requires_grad_()).square().sum().backward()

    return run


def as_printed(model: RCNN, X: Tensor) -> Tensor:
    """Lei et al. 2016, §4.1, a word at a time, with the gradients that autograd finds."""
    W_gate, *W = model.W.split(HIDDEN)
    c, h, H = [X.new_zeros(len(X), HIDDEN)] * ORDER, X.new_zeros(len(X), HIDDEN), []
    for x in X.unbind(dim=1):
        decay = torch.sigmoid(x @ W_gate.T + h @ model.U.T + model.b_gate)
        patterns = [0, *c[:-1]]
        c = [decay * c[i] + (1 - decay) * (patterns[i] + x @ W[i].T) for i in range(ORDER)]
        h = torch.tanh(c[-1] + model.b)
        H.append(h)
    return torch.stack(H, dim=1)
