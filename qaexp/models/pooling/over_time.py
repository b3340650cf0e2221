"""Pooling of one text over time: maximum, mean, sum, the first or the last state."""

from typing import ClassVar

from torch.nn import functional as F

from qaexp.errors import ConfigError
from qaexp.models.masking import masked_max, masked_mean, zero_padding
from qaexp.models.stage import Stage
from qaexp.models.types import Text


class MaxPooling(Stage):
    """v = max_t h_t over real tokens; with `squash`, v = tanh(max_t h_t), as dos Santos et al. 2016, eq. 9–10, have it."""

    def __init__(self, input_dim: int, squash: bool) -> None:
        super().__init__()
        self.squash = squash
        self.output_dim = input_dim

    def forward(self, text: Text) -> Text:
        vector = masked_max(text["states"], text["mask"])
        return {"vector": vector.tanh() if self.squash else vector}


class MeanPooling(Stage):
    """v = Σ_t h_t / L over real tokens; with `normalise`, v = Σ_t (h_t / ‖h_t‖) / L.

    Lei et al. 2016, §4.1, note 4: "We also normalize state vectors before averaging, which empirically gets better performance."
    """

    def __init__(self, input_dim: int, normalise: bool) -> None:
        super().__init__()
        self.normalise = normalise
        self.output_dim = input_dim

    def forward(self, text: Text) -> Text:
        states = F.normalize(text["states"], dim=2) if self.normalise else text["states"]
        return {"vector": masked_mean(states, text["mask"])}


class SumPooling(Stage):
    """v = Σ_t h_t over real tokens."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, text: Text) -> Text:
        return {"vector": zero_padding(text["states"], text["mask"]).sum(dim=1)}


class _StatePooling(Stage):
    """v = one state of the text, which the encoder gives under the name `state`."""

    state: ClassVar[str]
    choice: ClassVar[str]
    """The pooling as the error names it."""
    encoders: ClassVar[str]
    """The encoders that the error names, since they give this state."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, text: Text) -> Text:
        if self.state not in text:
            raise ConfigError(
                f"model/pooling={self.choice} needs a {self.state} state that has read the whole text, and this encoder gives "
                f"{', '.join(text)} alone; choose {self.encoders}, or another pooling"
            )
        return {"vector": text[self.state]}


class FirstPooling(_StatePooling):
    """v = h_1, the state of the first token: of a pretrained transformer, that of [CLS].

    Raises:
        ConfigError: at the first text, if the encoder has no first state that has read the whole text.
    """

    state, choice, encoders = "first", "cls", "model/encoder=transformer"


class LastPooling(_StatePooling):
    """v = h_L, the state of the last real token; zeros for a text that has none. Lei et al. 2016, §4.1: "simply taking the last one".

    With `normalise`, v = h_L / ‖h_L‖, so that title and body weigh the same in their average, as in the release of Lei et al. An encoder of
    two directions gives the last state of each (Tan et al. 2016, §3.1).

    Raises:
        ConfigError: at the first text, if the encoder has no last state that has read the whole text.
    """

    state, choice, encoders = "last", "last", "a recurrent encoder like lstm"

    def __init__(self, input_dim: int, normalise: bool = False) -> None:
        super().__init__(input_dim)
        self.normalise = normalise

    def forward(self, text: Text) -> Text:
        pooled = super().forward(text)
        return {"vector": F.normalize(pooled["vector"], dim=-1)} if self.normalise else pooled
