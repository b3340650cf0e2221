"""The word-overlap features against sets of words, and their scale over the training pairs."""

import math

import numpy as np
import pytest
import torch
from small_texts import built

from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.errors import ConfigError
from qaexp.models.lexical.overlap_features import WordOverlapFeatures

TEXTS = ["what is the boiling point of water ?", "water boils at the boiling point of water .", "ice is cold", "nothing shared here"]
POOLS = {
    "what is the boiling point of water ?": ["water boils at the boiling point of water .", "ice is cold", "nothing shared"],
    "who is cold": ["ice is cold", "the water is cold ."],
}


def features_over(num_words: int) -> WordOverlapFeatures:
    return WordOverlapFeatures(num_words, subwords=None)


def test_features_equal_set_operations() -> None:
    builder = CorpusBuilder()
    numbers = [builder.text(text.split()) for text in TEXTS]
    builder.split("train")
    corpus = builder.build()
    features = features_over(len(corpus.vocabulary))
    features.fit(corpus, lambda _: [])
    tokens = torch.from_numpy(corpus.texts.padded(torch.tensor(numbers).numpy(), 20))
    measured = features(tokens[[0, 0, 0, 2]], tokens[[1, 2, 3, 2]])
    frequency = {word: sum(word in text.split() for text in TEXTS) for text in TEXTS for word in text.split()}
    for row, (q, a) in zip(measured.tolist(), [(0, 1), (0, 2), (0, 3), (2, 2)], strict=True):
        shared = set(TEXTS[q].split()) & set(TEXTS[a].split())
        content = shared - {"what", "is", "the", "of", "at", "here", "?", ".", "nothing"}
        length = len(TEXTS[q].split()) + len(TEXTS[a].split())
        idf = {word: math.log(4 / frequency[word]) for word in shared}
        expected = [len(shared), sum(idf.values()), len(content), sum(idf[word] for word in content)]
        assert row == pytest.approx([value / length for value in expected], abs=1e-6)


def test_padding_and_repeats_add_nothing() -> None:
    features = features_over(10)
    short, long = torch.tensor([[3, 3, 4]]), torch.tensor([[3, 5, 0, 0, 0]])
    assert features(short, long)[0, 0].item() == pytest.approx(1 / 5)
    assert features(torch.zeros(1, 3, dtype=torch.int64), long)[0].tolist() == [0.0] * 4


def test_unknown_words_match_nothing() -> None:
    assert features_over(10)(torch.tensor([[3, 1]]), torch.tensor([[1, 3]]))[0, 0].item() == pytest.approx(1 / 4)


def test_texts_with_fields_are_refused() -> None:
    builder = CorpusBuilder(num_fields=2)
    builder.text(["water"], ["it", "boils"])
    corpus = builder.build()
    with pytest.raises(ConfigError, match=r"of one field: leave them out with model\.similarity\.overlap=false"):
        features_over(len(corpus.vocabulary)).fit(corpus, lambda _: [])


def corpus(split: str) -> RankingCorpus:
    builder = CorpusBuilder()
    for question, pool in POOLS.items():
        candidates = [(str(number), builder.text(text.split()), int(number == 0)) for number, text in enumerate(pool)]
        builder.question(split, question.replace(" ", "_"), builder.text(question.split()), candidates)
    return builder.build()


def features_of(corpus: RankingCorpus) -> torch.Tensor:
    features = features_over(len(corpus.vocabulary))
    features.fit(corpus, lambda _: [])
    (split,) = corpus.splits.values()
    texts = (split.questions[split.pair_question], split.candidates)
    return features(*(torch.from_numpy(corpus.texts.padded(each, 20)) for each in texts))


def test_mean_is_zero_and_deviation_one_over_the_training_pairs() -> None:
    scaled, unscaled = features_of(corpus("train")), features_of(corpus("dev"))
    torch.testing.assert_close(scaled.mean(dim=0), torch.zeros(4), atol=1e-5, rtol=0.0)
    torch.testing.assert_close(scaled.std(dim=0, correction=0), torch.ones(4), atol=1e-5, rtol=0.0)
    mean, deviation = unscaled.mean(dim=0), unscaled.std(dim=0, correction=0)
    torch.testing.assert_close(scaled, (unscaled - mean) / deviation, atol=1e-5, rtol=1e-5)


def test_features_are_unscaled_without_training_pairs() -> None:
    assert features_of(corpus("dev"))[0, 0].item() == torch.tensor(5 / 17).item()


def test_a_saved_model_keeps_the_scale() -> None:
    features = features_over(len(corpus("train").vocabulary))
    features.fit(corpus("train"), lambda _: [])
    loaded = features_over(len(corpus("train").vocabulary))
    loaded.load_state_dict(features.state_dict())
    assert torch.equal(loaded.mean, features.mean)
    assert not torch.equal(loaded.mean, torch.zeros(4))


def test_a_scorer_fits_the_features_that_it_uses() -> None:
    words = len(corpus("train").vocabulary)
    scorer, features = built("model=mv_lstm", "model.overlap=true", words=words, dim=6), features_over(words)
    for each in (scorer, features):
        each.fit(corpus("train"), lambda _: [])
    for name, fitted in features.state_dict().items():
        assert torch.equal(scorer.state_dict()[f"overlap.{name}"], fitted)


def test_a_feature_that_is_constant_in_training_is_not_scaled() -> None:
    builder = CorpusBuilder()
    builder.split("train")
    asked, given = (builder.text(text.split()) for text in ("boiling water", "cold ice"))
    builder.question("train", "1", asked, [("a", given, 1)])
    corpus = builder.build()
    features = features_over(len(corpus.vocabulary))
    features.fit(corpus, lambda _: [])
    tokens = torch.from_numpy(corpus.texts.padded(np.array([asked, given]), 4))
    assert features.deviation.tolist() == [1.0] * 4
    assert torch.isfinite(features(tokens[:1], tokens[1:])).all()
