"""Running torch's recurrent layers over real tokens alone, with one bias where torch has two."""

from typing import Any

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def run_packed(
    layer: nn.RNNBase, states: Float[Tensor, "text length dim"], mask: Bool[Tensor, "text length"]
) -> Float[Tensor, "text length hidden"]:
    """The layer's states. Those of padding are zero, but for the first of a text that is all padding: a packed text has at least one."""
    return run_packed_from(layer, states, mask, None)[0]


def run_packed_from(
    layer: nn.RNNBase, states: Float[Tensor, "text length dim"], mask: Bool[Tensor, "text length"], start: Any
) -> tuple[Float[Tensor, "text length hidden"], Any]:
    """The same from a given state, and the state after each text's last real word, both as the layer's own `forward` has them."""
    lengths = mask.sum(dim=1).clamp(min=1).cpu()
    packed = pack_padded_sequence(states, lengths, batch_first=True, enforce_sorted=False)
    run, last = layer(packed, start)
    return pad_packed_sequence(run, batch_first=True, total_length=mask.shape[1])[0], last


def leave_one_bias(layer: nn.RNNBase) -> None:
    """Fix at zero the bias that torch adds to U·h beside the one it adds to W·x: the papers' cells have one, and so does their count."""
    for name, parameter in layer.named_parameters():
        if name.startswith("bias_hh"):
            nn.init.zeros_(parameter)
            parameter.requires_grad_(False)
