"""Subwords: what a pretrained model reads in place of words, with the special tokens that it expects around texts."""

from collections.abc import Sequence
from itertools import groupby

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from qaexp.data.batch import token_mask
from qaexp.errors import ConfigError
from qaexp.models.pretrained.weights import longest_input, open_tokenizer
from qaexp.models.stage import Embedding
from qaexp.models.types import Text

Inputs = tuple[Int[Tensor, "text length"], Int[Tensor, "text length"], Bool[Tensor, "text length"]]
"""Ids of the tokenizer, token type ids (the text that each belongs to: 0 or 1), and a mask."""


class Subwords:
    """The tokenizer of pretrained weights, for models that read `num_texts` texts at once.

    A subword's id is that of the tokenizer plus 1, since 0 is padding. Special tokens are added where the model reads a text, after it was
    cut, so that they are never cut off.
    """

    def __init__(self, weights: str, num_texts: int) -> None:
        self._tokenizer = open_tokenizer(weights)
        sample = self._tokenizer.encode(*["a"] * num_texts)
        marked = zip(sample.sequence_ids, sample.ids, sample.type_ids, strict=True)
        self._frame = [list(part) for _, part in groupby(marked, key=lambda mark: mark[0])]
        self._around = [
            [str(self._tokenizer.id_to_token(number)) for which, number, _ in part if which is None and num_texts == 1]
            for part in (self._frame[0], self._frame[-1])
        ]
        self.num_special = sum(len(part) for part in self._frame if part[0][0] is None)
        """How many special tokens stand around and between texts."""
        self.room = longest_input(weights) - self.num_special
        """How many subwords the model takes at once, beside special tokens."""

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size() + 1

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The subwords of each text, without special tokens."""
        encoded = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [[number + 1 for number in each.ids] for each in encoded]

    def words(self, text: str, limit: int) -> list[str]:
        """The first `limit` subwords of a text as strings. If the model reads one text at a time, the special tokens before and after them
        are included, since it has a state for each.
        """
        first, last = self._around
        return [*first, *(str(self._tokenizer.id_to_token(number - 1)) for number in self.ids([text])[0][:limit]), *last]

    def of_words(self, words: Sequence[str]) -> list[int]:
        """The ids of what `words` gives, without the special tokens around it."""
        first, last = map(len, self._around)
        return [self._tokenizer.token_to_id(word) + 1 for word in words[first : len(words) - last]]

    def limits(self, question: int, candidate: int) -> tuple[int, int]:
        """The most subwords of a question and of a candidate: the data set's limits, lowered to what the model takes."""
        if any(part[0][0] == 1 for part in self._frame):  # both are read at once
            question = min(question, self.room // 2)
            return question, min(candidate, self.room - question)
        return min(question, self.room), min(candidate, self.room)

    def inputs(self, *texts: Int[Tensor, "text _"]) -> Inputs:
        """What the model reads: the texts of each row in their order, with special tokens around and between them."""
        rows, device = texts[0].shape[0], texts[0].device
        ids, types, masks = list[Tensor](), list[Tensor](), list[Tensor]()
        for part in self._frame:
            which, _, kind = part[0]
            if which is None:
                ids.append(torch.tensor([each[1] for each in part], device=device).expand(rows, -1))
                masks.append(torch.ones(rows, len(part), dtype=torch.bool, device=device))
            else:
                ids.append(texts[which] - 1)
                masks.append(token_mask(texts[which]))
            types.append(torch.full(ids[-1].shape, kind, device=device))
        mask = torch.cat(masks, dim=1)
        place = torch.arange(mask.shape[1], device=device)
        order = torch.where(mask, place, place + mask.shape[1]).argsort(dim=1)  # padding last
        if not torch.compiler.is_exporting():
            order = order[:, : max(1, int(mask.sum(dim=1).max()))]
        mask = mask.gather(1, order)
        return torch.cat(ids, dim=1).gather(1, order).clamp(min=0), torch.cat(types, dim=1).gather(1, order), mask


class _WithoutStates(dict[str, Tensor]):
    """A text whose states only a pretrained encoder can give."""

    def __missing__(self, key: str) -> Tensor:
        raise ConfigError(
            f"model/embedding=subwords gives ids for model/encoder=transformer, and no {key}; choose model/embedding=transformer, which "
            "stands below any encoder"
        )


class SubwordEmbedding(Embedding):
    """Returns no vectors, but what a pretrained encoder reads: `subwords`, the ids with special tokens, and their `mask`.

    Raises:
        ConfigError: at the first text, if another encoder follows.
    """

    reads_vectors = False
    output_dim = 64  # a placeholder: another encoder can be built, and fails at its first text

    def __init__(self, vectors: Float[Tensor, "word dim"], weights: str) -> None:
        super().__init__()
        self.subwords = self._subwords = Subwords(weights, num_texts=1)
        self.pretrained = (weights,)

    def of(self, tokens: Int[Tensor, "text length"]) -> Text:
        ids, _, mask = self._subwords.inputs(tokens)
        return _WithoutStates(subwords=ids, mask=mask)
