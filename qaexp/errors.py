"""Errors that the user can correct. Each message says what is wrong, where, and what to do."""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path


class QaexpError(Exception):
    """An error that the user can correct. The command line prints its message without a traceback and exits with 2."""


class MissingDataError(QaexpError):
    """Files of a data set are missing; `files` lists them if they are known."""

    def __init__(self, message: str, files: Sequence[Path] = ()) -> None:
        super().__init__(message)
        self.files = files


class BadDataError(QaexpError):
    """A file of a data set is malformed. Lists all faults of the file at once."""

    def __init__(self, path: Path | str, faults: Sequence[str], remedy: str) -> None:
        more = [f"... and {len(faults) - 20} more"] if len(faults) > 20 else []
        lines = "\n".join(f"  {fault}" for fault in [*faults[:20], *more])
        super().__init__(f"{path}: {plural(len(faults), 'fault')}\n{lines}\n{remedy}")


class ConfigError(QaexpError):
    """The configuration cannot be built, for example because of an unknown name or two stages that do not fit."""


class NonFiniteLossError(QaexpError):
    """The training loss became NaN or infinite."""


class UnrankableScoresError(QaexpError):
    """The scores cannot be ranked: there are none, or some are NaN."""


class PrunedError(QaexpError):
    """A pruner stopped a run of a sweep because of its dev metric."""


class SweepError(QaexpError):
    """Some jobs of a sweep failed."""


class CheckpointError(QaexpError):
    """A checkpoint cannot be read, or belongs to another vocabulary or model."""


class RecordError(QaexpError):
    """The record of a run cannot be read."""


class OutputError(QaexpError):
    """The output folder cannot be written to."""


class KilledError(QaexpError):
    """The process of a run was killed without leaving a reason."""


EXTRAS = {
    "bm25s": ("BM25", "lexical"),
    "sklearn": ("the learned lexical baselines", "lexical"),
    "gensim": ("word2vec training and lists of stop words", "vectors"),
    "simplemma": ("lemmas", "data"),
    "pooch": ("fetching data", "data"),
    "requests": ("fetching data", "data"),
    "scipy": ("significance tests, groups of equal texts and sparse features", "tables"),
    "ir_measures": ("measures beside qaexp's own", "tables"),
    "jinja2": ("pages of results", "tables"),
    "markdown_it": ("pages of results", "tables"),
    "joblib": ("running the rows of tables", "tables"),
    "matplotlib": ("figures", "tables"),
    "starlette": ("the demo", "demo"),
    "uvicorn": ("the demo", "demo"),
    "optuna": ("sweeps", "sweep"),
    "transformers": ("pretrained encoders", "pretrained"),
    "peft": ("LoRA", "pretrained"),
    "onnx": ("export to ONNX", "onnx"),
    "onnxscript": ("export to ONNX", "onnx"),
    "sentence_transformers": ("export to sentence-transformers", "sentence-transformers"),
    "ray": ("hydra/launcher=ray", "sweep"),
    "wandb": ("W&B", "wandb"),
    "tensorboard": ("logger=tensorboard", "tensorboard"),
    "mlflow": ("logger=mlflow", "mlflow"),
    "wandb_workspaces": ("dashboards", "dashboard"),
}
"""Libraries that only some commands and components need: what they are for, and the extra that has them."""


def missing_library(error: BaseException) -> str | None:
    """One sentence with the remedy if a library of `EXTRAS` is not installed; None for other errors.

    >>> missing_library(ModuleNotFoundError("No module named 'gensim'", name="gensim.models"))
    "word2vec training and lists of stop words: gensim is not installed; pip install 'qaexp[vectors]'"
    """
    library = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if library not in EXTRAS:
        return None
    purpose, extra = EXTRAS[library]
    return f"{purpose}: {library} is not installed; pip install 'qaexp[{extra}]'"


def first_line(error: BaseException) -> str:
    """The first line of an error's message. If there is no message, the name of the error's class.

    >>> first_line(ValueError("too long\\nmore")), first_line(EOFError())
    ('too long', 'EOFError')
    """
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def plural(number: int, noun: str) -> str:
    """A number with its noun.

    >>> plural(1, "field"), plural(2000, "line")
    ('1 field', '2,000 lines')
    """
    return f"{number:,} {noun}{'s' if number != 1 else ''}"


def require_among(option: str, names: Iterable[str], known: Sequence[str], cutoff: float = 0.6) -> None:
    """Check the names that `option` was given. Raises: ConfigError, if one is not among `known`."""
    for name in names:
        if name not in known:
            raise ConfigError(f"{option}: there is no {name!r}; {meant(str(name), known, cutoff)}")


def meant(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Suggests known names that are similar to an unknown one, or else lists all known names.

    >>> meant("GGS", ["ggsa", "ctrn"]), meant("xyz", ["ggsa", "ctrn"])
    ('did you mean ggsa?', 'choose among ggsa, ctrn')
    """
    spelled = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), spelled, n=2, cutoff=cutoff)
    return f"did you mean {' or '.join(spelled[each] for each in near)}?" if near else f"choose among {', '.join(spelled.values())}"
