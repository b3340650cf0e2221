"""Mean over time."""

from qaexp.masking import masked_mean
from qaexp.models.stage import Stage
from qaexp.types import Text


class MeanPooling(Stage):
    """v = Σ_t h_t / L over real tokens."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, text: Text) -> Text:
        return {"vector": masked_mean(text["states"], text["mask"])}
