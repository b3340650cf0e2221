"""Dense layers over the two vectors, end to end."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from qaexp.models.lexical.overlap_features import WordOverlapFeatures
from qaexp.models.scorer import Similarity
from qaexp.models.similarity.bilinear import by_class


class MLP(Similarity):
    """s = W_f·x + b_f, with x the last of `num_layers` dense layers over [v^q ; v^a].

        x_0 = [v^q ; v^a],  x_i = dropout(ReLU(W_i·x_{i−1} + b_i))

    Tay et al. 2018, "Dense Layers (MLP)" and eq. 2. With `overlap`, x_0 ends in the four word-overlap features: "concatenated before the
    dense layers following" Severyn & Moschitti 2015.

    Reading: of two classes the softmax over (z_0, z_1) is the logistic function of s = z_1 − z_0, the one score of a pair; W_f then has
    one row instead of two that say the same. The paper names neither the dense layers' activation, ReLU here, nor where its dropout stands:
    behind each of them. Of its "MLP" behind NBOW and parallel LSTMs Liu et al. 2016 name no more.
    """

    def __init__(self, input_dim: int, hidden_dim: int, num_layers: int, num_classes: int, dropout_rate: float, overlap: bool) -> None:
        super().__init__()
        width, layers = 2 * input_dim + WordOverlapFeatures.num_features * overlap, []
        for _ in range(num_layers):
            layers += [nn.Linear(width, hidden_dim), nn.ReLU(), nn.Dropout(dropout_rate)]
            width = hidden_dim
        self.dense = nn.Sequential(*layers)
        self.output = nn.Linear(width, num_classes)
        self.reads_overlap = overlap

    def forward(
        self, question: Float[Tensor, "pair dim"], candidate: Float[Tensor, "pair dim"], *overlap: Float[Tensor, "pair 4"]
    ) -> Float[Tensor, "pair *class"]:
        return by_class(self.output(self.dense(torch.cat([question, candidate, *overlap], dim=1))))
