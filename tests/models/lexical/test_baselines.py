"""The baselines: a random guess is uniform, published scores come back, and the candidate-only model is scikit-learn's."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hydra.utils import instantiate

from qaexp.config import compose
from qaexp.data.batch import RankingBatch
from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.errors import ConfigError
from qaexp.models.lexical.baselines import BM25Scores, CandidateOnly, RandomGuess
from qaexp.train import train


def scores(seed: int, pairs: int = 4_000) -> torch.Tensor:
    words = torch.randint(2, 1_000, (2, pairs, 1, 6), generator=torch.Generator().manual_seed(7))
    guess = RandomGuess(torch.zeros(1, 1), seed)
    return guess.score(guess.encode_question(words[0]), guess.encode_candidate(words[1]))


def test_random_guesses_are_uniform_and_independent_across_seeds() -> None:
    drawn = torch.stack([scores(seed) for seed in range(1, 6)])
    assert torch.equal(drawn[0], scores(1))
    assert (drawn.mean(dim=1) - 0.5).abs().max() < 0.03  # six standard errors of 1/√12 over 4,000
    assert (drawn.std(dim=1) - 12**-0.5).abs().max() < 0.02
    correlation = torch.corrcoef(drawn) - torch.eye(5)
    assert correlation.abs().max() < 0.08  # five standard errors of 1/√4,000


@pytest.mark.parametrize("longest", [2, 50])
def test_published_scores_are_returned_and_other_pairs_get_zero(longest: int) -> None:
    """Also if texts are cut to two words."""
    builder = CorpusBuilder()
    texts = {"boot": ["boot"], "disk": ["disk", "is", "full"], "usb": ["usb", "stick", "broken"]}
    pool = [("1", builder.text(texts["boot"]), 1, 7.5), ("2", builder.text(texts["disk"]), 0, 3.0)]
    builder.question("dev", "q", builder.text(texts["usb"]), pool)
    corpus = builder.build()
    scorer = BM25Scores(longest, longest, vectors=torch.zeros(9, 2))
    scorer.fit(corpus, lambda _: [])
    boot, disk, usb = (torch.tensor([corpus.vocabulary.ids(words)[:longest]]) for words in texts.values())
    for candidate, expected in ((boot, 7.5), (disk, 3.0), (usb, 0.0)):
        assert scorer.score(scorer.encode_question(usb), scorer.encode_candidate(candidate)).tolist() == [expected]
    with pytest.raises(ConfigError, match="publish none; choose model=bm25"):
        BM25Scores(longest, longest, vectors=torch.zeros(9, 2)).fit(CorpusBuilder().build(), lambda _: [])


def test_candidate_only_equals_scikit_learn_and_ignores_the_question(cache_dir: Path) -> None:
    """Its scores are the log-odds of LogisticRegression on scikit-learn's own counts of words, up to a constant."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    cfg = compose(["model=candidate_only", "dataset=toy", f"cache_dir={cache_dir}", "dataset/negatives=pool_pairs"])
    data: Any = instantiate(cfg.dataset)
    scorer: Any = instantiate(cfg.model, vectors=data.word_vectors)
    scorer.fit(data.corpus, data.training_batches)
    batches = list(data.training_batches(0))
    texts = [" ".join(str(int(word)) for word in row) for batch in batches for row in batch.candidates[batch.pair_candidate]]
    counter = CountVectorizer(binary=True, token_pattern=r"\S+", stop_words=["0", "1"])  # padding and the unknown word
    labels = torch.cat([batch.labels for batch in batches])
    machine = LogisticRegression(C=1.0, max_iter=1000).fit(counter.fit_transform(texts), labels)
    batch = batches[0]
    log_odds = machine.decision_function(counter.transform(texts[: len(batch.labels)])) - machine.intercept_
    np.testing.assert_allclose(scorer(batch).numpy(), log_odds, atol=2e-3)
    assert np.ptp(log_odds) > 1
    other = replace(batch, questions=batch.questions.roll(1, dims=0))
    assert torch.equal(scorer(batch), scorer(other))


def test_candidate_only_needs_right_and_wrong_candidates() -> None:
    tokens = torch.tensor([[2, 3]])
    one = torch.zeros(1, dtype=torch.int64)
    batch = RankingBatch(questions=tokens, candidates=tokens, pair_question=one, pair_candidate=one, labels=one + 1, groups=one)
    with pytest.raises(ConfigError, match="have only one kind"):
        CandidateOnly(C=1.0, num_pairs=10, vectors=torch.zeros(9, 2)).fit(CorpusBuilder().build(), lambda _: [batch])


@pytest.mark.parametrize(
    ("split", "printed"),
    [
        ("dev", {"map": 52.0, "mrr": 66.0, "p@1": 51.9, "p@5": 42.1}),
        ("test", {"map": 56.0, "mrr": 68.0, "p@1": 53.8, "p@5": 42.5}),
    ],
)
def test_the_run_of_bm25_scores_gives_the_papers_row(
    data_dir: Path, tmp_path: Path, cache_dir: Path, split: str, printed: dict[str, float]
) -> None:
    """Lei et al. 2016, Table 2, to a tenth of a point, from the run's own record."""
    if not (data_dir / "askubuntu" / "dev.txt").is_file():
        pytest.skip("askubuntu/dev.txt is not at hand")
    places = [f"data_dir={data_dir}", f"cache_dir={cache_dir}", "logger=none"]
    record = train(compose(["model=bm25_scores", "dataset=askubuntu_ids", *places]), tmp_path)
    assert {name: 100 * record.metrics[split][name] for name in printed} == pytest.approx(printed, abs=0.05)
