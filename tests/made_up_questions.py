"""A small AskUbuntu, made up: every question has a topic, and its title can be told from its body."""

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

TOPICS, WORDS_OF_A_TOPIC = 8, 8
NUM_TRAIN, NUM_DEV, NUM_TEST, NUM_HELD_OUT = 240, 24, 12, 30
POOL = 8


def write_questions(folder: Path, seed: int = 1) -> list[str]:
    """The files of AskUbuntu in a folder of a data directory, and the overrides with which they are read."""
    rng = random.Random(seed)
    topic_of = [rng.randrange(TOPICS) for _ in range(NUM_TRAIN + NUM_DEV + NUM_TEST + NUM_HELD_OUT)]
    starts = [0, NUM_TRAIN, NUM_TRAIN + NUM_DEV, NUM_TRAIN + NUM_DEV + NUM_TEST, len(topic_of)]
    train, dev, test, held_out = (range(a, b) for a, b in pairwise(starts))

    def words(topic: int, num: int) -> list[str]:
        return [f"topic{topic}word{rng.randrange(WORDS_OF_A_TOPIC)}" for _ in range(num)]

    def others(question: int, same: bool, num: int) -> list[int]:
        those = [other for other in train if other != question and (topic_of[other] == topic_of[question]) == same]
        return rng.sample(those, min(num, len(those)))

    texts = []
    for question, topic in enumerate(topic_of):
        body = [*words(topic, 6), *(f"filler{rng.randrange(9)}" for _ in range(rng.randrange(1, 8)))]
        rng.shuffle(body)
        texts.append(f"{question}\t{' '.join(words(topic, rng.randrange(2, 5)))}\t{' '.join(body) if question % 17 else ''}")
    folder = folder / "askubuntu"
    folder.mkdir(parents=True)
    _write(folder / "text_tokenized.txt", texts)
    _write(folder / "train_random.txt", [f"{q}\t{_ids(others(q, True, 2))}\t{_ids(others(q, False, 5))}" for q in train if q % 4 == 0])
    for name, questions in (("dev.txt", dev), ("test.txt", test)):
        lines = []
        for question in questions:
            right = others(question, True, 3)
            pool = [*right, *others(question, False, POOL - 3)]
            rng.shuffle(pool)
            lines.append(f"{question}\t{_ids(right)}\t{_ids(pool)}\t{' '.join(str(20.5 - place) for place in range(len(pool)))}")
        _write(folder / name, lines)
    _write(folder / "heldout.txt", map(str, held_out))
    return [
        "dataset=askubuntu",
        "dataset/vectors=random",
        "dataset.vectors.dim=16",
        "dataset.expected=null",
        f"data_dir={folder.parent}",
        "logger=none",
    ]


def _ids(questions: Sequence[int]) -> str:
    return " ".join(map(str, questions))


def _write(path: Path, lines: object) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")  # type: ignore[attr-defined]
