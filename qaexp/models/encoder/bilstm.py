"""Bidirectional LSTM, the encoder of QA-LSTM (Tan et al. 2016)."""

from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from qaexp.models.stage import Encoder
from qaexp.types import Text


class BiLSTM(Encoder):
    """H = [LSTM→(x) ; LSTM←(x)], `hidden_dim` wide in each direction (Tan et al. 2016, eq. 1–6).

    Texts are packed, so the backward direction starts at the last real token, never in the padding. States of padding are
    zero, but for the first of a text that is all padding: a packed text has at least one.
    """

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.output_dim, self.backward_dim = 2 * hidden_dim, hidden_dim

    def finish(self, text: Text) -> Text:
        mask = text["mask"]
        lengths = mask.sum(dim=1).clamp(min=1).cpu()
        packed = pack_padded_sequence(text["states"], lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=mask.shape[1])
        return {"mask": mask, "states": states}
