"""How two words, or two segments of text, are compared: what fills the grid of a model that matches word against word."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.limits import PositiveInt
from qaexp.models.encoder.cnn import activation_named
from qaexp.models.similarity.bilinear import bilinear_weights
from qaexp.models.types import Text


class Match(nn.Module):
    """A grid of values for each pair of texts, with `num_slices` values for each pair of words.

    `begin_question` and `begin_candidate` do the work that needs only one text, once per text. Both keep `mask`, and axis 1 of every tensor
    that they add counts words. Readers ignore the grid where either word is padding.
    """

    num_slices: int

    def begin_question(self, text: Text) -> Text:
        """The part of a match that depends on the question alone."""
        return text

    def begin_candidate(self, text: Text) -> Text:
        """The part of a match that depends on the candidate alone."""
        return text

    def forward(self, question: Text, candidate: Text) -> Float[Tensor, "pair slice question_length candidate_length"]:
        raise NotImplementedError


class CosineMatch(Match):
    """s(u, v) = uᵀ·v / (‖u‖ ‖v‖), one slice; 0 where a vector is zero (Wan et al. 2016, "Interactions between two sentences")."""

    num_slices = 1

    def __init__(self, input_dim: int) -> None:
        super().__init__()

    def begin_question(self, text: Text) -> Text:
        return {"mask": text["mask"], "states": F.normalize(text["states"], dim=2)}

    def begin_candidate(self, text: Text) -> Text:
        return self.begin_question(text)

    def forward(self, question: Text, candidate: Text) -> Float[Tensor, "pair slice question_length candidate_length"]:
        return (question["states"] @ candidate["states"].transpose(1, 2)).unsqueeze(1)


class BilinearMatch(Match):
    """s(u, v) = uᵀ·M·v + b, one slice (Wan et al. 2016, "Interactions between two sentences").

    Reading: the paper does not say how M is initialised; its entries are drawn uniformly within ±√(3 / dim) (Glorot & Bengio 2010).
    """

    num_slices = 1

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.M = nn.Parameter(torch.empty(input_dim, input_dim))
        nn.init.xavier_uniform_(self.M)
        self.b = nn.Parameter(torch.zeros(1))

    def begin_question(self, text: Text) -> Text:
        return {"mask": text["mask"], "states": text["states"] @ self.M}

    def forward(self, question: Text, candidate: Text) -> Float[Tensor, "pair slice question_length candidate_length"]:
        return (question["states"] @ candidate["states"].transpose(1, 2)).unsqueeze(1) + self.b


class TensorMatch(Match):
    """s(u, v) = f(uᵀ·T^[1:r]·v + W·[u ; v] + b), one slice for each of the r matrices (Wan et al. 2016,
    "Interactions between two sentences", after Socher et al. 2013).

    uᵀ·T and both halves of W·[u ; v] are computed once per text.

    Reading: the paper does not say how T is initialised; each matrix is drawn uniformly within ±√(3 / dim) (Glorot & Bengio 2010).

    Raises:
        ConfigError: f is neither relu nor tanh.
    """

    def __init__(self, input_dim: int, num_slices: PositiveInt, activation: str) -> None:
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
