"""A pretrained transformer in the chain: as the encoder of subwords, or below an encoder of a paper."""

from jaxtyping import Float
from torch import Tensor, nn

from qaexp.errors import ConfigError
from qaexp.limits import PositiveInt, Rate
from qaexp.models.pretrained.subwords import SubwordEmbedding
from qaexp.models.pretrained.weights import open_model
from qaexp.models.stage import Embedding, Encoder
from qaexp.models.types import Text


def trained(model: nn.Module, tuned: bool, lora_rank: int | None, gradient_checkpointing: bool) -> nn.Module:
    """The model with what is to be trained of it: all, nothing, or LoRA's matrices (Hu et al. 2022) beside each linear layer.

    Raises:
        ConfigError: LoRA is wanted of weights that are not tuned.
    """
    model.requires_grad_(tuned)
    if gradient_checkpointing:
        model.activation_checkpointing_enable()  # type: ignore[operator]
    if lora_rank is None:
        return model
    if not tuned:
        raise ConfigError(f"model.encoder.lora_rank={lora_rank} trains LoRA's matrices, and tuned=false trains nothing; set tuned=true")
    import peft

    config = peft.LoraConfig(r=lora_rank, lora_alpha=2 * lora_rank, target_modules="all-linear")
    return peft.inject_adapter_in_model(config, model)  # type: ignore[arg-type, return-value]


class Transformer(Encoder):
    """The last states of a pretrained transformer, special tokens among them, as sentence-transformers pools them.

    `weights` is a folder, an installed package, or a name on the hub. Without `tuned` the weights stay as they are and nothing is dropped
    out; with a `lora_rank` only LoRA's matrices are trained. With `gradient_checkpointing` the backward pass computes states again.

    Raises:
        MissingDataError: there are no such weights.
        ConfigError: at the first text, if the embedding gives no subwords.
    """

    def __init__(self, input_dim: int, weights: str, tuned: bool, lora_rank: PositiveInt | None, gradient_checkpointing: bool) -> None:
        super().__init__()
        self.model = trained(open_model(weights), tuned, lora_rank, gradient_checkpointing)
        self.pretrained, self._tuned = (weights,), tuned
        self.output_dim = int(self.model.config.hidden_size)  # type: ignore[union-attr, arg-type]

    def train(self, mode: bool = True) -> "Transformer":
        return super().train(mode and self._tuned)

    def finish(self, text: Text) -> Text:
        if "subwords" not in text:
            raise ConfigError("model/encoder=transformer reads subwords, and this embedding gives none; choose model/embedding=subwords")
        states = self.model(input_ids=text["subwords"], attention_mask=text["mask"].long()).last_hidden_state
        return {"states": states, "mask": text["mask"], "first": states[:, 0]}


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
        self.transformer = Transformer(0, weights, tuned, lora_rank, gradient_checkpointing)
        width = self.transformer.output_dim
        self.projection = nn.Identity() if project_dim is None else nn.Linear(width, project_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.output_dim = project_dim or width
        self.subwords, self.pretrained = self.tokens.subwords, (weights,)

    def of(self, tokens: Tensor) -> Text:
        text = self.transformer(self.tokens.of(tokens))
        return {"states": self.dropout(self.projection(text["states"])), "mask": text["mask"]}
