"""What the readers of Rocktäschel et al. 2016 share: an LSTM for the first text, and one for the second that goes on from its memory."""

from abc import abstractmethod
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.masking import zero_padding
from qaexp.models.ops.packed import freeze_second_bias, run_packed, run_packed_from
from qaexp.models.pairwise.classifier import Classifier
from qaexp.models.scorer import AnswerScorer
from qaexp.models.types import Text


class ConditionalLSTMs(AnswerScorer):
    """Y, c = LSTM(x);  h_1 … h_L = LSTM'(y) from the memory c;  what `read` makes of Y and h goes to a hidden layer and the output.

    Rocktäschel et al. 2016, §2.2 (conditional encoding). The question, their premise, is read once for each text; the candidate, whose
    memory begins where the question's ended, once for each pair.

    Departs: no delimiter stands before the second text, and a hidden layer before the output, as in `SingleLSTM`.

    A reader's weights begin uniformly within ±`initial_bound` (Liu et al. 2016, §6.1: 0.1).
    """

    def __init__(
        self,
        embedding: Callable[..., WordEmbedding],
        hidden_dim: int,
        output_dim: int,
        num_classes: int,
        vectors: Float[Tensor, "word dim"],
    ) -> None:
        super().__init__()
        self.embedding = embedding(vectors=vectors)
        self.question_lstm = nn.LSTM(self.embedding.output_dim, hidden_dim, batch_first=True)
        self.candidate_lstm = nn.LSTM(self.embedding.output_dim, hidden_dim, batch_first=True)
        freeze_second_bias(self.question_lstm)
        freeze_second_bias(self.candidate_lstm)
        self.output = Classifier(hidden_dim, output_dim, nn.Tanh(), num_classes)

    @abstractmethod
    def read(
        self,
        Y: Float[Tensor, "pair question_length dim"],
        question: Bool[Tensor, "pair question_length"],
        H: Float[Tensor, "pair candidate_length dim"],
        candidate: Bool[Tensor, "pair candidate_length"],
    ) -> Float[Tensor, "pair dim"]:
        """One vector of a pair, from the states of both texts."""

    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        text = self.embedding.of(tokens)
        Y, (_, memory) = run_packed_from(self.question_lstm, text["states"], text["mask"], None)
        return {"mask": text["mask"], "states": zero_padding(Y, text["mask"]), "vector": memory[0]}  # no word, nothing to attend to

    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self.embedding.of(tokens)

    def score(self, question: Text, candidate: Text) -> Float[Tensor, "pair *class"]:
        memory = question["vector"].unsqueeze(0)
        H = run_packed(self.candidate_lstm, candidate["states"], candidate["mask"], (torch.zeros_like(memory), memory))
        return self.output(self.read(question["states"], question["mask"], H, candidate["mask"]))
