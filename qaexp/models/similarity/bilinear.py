"""A bilinear match, qᵀ·M·a, with the word-overlap features beside it (Yu et al. 2014: CNN + LR)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from qaexp.models.lexical.overlap_features import WordOverlapFeatures
from qaexp.models.scorer import Similarity


class Bilinear(Similarity):
    """s = qᵀ·M·a + wᵀ·f + b, with one M, w and b for each class.

    Yu et al. 2014, eq. 1: p(y = 1 | q, a) = σ(qᵀ·M·a + b); §4.3: a logistic regression over that score and two counts of the words that
    the texts share. f is there with `overlap` alone.

    Reading: f is the four features of the models that Tay et al. 2018 compare, two of which are those of Yu et al.

    Departs: one logistic regression over features and match, trained at once, where Yu et al. train the match first.
    """

    def __init__(self, input_dim: int, num_classes: int, overlap: bool) -> None:
        super().__init__()
        self.reads_overlap = overlap
        self.M = bilinear_weights(num_classes, input_dim)
        self.w = nn.Linear(WordOverlapFeatures.num_features, num_classes, bias=False) if overlap else None
        self.b = nn.Parameter(torch.zeros(num_classes))

    def forward(
        self, question: Float[Tensor, "pair dim"], candidate: Float[Tensor, "pair dim"], *features: Float[Tensor, "pair 4"]
    ) -> Float[Tensor, "pair *class"]:
        scores = bilinear_forms(question, self.M, candidate) + self.b  # (pair, class)
        return by_class(scores if self.w is None else scores + self.w(*features))


def bilinear_weights(num: int, dim: int) -> nn.Parameter:
    """`num` square matrices, each drawn uniformly within ±√(3 / dim) (Glorot & Bengio 2010)."""
    bound = (3 / dim) ** 0.5
    return nn.Parameter(torch.empty(num, dim, dim).uniform_(-bound, bound))


def bilinear_forms(
    question: Float[Tensor, "pair dim"], M: Float[Tensor, "form dim dim"], candidate: Float[Tensor, "pair dim"]
) -> Float[Tensor, "pair form"]:
    """qᵀ·M_k·a for every k.

    >>> bilinear_forms(torch.tensor([[1.0, 2.0]]), torch.tensor([[[1.0, 0.0], [0.0, 10.0]]]), torch.tensor([[3.0, 1.0]])).item()
    23.0
    """
    return torch.einsum("pkj,pj->pk", torch.einsum("pi,kij->pkj", question, M), candidate)


def by_class(scores: Float[Tensor, "pair output"]) -> Float[Tensor, "pair *class"]:
    """One score a pair where there is one output, else a score a class."""
    return scores.squeeze(1) if scores.shape[1] == 1 else scores
