"""Checkpoints that rebuild their model and vocabulary by themselves, and the ranker one gets from them."""

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from jaxtyping import Float, Int
from pytorch_lightning.plugins.io import TorchCheckpointIO

from qaexp.data.module import RankingDataModule
from qaexp.data.vocabulary import Vocabulary
from qaexp.ddp import is_rank_zero
from qaexp.errors import CheckpointError
from qaexp.files import atomic_write
from qaexp.models.blocks import MAX_TOKENS, encode_texts, score_pairs
from qaexp.models.readout import read_out
from qaexp.models.scorer import AnswerScorer
from qaexp.models.types import Text
from qaexp.runs.folder import BEST, LAST, NEXT, checkpoint_file
from qaexp.runs.renamed import with_current_targets
from qaexp.runs.trusted import require_ours

log = logging.getLogger(__name__)

BLOCK = 256
"""Answers that a `Ranker` encodes at a time: the states of one may take a megabyte."""


class WholeCheckpoints(TorchCheckpointIO):
    """Writes a checkpoint whole or not at all: a full disk, or a kill in the middle, leaves the one before it.

    Raises:
        OutputError: the folder is full or read-only.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | os.PathLike[str], storage_options: Any = None) -> None:
        with atomic_write(Path(path), "The checkpoint before it is kept: free some space there, then resume") as staging:
            super().save_checkpoint(checkpoint, staging, storage_options)


def rebuild_plan(config: Mapping[str, Any], data: RankingDataModule, vector_dim: int, key: str, command: str) -> dict[str, Any]:
    """Plain values from which `load` rebuilds the model: everything that the weights alone do not say. Key and command name the run."""
    return {
        "key": key,
        "command": command,
        "model": config["model"],
        "tokenise": config["dataset"]["tokenise"],
        "max_question_length": data.max_question_length,
        "max_candidate_length": data.max_candidate_length,
        "vocabulary": data.corpus.vocabulary.words,
        "vector_dim": vector_dim,
        "classes": list(data.classes),
    }


CHANGED = "the files of the data set have changed since. Put the old files back, or start a new run"


def require_same_vocabulary(checkpoint: Mapping[str, Any], expected: Sequence[str], remedy: str = CHANGED) -> None:
    """Raises: CheckpointError, when word ids of the checkpoint mean other words than those of the data."""
    words = checkpoint["qaexp"]["vocabulary"]
    if list(words) == list(expected):
        return
    first = next((i for i, (a, b) in enumerate(zip(words, expected, strict=False)) if a != b), min(len(words), len(expected)))
    raise CheckpointError(
        f"the checkpoint was trained with another vocabulary ({len(words)} words, the data have {len(expected)}; they part at id {first}): "
        f"{remedy}"
    )


def part_of_test(folder: Path, process: int) -> Path:
    """Where a process of a run keeps what it has scored of a test that is not over."""
    return folder / f"test-{process}.part"


def clear(folder: Path) -> None:
    """Remove what only an unfinished run needs, and what a kill has left that came while one of its files was written."""
    for path in (folder / LAST, folder / NEXT, *folder.glob("test-*.part"), *folder.glob(".*.ckpt.*"), *folder.glob(".test-*.part.*")):
        path.unlink(missing_ok=True)


def last_checkpoint(folder: Path) -> Path | None:
    """Where a run is taken up again: its last whole epoch, or None before the first one ended.

    Raises:
        CheckpointError: the file is damaged.
    """
    path = folder / LAST
    if path.is_file():
        try:
            last = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
            if is_rank_zero():
                settle_best(folder, of=last["epoch"])
        except Exception as error:
            raise CheckpointError(
                f"{path} is damaged ({type(error).__name__}); delete its folder, and the same command begins anew"
            ) from error
        return path
    log.info("%s has no checkpoint yet: its first epoch starts again", folder)
    return None


def settle_best(folder: Path, of: int | None = None) -> None:
    """Put newer best weights, if there are any, in their place; those of another epoch than `of` are of one that is trained again."""
    path = folder / NEXT
    if not path.is_file():
        return
    if of is None or torch.load(path, map_location="cpu", weights_only=True, mmap=True)["epoch"] == of:
        path.replace(folder / BEST)
    else:
        path.unlink()


def best_checkpoint(folder: Path) -> Path:
    """The weights that a run ranks with.

    Raises:
        CheckpointError: the file is gone.
    """
    path = folder / BEST
    if not path.is_file():
        raise CheckpointError(f"{path} is gone, and with it the weights of the best epoch; run the same command again")
    return path


class RankedAnswer(NamedTuple):
    """An answer, its score (higher is better; the scale is the model's) and its place in the list that was given."""

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
    ) -> None:
        self.scorer = scorer.eval()
        self.vocabulary, self._tokenise, self._max_lengths, self.classes = vocabulary, tokenise, max_lengths, tuple(classes)

    @torch.no_grad()
    def rank(self, question: str, answers: Iterable[str]) -> list[RankedAnswer]:
        """The answers, best first. Words that the vocabulary lacks are read as one unknown word.

        Raises:
            ValueError: there is no answer to rank, or one text in place of a list, or the model gives classes.
            TypeError: something that is to be read is no text.
        """
        if isinstance(answers, str):
            raise ValueError("rank needs a list of answers, and was given a single text; write [answer]")
        if not (answers := list(answers)):
            raise ValueError("rank needs a list of at least one answer")
        _require_texts({"the question": question, **{f"answer {place}": answer for place, answer in enumerate(answers)}})
        if self.classes:
            raise ValueError(f"this model tells {', '.join(self.classes)} apart and ranks nothing; call classify(first, second)")
        scores = self._scores(question, answers).tolist()
        order = sorted(range(len(answers)), key=lambda i: -scores[i])
        return [RankedAnswer(answers[i], scores[i], i) for i in order]

    @torch.no_grad()
    def classify(self, first: str, second: str) -> dict[str, float]:
        """The probability of each class of a pair, most probable first.

        Raises:
            ValueError: the model ranks.
            TypeError: a side is no text.
        """
        if not self.classes:
            raise ValueError("this model ranks answers and knows no classes; call rank(question, answers)")
        _require_texts({"the first": first, "the second": second})
        probabilities = self._scores(first, [second])[0].softmax(dim=0).tolist()
        return dict(sorted(zip(self.classes, probabilities, strict=True), key=lambda item: -item[1]))

    def read_out(self, question: str, answer: str) -> dict[str, torch.Tensor]:
        """Attention weights, gates and grids of one pair, as `qaexp.models.readout.read_out` gives them.

        Raises:
            TypeError: a side is no text.
        """
        _require_texts({"the question": question, "the answer": answer})
        [question_ids], [answer_ids] = self._ids([question], self._max_lengths[0]), self._ids([answer], self._max_lengths[1])
        return read_out(self.scorer, question_ids, answer_ids)

    def words(self, question: str, answer: str) -> tuple[list[str], list[str]]:
        """The words of both texts that the model reads, which the axes of `read_out` count."""
        first, second = (self._words(text, limit) for text, limit in zip((question, answer), self._max_lengths, strict=True))
        return first, second

    def read(self, question: str) -> tuple[list[str], Int[torch.Tensor, " length"]]:
        """The words of a question as the model is given them, and their ids."""
        [ids] = self._ids([question], self._max_lengths[0])
        return self._words(question, self._max_lengths[0]), ids

    def _words(self, text: str, limit: int) -> list[str]:
        return self._tokenise(text)[:limit] or [""]

    def _scores(self, question: str, answers: Sequence[str]) -> Float[torch.Tensor, "pair *class"]:
        questions = encode_texts(
            self.scorer.encode_question, self._ids([question], self._max_lengths[0]), skips_padding=True, reads_fields=False
        )
        blocks = (answers[start : start + BLOCK] for start in range(0, len(answers), BLOCK))
        return torch.cat([self._block_scores(questions, block) for block in blocks])

    def _block_scores(self, questions: Text, answers: Sequence[str]) -> Float[torch.Tensor, "pair *class"]:
        answer_ids = self._ids(answers, self._max_lengths[1])
        candidates = encode_texts(self.scorer.encode_candidate, answer_ids, self.scorer.skips_padding, reads_fields=False)
        rows = torch.arange(len(answers))
        return score_pairs(self.scorer.score, questions, candidates, 0 * rows, rows, self.scorer.work_per_cell, MAX_TOKENS["cpu"])

    def _ids(self, texts: Sequence[str], max_length: int) -> torch.Tensor:
        rows = [torch.tensor(self.vocabulary.ids(self._words(text, max_length))) for text in texts]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


