"""BM25 over tokenised texts: the best matches of one text among many, ties decided by their order."""

import logging
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int


class BM25Index:
    """Texts given as token ids, scored against a query as Lucene does since version 8 (Kamphuis et al. 2020, "Lucene (accurate)").

        s(q, d) = Σ_{t ∈ q} idf(t) · f(t, d) / (f(t, d) + k1 · (1 − b + b · |d| / mean |d|))
        idf(t) = ln(1 + (N − n(t) + 0.5) / (n(t) + 0.5))

    with f(t, d) the occurrences of t in d and n(t) the number of the N texts that hold it. A word that the query holds twice counts
    twice; one that no text holds counts nothing.

    >>> index = BM25Index([[2, 3], [3, 4, 5], [5], [3, 2]], num_words=6, k1=1.2, b=0.75)
    >>> index.best([2, 3], 3).tolist()    # not text 2, which shares no word
    [0, 3, 1]
    """

    def __init__(self, texts: Sequence[Sequence[int]], num_words: int, k1: float, b: float) -> None:
        from bm25s import BM25  # a quarter of a second to import, needed once a data set

        logging.getLogger("bm25s").setLevel(logging.WARNING)  # on import it has set itself to DEBUG
        self._index = BM25(k1=k1, b=b, method="lucene")
        word_ids = {word: word for word in range(num_words)}
        self._index.index(([list(text) for text in texts], word_ids), create_empty_token=False, show_progress=False)

    def scores(self, query: Sequence[int]) -> Float[np.ndarray, " text"]:
        return self._index.get_scores_from_ids(list(query))

    def best(self, query: Sequence[int], num: int) -> Int[np.ndarray, " hit"]:
        """The up to `num` texts that share a word with the query, best first; of equal scores the earlier text."""
        scores = self.scores(query)
        if num < len(scores):
            least = np.partition(scores, len(scores) - num)[len(scores) - num]
            offered = np.flatnonzero(scores >= max(least, np.finfo(scores.dtype).tiny))
        else:
            offered = np.flatnonzero(scores > 0)
        return offered[np.argsort(-scores[offered], kind="stable")][:num]
