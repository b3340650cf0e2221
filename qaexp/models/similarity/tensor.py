"""The neural tensor layer: the match of CNTN (Qiu & Huang 2015) and NTN-LSTM (Tay et al. 2017)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from qaexp.errors import ConfigError
from qaexp.models.lexical.overlap_features import WordOverlapFeatures
from qaexp.models.scorer import Similarity
from qaexp.models.similarity.bilinear import bilinear_forms, bilinear_weights, by_class


class TensorLayer(Similarity):
    """z = tanh(qᵀ·M^[1:r]·a + V·[q ; a] + b),  s = U·[z ; f] + c, with a row of U for each class.

    Qiu & Huang 2015, eq. 7 (U without a bias, no f), after Socher et al. 2013. f, the four word-overlap features, is there with `overlap`
    alone: Tay et al. 2018 put them "before the dense layers" on TrecQA.

    c begins at `initial_bias`; None: as in torch's Linear. Where most pairs are wrong and c begins near 0, the first steps push every slice
    to one side to lower the score, and as a slice weighs the product of two vectors, it is saturated before it has told two pairs apart: on
    TrecQA all slices ended at −1 for every pair. At ln(p / (1 − p)), p the share of right pairs, there is no such push.

    Raises:
        ConfigError: the tensor has no slice.
    """

    def __init__(self, input_dim: int, num_slices: int, num_classes: int, overlap: bool, initial_bias: float | None) -> None:
        super().__init__()
        if num_slices < 1:
            raise ConfigError(f"model.similarity.num_slices={num_slices}: TensorLayer needs at least 1 slice of {input_dim} × {input_dim}")
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
