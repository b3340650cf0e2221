"""Recurrences as ONNX has them, for `qaexp.export.onnx`: a Python loop would fix the length of texts at that of the export's example."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn


def is_exporting() -> bool:
    """Whether a model is being exported."""
    return torch.compiler.is_exporting()


def scanned_steps(
    step: Callable[[list[Tensor], list[Tensor]], tuple[list[Tensor], Tensor]], start: Sequence[Tensor], inputs: Sequence[Tensor]
) -> tuple[list[Tensor], Tensor]:
    """Calls `step(state, input)` along the inputs' first axis, as ONNX's Scan. Returns the last state and all outputs, stacked."""
    from torch._higher_order_ops.scan import scan  # loads a compiler

    return scan(step, list(start), list(inputs), dim=0)


def recurrent_layer(
    layer: nn.RNNBase, number: int, suffix: str, texts: Float[Tensor, "text length dim"], start: Sequence[Tensor]
) -> Float[Tensor, "text length hidden"]:
    """One direction of torch's LSTM or GRU over padded texts, as the ONNX operator LSTM or GRU."""
    is_lstm = layer.mode == "LSTM"
    gates = [0, 3, 1, 2] if is_lstm else [1, 0, 2]  # torch's order is i, f, c, o or r, z, n; ONNX's is i, o, f, c or z, r, n
    W, U, b, c = (
        torch.cat([getattr(layer, f"{name}_l0{suffix}").chunk(len(gates))[gate] for gate in gates]).unsqueeze(0)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    states = torch.onnx.ops.symbolic(
        layer.mode,
        (texts.transpose(0, 1), W, U, torch.cat([b, c], dim=1), None, *(part[number : number + 1] for part in start)),
        {"hidden_size": layer.hidden_size, **({} if is_lstm else {"linear_before_reset": 1})},
        dtype=texts.dtype,
        shape=(texts.shape[1], 1, texts.shape[0], layer.hidden_size),
    )
    return states.squeeze(1).transpose(0, 1)
