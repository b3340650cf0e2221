"""No encoder: the states are the word vectors."""

from qaexp.models.stage import Encoder
from qaexp.models.types import Text


class Words(Encoder):
    """h_t = x_t, as in a bag of words."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def finish(self, text: Text) -> Text:
        return text
