"""A pretrained transformer in the chain: as the encoder of subwords, or below an encoder of a paper."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from qaexp.errors import ConfigError
from qaexp.limits import PositiveInt, Rate
from qaexp.models.pretrained.subwords import SubwordEmbedding
from qaexp.models.pretrained.weights import open_model
from qaexp.models.stage import Embedding, Encoder
from qaexp.models.types import Text


def prepare_for_training(
    model: nn.Module, place: str, tuned: bool, lora_rank: int | None, gradient_checkpointing: bool, head: Sequence[str] = ()
) -> nn.Module:
    """The model, prepared for training all of it, nothing, or LoRA's matrices (Hu et al. 2022) beside each linear layer.

    `place` is the configuration key of its options, such as `model.encoder`. With LoRA, the layers of the `head`, by name, are trained in
    full.

    Raises:
        ConfigError: `lora_rank` is set, but the weights are not tuned.
    """
    model.requires_grad_(tuned)
    if gradient_checkpointing:
        model.activation_checkpointing_enable()  # type: ignore[operator]
    if lora_rank is None:
        return model
    if not tuned:
        raise ConfigError(
            f"{place}.lora_rank={lora_rank} trains LoRA's matrices, and {place}.tuned=false trains nothing; set {place}.tuned=true"
        )
    import peft

    config = peft.LoraConfig(r=lora_rank, lora_alpha=2 * lora_rank, target_modules="all-linear", exclude_modules=[*head] or None)
    adapted: nn.Module = peft.inject_adapter_in_model(config, model)  # type: ignore[arg-type, assignment]
    for name in head:
        adapted.get_submodule(name).requires_grad_()
    return adapted


MAX_CACHED_BYTES = 1 << 30
"""The most memory that a frozen transformer uses to cache states, in bytes."""


class Transformer(Encoder):
    """The last states of a pretrained transformer, special tokens among them, as sentence-transformers pools them.

    `weights` is a folder, an installed package, or a name on the hub. Without `tuned` the weights are frozen and dropout is off; with a
    `lora_rank` only LoRA's matrices are trained. With `gradient_checkpointing` the backward pass recomputes the states.

    Without `tuned`, a training run on a CPU encodes each text once, not once in each epoch: states are cached, up to MAX_CACHED_BYTES.
    Each text is then encoded by itself, so that its states do not depend on the batch, not even in the last bit.

    `place` is the configuration key that messages name.

    Raises:
        MissingDataError: there are no such weights.
        ConfigError: at the first text, if the embedding gives no subwords.
    """

    def __init__(
        self,
        input_dim: int,
        weights: str,
        tuned: bool,
        lora_rank: PositiveInt | None,
        gradient_checkpointing: bool,
        place: str = "model.encoder",
    ) -> None:
        super().__init__()
        self.model = prepare_for_training(open_model(weights), place, tuned, lora_rank, gradient_checkpointing)
        self.pretrained, self._tuned = (weights,), tuned
        self.output_dim = int(self.model.config.hidden_size)  # type: ignore[union-attr, arg-type]
        self._caches, self._cache, self._cached_bytes = False, dict[bytes, Tensor](), 0

    def train(self, mode: bool = True) -> "Transformer":
        self._caches |= mode and not self._tuned
        return super().train(mode and self._tuned)

    def finish(self, text: Text) -> Text:
        if "subwords" not in text:
            raise ConfigError("model/encoder=transformer reads subwords, and this embedding gives none; choose model/embedding=subwords")
        subwords, mask = text["subwords"], text["mask"]
        if self._caches and subwords.is_cpu:
            rows = [self._states_of(row[real]) for row, real in zip(subwords, mask, strict=True)]
            states = F.pad(pad_sequence(rows, batch_first=True), (0, 0, 0, mask.shape[1] - max(map(len, rows))))
        else:
            states = self.model(input_ids=subwords, attention_mask=mask.long()).last_hidden_state
        return {"states": states, "mask": mask, "first": states[:, 0]}

    def _states_of(self, subwords: Int[Tensor, " length"]) -> Float[Tensor, "length dim"]:
        """The states of one text, from the cache if they are there. New ones are cached while there is room."""
        if (kept := self._cache.get(key := subwords.numpy().tobytes())) is not None:
            return kept
        with torch.inference_mode(False), torch.no_grad():  # so that training can use the states
            ids = subwords[None].clone()
            states = self.model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0]
        if self._cached_bytes + states.nbytes <= MAX_CACHED_BYTES:
            self._cache[key] = states
            self._cached_bytes += states.nbytes
        return states


class ContextualEmbedding(Embedding):
    """x = dropout(W·h + b), with h the transformer's states: the input of any encoder, interaction and pooling of the papers.

    Without a `project_dim`, x = dropout(h).
    """

    reads_vectors = False

    def __init__(
        self,
        vectors: Float[Tensor, "word dim"],
        weights: str,
        tuned: bool,
        lora_rank: PositiveInt | None,
        gradient_checkpointing: bool,
        project_dim: PositiveInt | None,
        dropout_rate: Rate,
    ) -> None:
        super().__init__()
        self.tokens = SubwordEmbedding(vectors, weights)
        self.transformer = Transformer(0, weights, tuned, lora_rank, gradient_checkpointing, place="model.embedding")
        width = self.transformer.output_dim
        self.projection = nn.Identity() if project_dim is None else nn.Linear(width, project_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.output_dim = project_dim or width
        self.subwords = self.tokens.subwords

    def of(self, tokens: Tensor) -> Text:
        text = self.transformer(self.tokens.of(tokens))
        return {"states": self.dropout(self.projection(text["states"])), "mask": text["mask"]}
