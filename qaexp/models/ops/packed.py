"""Runs torch's single-layer recurrent networks over real tokens only, in the way that is faster on each device."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from qaexp.models.blocks import blocks_of
from qaexp.models.masking import zero_padding
from qaexp.models.ops.exported import is_exporting, recurrent_layer

State = Any
"""The state of torch's layer, each tensor (direction, text, hidden): h of a GRU, (h, c) of an LSTM."""


def run_packed(
    layer: nn.RNNBase, states: Float[Tensor, "text length dim"], mask: Bool[Tensor, "text length"], start: State = None
) -> Float[Tensor, "text length hidden"]:
    """The layer's states. Those of padding are zero, except the first of a text that is all padding: a packed text has at least one token.

    On a CPU torch runs packed texts step by step, and its backward pass fills a tensor as large as all texts for each step (torch 2.13).
    So on a CPU blocks of texts of similar length are run by the kernels for padded texts, with the same result. `run_packed_from` is the
    reference.
    """
    if is_exporting():
        return _run_padded(layer, states, mask.sum(dim=1).clamp(min=1), _parts(layer, start, states))
    if not states.is_cpu:
        return run_packed_from(layer, states, mask, start)[0]
    lengths = mask.sum(dim=1).clamp(min=1)
    order, sizes, longest = blocks_of(lengths)
    with _kernels_precision(states) as states:
        before, blocks = _parts(layer, start, states), []
        for rows, length in zip(order.split(sizes), longest, strict=True):
            block = _run_padded(layer, states[rows, :length], lengths[rows], [part[:, rows] for part in before])
            blocks.append(F.pad(block, (0, 0, 0, mask.shape[1] - length)))
    return torch.cat(blocks)[order.argsort()]


def run_packed_from(
    layer: nn.RNNBase, states: Float[Tensor, "text length dim"], mask: Bool[Tensor, "text length"], start: State
) -> tuple[Float[Tensor, "text length hidden"], State]:
    """As `run_packed`, by torch's own `forward` of packed texts. Also returns the state after each text's last real word."""
    lengths = mask.sum(dim=1).clamp(min=1).cpu()
    with _kernels_precision(states) as states:
        run, last = layer(pack_padded_sequence(states, lengths, batch_first=True, enforce_sorted=False), start)
    return pad_packed_sequence(run, batch_first=True, total_length=mask.shape[1])[0], last


@contextmanager
def _kernels_precision(states: Float[Tensor, "text length dim"]) -> Iterator[Float[Tensor, "text length dim"]]:
    """The states in a precision that torch's recurrent kernels support on this machine.

    Without AVX-512, oneDNN has no LSTM in bfloat16 and raises an error: there bf16-mixed runs the recurrence in float32.
    """
    if states.is_cpu and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        with torch.autocast("cpu", enabled=False):
            yield states.float() if states.dtype == torch.bfloat16 else states
    else:
        yield states


def freeze_second_bias(layer: nn.RNNBase) -> None:
    """Fix torch's second bias, which it adds to U·h, at zero: the papers' cells and their parameter counts have one bias only."""
    for name, parameter in layer.named_parameters():
        if name.startswith("bias_hh"):
            nn.init.zeros_(parameter)
            parameter.requires_grad_(False)


def reversed_positions(lengths: Int[Tensor, " text"], longest: int) -> Int[Tensor, "text length"]:
    """The positions of each text in reverse, from its last real token to its first; padding keeps its place.

    >>> reversed_positions(torch.tensor([3, 1]), 4).tolist()
    [[2, 1, 0, 3], [0, 1, 2, 3]]
    """
    position = torch.arange(longest, device=lengths.device)
    backwards = lengths.unsqueeze(1) - 1 - position
    return torch.where(backwards >= 0, backwards, position)


def _run_padded(
    layer: nn.RNNBase, states: Float[Tensor, "text length dim"], lengths: Int[Tensor, " text"], start: Sequence[Tensor]
) -> Float[Tensor, "text length hidden"]:
    """Each direction in a run of its own over padded texts: padding after a text's end does not change the states before it."""
    run: Any = torch.lstm if layer.mode == "LSTM" else torch.gru
    rows, backwards = torch.arange(states.shape[0]).unsqueeze(1), reversed_positions(lengths, states.shape[1])
    directions = []
    for number, suffix in enumerate(("", "_reverse") if layer.bidirectional else ("",)):
        texts = states[rows, backwards] if suffix else states
        if is_exporting():
            H = recurrent_layer(layer, number, suffix, texts, start)
            directions.append(H[rows, backwards] if suffix else H)
            continue
        weights = [getattr(layer, f"{name}_l0{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        before = tuple(part[number : number + 1] for part in start)
        H = run(
            texts,
            before if layer.mode == "LSTM" else before[0],
            weights,
            has_biases=True,
            num_layers=1,
            dropout=0.0,
            train=layer.training,
            bidirectional=False,
            batch_first=True,
        )[0]
        directions.append(H[rows, backwards] if suffix else H)
    return zero_padding(torch.cat(directions, dim=2), torch.arange(states.shape[1]) < lengths.unsqueeze(1))


def _parts(layer: nn.RNNBase, start: State, states: Float[Tensor, "text length dim"]) -> Sequence[Tensor]:
    """The tensors of a state, zeros if none is given."""
    if start is None:
        zeros = states.new_zeros(2 if layer.bidirectional else 1, states.shape[0], layer.hidden_size)
        return (zeros, zeros) if layer.mode == "LSTM" else (zeros,)
    return start if isinstance(start, tuple) else (start,)
