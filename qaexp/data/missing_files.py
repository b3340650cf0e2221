"""Checks that the files that a configuration reads are on disk, before anything is built from it."""

from hydra.utils import get_object, instantiate
from omegaconf import DictConfig

from qaexp.data.prepare import require_reader
from qaexp.errors import MissingDataError


def missing(source: DictConfig) -> list[MissingDataError]:
    """The error of a configured reader or source of word vectors whose files are missing, or nothing if all are there."""
    try:
        instantiate(source).files()
    except MissingDataError as error:
        return [error]
    return []


def require_files(cfg: DictConfig) -> None:
    """Check that the texts, and the word vectors if the model reads them, are on disk.

    Raises:
        MissingDataError: names all missing files.
        ConfigError: `dataset.reader` is not a reader.
    """
    require_reader(instantiate(cfg.dataset.reader))
    texts, vectors = missing(cfg.dataset.reader), missing(cfg.dataset.vectors)
    if found := texts + (vectors if vectors and reads_vectors(cfg.model) else []):  # importing the model takes seconds
        raise MissingDataError("\n".join(map(str, found)))


def reads_vectors(model: DictConfig) -> bool:
    """Whether a configured model uses word vectors. BM25 does not, for example, and neither does a chain whose embedding reads subwords."""
    parts = [model, *([model.embedding] if model.get("embedding") else [])]
    return all(getattr(get_object(part._target_), "reads_vectors", True) for part in parts)
