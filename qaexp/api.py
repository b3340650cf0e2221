"""The Python API: `qaexp.train(model="ggsa", dataset="toy")` and the like. The package exports these functions."""

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from qaexp.errors import QaexpError
from qaexp.runs.folder import RUNS

if TYPE_CHECKING:
    import pandas as pd

    from qaexp.runs.ranker import Ranker
    from qaexp.runs.record import RunRecord
    from qaexp.training.evaluate import Evaluation


class Run(NamedTuple):
    """A finished run."""

    record: "RunRecord"
    """Its configuration, data, metrics and history; `record.metrics["test"]["map"]` is one metric."""
    folder: Path
    """The run's folder. It has the checkpoint, the rankings and the measures of each question."""

    def __repr__(self) -> str:
        return f"Run({self.record.config['run_name']}, {self.record.status}, {str(self.folder)!r})"

    def __fspath__(self) -> str:
        return str(self.folder)

    def load(self) -> "Ranker":
        """The trained model, to rank with."""
        from qaexp.runs.ranker import load

        return load(self.folder)


_ONE_AT_A_TIME = threading.RLock()


def train(overrides: str | Sequence[str] = (), *, runs: str | Path = RUNS, **options: Any) -> Run:
    """Train and rank, as `qaexp` does on the command line. The run has a folder of its own below `runs`.

    `overrides` are words of the command line, such as `["model=ggsa", "model/pooling=mean"]`. `options` give the same by name: a choice, a
    value, or a mapping of values, such as `model="ggsa", dataset="toy", trainer={"max_epochs": 3}`. They come after `overrides`.

    If `runs` has a finished run with the same configuration and data, it is returned; an interrupted one is resumed. Threads train one
    after the other, since they share torch's global random generator. To train several runs at once, use processes, as a sweep does.

    Raises:
        QaexpError: what is wrong with the options, the data or the run, in one sentence.
    """
    from qaexp.runs.store import run_overrides

    words = _command_line(overrides, options)
    if odd := next((word for word in words if word.startswith(("-", "resume="))), None):
        raise QaexpError(f"{odd} is for the command line alone; call qaexp.train for each run (it resumes interrupted ones)")
    if odd := next((word for word in words if word.startswith("output_dir=")), None):
        raise QaexpError(f"{odd} is for the command line alone; give runs=FOLDER, the folder in which each run gets its own")
    with _one_sentence(words), _ONE_AT_A_TIME:
        outcome = run_overrides(words, Path(runs).expanduser(), watchers=_notebook_bar())
    if outcome.status == "busy":
        raise QaexpError(f"another process is at work on this run in {outcome.folder}; wait for it, or stop it")
    if outcome.record is None:
        raise QaexpError(outcome.error)
    return Run(outcome.record, outcome.folder)


def evaluate(run: "Run | str | Path", overrides: str | Sequence[str] = (), *, to: str | Path | None = None, **options: Any) -> "Evaluation":
    """Rank a data set with a trained run, as `qaexp evaluate` does: the run's own data, or a data set chosen by the options.

    `run` is what `train` returns, a folder or a checkpoint. Options with dots go into `overrides`, as words of the command line:
    `qaexp.evaluate(run, ["dataset=own", "dataset.reader.folder=faq.csv"])`. Files go into the folder `to`, by default
    `evaluations/<data set>` beside the checkpoint.

    Raises:
        QaexpError: what is wrong with the options, the data or the run, in one sentence.
    """
    from qaexp.training.evaluate import evaluate_run

    words = _command_line(overrides, options)
    with _one_sentence(words):
        return evaluate_run(Path(run).expanduser(), words, None if to is None else Path(to).expanduser())


def compare(*runs: "Run | str | Path", **options: Any) -> "pd.DataFrame":
    """Test the differences of runs on the same questions, as `qaexp compare` does. One row for each measure and each pair of runs.

    `runs` are what `train` returns, folders, or TREC run files. `options` are those of `qaexp.runs.comparison.compare_runs`, such as
    `measures=["AP", "nDCG@10"]`, `split="dev"`, `test="t"` and, for files, `qrels=FILE`.

    Raises:
        QaexpError: the runs cannot be compared; the message says why.
    """
    from qaexp.runs.comparison import compare_runs

    return compare_runs([Path(run).expanduser() for run in runs], **options)


def _command_line(overrides: str | Sequence[str], options: Mapping[str, Any]) -> list[str]:
    return [*([overrides] if isinstance(overrides, str) else overrides), *_words(options)]


@contextmanager
def _one_sentence(words: Sequence[str]) -> Iterator[None]:
    """Turns errors that the user can correct into a QaexpError with the sentence that the command line prints."""
    from qaexp.mistakes import explain

    try:
        yield
    except QaexpError:
        raise
    except Exception as error:
        if sentence := explain(error, words):
            raise QaexpError(sentence) from error
        raise


def _words(options: Mapping[str, Any], of: str = "") -> list[str]:
    """Options by name as words of the command line, each value in Hydra's syntax.

    >>> _words({"model": "ggsa", "trainer": {"max_epochs": 3}, "dataset": None, "logger": "it's"})
    ['model=ggsa', 'trainer.max_epochs=3', 'dataset=null', "logger='it\\\\'s'"]
    """
    from qaexp.config import in_hydra  # loads Hydra

    words: list[str] = []
    for name, value in options.items():
        words += _words(value, f"{of}{name}.") if isinstance(value, Mapping) else [f"{of}{name}={in_hydra(value)}"]
    return words


def _notebook_bar() -> list[Any] | None:
    """In a notebook, a progress bar of epochs that replaces the terminal's; None elsewhere."""
    if "ipykernel" not in sys.modules:
        return None
    from qaexp.training.notebook_bar import NotebookBar

    return [NotebookBar()]
