"""The measures that every ranking has, and the scoring conventions: how each breaks ties, and what it divides by. Imports no torch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Int

from qaexp.errors import ConfigError, meant

METRICS = ("p@1", "mrr", "map", "p@5", "ndcg@10")
"""trec_eval calls them P_1, recip_rank, map, P_5 and ndcg_cut_10."""


def string_tie_order(candidate_ids: Sequence[str] | Sequence[bytes] | np.ndarray) -> Int[np.ndarray, " pair"]:
    """Place of each id among the distinct ids, ascending as strings of bytes; the larger goes first, as in trec_eval.

    >>> string_tie_order(["a9", "a10", "b", "a9"]).tolist()
    [1, 0, 2, 1]
    """
    return pd.factorize(np.asarray(candidate_ids, dtype=object), sort=True)[0]  # code points sort as their UTF-8 bytes do


def file_tie_order(candidate_ids: Sequence[str] | np.ndarray) -> Int[np.ndarray, " pair"]:
    """Minus the position: among equal scores the pair that came first goes first, whatever order pairs are scored in.

    >>> file_tie_order(["a9", "a10", "b"]).tolist()
    [0, -1, -2]
    """
    return -np.arange(len(candidate_ids))


@dataclass(frozen=True)
class Convention:
    """How a published evaluation breaks ties and what it divides by; see docs/concepts.md, "Conventions of scoring"."""

    tie_order: Callable[[Sequence[str] | np.ndarray], Int[np.ndarray, " pair"]]
    """Maps candidate ids, in file order, to one integer for each pair. Among equal scores the larger integer goes first."""
    counts_unanswered: bool
    """Questions without a right candidate count as 0; otherwise they are left out."""
    depth: int | None
    """Reciprocal rank and average precision ignore ranks beyond this one. None: no limit."""
    divides_by_found: bool
    """Average precision divides by the right candidates that it sees; otherwise by all right candidates."""
    precision_divides_by_pool: bool
    """P@k divides by min(k, candidates of the question); otherwise by k."""


CONVENTIONS: dict[str, Convention] = {
    "trec": Convention(string_tie_order, counts_unanswered=True, depth=None, divides_by_found=False, precision_divides_by_pool=False),
    "semeval10": Convention(file_tie_order, counts_unanswered=True, depth=10, divides_by_found=True, precision_divides_by_pool=False),
    "lei16": Convention(file_tie_order, counts_unanswered=False, depth=None, divides_by_found=False, precision_divides_by_pool=True),
}
"""`trec`: trec_eval 9, to 1e-9. `semeval10`: the scorer of SemEval-2016 task 3. `lei16`: Lei et al. 2016, AskUbuntu.

Reading: the depth of `semeval10` also limits reciprocal rank, as the scorer's `metrics.mrr(out, th)` is cut at the same 10. It only matters
for pools of more than 10.
"""


def find_convention(name: str) -> Convention:
    """The convention of that name.

    Raises: ConfigError, if there is none.

    >>> find_convention("semeval10").depth
    10
    """
    if name not in CONVENTIONS:
        raise ConfigError(f"no scoring convention is called {name!r}; {meant(name, CONVENTIONS)}")
    return CONVENTIONS[name]
