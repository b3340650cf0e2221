"""What encoders that wrap a recurrent layer of torch have in common: packed texts, and one bias a gate."""

from typing import ClassVar

from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from qaexp.models.stage import Encoder
from qaexp.types import Text


class PackedEncoder(Encoder):
    """States of a recurrent layer over real tokens.

    Texts are packed, so a backward direction starts at the last real token, never in the padding. States of padding are
    zero, but for the first of a text that is all padding: a packed text has at least one.
    """

    skips_padding: ClassVar[bool] = True

    def __init__(self, recurrence: nn.LSTM | nn.GRU) -> None:
        super().__init__()
        self.recurrence = recurrence
        self.output_dim = recurrence.hidden_size * (2 if recurrence.bidirectional else 1)

    def finish(self, text: Text) -> Text:
        mask = text["mask"]
        lengths = mask.sum(dim=1).clamp(min=1).cpu()
        packed = pack_padded_sequence(text["states"], lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.recurrence(packed)[0], batch_first=True, total_length=mask.shape[1])
        return {"mask": mask, "states": states}


def one_bias(recurrence: nn.LSTM | nn.GRU) -> nn.LSTM | nn.GRU:
    """The layer with its second bias, which the papers do not have and which adds to the first, fixed at zero."""
    for name, parameter in recurrence.named_parameters():
        if name.startswith("bias_hh"):
            nn.init.zeros_(parameter)
            parameter.requires_grad_(False)
    return recurrence
