"""The word table: what it starts from, what of it learns, and its padding row."""

import math

import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from torch import Tensor

from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.errors import ConfigError
from qaexp.models.embedding.word_vectors import IDFWeightedEmbedding, WordEmbedding
from qaexp.models.types import Text

TOKENS = torch.tensor([[2, 3, 0], [3, 3, 1]])


@pytest.fixture
def vectors() -> Tensor:
    drawn = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    drawn[0] = 0
    return drawn


def text() -> Text:
    return {"tokens": TOKENS, "mask": TOKENS != 0}


def step(embedding: WordEmbedding) -> None:
    """One step of an optimiser that also decays weights."""
    optimizer = torch.optim.SGD(embedding.parameters(), lr=0.5, weight_decay=0.1, momentum=0.9)
    (embedding(text())["states"] - 1).square().sum().backward()
    optimizer.step()


@pytest.mark.parametrize("tuned", [True, False])
def test_each_word_is_its_given_vector(vectors: Tensor, tuned: bool) -> None:
    embedding = WordEmbedding(vectors, tuned=tuned, project_dim=None, dropout_rate=0.0)
    assert torch.equal(embedding(text())["states"], vectors[TOKENS])
    assert embedding.output_dim == 4


def test_a_tuned_table_learns_all_but_padding_and_leaves_the_given_vectors_alone(vectors: Tensor) -> None:
    before, embedding = vectors.clone(), WordEmbedding(vectors, tuned=True, project_dim=None, dropout_rate=0.0)
    step(embedding)
    gradient = embedding.words.weight.grad
    assert gradient is not None
    assert gradient.any(dim=1).tolist() == [False, True, True, True, False]
    assert not embedding.words.weight[0].any()
    assert torch.equal(vectors, before)


def test_a_frozen_table_gets_no_gradient_and_its_projection_does(vectors: Tensor) -> None:
    embedding = WordEmbedding(vectors, tuned=False, project_dim=7, dropout_rate=0.0)
    expected = [[embedding.projection.weight @ vectors[word] + embedding.projection.bias for word in row] for row in TOKENS]  # type: ignore[operator]
    states = embedding(text())["states"]
    torch.testing.assert_close(states, torch.stack([torch.stack(row) for row in expected]), rtol=1e-5, atol=1e-5)
    assert embedding.output_dim == states.shape[2] == 7
    step(embedding)
    assert embedding.words.weight.grad is None
    assert torch.equal(embedding.words.weight, vectors)
    assert all(p.grad is not None and p.grad.any() for p in embedding.projection.parameters())


def test_a_layer_of_tanh_is_squashed_and_has_a_width(vectors: Tensor) -> None:
    embedding = WordEmbedding(vectors, tuned=True, project_dim=3, dropout_rate=0.0, squash=True)
    torch.testing.assert_close(embedding(text())["states"], embedding.projection(vectors[TOKENS]).tanh())
    with pytest.raises(ConfigError, match=r"set model\.embedding\.project_dim too"):
        WordEmbedding(vectors, tuned=True, project_dim=None, dropout_rate=0.0, squash=True)


def test_words_are_weighed_by_the_idf_of_scikit_learn(vectors: Tensor) -> None:
    """A text that repeats a word counts once."""
    texts = [["a", "b", "a"], ["b"], ["c", "b"]]
    builder = CorpusBuilder()
    question, *answers = [builder.text(words) for words in texts]
    builder.question("train", "q", question, [(str(answer), answer, 1) for answer in answers])
    corpus = builder.build()
    embedding = IDFWeightedEmbedding(vectors, tuned=False, project_dim=None, dropout_rate=0.0)
    embedding.fit(corpus, None)
    known = TfidfVectorizer(analyzer=list).fit(texts)
    weight = dict(zip(known.get_feature_names_out(), known.idf_, strict=True))
    tokens = torch.tensor([corpus.vocabulary.ids(["a", "b", "c"])])
    states = embedding({"tokens": tokens, "mask": tokens != 0})["states"][0]
    torch.testing.assert_close(states, torch.stack([vectors[number] * weight[word] for number, word in zip(tokens[0], "abc", strict=True)]))
    embedding.words.add_words(["new"], torch.ones(1, 4))
    embedding.add_words(["new"], torch.ones(1, 4))
    new = torch.tensor([[5]])
    assert embedding({"tokens": new, "mask": new != 0})["states"].unique().item() == pytest.approx(1 + math.log(4))


