"""Late interaction against a loop straight from ColBERT's equation."""

import torch
from small_texts import some_states
from torch.nn import functional as F

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
