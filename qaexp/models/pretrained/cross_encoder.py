"""The cross-encoder: a transformer reads question and candidate as one text."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.data.batch import token_mask
from qaexp.errors import ConfigError
from qaexp.limits import PositiveInt
from qaexp.models.pretrained.subwords import Subwords
from qaexp.models.pretrained.transformer import prepare_for_training
from qaexp.models.pretrained.weights import open_model
from qaexp.models.scorer import AnswerScorer
from qaexp.models.similarity.bilinear import by_class
from qaexp.models.types import Text


class CrossEncoder(AnswerScorer):
    """s = classifier([CLS] question [SEP] candidate [SEP]), of a transformer with its own head (Nogueira & Cho 2019).

    Nothing can be computed from one text alone, so every pair is read by itself. Weights without a head get a random one.

    Raises:
        MissingDataError: there are no such weights.
        ConfigError: the weights have no padding token, or their head reads the last position.
    """

    reads_vectors = False
    work_per_cell = 256

    def __init__(
        self,
        vectors: Float[Tensor, "word dim"],
        weights: str,
        tuned: bool,
        lora_rank: PositiveInt | None,
        gradient_checkpointing: bool,
        num_classes: PositiveInt,
    ) -> None:
        super().__init__()
        self._subwords, self._weights, self._tuned = Subwords(weights, num_texts=2), weights, tuned
        model = open_model(weights, head=num_classes)
        if model.config.pad_token_id is None:  # type: ignore[union-attr]
            raise ConfigError(f"the pretrained weights {weights} have no padding token, by which a classifier finds the end of a text")
        if getattr(model.config, "summary_type", "") == "last":  # XLNet
            raise ConfigError(f"the pretrained weights {weights} classify a text by its last position, which is padding here; take others")
        linear = {name: each for name, each in model.named_modules() if isinstance(each, nn.Linear)}
        last = [each for each in linear.values() if each.out_features == num_classes][-1]
        last.register_forward_hook(_in_float32)
        head = [name for name in linear if not name.startswith(f"{model.base_model_prefix}.")]
        self.model = prepare_for_training(model, "model", tuned, lora_rank, gradient_checkpointing, head)

    @property
    def subwords(self) -> Subwords:
        return self._subwords

    @property
    def pretrained(self) -> list[str]:
        return [self._weights]

    def train(self, mode: bool = True) -> "CrossEncoder":
        return super().train(mode and self._tuned)

    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        return {"tokens": tokens, "mask": token_mask(tokens)}

    encode_candidate = encode_question

    def score(self, question: Text, candidate: Text) -> Float[Tensor, "pair *class"]:
        ids, types, mask = self._subwords.inputs(question["tokens"], candidate["tokens"])
        ids = ids.masked_fill(~mask, self.model.config.pad_token_id)  # type: ignore[union-attr]  # decoders score at the last other token
        known = {"token_type_ids": types} if getattr(self.model.config, "type_vocab_size", 0) > 1 else {}  # type: ignore[union-attr]
        return by_class(self.model(input_ids=ids, attention_mask=mask.long(), **known).logits)


def _in_float32(layer: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor:
    """The output of the last layer: in bfloat16 many scores of a pool would be equal."""
    with torch.autocast(output.device.type, enabled=False):
        return F.linear(inputs[0].float(), layer.weight, layer.bias)  # type: ignore[arg-type]
