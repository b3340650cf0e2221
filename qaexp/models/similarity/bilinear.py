"""Bilinear matches, qᵀ·M·a: one (Yu et al. 2014: CNN + LR), or several as the slices of a neural tensor layer (CNTN, NTN-LSTM)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from qaexp.limits import PositiveInt
from qaexp.models.lexical.overlap_features import WordOverlapFeatures
from qaexp.models.stage import Similarity


class Bilinear(Similarity):
    """s = qᵀ·M·a + wᵀ·f + b, with one M, w and b for each class.

    Yu et al. 2014, eq. 1: p(y = 1 | q, a) = σ(qᵀ·M·a + b); §4.3: a logistic regression over that score and two counts of the words that
    the texts share. f is there only with `overlap`.

    Reading: f is the four features of the models that Tay et al. 2018 compare, two of which are those of Yu et al.

    Departs: the logistic regression over features and match is trained together with the match; Yu et al. train the match first.
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
    """One score for each pair if there is one output, else one for each class."""
    return scores.squeeze(1) if scores.shape[1] == 1 else scores


class TensorLayer(Similarity):
    """z = tanh(qᵀ·M^[1:r]·a + V·[q ; a] + b),  s = U·[z ; f] + c, with a row of U for each class.

    Qiu & Huang 2015, eq. 7 (U without a bias, no f), after Socher et al. 2013. f, the four word-overlap features, is there only
    with `overlap`: Tay et al. 2018 put them "before the dense layers" on TrecQA.

    c starts at `initial_bias` (None: as in torch's Linear). If most pairs are wrong and c starts near 0, the first steps lower the scores
    by pushing every slice to one side, and the slices saturate before they tell any two pairs apart: on TrecQA all slices ended at −1 for
    every pair. With ln(p / (1 − p)), p the share of right pairs, this does not happen.
    """

    def __init__(self, input_dim: int, num_slices: PositiveInt, num_classes: int, overlap: bool, initial_bias: float | None) -> None:
        super().__init__()
        self.reads_overlap = overlap
        self.M = bilinear_weights(num_slices, input_dim)
        self.V = nn.Linear(2 * input_dim, num_slices)
        self.U = nn.Linear(num_slices + (WordOverlapFeatures.num_features if overlap else 0), num_classes)
        if initial_bias is not None:
            nn.init.constant_(self.U.bias, initial_bias)

    def forward(
        self, question: Float[Tensor, "pair dim"], candidate: Float[Tensor, "pair dim"], *features: Float[Tensor, "pair 4"]
    ) -> Float[Tensor, "pair *class"]:
        forms = bilinear_forms(question, self.M, candidate)  # (pair, r)
        z = torch.tanh(forms + self.V(torch.cat([question, candidate], dim=1)))
        return by_class(self.U(torch.cat([z, *features], dim=1)))
