"""A CNN and the maximum over time, of texts as QA-CNN chooses its hardest negative from, against torch's Conv1d and a masked copy."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from benchmarks.made_up import MEAN_LENGTH, answer_lengths
from benchmarks.row import Row
from benchmarks.timing import DEVICE, paired
from qaexp.models.encoder.cnn import CNN
from qaexp.models.masking import masked_max

DIM, WINDOW = 100, 2
NUM_TEXTS = 51
NUM_PAIRS = 5


def rows() -> Iterator[Row]:
    yield _row(4000)
    yield _row(400)


def _row(num_filters: int) -> Row:
    encoder = CNN(DIM, num_filters, WINDOW).to(DEVICE)
    lengths = answer_lengths(NUM_TEXTS, np.random.default_rng(0))
    mask = (torch.arange(int(lengths.max())) < torch.from_numpy(lengths)[:, None]).to(DEVICE)
    words = torch.randn(*mask.shape, DIM, device=DEVICE, requires_grad=True)
    gradient = torch.randn(NUM_TEXTS, num_filters, device=DEVICE)

    def ours() -> None:
        masked_max(encoder.finish({"mask": mask, "states": words})["states"], mask).backward(gradient)

    def plain() -> Float[Tensor, "text filter"]:
        padded = F.pad(words.masked_fill(~mask.unsqueeze(-1), 0.0), (0, 0, encoder.before, encoder.after))
        states = encoder.convolution(padded.transpose(1, 2))  # (text, filter, length)
        return states.masked_fill(~mask.unsqueeze(1), torch.finfo(states.dtype).min).amax(dim=2)

    pairs = paired(ours, lambda: plain().backward(gradient), NUM_PAIRS, DEVICE)
    what = f"convolution of {num_filters:,} filters and maximum, {NUM_TEXTS} texts of {MEAN_LENGTH} words on average, forward and backward"
    return pairs.at_least(f"{what}: ours, Conv1d and a masked copy", 1.0)
