"""Late interaction against a loop straight from ColBERT's equation."""

import pytest
import torch
from hydra.utils import instantiate
from jaxtyping import Int
from small_texts import some_states, some_tokens
from torch import Tensor
from torch.nn import functional as F

from qaexp.config import compose
from qaexp.models.pooling.max_sim import MaxSim
from qaexp.models.similarity.cosine import Cosine


def test_the_sum_over_hops_is_the_sum_of_maxima() -> None:
    question, candidate = some_states([3, 1], dim=4, seed=1), some_states([2, 5], dim=4, longest=6, seed=2)
    pooling = MaxSim(input_dim=4)
    q, c = pooling(pooling.once_per_text("question", question), pooling.once_per_text("candidate", candidate))
    ours = Cosine(input_dim=4)(q["vector"].flatten(0, 1), c["vector"].flatten(0, 1)).unflatten(0, (2, 3)).sum(dim=1)
    for row, score in enumerate(ours.tolist()):
        words = [state for state, real in zip(question["states"][row], question["mask"][row], strict=True) if real]
        others = [state for state, real in zip(candidate["states"][row], candidate["mask"][row], strict=True) if real]
        best = [max(F.cosine_similarity(word, other, dim=0).item() for other in others) for word in words]
        assert abs(score - sum(best)) < 1e-5
    assert torch.isfinite(ours).all()


def test_padding_is_never_the_nearest_word() -> None:
    states = torch.tensor([[[[1.0, 0.0]]], [[[-1.0, 0.0]]]])
    opposite = [{"states": F.pad(text, (0, 0, 0, 2)), "mask": torch.tensor([[True, False, False]])} for text in states]
    pooling = MaxSim(input_dim=2)
    _, nearest = pooling(pooling.once_per_text("question", opposite[0]), pooling.once_per_text("candidate", opposite[1]))
    assert nearest["vector"][0, 0].tolist() == [-1.0, 0.0]


@pytest.mark.parametrize("similarity", ["cosine", "gesd", "mlp", "tensor", "holographic", "join"])
def test_padding_is_no_hop_under_any_similarity(similarity: str) -> None:
    cfg = compose(["model=qa_cnn", "model.encoder.num_filters=6", "model/pooling=max_sim", f"model/similarity={similarity}"])
    torch.manual_seed(1)
    scorer = instantiate(cfg.model, vectors=torch.randn(20, 6)).eval()
    question, candidate = some_tokens([3, 2], words=20), some_tokens([4, 5], words=20, seed=2)

    def scores(question: Int[Tensor, "text length"]) -> Tensor:
        return scorer.score(scorer.encode_question(question), scorer.encode_candidate(candidate))

    torch.testing.assert_close(scores(F.pad(question, (0, 4))), scores(question))
