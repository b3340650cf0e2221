"""Reads attention weights, gates and grids out of any model for one pair."""

from contextlib import AbstractContextManager

import torch
from jaxtyping import Int
from torch import Tensor

from qaexp.models.intermediates import watch
from qaexp.models.scorer import AnswerScorer


def read_out(
    scorer: AnswerScorer, question: Int[Tensor, " question_length"], candidate: Int[Tensor, " candidate_length"]
) -> dict[str, Tensor]:
    """What the stages of a model show (`intermediates.show`) while they score one pair, by `<side>.<name>`, and the `score`.

    The side is `question` or `candidate` for what is computed from one text, and `pair` for what needs both. The first axis, of length one,
    is removed; the stage's docstring describes the others. A name that is shown several times (directions, layers) is stacked along a new
    first axis.
    """
    seen: dict[str, list[Tensor]] = {}
    training = scorer.training
    scorer.eval()
    try:
        with torch.no_grad():
            with _side("question", seen):
                encoded_question = scorer.encode_question(question[None])
            with _side("candidate", seen):
                encoded_candidate = scorer.encode_candidate(candidate[None])
            with _side("pair", seen):
                score = scorer.score(encoded_question, encoded_candidate)
    finally:
        scorer.train(training)
    return {"score": score[0], **{name: tensors[0][0] if len(tensors) == 1 else torch.cat(tensors) for name, tensors in seen.items()}}


def _side(side: str, seen: dict[str, list[Tensor]]) -> AbstractContextManager[None]:
    return watch(lambda name, tensor: seen.setdefault(f"{side}.{name}", []).append(tensor.detach()))
