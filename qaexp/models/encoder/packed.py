"""Running torch's recurrent layers over real tokens alone, with one bias where torch has two."""

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def run_packed(
    layer: nn.RNNBase, states: Float[Tensor, "text length dim"], mask: Bool[Tensor, "text length"]
) -> Float[Tensor, "text length hidden"]:
    """The layer's states. Those of padding are zero, but for the first of a text that is all padding: a packed text has at least one."""
    lengths = mask.sum(dim=1).clamp(min=1).cpu()
    packed = pack_padded_sequence(states, lengths, batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(layer(packed)[0], batch_first=True, total_length=mask.shape[1])[0]


def leave_one_bias(layer: nn.RNNBase) -> None:
    """Fix at zero the bias that torch adds to U·h beside the one it adds to W·x: the papers' cells have one, and so does their count."""
    for name, parameter in layer.named_parameters():
        if name.startswith("bias_hh"):
            nn.init.zeros_(parameter)
            parameter.requires_grad_(False)
