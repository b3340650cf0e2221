"""Dense layers over two vectors end to end."""

from jaxtyping import Float
from torch import Tensor

from qaexp.models.overlap import WordOverlapFeatures
from qaexp.models.scorer import Similarity
from qaexp.models.similarity.dense import DenseLayers


class MLP(Similarity):
    """s = W_f·x + b_f, with x = ReLU layers of [v^q ; v^a], and of the four word-overlap features where `overlap` says so.

    Tay et al. 2018, "Dense Layers (MLP)" and eq. 2.

    Reading: a softmax over two logits is the logistic function of their difference, so with one class the last layer has one output.
    """

    def __init__(self, input_dim: int, hidden_dim: int, num_layers: int, num_classes: int, dropout_rate: float, overlap: bool) -> None:
        super().__init__()
        self.reads_overlap = overlap
        num_features = WordOverlapFeatures.num_features if overlap else 0
        self.layers = DenseLayers(2 * input_dim + num_features, hidden_dim, num_layers, num_classes, dropout_rate)

    def forward(
        self, question: Float[Tensor, "pair dim"], candidate: Float[Tensor, "pair dim"], *features: Float[Tensor, "pair feature"]
    ) -> Float[Tensor, "pair *class"]:
        return self.layers(question, candidate, *features)
