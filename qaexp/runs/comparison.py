"""Compares systems on the same questions: differences, intervals, effect sizes and tests, for our runs and for any run files."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float

from qaexp.errors import ConfigError, MissingDataError, RecordError, meant
from qaexp.evaluation.conventions import METRICS
from qaexp.evaluation.measures import heading, measure_keys
from qaexp.evaluation.run_files import Measured, Qrels, measure_run
from qaexp.evaluation.significance import ROUNDING, Interval, holm, paired_randomisation
from qaexp.runs.folder import EVALUATION, RECORD
from qaexp.runs.record import RunRecord

TESTS = ("randomisation", "t")


@dataclass(frozen=True)
class _System:
    """A system's measures, and what must be the same for two of them to be compared."""

    name: str
    values: pd.DataFrame
    convention: str
    data: str
    """The fingerprint of the data, or the file of judgements."""

    def of(self, key: str) -> pd.Series:
        """A measure of each question."""
        return pd.Series(self.values[key])


def compare_runs(
    runs: Sequence[str | Path],
    qrels: str | Path | None = None,
    measures: Sequence[str] = METRICS,
    split: str = "test",
    test: str = "randomisation",
    convention: str = "trec",
    complete: bool = False,
) -> pd.DataFrame:
    """A row for every measure and two systems, in the order given. Differences are the first one's mean minus the second one's.

    `runs` are folders of runs or of `qaexp evaluate`; with `qrels`, any run files, and folders are measured by the same judgements. The
    interval is that of Student's t at 95%; `d` is Cohen's d of paired values, the mean difference over its standard deviation. `p` is of
    the paired randomisation test or t-test, NaN for the t-test of a single question. `p (Holm)` is adjusted for all rows with a `p`.

    Raises:
        ConfigError: there is one run alone, an unknown measure, split or test, or the systems were not measured alike.
        MissingDataError, BadDataError, RecordError: a file is missing or damaged, or a run has not finished.

    The columns: measure, first, second, the means of both, difference, low, high, d, better, equal, worse, p, p (Holm).
    """
    if test not in TESTS:
        raise ConfigError(f"there is no test {test!r}; {meant(test, TESTS)}")
    if len(runs) < 2:
        raise ConfigError("a comparison needs two runs or more")
    keys = measure_keys([measures] if isinstance(measures, str) else measures)
    if not keys:
        raise ConfigError("a comparison needs a measure, such as AP")
    judged = None if qrels is None else Qrels.read(Path(qrels))
    systems = [_system(Path(run), judged, keys, split, convention, complete) for run in runs]
    _require_alike(systems)
    rows = [
        {"measure": heading(key), "first": one.name, "second": other.name, **difference(one.of(key), other.of(key), test)}
        for key in keys
        for one, other in combinations(systems, 2)
    ]
    table = pd.DataFrame(rows)
    table["p (Holm)"] = holm(table["p"].tolist())
    return table


def _system(run: Path, qrels: Qrels | None, keys: Sequence[str], split: str, convention: str, complete: bool) -> _System:
    path, data = run, str(qrels.path) if qrels else ""
    if run.is_dir():
        path = run / f"{split}.run"
        if not path.is_file():
            there = [each.stem for each in sorted(run.glob("*.run"))]
            remedy = f"--split {split}: {meant(split, there)}" if there else "name a run's folder that is finished"
            if any(run.glob("*.pairs.csv")):
                raise ConfigError(f"{run} predicts the classes of pairs, and rankings are compared; name runs that rank")
            raise MissingDataError(f"{path} does not exist; {remedy}")
    elif not qrels:
        raise ConfigError(f"{run} is not a folder of a run; to compare run files, give their judgements with --qrels FILE")
    of_folder = qrels is None
    if qrels is None:
        convention, data = _how_measured(run)
        qrels, complete = Qrels.read(run / f"{split}.qrels"), True
    measured: Measured = measure_run(path, qrels, keys, convention, complete)
    if of_folder and measured.missing_pairs:
        raise RecordError(
            f"{path} lacks {measured.missing_pairs:,} of the pairs in {split}.qrels, so it was cut off; delete the run's folder, then "
            "repeat the command that made it"
        )
    return _System(str(run), measured.values, convention, data)


def _how_measured(folder: Path) -> tuple[str, str]:
    """The convention of a folder's numbers, and the fingerprint of their data."""
    if (path := folder / EVALUATION).is_file():
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
            return str(facts["convention"]), str(facts["data"]["fingerprint"])
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise RecordError(f"{path} is damaged ({error!r}); evaluate the run again") from error
    record = RunRecord.load(folder)
    if not record.data:
        raise RecordError(f"{folder / RECORD} says nothing of data: the run has not finished")
    return record.convention, str(record.data["fingerprint"])


def _require_alike(systems: Sequence[_System]) -> None:
    """Raises ConfigError if two systems differ in convention, data or questions."""
    first = systems[0]
    for other in systems[1:]:
        if other.convention != first.convention:
            raise ConfigError(
                f"{first.name} was measured under the convention {first.convention}, {other.name} under {other.convention}: their numbers "
                "mean different things; give judgements with --qrels FILE to measure both by one"
            )
        if other.data != first.data:
            raise ConfigError(
                f"{first.name} and {other.name} are of different data (fingerprints {first.data[:8]} and {other.data[:8]}); compare runs "
                "on the same files, or give judgements with --qrels FILE"
            )
        if not first.values.index.sort_values().equals(other.values.index.sort_values()):
            only = len(first.values.index.symmetric_difference(other.values.index))
            raise ConfigError(
                f"{first.name} and {other.name} do not rank the same questions: {only} are in one of them alone; with --qrels FILE, "
                "--complete counts those that are missing as 0"
            )


def difference(one: pd.Series, other: pd.Series, test: str) -> dict[str, float | int]:
    """Statistics of the difference of two systems, the first minus the second, paired by question.

    `low` and `high` are the ends of its 95% interval, NaN for a single question. `test` is one of TESTS.
    """
    differences: Float[np.ndarray, " question"] = (one - other).to_numpy(dtype=float)
    differences = np.where(np.abs(differences) < 1e-12, 0.0, differences)
    count, mean = len(differences), float(differences.mean())
    deviation = float(differences.std(ddof=1)) if count > 1 else math.nan
    half = Interval.of(differences.tolist(), random=True).half
    return {
        "first mean": float(one.mean()),
        "second mean": float(other.mean()),
        "difference": mean,
        "low": mean - half,
        "high": mean + half,
        "d": mean / deviation if deviation > ROUNDING else math.nan if mean else 0.0,
        "better": int((differences > 0).sum()),
        "equal": int((differences == 0).sum()),
        "worse": int((differences < 0).sum()),
        "p": paired_randomisation(differences) if test == "randomisation" else _t_test(differences, deviation),
    }


def _t_test(differences: Float[np.ndarray, " question"], deviation: float) -> float:
    """Two-sided p-value of Student's paired t-test, NaN for a single question. Equal differences give 1 if they are 0, and 0 otherwise."""
    if math.isnan(deviation):
        return math.nan
    if not deviation > ROUNDING:
        return float(abs(differences.mean()) < ROUNDING)
    from scipy import stats  # takes long to import

    return float(stats.ttest_1samp(differences, 0.0).pvalue)  # type: ignore[attr-defined]
