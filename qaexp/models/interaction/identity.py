"""No interaction before the pooling: the texts meet in the pooling or the similarity."""

from qaexp.models.stage import Interaction
from qaexp.models.types import Text


class NoInteraction(Interaction):
    """Leaves every text as it is."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, text: Text) -> Text:
        return text
