"""Single LSTM (Rocktäschel et al. 2016, §2.1), a row of Liu et al. 2016, Tables 2 and 4: one LSTM over both texts, end to end."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.masking import last_real
from qaexp.models.ops.packed import freeze_second_bias, run_packed, run_packed_from
from qaexp.models.pairwise.classifier import Classifier
from qaexp.models.scorer import AnswerScorer, draw_uniformly
from qaexp.models.types import Text


class SingleLSTM(AnswerScorer):
    """h = the last state of LSTM([x ; delimiter ; y]), then a hidden layer and the output.

    The part over the question is run once for each text; where it ends, delimiter and candidate go on for each pair. The delimiter's
    vector is learned.

    Departs: Rocktäschel et al. map the state to the classes without a hidden layer; Liu et al. 2016, §4.4, have one in their own model.
    Weights begin uniformly within ±`initial_bound` (Liu et al., §6.1: 0.1).
    """

    def __init__(
        self,
        embedding: Callable[..., WordEmbedding],
        hidden_dim: int,
        output_dim: int,
        num_classes: int,
        initial_bound: float,
        vectors: Float[Tensor, "word dim"],
    ) -> None:
        super().__init__()
        self.embedding = embedding(vectors=vectors)
        self.lstm = nn.LSTM(self.embedding.output_dim, hidden_dim, batch_first=True)
        freeze_second_bias(self.lstm)
        self.delimiter = nn.Parameter(torch.empty(self.embedding.output_dim))
        self.output = Classifier(hidden_dim, output_dim, nn.Tanh(), num_classes)
        draw_uniformly(self, initial_bound)

    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        text = self.embedding.of(tokens)
        _, (h, c) = run_packed_from(self.lstm, text["states"], text["mask"], None)
        return {"vector": torch.cat([h[0], c[0]], dim=1)}

    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self.embedding.of(tokens)

    def score(self, question: Text, candidate: Text) -> Float[Tensor, "pair *class"]:
        delimiter = self.delimiter.to(candidate["states"].dtype).expand(len(candidate["mask"]), 1, -1)
        states = torch.cat([delimiter, candidate["states"]], dim=1)
        mask = torch.cat([torch.ones_like(candidate["mask"][:, :1]), candidate["mask"]], dim=1)
        h, c = (half.contiguous().unsqueeze(0) for half in question["vector"].chunk(2, dim=1))
        return self.output(last_real(run_packed(self.lstm, states, mask, (h, c)), mask))
