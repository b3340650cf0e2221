"""Gradients through the pairs that learn alone: which step takes them, and when it must not."""

from functools import partial

import pytest
import torch
from hydra.utils import instantiate
from jaxtyping import Float
from torch import Tensor, nn

from qaexp.config import compose
from qaexp.data.batch import RankingBatch
from qaexp.errors import ConfigError
from qaexp.models.scorer import AnswerScorer, Similarity
from qaexp.training.learning_pairs import LearningPairs
from qaexp.training.losses import PairwiseHinge
from qaexp.training.ranking import loss_of_all

NUM_GROUPS = 6


@pytest.fixture
def batch() -> RankingBatch:
    """Six examples of a right and a wrong candidate, 1 to 20 words each."""
    draw = torch.Generator().manual_seed(3)
    lengths = torch.randint(1, 21, (2 * NUM_GROUPS, 1), generator=draw)
    groups = torch.arange(NUM_GROUPS).repeat_interleave(2)
    return RankingBatch(
        questions=torch.randint(2, 60, (NUM_GROUPS, 5), generator=draw),
        candidates=torch.randint(2, 60, (2 * NUM_GROUPS, 20), generator=draw).masked_fill(torch.arange(20) >= lengths, 0),
        pair_question=groups,
        pair_candidate=torch.arange(2 * NUM_GROUPS),
        labels=torch.tensor([1, 0] * NUM_GROUPS),
        groups=groups,
    )


def scorer(*overrides: str) -> AnswerScorer:
    torch.manual_seed(5)
    cfg = compose(["model=ggsa", "model.embedding.dropout_rate=0.0", *overrides])
    return instantiate(cfg.model, vectors=torch.randn(60, 12)).train()


def test_a_loss_that_detaches_its_scores_is_named(batch: RankingBatch) -> None:
    def detached(scores: Float[Tensor, " pair"]) -> tuple[Tensor, Tensor]:
        loss = scores.detach().sum()
        return loss, loss

    with pytest.raises(ConfigError, match="does the model or the loss detach its scores"):
        LearningPairs().step(scorer(), batch, detached)


class Steps:
    """Training steps with one seed each, and what they leave."""

    def __init__(self, scorer: AnswerScorer, batch: RankingBatch) -> None:
        self.scorer, self.batch, self.pairs = scorer, batch, LearningPairs()
        self.with_gradients: list[int] = []
        """Pairs of each time that the scorer was asked for scores with gradients."""
        scorer.register_forward_pre_hook(lambda _, given: self.with_gradients.append(torch.is_grad_enabled() * len(given[0].labels)))

    def step(self, margin: float) -> tuple[float, dict[str, Tensor]]:
        self.scorer.zero_grad()
        torch.manual_seed(9)
        loss_of = partial(loss_of_all, PairwiseHinge(margin), share=self.batch, num_groups=self.batch.num_groups, process=0, processes=1)
        loss, objective = self.pairs.step(self.scorer, self.batch, loss_of)
        objective.backward()
        return float(loss), {name: p.grad for name, p in self.scorer.named_parameters() if p.grad is not None}


def margin_for(steps: Steps, num_learning: int) -> float:
    """Within which so many of the examples are."""
    torch.manual_seed(9)
    with torch.no_grad():
        right, wrong = steps.scorer(steps.batch).reshape(NUM_GROUPS, 2).unbind(dim=1)
    steps.with_gradients.clear()
    ahead = (right - wrong).sort().values
    return float(ahead[num_learning - 1 : num_learning + 1].mean()) if num_learning else float(ahead[0]) - 1


def has_gradients_for_all(steps: Steps, passes: list[int]) -> None:
    """With the same random numbers as one pass draws, though few pairs have a gradient."""
    margin = margin_for(steps, 2)
    _, expected = steps.step(margin)
    for _ in range(2):
        _, gradients = steps.step(margin)
        assert all(torch.equal(gradients[name], expected[name]) for name in expected)
    assert steps.with_gradients == passes, "two passes are tried once in an epoch"


def test_an_epoch_begins_with_gradients_for_all_and_goes_on_with_the_few_that_learn(batch: RankingBatch) -> None:
    steps = Steps(scorer(), batch)
    margin = margin_for(steps, 2)
    loss, gradients = steps.step(margin)
    assert steps.with_gradients == [12]
    again, spared = steps.step(margin)
    assert steps.with_gradients == [12, 0, 4]
    assert again == pytest.approx(loss)
    for name, gradient in gradients.items():
        torch.testing.assert_close(spared[name], gradient, rtol=1e-4, atol=1e-6)
    steps.pairs.begin_epoch()
    steps.step(margin)
    assert steps.with_gradients[3:] == [12]


def test_if_most_pairs_learn_all_have_gradients_in_one_pass(batch: RankingBatch) -> None:
    steps = Steps(scorer(), batch)
    margin = margin_for(steps, 4)
    for _ in range(3):
        steps.step(margin)
    assert steps.with_gradients == [12, 12, 12]


def test_if_no_pair_learns_gradients_are_zeros(batch: RankingBatch) -> None:
    steps = Steps(scorer(), batch)
    margin = margin_for(steps, 0)
    _, expected = steps.step(margin)
    loss, gradients = steps.step(margin)
    assert loss == 0
    assert steps.with_gradients == [12, 0, 1]
    assert gradients.keys() == expected.keys()
    assert not any(gradient.any() for gradient in gradients.values())


def test_a_model_with_dropout_takes_the_gradients_of_all_pairs(batch: RankingBatch) -> None:
    has_gradients_for_all(Steps(scorer("model.embedding.dropout_rate=0.5"), batch), [12, 0, 12, 12])


class Normalised(Similarity):
    """What a pair scores depends on the others of its batch."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(dim)

    def forward(self, question: Float[Tensor, "pair dim"], candidate: Float[Tensor, "pair dim"]) -> Float[Tensor, " pair"]:
        return torch.cosine_similarity(self.norm(question), self.norm(candidate))


def test_a_model_whose_pairs_depend_on_each_other_has_gradients_for_all(batch: RankingBatch) -> None:
    normalised = scorer()
    normalised.similarity = Normalised(12)
    has_gradients_for_all(Steps(normalised.train(), batch), [12, 0, 4, 12, 12])


def test_a_step_has_one_pass_unless_a_second_is_known_to_pay(batch: RankingBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(scorer(), batch)
    margin = margin_for(steps, num_learning=1)
    counted = steps.step(margin)  # the first of an epoch: through all
    monkeypatch.setattr("qaexp.training.learning_pairs.MAX_SHARE_WITH_GRADIENT", {})
    for _ in range(2):
        loss, gradients = steps.step(margin)
        assert loss == counted[0]
        assert gradients.keys() == counted[1].keys()
        assert all(torch.equal(gradients[name], counted[1][name]) for name in gradients)
    assert steps.with_gradients == [len(batch.labels)] * 3