def _require_texts(named: Mapping[str, object]) -> None:
    for name, text in named.items():
        if not isinstance(text, str):
            raise TypeError(f"{name} is of type {type(text).__name__}: a text is expected")


def open_checkpoint(path: str | Path) -> dict[str, Any]:
    """A checkpoint file, or the best one in a run's folder; under `qaexp` it holds its `rebuild_plan`.

    Raises:
        CheckpointError: there is no such file, it is not a checkpoint of qaexp, or it would build something else.
    """
    file = checkpoint_file(path)
    try:
        checkpoint = torch.load(file, map_location="cpu", weights_only=True)
        checkpoint["qaexp"] = with_current_targets(checkpoint["qaexp"])
        built = [checkpoint["qaexp"][part] for part in ("model", "tokenise")]
    except Exception as error:
        raise CheckpointError(f"{file} is not a whole checkpoint of qaexp ({type(error).__name__}); train again, or take a copy") from error
    require_ours(built, file)
    return checkpoint


def rebuild_scorer(checkpoint: Mapping[str, Any]) -> AnswerScorer:
    """The scorer of an opened checkpoint, with its weights; a decoder that was trained beside it stays out.

    Raises:
        CheckpointError: its model has changed since.
    """
    plan = checkpoint["qaexp"]
    weights = {name.removeprefix("scorer."): value for name, value in checkpoint["state_dict"].items() if name.startswith("scorer.")}
    try:
        scorer = instantiate(plan["model"], vectors=torch.zeros(len(plan["vocabulary"]), plan["vector_dim"]))
        scorer.load_state_dict(weights)
    except (InstantiationException, RuntimeError) as error:
        model, fault = plan["model"]["_target_"], str(error).splitlines()[-1].strip()
        raise CheckpointError(
            f"the checkpoint's {model} is of another version of qaexp ({fault}); train again, or go back to it"
        ) from error
    return scorer


def load(path: str | Path) -> Ranker:
    """The ranker in a checkpoint file, or in a run's folder (its best checkpoint).

    Raises:
        CheckpointError: there is no such file, or it is not a checkpoint of qaexp.
    """
    checkpoint = open_checkpoint(path)
    plan = checkpoint["qaexp"]
    max_lengths = (plan["max_question_length"], plan["max_candidate_length"])
    tokenise = instantiate(plan["tokenise"])
    return Ranker(rebuild_scorer(checkpoint), Vocabulary(plan["vocabulary"]), tokenise, max_lengths, plan["classes"])
