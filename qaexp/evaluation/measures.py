"""Measures by name, in the field's syntax: `AP`, `RR@10`, `nDCG@10`. A new one is a line of `FAMILIES`. Needs no torch.

Other names are those of ir-measures (https://ir-measur.es): `Rprec`, `ERR@20`, `P(rel=2)@5`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qaexp.errors import ConfigError, meant

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    from qaexp.evaluation.ranks import Ranks

ACCURACY = "accuracy"
"""The measure of pairs with classes, which are not ranked."""
COUNTS = ("questions", "pairs", "tied at first answer")
"""Counts that a record has of each split, beside its measures."""


def _precision(of: "Ranks", k: int | float) -> "Float[Tensor, ' question']":
    """|{i: rᵢ ≤ k}| / k. trec_eval's P_k."""
    return of.total(of.rank <= k) / (of.candidates.clamp(min=1, max=k) if of.convention.precision_divides_by_pool else k)


def _reciprocal_rank(of: "Ranks", k: int | float) -> "Float[Tensor, ' question']":
    """1 / r₁ if r₁ ≤ k, else 0. trec_eval's recip_rank."""
    return of.total(((of.rank <= of.seen_to(k)) & (of.nth == 1)) / of.rank.double())


def _average_precision(of: "Ranks", k: int | float) -> "Float[Tensor, ' question']":
    """Σ over rᵢ ≤ k of i / rᵢ, divided by R, or by the number of such rᵢ. trec_eval's map and map_cut_k."""
    seen = of.rank <= of.seen_to(k)
    return of.total(seen * of.nth / of.rank.double()) / (of.total(seen) if of.convention.divides_by_found else of.answers).clamp(min=1)


def _ndcg(of: "Ranks", k: int | float) -> "Float[Tensor, ' question']":
    """Σ over rᵢ ≤ k of labelᵢ / log₂(rᵢ + 1), divided by the same sum of the best order. trec_eval's ndcg and ndcg_cut_k."""
    ideal = of.ideal_dcg(k)
    return of.total((of.rank <= k) * of.gain / (of.rank.double() + 1).log2()) / ideal.where(ideal > 0, 1.0)


def _recall(of: "Ranks", k: int | float) -> "Float[Tensor, ' question']":
    """|{i: rᵢ ≤ k}| / R. trec_eval's recall_k."""
    return of.total(of.rank <= k) / of.answers.clamp(min=1)


def _success(of: "Ranks", k: int | float) -> "Float[Tensor, ' question']":
    """1 if r₁ ≤ k, else 0. trec_eval's success_k."""
    return (of.total(of.rank <= k) > 0).double()


@dataclass(frozen=True)
class Family:
    """A measure without its depth."""

    shown: str
    """The heading of its mean."""
    formula: "Callable[[Ranks, float], Float[Tensor, ' question']]"
    """The value of each question. `k` is infinite if the name has no depth."""
    needs_depth: bool
    names: tuple[str, ...] = ()
    """Its other names, in lower case."""


FAMILIES: Mapping[str, Family] = {
    "p": Family("P", _precision, needs_depth=True, names=("precision", "prec")),
    "mrr": Family("MRR", _reciprocal_rank, needs_depth=False, names=("rr",)),
    "map": Family("MAP", _average_precision, needs_depth=False, names=("ap",)),
    "ndcg": Family("nDCG", _ndcg, needs_depth=False),
    "r": Family("R", _recall, needs_depth=True, names=("recall",)),
    "success": Family("Success", _success, needs_depth=True, names=("hit", "hits")),
}
"""Measures by their name in records and tables. In the formulas, r₁ < r₂ < … are the ranks of a question's right candidates, R in all."""

_FAMILY_OF = {name: key for key, family in FAMILIES.items() for name in (key, *family.names)}


@dataclass(frozen=True)
class Measure:
    """A measure with its depth: one of `FAMILIES`, or of ir-measures, which then computes it."""

    key: str
    """Its name in records, tables and W&B, such as `map` and `ndcg@10`."""
    shown: str
    """Its heading, such as MAP and nDCG@10."""
    family: Family | None = None
    depth: int | None = None


def find_measure(name: str) -> Measure:
    """The measure of a name; letter case does not matter for those of `FAMILIES`.

    Raises: ConfigError, if there is none (it names the nearest) or its depth is missing or 0.

    >>> find_measure("AP").key, find_measure("RR@10").key, find_measure("nDCG@10").key, find_measure("p@1").shown
    ('map', 'mrr@10', 'ndcg@10', 'P@1')
    """
    spelled = re.fullmatch(r"([A-Za-z]+)(?:@(\d+))?", name.strip())
    if spelled and (key := _FAMILY_OF.get(spelled[1].lower())):
        family, depth = FAMILIES[key], spelled[2] and int(spelled[2])
        if depth == 0 or (depth is None and family.needs_depth):
            raise ConfigError(f"the measure {name} needs a depth of at least 1, as in {family.shown}@5")
        return Measure(f"{key}@{depth}", f"{family.shown}@{depth}", family, depth) if depth else Measure(key, family.shown, family)
    known = [*(f"{family.shown}@10" for family in FAMILIES.values()), "AP", "RR", "nDCG"]
    try:
        import ir_measures  # takes a quarter of a second

        parsed = ir_measures.parse_measure(name.strip())
        ir_measures.evaluator([parsed], {"question": {"candidate": 1}})  # some can be parsed, but not computed
    except (NameError, ValueError, SyntaxError, TypeError, AssertionError, KeyError, AttributeError) as error:
        raise ConfigError(f"there is no measure {name!r}; {meant(name, known)}") from error
    except ImportError as error:
        raise ConfigError(
            f"without ir-measures (pip install 'qaexp[tables]') there is no measure {name!r}; {meant(name, known)}"
        ) from error
    return Measure(str(parsed), str(parsed))


def measure_keys(names: Iterable[str]) -> tuple[str, ...]:
    """The keys of named measures, each once.

    >>> measure_keys(["AP", "map", "R@5"])
    ('map', 'r@5')
    """
    return tuple(dict.fromkeys(find_measure(name).key for name in names))


FALLING = ("loss", "perplexity")
"""Metrics for which lower is better."""


def is_curve(name: str) -> bool:
    """Whether a metric of an epoch's history is drawn over epochs.

    >>> is_curve("train/loss"), is_curve("dev/map"), is_curve("epoch"), is_curve("speed/tokens_per_second")
    (True, True, False, False)
    """
    split, _, measure = name.rpartition("/")
    return bool(split) and (measure in FALLING or is_measure(measure))


def metric_key(metric: str) -> str:
    """`split/measure` as records have it. An accuracy or a count stays as it is.

    >>> metric_key("dev/AP"), metric_key("test/nDCG@3"), metric_key("dev/accuracy")
    ('dev/map', 'test/ndcg@3', 'dev/accuracy')
    """
    split, slash, name = metric.rpartition("/")
    try:
        return f"{split}/{find_measure(name).key}" if slash and name != ACCURACY else metric
    except ConfigError:
        return metric


def is_measure(name: str) -> bool:
    """Whether there is a measure of this name, of rankings or of classes."""
    try:
        return name == ACCURACY or (name not in COUNTS and bool(find_measure(name)))
    except ConfigError:
        return False


def heading(name: str) -> str:
    """The heading of a record's metric. Other names stay as they are.

    >>> heading("map"), heading("ndcg@10"), heading("accuracy")
    ('MAP', 'nDCG@10', 'accuracy')
    """
    return find_measure(name).shown if name != ACCURACY and is_measure(name) else name