def test_one_look_into_the_table_gives_the_vectors_and_the_gradient_of_many(vectors: Tensor) -> None:
    one, many = (WordEmbedding(vectors, tuned=True, project_dim=None, dropout_rate=0.0) for _ in range(2))
    looks = list[Tensor]()
    one.words.register_forward_hook(lambda table, words, _: looks.append(words[0]))
    blocks = [{"tokens": row[row != 0].unsqueeze(0), "mask": row[row != 0].unsqueeze(0) != 0} for row in TOKENS] + [text()]
    with one.batch_context(TOKENS):
        for block in blocks:
            assert torch.equal(one(block)["states"], many(block)["states"])
            (one(block)["states"] ** 2).sum().backward(retain_graph=True)
            (many(block)["states"] ** 2).sum().backward()
    assert [words.tolist() for words in looks] == [[0, 1, 2, 3]]
    assert one.words.weight.grad is not None
    assert many.words.weight.grad is not None
    torch.testing.assert_close(one.words.weight.grad, many.words.weight.grad)
    assert not one.words.weight.grad[0].any()
    with one.batch_context(TOKENS):
        part = TOKENS[:, :2]  # not contiguous
        assert torch.equal(one({"tokens": part, "mask": part != 0})["states"], vectors[part])
    looks.pop()
    one(text())
    assert len(looks) == 2, "after the block, every text is looked up by itself"


@pytest.mark.parametrize("tuned", [True, False])
def test_without_a_gradient_any_word_is_read(vectors: Tensor, tuned: bool) -> None:
    embedding = WordEmbedding(vectors, tuned=tuned, project_dim=None, dropout_rate=0.0)
    with torch.set_grad_enabled(not tuned), embedding.batch_context(TOKENS[:1]):
        assert torch.equal(embedding(text())["states"], vectors[TOKENS])  # of words that were not named, too


def test_dropout_acts_in_training_alone(vectors: Tensor) -> None:
    embedding = WordEmbedding(vectors + 1, tuned=True, project_dim=None, dropout_rate=0.5)
    states = embedding(text())["states"]
    kept = states != 0
    assert 0 < kept.sum() < states.numel()
    torch.testing.assert_close(states[kept], (vectors + 1)[TOKENS][kept] * 2)
    assert torch.equal(embedding.eval()(text())["states"], (vectors + 1)[TOKENS])


def test_dropout_is_on_what_the_projection_gives(vectors: Tensor) -> None:
    torch.manual_seed(2)
    embedding = WordEmbedding(vectors, tuned=False, project_dim=50, dropout_rate=0.5)
    kept = embedding.eval()(text())["states"]
    states = embedding.train()(text())["states"]
    dropped = states == 0
    assert 0.3 < dropped.float().mean() < 0.7
    torch.testing.assert_close(states, (2 * kept).masked_fill(dropped, 0.0))


LEARNED = torch.tensor([1, 2, 3])  # word 4 is constant


def split(vectors: Tensor) -> WordEmbedding:
    embedding = WordEmbedding(vectors, tuned=True, project_dim=None, dropout_rate=0.0)
    embedding.words.learn_only(LEARNED)
    return embedding


def test_constant_words_are_no_parameters_and_change_no_result(vectors: Tensor) -> None:
    whole, part = WordEmbedding(vectors, tuned=True, project_dim=None, dropout_rate=0.0), split(vectors)
    assert [p.shape for p in part.parameters() if p.requires_grad] == [(4, 4)]
    optimizers = [torch.optim.Adam([p for p in each.parameters() if p.requires_grad], lr=0.1) for each in (whole, part)]
    for _ in range(5):
        for embedding, optimizer in zip((whole, part), optimizers, strict=True):
            optimizer.zero_grad()
            with embedding.batch_context(TOKENS):
                (embedding(text())["states"] - 1).square().sum().backward()
            optimizer.step()
    every = torch.arange(5).unsqueeze(0)
    assert torch.equal(whole.words(every), part.words(every))
    assert not torch.equal(part.words(every)[0, 1:4], vectors[1:4])
    assert torch.equal(part.words(every)[0, 4], vectors[4])


def test_a_constant_word_is_read_with_gradients_on_too_and_gets_none(vectors: Tensor) -> None:
    embedding = split(vectors)
    states = embedding.words(torch.tensor([4, 3, 0]))
    assert torch.equal(states, vectors[[4, 3, 0]])
    states.sum().backward()
    assert embedding.words.weight.grad is not None
    assert embedding.words.weight.grad.any(dim=1).tolist() == [False, False, False, True]


def test_a_checkpoint_has_one_table_of_all_words_either_way(vectors: Tensor) -> None:
    whole, part = WordEmbedding(vectors, tuned=True, project_dim=None, dropout_rate=0.0), split(torch.zeros(5, 4))
    assert list(part.state_dict()) == ["words.weight"]
    part.load_state_dict(whole.state_dict())
    assert torch.equal(part.words(TOKENS), vectors[TOKENS])
    assert torch.equal(part.words(torch.tensor([4])), vectors[[4]])
    assert torch.equal(part.state_dict()["words.weight"], vectors)
    whole.load_state_dict({"words.weight": torch.zeros(5, 4)})
    whole.load_state_dict(part.state_dict())
    assert torch.equal(whole.words.weight, vectors)
    with pytest.raises(RuntimeError, match=r"words\.weight"):
        part.load_state_dict({"words.weight": torch.zeros(6, 4)})


def test_a_frozen_table_stays_whole(vectors: Tensor) -> None:
    embedding = WordEmbedding(vectors, tuned=False, project_dim=None, dropout_rate=0.0)
    embedding.words.learn_only(LEARNED)
    assert embedding.words.weight.shape == (5, 4)
