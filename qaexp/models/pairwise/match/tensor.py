"""Words matched by a tensor layer."""

from jaxtyping import Float
from torch import Tensor, nn

from qaexp.models.encoder.cnn import activation_named
from qaexp.models.pairwise.match.base import Match
from qaexp.models.similarity.bilinear import bilinear_weights
from qaexp.models.types import Text


class TensorMatch(Match):
    """s(u, v) = f(uᵀ·T^[1:r]·v + W·[u ; v] + b), one slice for each of the r matrices (Wan et al. 2016,
    "Interactions between two sentences", after Socher et al. 2013).

    uᵀ·T and both halves of W·[u ; v] are made once for each text.

    Reading: how T begins is not said; the entries of each matrix are drawn uniformly within ±√(3 / dim) (Glorot & Bengio 2010).

    Raises:
        ConfigError: f is neither relu nor tanh.
    """

    def __init__(self, input_dim: int, num_slices: int, activation: str) -> None:
        super().__init__()
        self.num_slices, self.activation = num_slices, activation_named("model.match.activation", activation)
        self.T = bilinear_weights(num_slices, input_dim)
        self.W_question = nn.Linear(input_dim, num_slices, bias=False)
        self.W_candidate = nn.Linear(input_dim, num_slices)  # with b

    def begin_question(self, text: Text) -> Text:
        U = text["states"]  # (text, length, dim)
        return {"mask": text["mask"], "states": (U @ self.T.permute(1, 0, 2).flatten(1)), "linear": self.W_question(U)}

    def begin_candidate(self, text: Text) -> Text:
        return {**text, "linear": self.W_candidate(text["states"])}

    def forward(self, question: Text, candidate: Text) -> Float[Tensor, "pair slice question_length candidate_length"]:
        forms = question["states"].unflatten(2, (self.num_slices, -1)).flatten(1, 2)  # (pair, question_length · slice, dim)
        grid = (forms @ candidate["states"].transpose(1, 2)).unflatten(1, (-1, self.num_slices)).transpose(1, 2)
        linear = question["linear"].transpose(1, 2).unsqueeze(3) + candidate["linear"].transpose(1, 2).unsqueeze(2)
        return self.activation(grid + linear)
