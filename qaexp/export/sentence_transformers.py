"""A trained bi-encoder as a folder that the library sentence-transformers loads."""

import inspect
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from torch import nn

from qaexp.errors import ConfigError
from qaexp.files import atomic_write, name_another_place
from qaexp.models.pooling.over_time import FirstPooling, MaxPooling, MeanPooling
from qaexp.models.pretrained.transformer import Transformer
from qaexp.models.pretrained.weights import TOKENIZER
from qaexp.models.scorer import Scorer
from qaexp.models.similarity.cosine import Cosine, Dot
from qaexp.models.stage import NoInteraction
from qaexp.runs.checkpoint import open_checkpoint, rebuild_scorer


def write_sentence_transformers(run: Path, folder: Path) -> Path:
    """Writes the encoder, its pooling and the name of its similarity. Texts are cut at the longer of the run's two limits.

    Raises:
        CheckpointError: there is no such checkpoint.
        ConfigError: the library has no such model, or the folder is there and not empty.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ConfigError(f"--sentence-transformers {folder}: it is there already; name a new folder")
    import sentence_transformers
    from sentence_transformers.sentence_transformer.modules import Pooling
    from sentence_transformers.sentence_transformer.modules import Transformer as Module

    checkpoint = open_checkpoint(run)
    scorer, plan = rebuild_scorer(checkpoint), checkpoint["qaexp"]
    encoder, pooling, similarity = _parts_of(scorer, run)
    num_special = int(scorer.subwords.num_special)  # type: ignore[union-attr]
    longest = max(plan["max_question_length"], plan["max_candidate_length"]) + num_special
    kept = plan["pretrained"][encoder.pretrained[0]]
    with (
        atomic_write(folder, name_another_place("--sentence-transformers FOLDER")) as staging,
        TemporaryDirectory(dir=staging.parent) as work,
    ):
        weights = Path(work) / "weights"
        model: Any = _without_adapters(encoder.model)
        model.save_pretrained(weights)
        _tokenizer(kept[TOKENIZER], model.config, longest).save_pretrained(weights)
        without_pooler = {"add_pooling_layer": False} if "add_pooling_layer" in inspect.signature(type(model).__init__).parameters else {}
        module = Module(str(weights), max_seq_length=longest, model_kwargs=without_pooler)
        modules: list[nn.Module] = [module, Pooling(encoder.output_dim, pooling)]
        whole = sentence_transformers.SentenceTransformer(modules=modules, similarity_fn_name=similarity, device="cpu")
        whole.save(str(Path(work) / "whole"), create_model_card=False)
        (Path(work) / "whole").replace(staging)
    return folder


def _parts_of(scorer: nn.Module, run: Path) -> tuple[Transformer, Any, Any]:
    """The encoder, and the library's names of pooling and similarity."""
    if isinstance(scorer, Scorer) and isinstance(encoder := scorer.question_encoder, Transformer):
        pooling, similarity = scorer.pooling, scorer.similarity
        plain = encoder is scorer.candidate_encoder and isinstance(scorer.interaction, NoInteraction)
        poolings = {
            "mean": isinstance(pooling, MeanPooling) and not pooling.normalise,
            "max": isinstance(pooling, MaxPooling) and not pooling.squash,
            "cls": isinstance(pooling, FirstPooling),
        }
        similarities = {"cosine": isinstance(similarity, Cosine), "dot": isinstance(similarity, Dot)}
        named = [name for name, is_it in (poolings | similarities).items() if is_it]
        if plain and len(named) == 2:
            return encoder, named[0], named[1]
    raise ConfigError(
        f"{run} is not a model that sentence-transformers has: it takes model=bi_encoder with one encoder for both sides, pooling mean, "
        "max or cls, and similarity cosine or dot"
    )


def _without_adapters(model: nn.Module) -> nn.Module:
    """The transformer with LoRA's matrices added to its weights."""
    for name, layer in list(model.named_modules()):
        if hasattr(layer, "lora_A"):
            layer.merge()  # type: ignore[operator]
            model.set_submodule(name, layer.get_base_layer())  # type: ignore[operator]
    return model


def _tokenizer(content: str, config: Any, longest: int) -> Any:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer.from_str(content)
    padding = tokenizer.id_to_token(config.pad_token_id or 0)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=padding, model_max_length=longest)
