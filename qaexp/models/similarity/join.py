"""The join layer of Severyn & Moschitti's CNN (2015): both vectors, their bilinear match and the overlap features, then a hidden layer."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from qaexp.models.lexical.overlap_features import WordOverlapFeatures
from qaexp.models.scorer import Similarity
from qaexp.models.similarity.bilinear import bilinear_forms, bilinear_weights, by_class


class JoinLayer(Similarity):
    """x_join = [q ; qᵀ·M·a ; a ; f],  s = W_s·tanh(W_h·x_join + b_h) + b_s.

    Severyn & Moschitti 2015, §3.2–3.3; the hidden layer is as wide as x_join. f, the four word-overlap features, is there with `overlap`
    alone.

    Reading: the hidden layer's non-linearity is tanh, as in their release.
    """

    def __init__(self, input_dim: int, num_classes: int, overlap: bool) -> None:
        super().__init__()
        self.reads_overlap = overlap
        self.M = bilinear_weights(1, input_dim)
        width = 2 * input_dim + 1 + (WordOverlapFeatures.num_features if overlap else 0)
        self.hidden = nn.Linear(width, width)
        self.output = nn.Linear(width, num_classes)

    def forward(
        self, question: Float[Tensor, "pair dim"], candidate: Float[Tensor, "pair dim"], *features: Float[Tensor, "pair 4"]
    ) -> Float[Tensor, "pair *class"]:
        match = bilinear_forms(question, self.M, candidate)  # (pair, 1)
        x = torch.cat([question, match, candidate, *features], dim=1)
        return by_class(self.output(self.hidden(x).tanh()))
