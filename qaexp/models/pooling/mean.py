"""Mean over time."""

from torch.nn import functional as F

from qaexp.models.masking import masked_mean
from qaexp.models.stage import Stage
from qaexp.models.types import Text


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
