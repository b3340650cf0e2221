"""Whether what a configuration reads is on disk: asked before anything is built from it."""

from hydra.utils import get_object, instantiate
from omegaconf import DictConfig

from qaexp.data.prepare import require_reader
from qaexp.errors import CheckpointError, MissingDataError
from qaexp.runs.folder import checkpoint_file


def missing(source: DictConfig) -> list[MissingDataError]:
    """What a configured reader, or source of word vectors, lacks: its one complaint, with where the files are published, or none."""
    try:
        instantiate(source).files()
    except MissingDataError as error:
        return [error]
    return []


def require_files(cfg: DictConfig) -> None:
    """Raises: MissingDataError, naming all files that a run lacks: texts and, where its model reads them, word vectors; or the run that it
    is to begin from. ConfigError, when the reader is none."""
    if source := cfg.get("init_from"):
        try:
            checkpoint_file(source)
        except CheckpointError as error:
            raise MissingDataError(f"init_from={error}") from error
    require_reader(instantiate(cfg.dataset.reader))
    texts, vectors = missing(cfg.dataset.reader), missing(cfg.dataset.vectors)
    if found := texts + (vectors if vectors and reads_vectors(cfg.model) else []):  # asking the model takes seconds
        raise MissingDataError("\n".join(map(str, found)))


def reads_vectors(model: DictConfig) -> bool:
    """Whether word vectors make a difference to a configured model; they make none to BM25."""
    return getattr(get_object(model._target_), "reads_vectors", True)
