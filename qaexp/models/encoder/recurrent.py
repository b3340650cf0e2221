"""Encoders that read from left to right and hand their state on: what ends one text can begin another."""

from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from qaexp.models.stage import Encoder
from qaexp.models.types import Text

State = tuple[Tensor, ...]
"""Everything that a cell carries from one word to the next, a row for each text; which tensors these are is the cell's own affair."""


class RecurrentEncoder(Encoder):
    """An encoder of one direction whose cell can start from any state, such as the last one of another with the same cell and width."""

    accumulates: ClassVar[bool] = True

    def run(self, text: Text, start: State | None) -> tuple[Float[Tensor, "text length dim"], State]:
        """The visible states h_1 … h_L, and the cell's state after each text's last real word. Without `start` it begins from zeros."""
        raise NotImplementedError

    def finish(self, text: Text) -> Text:
        return {"mask": text["mask"], "states": self.run(text, None)[0]}
