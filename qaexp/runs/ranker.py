"""The ranker in a checkpoint: `qaexp.load(run).rank(question, answers)`."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import torch
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from jaxtyping import Float, Int

from qaexp.data.vocabulary import PADDING, UNKNOWN, Vocabulary
from qaexp.errors import CheckpointError, UnrankableScoresError
from qaexp.models.blocks import MAX_TOKENS
from qaexp.models.scorer import AnswerScorer, read_out
from qaexp.models.types import Text
from qaexp.runs.checkpoint import START_AGAIN, open_checkpoint, rebuild_scorer

BLOCK = 256
"""The number of answers that a `Ranker` encodes at a time: the states of one may take a megabyte."""


class RankedAnswer(NamedTuple):
    """An answer, its score (higher is better; the scale is the model's) and its position, from 0, in the list that was given."""

    answer: str
    score: float
    position: int


class Ranker:
    """A trained model with its vocabulary: ranks the answers of a question."""

    def __init__(
        self,
        scorer: AnswerScorer,
        vocabulary: Vocabulary,
        tokenise: Callable[[str], list[str]],
        max_lengths: tuple[int, int],
        classes: Sequence[str] = (),
        drop_unknown: bool = False,
    ) -> None:
        self.scorer = scorer.eval()
        self.vocabulary, self.tokenise, self._max_lengths, self.classes = vocabulary, tokenise, max_lengths, tuple(classes)
        self.drop_unknown = drop_unknown
        self.words_read = self.words_unknown = 0  # so far, and how many of them the vocabulary lacks

    @torch.no_grad()
    def rank(self, question: str, answers: Iterable[str]) -> list[RankedAnswer]:
        """The answers, best first. Words outside the vocabulary are read as one unknown word, or left out if training left them out.

        Raises:
            ValueError: there is no answer to rank, or one text in place of a list, or the model predicts classes.
            TypeError: the question or an answer is not text.
            UnrankableScoresError: a score is NaN.
        """
        if isinstance(answers, str):
            raise ValueError("rank needs a list of answers, and was given a single text; write [answer]")
        if not (answers := list(answers)):
            raise ValueError("rank needs a list of at least one answer")
        _require_texts({"the question": question, **{f"answer {place}": answer for place, answer in enumerate(answers)}})
        if self.classes:
            raise ValueError(f"this model predicts one of {', '.join(self.classes)} and cannot rank; call classify(first, second)")
        scores = self._scores(question, answers).tolist()
        if odd := [place for place, score in enumerate(scores) if math.isnan(score)]:
            raise UnrankableScoresError(f"the score of answer {odd[0]} is NaN: has training diverged?")
        order = sorted(range(len(answers)), key=lambda i: -scores[i])
        return [RankedAnswer(answers[i], scores[i], i) for i in order]

    @torch.no_grad()
    def classify(self, first: str, second: str) -> dict[str, float]:
        """The probability of each class of a pair, most probable first.

        Raises:
            ValueError: the model ranks.
            TypeError: a side is not text.
        """
        if not self.classes:
            raise ValueError("this model ranks answers and has no classes; call rank(question, answers)")
        _require_texts({"the first": first, "the second": second})
        probabilities = self._scores(first, [second])[0].softmax(dim=0).tolist()
        return dict(sorted(zip(self.classes, probabilities, strict=True), key=lambda item: -item[1]))

    def read_out(self, question: str, answer: str) -> dict[str, torch.Tensor]:
        """Returns attention weights, gates and grids of one pair; see `qaexp.models.scorer.read_out`.

        Raises:
            TypeError: a side is not text.
        """
        _require_texts({"the question": question, "the answer": answer})
        [question_ids], [answer_ids] = self._ids([question], self._max_lengths[0]), self._ids([answer], self._max_lengths[1])
        return read_out(self.scorer, question_ids, answer_ids)

    def words(self, question: str, answer: str) -> tuple[list[str], list[str]]:
        """The words that the model reads of both texts: one for each place on the axes of `read_out`."""
        first, second = (self._words(text, limit) for text, limit in zip((question, answer), self._max_lengths, strict=True))
        return first, second

    def read(self, question: str) -> tuple[list[str], Int[torch.Tensor, " length"]]:
        """The words of a question that the model reads, and their ids."""
        [ids] = self._ids([question], self._max_lengths[0])
        return self._words(question, self._max_lengths[0]), ids

    def _words(self, text: str, limit: int) -> list[str]:
        if (reader := self.scorer.subwords) is not None:
            return reader.words(text, limit)
        words = self.tokenise(text)
        if self.drop_unknown:
            words = self.vocabulary.known(words)
        return words[:limit] or [""]

    def _scores(self, question: str, answers: Sequence[str]) -> Float[torch.Tensor, "pair *class"]:
        blocks = (answers[start : start + BLOCK] for start in range(0, len(answers), BLOCK))
        return torch.cat([self.scores([(question, answer) for answer in block]) for block in blocks])

    @torch.no_grad()
    def scores(self, pairs: Iterable[tuple[str, str]]) -> Float[torch.Tensor, "pair *class"]:
        """The score of each pair of a question and an answer, or its score for each class, on the CPU. All texts are encoded at once."""
        pairs = list(pairs)
        if not pairs:
            return torch.zeros((0, len(self.classes)) if self.classes else 0)
        questions, asked = self._encoded(self.scorer.encode_question, [question for question, _ in pairs], self._max_lengths[0])
        answers, given = self._encoded(self.scorer.encode_candidate, [answer for _, answer in pairs], self._max_lengths[1])
        most = MAX_TOKENS.get(self.device.type, MAX_TOKENS["cuda"])
        return self.scorer.score_all(questions, answers, asked, given, max_tokens=most).float().cpu()

    def _encoded(self, encode: Callable[[torch.Tensor], Text], texts: Sequence[str], limit: int) -> tuple[Text, Int[torch.Tensor, " text"]]:
        """The encodings of distinct texts, and the row of each text."""
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        encoded = self.scorer.encode_all(encode, self._ids(list(rows), limit).to(self.device))
        return encoded, torch.tensor([rows[text] for text in texts], device=self.device)

    @property
    def device(self) -> torch.device:
        """Where the model is; `scorer.to(device)` moves it."""
        return self.scorer.device

    def add_words(self, words: Sequence[str], vectors: Float[torch.Tensor, "word dim"]) -> bool:
        """Append words, each with its vector, to the vocabulary. Returns False, and changes nothing, if the model reads no word vectors."""
        if added := self.scorer.add_words(words, vectors):
            self.vocabulary = Vocabulary([*self.vocabulary.words, *words])
        return added

    def _ids(self, texts: Sequence[str], max_length: int) -> torch.Tensor:
        if (reader := self.scorer.subwords) is None:
            ids = [self.vocabulary.ids(self._words(text, max_length)) for text in texts]
            self.words_read += sum(map(len, ids))
            self.words_unknown += sum(text.count(UNKNOWN) for text in ids)
        else:
            ids = [text[:max_length] or [PADDING] for text in reader.ids(texts)]
        return torch.nn.utils.rnn.pad_sequence([torch.tensor(text) for text in ids], batch_first=True)

    def ids_of_words(self, words: Sequence[str]) -> Int[torch.Tensor, " length"]:
        """The ids of one text's words, as `words` returns them."""
        return torch.tensor(self.vocabulary.ids(words) if self.scorer.subwords is None else self.scorer.subwords.of_words(words))


def _require_texts(named: Mapping[str, object]) -> None:
    for name, text in named.items():
        if not isinstance(text, str):
            raise TypeError(f"{name} is of type {type(text).__name__}: a text is expected")


def load(path: str | PathLike[str]) -> Ranker:
    """The ranker in a checkpoint file, or in a run's folder (its best checkpoint), or of what `qaexp.train` returned.

    Raises:
        CheckpointError: there is no such file, or it is not a checkpoint of qaexp.
    """
    place = Path(path).expanduser()
    return ranker_of(open_checkpoint(place), place)


def ranker_of(checkpoint: Mapping[str, Any], path: str | Path) -> Ranker:
    """The ranker of an opened checkpoint; `path` is for messages.

    Raises:
        CheckpointError: as `load`.
    """
    plan = checkpoint["qaexp"]
    max_lengths = (plan["max_question_length"], plan["max_candidate_length"])
    try:
        tokenise = instantiate(plan["tokenise"])
        inspect.signature(tokenise).bind("a text")
    except (InstantiationException, TypeError, ValueError) as error:
        fault = str(error).splitlines()[-1]
        raise CheckpointError(
            f"{path} has a tokeniser that cannot read a text ({fault}); {START_AGAIN}, or restore it from a backup"
        ) from error
    vocabulary, drop_unknown = Vocabulary(plan["vocabulary"]), plan.get("drop_unknown", False)
    return Ranker(rebuild_scorer(checkpoint), vocabulary, tokenise, max_lengths, plan["classes"], drop_unknown)
