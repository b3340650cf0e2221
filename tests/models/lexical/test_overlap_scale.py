"""The word-overlap features are scaled by what they are over the training pairs."""

import torch

from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.models.lexical.overlap_features import WordOverlapFeatures

POOLS = {
    "what is the boiling point of water ?": ["water boils at the boiling point of water .", "ice is cold", "nothing shared"],
    "who is cold": ["ice is cold", "the water is cold ."],
}


def corpus(split: str) -> RankingCorpus:
    builder = CorpusBuilder()
    for question, pool in POOLS.items():
        candidates = [(str(number), builder.text(text.split()), int(number == 0)) for number, text in enumerate(pool)]
        builder.question(split, question.replace(" ", "_"), builder.text(question.split()), candidates)
    return builder.build()


def features_of(corpus: RankingCorpus) -> torch.Tensor:
    features = WordOverlapFeatures(len(corpus.vocabulary))
    features.fit(corpus, lambda _: [])
    (split,) = corpus.splits.values()
    texts = (split.questions[split.pair_question], split.candidates)
    return features(*(torch.from_numpy(corpus.texts.padded(each, 20)) for each in texts))


def test_over_the_training_pairs_their_mean_is_zero_and_their_deviation_one() -> None:
    scaled, unscaled = features_of(corpus("train")), features_of(corpus("dev"))
    torch.testing.assert_close(scaled.mean(dim=0), torch.zeros(4), atol=1e-5, rtol=0.0)
    torch.testing.assert_close(scaled.std(dim=0, correction=0), torch.ones(4), atol=1e-5, rtol=0.0)
    mean, deviation = unscaled.mean(dim=0), unscaled.std(dim=0, correction=0)
    torch.testing.assert_close(scaled, (unscaled - mean) / deviation, atol=1e-5, rtol=1e-5)


def test_without_training_pairs_they_are_as_measured() -> None:
    assert features_of(corpus("dev"))[0, 0].item() == torch.tensor(5 / 17).item()


def test_a_saved_model_keeps_the_scale() -> None:
    features = WordOverlapFeatures(len(corpus("train").vocabulary))
    features.fit(corpus("train"), lambda _: [])
    loaded = WordOverlapFeatures(len(corpus("train").vocabulary))
    loaded.load_state_dict(features.state_dict())
    assert torch.equal(loaded.mean, features.mean)
    assert not torch.equal(loaded.mean, torch.zeros(4))
