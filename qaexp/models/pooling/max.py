"""Maximum over time."""

from qaexp.models.masking import masked_max
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
