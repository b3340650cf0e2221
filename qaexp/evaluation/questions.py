"""The measures of all questions at once. Needs torch alone, so that `qaexp measure` starts without torchmetrics, which takes seconds."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from qaexp.evaluation.conventions import METRICS, Convention
from qaexp.evaluation.measures import Measure, find_measure
from qaexp.evaluation.ranks import UNJUDGED, Ranks


def measure_questions(
    scores: Float[Tensor, " pair"],
    labels: Int[Tensor, " pair"],
    questions: Int[Tensor, " pair"],
    tie_order: Int[Tensor, " pair"],
    convention: Convention,
    measures: Sequence[str] = METRICS,
    ranked: Bool[Tensor, " pair"] | None = None,
) -> dict[str, Tensor]:
    """The measures of each question that the convention counts, in order of question number; a label above 0 is right.

    The formulas are in `qaexp.evaluation.measures`. Also returns `question` (its number), `candidates` and `answers` (how many of each it
    has). `ranked` is False for candidates that are missing from the ranking; see `Ranks.of`.

    Raises: as `rank_pairs`; ConfigError on an unknown measure.

    >>> from qaexp.evaluation.conventions import find_convention
    >>> scores, labels = torch.tensor([0.9, -0.5, 0.2, 0.1]), torch.tensor([0, 1, 1, 0])    # right candidates at ranks 2 and 4
    >>> zeros = torch.zeros(4, dtype=torch.int64)
    >>> measured = measure_questions(scores, labels, zeros, zeros, find_convention("trec"), ["P@1", "RR", "AP", "P@5", "nDCG@10"])
    >>> {name: measured[name].tolist() for name in METRICS[:4]}    # map = (1/2 + 2/4) / 2
    {'p@1': [0.0], 'mrr': [0.5], 'map': [0.5], 'p@5': [0.4]}
    >>> round(measured["ndcg@10"].item(), 4)    # (1/log₂3 + 1/log₂5) / (1/log₂2 + 1/log₂3)
    0.6509
    """
    named = [find_measure(name) for name in measures]
    ranks = Ranks.of(scores, labels, questions, tie_order, convention, ranked)
    measured = {each.key: each.family.formula(ranks, each.depth or torch.inf) for each in named if each.family}
    measured |= _by_ir_measures(ranks, [each for each in named if not each.family])
    measured |= {"question": ranks.question, "candidates": ranks.candidates, "answers": ranks.answers}
    return measured if convention.counts_unanswered else {name: values[ranks.answers > 0] for name, values in measured.items()}


def _by_ir_measures(ranks: Ranks, measures: Sequence[Measure]) -> Mapping[str, Float[Tensor, " question"]]:
    """Measures that ir-measures computes. Its scores are our ranks, so that ties stay as the convention broke them."""
    if not measures:
        return {}
    import ir_measures

    rows = list(zip(ranks.pair_group.tolist(), ranks.pair_rank.tolist(), ranks.pair_label.tolist(), strict=True))
    qrels = {str(group): dict[str, int]() for group in range(len(ranks.question))}
    run = {str(group): dict[str, float]() for group in range(len(ranks.question))}
    for pair, (group, rank, label) in enumerate(rows):
        if label != UNJUDGED:
            qrels[str(group)][str(pair)] = label
        if rank:
            run[str(group)][str(pair)] = -float(rank)
    measured = {each.key: torch.zeros(len(ranks.question), dtype=torch.float64, device=ranks.question.device) for each in measures}
    parsed = {ir_measures.parse_measure(each.key): each.key for each in measures}
    judged = {group: labels for group, labels in qrels.items() if max(labels.values(), default=-1) >= 0}  # others may crash trec_eval
    for found in ir_measures.iter_calc(list(parsed), judged, {group: run[group] for group in judged}):
        measured[parsed[found.measure]][int(found.query_id)] = found.value
    return measured


def share_tied_at_first_answer(
    scores: Float[Tensor, " pair"], labels: Int[Tensor, " pair"], questions: Int[Tensor, " pair"]
) -> Float[Tensor, ""]:
    """Share of questions whose best right candidate has the same score (in float32) as a wrong one: its rank depends on the tie order.

    Reading: a share of the questions that have a right candidate; the others have no such rank. 0 when none has one.

    >>> zeros = torch.zeros(4, dtype=torch.int64)
    >>> share_tied_at_first_answer(torch.tensor([1.0, 1.0, 3.0, 2.0]), torch.tensor([1, 0, 0, 1]), torch.tensor([0, 0, 1, 1])).item()
    0.5
    """
    scores = scores.float()
    question, group = questions.unique(return_inverse=True)
    right: Bool[Tensor, " pair"] = labels > 0
    answered = torch.bincount(group[right], minlength=len(question)) > 0
    best = scores.new_full((len(question),), -torch.inf).scatter_reduce(0, group[right], scores[right], "amax")
    tied = torch.bincount(group[~right & (scores == best[group])], minlength=len(question)) > 0
    return (tied & answered).sum().double() / answered.sum().clamp(min=1)
