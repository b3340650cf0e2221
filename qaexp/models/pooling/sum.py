"""Sum over time."""

from qaexp.models.masking import zero_padding
from qaexp.models.stage import Stage
from qaexp.models.types import Text


class SumPooling(Stage):
    """v = Σ_t h_t over real tokens."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, text: Text) -> Text:
        return {"vector": zero_padding(text["states"], text["mask"]).sum(dim=1)}
