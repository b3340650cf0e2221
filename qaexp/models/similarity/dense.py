"""Dense layers over the two vectors: by themselves (MLP), with their bilinear match (JoinLayer) or their circular correlation (HD-LSTM)."""

from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from qaexp.limits import NonNegativeInt, PositiveInt, Rate
from qaexp.models.lexical.overlap_features import WordOverlapFeatures
from qaexp.models.similarity.bilinear import bilinear_forms, bilinear_weights, by_class
from qaexp.models.stage import Similarity


class MLP(Similarity):
    """s = W_f·x + b_f, with x the last of `num_layers` dense layers over [v^q ; v^a].

        x_0 = [v^q ; v^a],  x_i = dropout(ReLU(W_i·x_{i−1} + b_i))

    Tay et al. 2018, "Dense Layers (MLP)" and eq. 2. With `overlap`, x_0 ends in the four word-overlap features: "concatenated before the
    dense layers following" Severyn & Moschitti 2015.

    Reading: of two classes the softmax over (z_0, z_1) is the logistic function of s = z_1 − z_0, the one score of a pair; W_f then has
    one row instead of two that say the same. The paper does not name the activation of the dense layers (ReLU here) or the place of its
    dropout (here after each of them). Liu et al. 2016 say no more of the "MLP" after NBOW and parallel LSTMs.
    """

    def __init__(
        self, input_dim: int, hidden_dim: PositiveInt, num_layers: NonNegativeInt, num_classes: int, dropout_rate: Rate, overlap: bool
    ) -> None:
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


class JoinLayer(Similarity):
    """x_join = [q ; qᵀ·M·a ; a ; f],  s = W_s·tanh(W_h·x_join + b_h) + b_s.

    Severyn & Moschitti 2015, §3.2–3.3; the hidden layer is as wide as x_join. f, the four word-overlap features, is there only with
    `overlap`.

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


class Holographic(Similarity):
    """x = [q ⋆ a ; qᵀ·M·a ; f], then `num_layers` dense layers and the output.

        [q ⋆ a]_k = Σ_i q_i·a_{(k+i) mod d} = F⁻¹(conj(F(q)) ⊙ F(a))_k
        h_1 = dropout(tanh(W_1·x + b_1)), ...,  s = W_f·h + b_f

    Tay et al. 2017, "Learning to rank question answer pairs with holographic dual LSTM architecture", §3.3–3.4. The correlation has no
    parameters and costs d·log d. `bilinear` adds qᵀ·M·a, `overlap` the four word-overlap features f; the paper uses both on TrecQA and
    neither on YahooQA.

    Reading: the paper's σ of the hidden layer is taken for tanh, and its softmax over two outputs belongs to the loss. Dropout follows
    each dense layer.
    """

    def __init__(
        self,
        input_dim: int,
        hidden_dim: PositiveInt,
        num_layers: PositiveInt,
        num_classes: int,
        dropout_rate: Rate,
        bilinear: bool,
        overlap: bool,
    ) -> None:
        super().__init__()
        self.reads_overlap = overlap
        self.M = bilinear_weights(1, input_dim) if bilinear else None
        width = input_dim + bilinear + (WordOverlapFeatures.num_features if overlap else 0)
        widths = [width, *[hidden_dim] * num_layers]
        self.layers = nn.ModuleList(nn.Linear(*shape) for shape in pairwise(widths))
        self.dropout = nn.Dropout(dropout_rate)
        self.output = nn.Linear(hidden_dim, num_classes)

    def forward(
        self, question: Float[Tensor, "pair dim"], candidate: Float[Tensor, "pair dim"], *features: Float[Tensor, "pair 4"]
    ) -> Float[Tensor, "pair *class"]:
        parts = [circular_correlation(question, candidate)]
        if self.M is not None:
            parts.append(bilinear_forms(question, self.M, candidate))
        x = torch.cat([*parts, *features], dim=1)
        for layer in self.layers:
            x = self.dropout(torch.tanh(layer(x)))
        return by_class(self.output(x))


def circular_correlation(question: Float[Tensor, "pair dim"], candidate: Float[Tensor, "pair dim"]) -> Float[Tensor, "pair dim"]:
    """q ⋆ a by the fast Fourier transform, which does not take bfloat16.

    >>> circular_correlation(torch.tensor([[1.0, 2.0, 0.0]]), torch.tensor([[10.0, 20.0, 30.0]])).round().tolist()
    [[50.0, 80.0, 50.0]]
    """
    q, a = torch.fft.rfft(question), torch.fft.rfft(candidate)
    return torch.fft.irfft(q.conj() * a, n=question.shape[1])
