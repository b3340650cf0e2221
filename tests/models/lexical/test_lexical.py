"""Scorers without word vectors against bm25s, scikit-learn, and loops over words."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hydra.utils import instantiate
from omegaconf import open_dict
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from qaexp.config import compose
from qaexp.data.batch import RankingBatch
from qaexp.data.bm25 import BM25Index
from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.errors import ConfigError
from qaexp.models.lexical.bag import ngrams
from qaexp.models.lexical.bm25 import BM25
from qaexp.models.lexical.shared_words import CommonWords, Containment, IDFContainment, Jaccard, WordOverlap
from qaexp.models.lexical.tfidf import TFIDF
from qaexp.models.scorer import AnswerScorer
from qaexp.training.scoring import score_blocks

RNG = np.random.default_rng(3)
WORDS = ["the", "of", "and", "grub", "boot", "disk", "usb", "kernel", "menu", "screen", "unity", "?"]
CANDIDATES = [RNG.choice(WORDS, size=size).tolist() for size in RNG.integers(1, 16, size=40)]
QUESTIONS = [RNG.choice(WORDS, size=size).tolist() for size in RNG.integers(1, 10, size=12)] + [["unseen", "grub"]]


@pytest.fixture
def corpus() -> RankingCorpus:
    """All candidates are in the pool of the first question; the questions are texts but not candidates."""
    builder = CorpusBuilder()
    questions = [builder.text(words) for words in QUESTIONS]
    builder.question("dev", "q", questions[0], [(f"c{i}", builder.text(words), i % 2) for i, words in enumerate(CANDIDATES)])
    return builder.build()


def no_examples(epoch: int) -> Iterable[RankingBatch]:
    raise AssertionError("only learners ask for training examples")


def all_scores(scorer: AnswerScorer, corpus: RankingCorpus, prepared: bool = True) -> np.ndarray:
    """(question, candidate)."""
    if prepared:
        scorer.fit(corpus, no_examples)

    def tokens(texts: list[list[str]]) -> torch.Tensor:
        rows = [torch.tensor(corpus.vocabulary.ids(words)) for words in texts]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)

    num_q, num_c = len(QUESTIONS), len(CANDIDATES)
    batch = RankingBatch(
        questions=tokens(QUESTIONS),
        candidates=tokens(CANDIDATES),
        pair_question=torch.arange(num_q).repeat_interleave(num_c),
        pair_candidate=torch.arange(num_c).repeat(num_q),
        labels=torch.zeros(num_q * num_c, dtype=torch.int64),
        groups=torch.zeros(num_q * num_c, dtype=torch.int64),
    )
    return scorer(batch).reshape(num_q, num_c).numpy()


def vectors(corpus: RankingCorpus) -> torch.Tensor:
    return torch.zeros(len(corpus.vocabulary), 2)


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.5, 0.0), (2.0, 1.0)])
def test_bm25_equals_bm25s(corpus: RankingCorpus, k1: float, b: float) -> None:
    distinct = list(dict.fromkeys(map(tuple, CANDIDATES)))
    index = BM25Index([corpus.vocabulary.ids(words) for words in distinct], len(corpus.vocabulary), k1, b)
    place = [distinct.index(tuple(words)) for words in CANDIDATES]
    expected = [index.scores(corpus.vocabulary.ids(words))[place] for words in QUESTIONS]
    np.testing.assert_allclose(all_scores(BM25(k1=k1, b=b, vectors=vectors(corpus)), corpus), expected, atol=1e-5)


@pytest.mark.parametrize("max_order", [1, 2, 3])
@pytest.mark.parametrize("stop_words", [True, False])
def test_tfidf_equals_scikit_learn(corpus: RankingCorpus, max_order: int, stop_words: bool) -> None:
    """Over the distinct candidates. An n-gram that no candidate has makes our question vector longer, which scales all of its scores."""
    stopped = None if stop_words else ["the", "of", "and", "?"]
    sklearn = TfidfVectorizer(tokenizer=str.split, token_pattern=None, lowercase=False, ngram_range=(1, max_order), stop_words=stopped).fit(
        [*{" ".join(words) for words in CANDIDATES}]
    )
    questions, candidates = (sklearn.transform([" ".join(words) for words in texts]) for texts in (QUESTIONS, CANDIDATES))
    expected = cosine_similarity(questions, candidates)
    ours = all_scores(TFIDF(max_order=max_order, stop_words=stop_words, vectors=vectors(corpus)), corpus)
    known = set(sklearn.vocabulary_)
    analyse = sklearn.build_analyzer()
    whole = 0
    for words, row, other in zip(QUESTIONS, ours, expected, strict=True):
        if set(analyse(" ".join(words))) <= known:
            np.testing.assert_allclose(row, other, atol=1e-6)
            whole += 1
        else:
            factor = np.linalg.norm(row) / max(np.linalg.norm(other), 1e-12)
            np.testing.assert_allclose(row, factor * other, atol=1e-6)
            assert factor < 1
    assert whole >= 2


def grams(words: list[str], n: int) -> set[tuple[str, ...]]:
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


@pytest.mark.parametrize("order", [1, 2, 3])
def test_containment_and_jaccard_equal_set_operations(corpus: RankingCorpus, order: int) -> None:
    contained = all_scores(Containment(order=order, vectors=vectors(corpus)), corpus)
    jaccard = all_scores(Jaccard(order=order, vectors=vectors(corpus)), corpus)
    for i, q in enumerate(QUESTIONS):
        for j, c in enumerate(CANDIDATES):
            a, b = grams(q, order), grams(c, order)
            assert contained[i, j] == pytest.approx(len(a & b) / max(1, len(a)))
            assert jaccard[i, j] == pytest.approx(len(a & b) / max(1, len(a | b)))


def test_idf_containment_is_a_share_of_the_idf(corpus: RankingCorpus) -> None:
    scorer = IDFContainment(vectors=vectors(corpus))
    shares = all_scores(scorer, corpus)
    idf = dict(zip(corpus.vocabulary.words, scorer.idf.tolist(), strict=True))
    for i, q in enumerate(QUESTIONS):
        for j, c in enumerate(CANDIDATES):
            share = sum(idf[word] for word in set(q) & set(c)) / sum(idf[word] for word in set(q))
            assert shares[i, j] == pytest.approx(share, abs=1e-5)


def longest(q: list[str], c: list[str], gaps: bool) -> int:
    table = [[0] * (len(c) + 1) for _ in range(len(q) + 1)]
    for i, a in enumerate(q, start=1):
        for j, b in enumerate(c, start=1):
            table[i][j] = table[i - 1][j - 1] + 1 if a == b else max(table[i - 1][j], table[i][j - 1]) * gaps
    return max(map(max, table))


@pytest.mark.parametrize("gaps", [True, False])
def test_common_words_equal_the_full_table(corpus: RankingCorpus, gaps: bool) -> None:
    scores = all_scores(CommonWords(gaps=gaps, vectors=vectors(corpus)), corpus)
    for i, q in enumerate(QUESTIONS):
        for j, c in enumerate(CANDIDATES):
            assert scores[i, j] == pytest.approx(longest(q, c, gaps) / len(q))


def test_fields_share_one_bag_but_no_ngram_or_substring_crosses_them() -> None:
    empty = torch.zeros(10, 2)
    question, apart, whole = (torch.tensor([fields]) for fields in ([[3, 4], [0, 0]], [[2, 3], [4, 5]], [[3, 4], [2, 5]]))

    def score(scorer: AnswerScorer, candidate: torch.Tensor) -> float:
        return scorer.score(scorer.encode_question(question), scorer.encode_candidate(candidate)).item()

    for scorer in (BM25(k1=1.2, b=0.75, vectors=empty), Containment(order=1, vectors=empty), CommonWords(gaps=True, vectors=empty)):
        assert score(scorer, apart) == score(scorer, whole) > 0
    for scorer in (Containment(order=2, vectors=empty), CommonWords(gaps=False, vectors=empty)):
        assert score(scorer, apart) < score(scorer, whole) == 1


def test_ngrams_too_long_for_64_bits_are_refused() -> None:
    tokens = torch.ones(1, 5, dtype=torch.long)
    with pytest.raises(ConfigError, match="n-grams of 4 words out of 100000"):
        ngrams(tokens, range(4, 5), num_words=100_000)


def test_the_svm_equals_scikit_learn(cache_dir: Path) -> None:
    """Its margin is that of LinearSVC on the features, up to a constant, and it ranks far better than chance."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    cfg = compose(["model=svm", "dataset=toy", f"cache_dir={cache_dir}", "dataset/negatives=pool_pairs", "model.num_pairs=2000"])
    with open_dict(cfg):
        cfg.model.features.word_overlap = {"_target_": "qaexp.models.lexical.shared_words.WordOverlap", "_partial_": True}
    data: Any = instantiate(cfg.dataset)
    scorer: Any = instantiate(cfg.model, vectors=data.word_vectors)
    scorer.fit(data.corpus, data.training_batches)
    x, labels = scorer._measured(data.training_batches)
    assert x.shape == (2000, len(cfg.model.features))
    machine = make_pipeline(StandardScaler(), LinearSVC(C=1.0, class_weight="balanced", dual=False)).fit(x.double().numpy(), labels)
    batch = next(iter(data.training_batches(0)))
    margins = machine.decision_function(x[: len(batch.labels)].double().numpy())
    np.testing.assert_allclose(scorer(batch).numpy() - margins, np.full(len(margins), (scorer(batch)[0] - margins[0]).item()), atol=1e-3)
    metrics = data.metrics("dev", score_blocks(scorer, data.scoring_blocks("dev"), data.splits["dev"].num_pairs)).compute()
    assert metrics["map"] > 0.45  # chance: 0.31


def word_overlap(question: list[int], candidate: list[int]) -> float:
    model = WordOverlap(vectors=torch.zeros(10, 0))
    return model.score(model.encode_question(torch.tensor([question])), model.encode_candidate(torch.tensor([candidate]))).item()


def test_word_overlap_counts_distinct_shared_words() -> None:
    assert word_overlap([5, 3, 5, 4, 0], [5, 5, 6, 4, 0, 0]) == 2


def test_word_overlap_matches_no_unknown_words() -> None:
    assert word_overlap([1, 3, 1], [1, 3]) == 1
