"""What can be told without the question."""

from itertools import islice

import torch
from jaxtyping import Float, Int
from torch import Tensor

from qaexp.data.corpus import RankingCorpus
from qaexp.errors import ConfigError
from qaexp.models.lexical.bag import bag, ngrams
from qaexp.models.scorer import AnswerScorer, Examples
from qaexp.models.types import Text


class CandidateOnly(AnswerScorer):
    """s(q, c) = Σ_{t ∈ c} w_t, over the different words of a candidate, whatever is asked; w from scikit-learn's LogisticRegression.

        min_w,b  ½‖w‖² + C Σ_pairs ln(1 + exp(−y (Σ_{t ∈ c} w_t + b))),  y = ±1

    What is called the hypothesis-only baseline on SNLI (Gururangan et al. 2018; Poliak et al. 2018), for ranking. None of the five papers
    has it: a model that does not beat it may have learned nothing of how questions and answers go together, and on a data set where it
    ranks well, candidates themselves tell which is right, be it that comments differ in quality or that splits share wrong answers.

    Pairs are those of an epoch's first training batches, whole ones, until there are `num_pairs` or more. Words that training candidates
    lack count nothing.

    Raises, when fitted:
        ConfigError: the pairs are all right or all wrong.
    """

    reads_fields = True
    reads_vectors = False

    def __init__(self, C: float, num_pairs: int, vectors: Float[Tensor, "word dim"]) -> None:
        super().__init__()
        self._C, self._num_pairs = C, num_pairs
        self.weight: Tensor
        self.register_buffer("weight", torch.zeros(len(vectors)))

    def fit(self, corpus: RankingCorpus, examples: Examples) -> None:
        from scipy.sparse import csr_array
        from sklearn.linear_model import LogisticRegression  # most of a second to import

        rows, words, labels = list[Tensor](), list[Tensor](), list[Tensor]()
        count = 0
        for batch in islice(examples(0), self._num_pairs):
            held = self._words(batch.candidates)[batch.pair_candidate]
            row, place = (held > 0).nonzero(as_tuple=True)
            rows.append(row + count)
            words.append(held[row, place])
            labels.append(batch.labels)
            count += len(batch.labels)
            if count >= self._num_pairs:
                break
        right = torch.cat(labels) == 1
        if len(right.unique()) < 2:
            raise ConfigError(
                "model=candidate_only learns to tell right from wrong candidates, and the training examples have only one kind"
            )
        places = torch.cat(rows).numpy(), torch.cat(words).numpy()
        held = csr_array((torch.ones(len(places[0])).double().numpy(), places), shape=(count, len(self.weight)))
        machine = LogisticRegression(C=self._C, max_iter=1000).fit(held, right.numpy())
        self.weight.copy_(torch.from_numpy(machine.coef_[0]))

    def encode_question(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return {"vector": torch.zeros(len(tokens), 1, device=tokens.device)}

    def encode_candidate(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return {"vector": self.weight[self._words(tokens)].sum(dim=1, keepdim=True)}

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        return candidate["vector"].squeeze(1)

    def _words(self, tokens: Int[Tensor, "text *field length"]) -> Int[Tensor, "text word"]:
        """The different words of each text; 0, which weighs nothing, after the last."""
        keys, _ = bag(ngrams(tokens, range(1, 2), len(self.weight)))
        return -keys
