"""Reading attention weights, gates and grids out of any model for a given pair."""

from contextlib import AbstractContextManager

import torch
from jaxtyping import Int
from torch import Tensor

from qaexp.models.intermediates import watch
from qaexp.models.scorer import AnswerScorer


def read_out(
    scorer: AnswerScorer, question: Int[Tensor, " question_length"], candidate: Int[Tensor, " candidate_length"]
) -> dict[str, Tensor]:
    """What the stages of a model showed (`shown.show`) while they scored one pair, by `<side>.<name>`; `score` too.

    A side is `question` or `candidate` for what was computed of one text, `pair` for what took both. The first axis, of one pair,
    is gone; the others are what the stage's docstring says. A name shown several times (directions, layers) is stacked along a new
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
