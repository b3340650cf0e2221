"""MP-CNN (He et al. 2015): two texts compared from many perspectives: filters over words and over single dimensions, several poolings."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.limits import PositiveInt
from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.intermediates import show
from qaexp.models.masking import zero_padding
from qaexp.models.ops.convolution import apply_convolution
from qaexp.models.pairwise.classifier import Classifier
from qaexp.models.scorer import AnswerScorer
from qaexp.models.types import Text


class MultiPerspectiveCNN(nn.Module):
    """The sentence model of He et al. 2015.

        block A: group_A(ws, p) = p_i(tanh(w_F·[x_i ; … ; x_{i+ws−1}] + b_F)), each holistic filter F, p ∈ {max, min, mean}
        block B: group_B(ws, p) = p_i(tanh(w_F^[k]·[x_i^[k] ; … ; x_{i+ws−1}^[k]] + b_F^[k])), each filter F and dimension k, p ∈ {max, min}

    The widths are ws = 1 … `num_widths`; block A also has ws = ∞, where p pools the word vectors themselves.

    Reading: the horizontal comparison puts ws = ∞ beside the other widths, so block A has as many filters as words have dimensions (both
    are 300 in the paper). A text shorter than a filter is padded with zeros to one window.
    """

    def __init__(self, input_dim: int, num_widths: int, num_dimension_filters: int) -> None:
        super().__init__()
        widths = range(1, num_widths + 1)
        self.holistic = nn.ModuleList(nn.Conv1d(input_dim, input_dim, ws) for ws in widths)
        self.by_dimension = nn.ModuleList(nn.Conv1d(input_dim, input_dim * num_dimension_filters, ws, groups=input_dim) for ws in widths)
        self.num_dimension_filters = num_dimension_filters

    def forward(
        self, states: Float[Tensor, "text length dim"], mask: Bool[Tensor, "text length"]
    ) -> tuple[Float[Tensor, "text 3 width dim"], Float[Tensor, "text 2 filter dim"]]:
        """Block A by pooling and width, ∞ last; block B by pooling and filter, narrow filters first."""
        words = zero_padding(states, mask).transpose(1, 2)  # (text, dim, length)
        lengths = mask.sum(dim=1)
        block_a, block_b = [], []
        for ws, (holistic, by_dimension) in enumerate(zip(self.holistic, self.by_dimension, strict=True), start=1):
            padded = F.pad(words, (0, ws - 1))
            block_a.append(pool_three_ways(apply_convolution(holistic, padded).tanh(), lengths - ws + 1))
            filtered = pool_three_ways(by_dimension(padded).tanh(), lengths - ws + 1)[:, :2]
            block_b.append(filtered.unflatten(2, (-1, self.num_dimension_filters)).transpose(2, 3))  # (text, 2, filter, dim)
        block_a.append(pool_three_ways(words, lengths))
        return torch.stack(block_a, dim=2), torch.cat(block_b, dim=2)


def pool_three_ways(outputs: Float[Tensor, "text dim length"], lengths: Int[Tensor, " text"]) -> Float[Tensor, "text 3 dim"]:
    """Maximum, minimum and mean over the first `lengths` outputs of each text (at least one)."""
    lengths = lengths.clamp(min=1)
    there = (torch.arange(outputs.shape[2], device=lengths.device) < lengths[:, None]).unsqueeze(1)  # (text, 1, length)
    limits = torch.finfo(outputs.dtype)
    highest = outputs.masked_fill(~there, limits.min).amax(dim=2)
    lowest = outputs.masked_fill(~there, limits.max).amin(dim=2)
    mean = outputs.masked_fill(~there, 0.0).sum(dim=2) / lengths[:, None]
    return torch.stack([highest, lowest, mean], dim=1)


class MPCNN(AnswerScorer):
    """Comparisons of pooled vectors, and a hidden layer over them.

        comU1(x, y) = {cos(x, y), ‖x − y‖, |x − y|},  comU2(x, y) = {cos(x, y), ‖x − y‖}
        horizontal: comU2 of each holistic filter's outputs over the widths, for p = max, min, mean (Algorithm 1)
        vertical: comU1 of block A for each p and each two widths; of block B for each p, width and filter (Algorithm 2)
        s = W_s·tanh(W_h·features + b_h) + b_s

    He et al. 2015. |x − y| is taken dimension by dimension. The texts meet only after the pooling, so all convolutions run once per text.

    Shows `width_cosine`, the cosines of block A for each two widths: (pair, 3, width, width). Poolings are max, min and mean; widths are
    1, 2, … and ∞.

    Reading: the paper's two log-softmax outputs are one score for a pair with two classes.
    """

    def __init__(
        self,
        embedding: Callable[..., WordEmbedding],
        num_widths: PositiveInt,
        num_dimension_filters: PositiveInt,
        hidden_dim: PositiveInt,
        num_classes: int,
        vectors: Float[Tensor, "word dim"],
    ) -> None:
        super().__init__()
        self.embedding = embedding(vectors=vectors)
        dim, widths = self.embedding.output_dim, num_widths + 1
        self.perspectives = MultiPerspectiveCNN(dim, num_widths, num_dimension_filters)
        self.block_a, self.block_b = (3, widths, dim), (2, num_widths * num_dimension_filters, dim)
        num_features = 3 * dim * 2 + (3 * widths**2 + 2 * num_widths * num_dimension_filters) * (2 + dim)
        self.classifier = Classifier(num_features, hidden_dim, nn.Tanh(), num_classes)

    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        words = self.embedding.of(tokens)
        block_a, block_b = self.perspectives(words["states"], words["mask"])
        return {"vector": torch.cat([block_a.flatten(1), block_b.flatten(1)], dim=1)}

    encode_candidate = encode_question

    def score(self, question: Text, candidate: Text) -> Float[Tensor, "pair *class"]:
        question_a, question_b = self._blocks(question["vector"])
        candidate_a, candidate_b = self._blocks(candidate["vector"])
        horizontal = compare(question_a.transpose(2, 3), candidate_a.transpose(2, 3))[:2]  # of (pair, 3, dim, width)
        by_widths = compare(question_a.unsqueeze(3), candidate_a.unsqueeze(2))  # (pair, 3, width, width[, dim])
        by_filter = compare(question_b, candidate_b)  # (pair, 2, filter[, dim])
        show("width_cosine", by_widths[0])
        return self.classifier(torch.cat([part.flatten(1) for part in (*horizontal, *by_widths, *by_filter)], dim=1))

    def _blocks(self, vector: Float[Tensor, "pair features"]) -> tuple[Tensor, Tensor]:
        a, b = vector.split([3 * self.block_a[1] * self.block_a[2], 2 * self.block_b[1] * self.block_b[2]], dim=1)
        return a.unflatten(1, self.block_a), b.unflatten(1, self.block_b)


def compare(
    x: Float[Tensor, "*#rows dim"], y: Float[Tensor, "*#rows dim"]
) -> tuple[Float[Tensor, "*rows"], Float[Tensor, "*rows"], Float[Tensor, "*rows dim"]]:
    """Cosine (0 where a vector is zero), Euclidean distance and absolute differences.

    >>> [part.tolist() for part in compare(torch.tensor([3.0, 0.0]), torch.tensor([0.0, 4.0]))]
    [0.0, 5.0, [3.0, 4.0]]
    """
    difference = x - y
    return F.cosine_similarity(x, y, dim=-1), torch.linalg.vector_norm(difference, dim=-1), difference.abs()
