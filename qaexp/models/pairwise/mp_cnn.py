"""MP-CNN (He et al. 2015): two texts compared by every perspective that each is seen from."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.intermediates import show
from qaexp.models.pairwise.classifier import Classifier
from qaexp.models.pairwise.multi_perspective import MultiPerspectiveCNN
from qaexp.models.scorer import AnswerScorer
from qaexp.models.types import Text


class MPCNN(AnswerScorer):
    """Comparisons of pooled vectors, and a hidden layer over them.

        comU1(x, y) = {cos(x, y), ‖x − y‖, |x − y|},  comU2(x, y) = {cos(x, y), ‖x − y‖}
        horizontal: comU2 of each holistic filter's outputs over the widths, for p = max, min, mean (Algorithm 1)
        vertical: comU1 of block A for each p and each two widths; of block B for each p, width and filter (Algorithm 2)
        s = W_s·tanh(W_h·features + b_h) + b_s

    He et al. 2015. |x − y| is taken dimension by dimension. The texts meet behind the pooling: all convolutions run once for each text.

    Shows `width_cosine`, cosines of block A for each two widths: (pair, 3, width, width), poolings being max, min and mean, widths
    1, 2, … and ∞.

    Reading: the paper's two log-softmax outputs are one score for a pair with two classes.
    """

    def __init__(
        self,
        embedding: Callable[..., WordEmbedding],
        num_widths: int,
        num_dimension_filters: int,
        hidden_dim: int,
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
        return self._encode(tokens)

    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self._encode(tokens)

    def score(self, question: Text, candidate: Text) -> Float[Tensor, "pair *class"]:
        question_a, question_b = self._blocks(question["vector"])
        candidate_a, candidate_b = self._blocks(candidate["vector"])
        horizontal = compared(question_a.transpose(2, 3), candidate_a.transpose(2, 3))[:2]  # of (pair, 3, dim, width)
        by_widths = compared(question_a.unsqueeze(3), candidate_a.unsqueeze(2))  # (pair, 3, width, width[, dim])
        by_filter = compared(question_b, candidate_b)  # (pair, 2, filter[, dim])
        show("width_cosine", by_widths[0])
        return self.classifier(torch.cat([part.flatten(1) for part in (*horizontal, *by_widths, *by_filter)], dim=1))

    def _encode(self, tokens: Int[Tensor, "text length"]) -> Text:
        words = self.embedding.of(tokens)
        block_a, block_b = self.perspectives(words["states"], words["mask"])
        return {"vector": torch.cat([block_a.flatten(1), block_b.flatten(1)], dim=1)}

    def _blocks(self, vector: Float[Tensor, "pair features"]) -> tuple[Tensor, Tensor]:
        a, b = vector.split([3 * self.block_a[1] * self.block_a[2], 2 * self.block_b[1] * self.block_b[2]], dim=1)
        return a.unflatten(1, self.block_a), b.unflatten(1, self.block_b)


def compared(
    x: Float[Tensor, "*#rows dim"], y: Float[Tensor, "*#rows dim"]
) -> tuple[Float[Tensor, "*rows"], Float[Tensor, "*rows"], Float[Tensor, "*rows dim"]]:
    """Cosine (0 where a vector is zero), Euclidean distance and absolute differences.

    >>> [part.tolist() for part in compared(torch.tensor([3.0, 0.0]), torch.tensor([0.0, 4.0]))]
    [0.0, 5.0, [3.0, 4.0]]
    """
    difference = x - y
    return F.cosine_similarity(x, y, dim=-1), torch.linalg.vector_norm(difference, dim=-1), difference.abs()
