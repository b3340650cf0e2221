"""Holographic composition: two vectors to one by circular correlation, the match of HD-LSTM (Tay et al. 2017)."""

from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from qaexp.errors import ConfigError
from qaexp.models.lexical.overlap_features import WordOverlapFeatures
from qaexp.models.scorer import Similarity
from qaexp.models.similarity.bilinear import bilinear_forms, bilinear_weights, by_class


class Holographic(Similarity):
    """x = [q ⋆ a ; qᵀ·M·a ; f], then `num_layers` dense layers and the output.

        [q ⋆ a]_k = Σ_i q_i·a_{(k+i) mod d} = F⁻¹(conj(F(q)) ⊙ F(a))_k
        h_1 = dropout(tanh(W_1·x + b_1)), ...,  s = W_f·h + b_f

    Tay et al. 2017, "Learning to rank question answer pairs with holographic dual LSTM architecture", §3.3–3.4. The correlation has no
    parameters and costs d·log d. `bilinear` brings in qᵀ·M·a, `overlap` the four word-overlap features f; the paper has both on TrecQA and
    neither on YahooQA.

    Reading: the paper's σ of the hidden layer is taken for tanh, and its softmax over two outputs belongs to the loss. Dropout stands
    behind each dense layer.

    Raises:
        ConfigError: no dense layer, or one of no width.
    """

    def __init__(
        self, input_dim: int, hidden_dim: int, num_layers: int, num_classes: int, dropout_rate: float, bilinear: bool, overlap: bool
    ) -> None:
        super().__init__()
        if num_layers < 1 or hidden_dim < 1:
            raise ConfigError(
                f"model.similarity.num_layers={num_layers}, model.similarity.hidden_dim={hidden_dim}: "
                "Holographic needs at least 1 dense layer of at least 1 unit"
            )
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
    """q ⋆ a by the fast Fourier transform, which knows no bfloat16.

    >>> circular_correlation(torch.tensor([[1.0, 2.0, 0.0]]), torch.tensor([[10.0, 20.0, 30.0]])).round().tolist()
    [[50.0, 80.0, 50.0]]
    """
    q, a = torch.fft.rfft(question), torch.fft.rfft(candidate)
    return torch.fft.irfft(q.conj() * a, n=question.shape[1])
