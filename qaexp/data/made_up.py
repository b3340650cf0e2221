"""Generated files with AskUbuntu's layout and size, for trying reading, pre-training and fine-tuning from end to end.

`qaexp data make-up FOLDER` writes them.

A question has an intent: a fact of the toy set (a thing and what is wrong with it) and a product, which has two names. Its title and body
express the intent in words drawn for it, among sentences without content. Questions with the same intent are similar. The pools of dev and
test are the twenty best by BM25, with their scores. BM25 does not solve the task: similar questions use different words, and dissimilar
ones share words. Numbers measured on it say nothing about AskUbuntu.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from random import Random

from qaexp.data.bm25 import BM25Index
from qaexp.data.datasets.toy import FACTS, ways_to_answer, ways_to_ask
from qaexp.data.files import progress
from qaexp.data.tokenise import words_v1
from qaexp.data.vocabulary import Vocabulary
from qaexp.errors import ConfigError, OutputError
from qaexp.files import atomic_write

QUESTIONS, QUERIES, PAIRS, HELD_OUT, POOLS, POOL, RANDOM = 167_765, 12_584, 16_391, 1_989, 200, 20, 100
"""Counts of AskUbuntu; `RANDOM` is the number of wrong candidates per training query. With fewer questions, all but POOL and RANDOM shrink
in proportion.
"""

FEWEST_POOLS = 100
"""The smallest number of pools in dev and in test. Fewer would give unreliable metrics."""

FEWEST = 2_000
PER_INTENT, FEWEST_PER_INTENT = 60, 8
"""Mean number of questions with the same intent. Smaller sets have fewer, so that not all candidates in a pool are right."""

CODES = 200_000
"""Different codes that bodies quote, the r-th with a probability of about 1 / r (Zipf): some 100,000 words, as AskUbuntu has."""

SYLLABLES = ("ba", "co", "di", "fu", "ga", "ho", "ju", "ke", "li", "mo", "nu", "pa", "ri", "so", "ta", "vu", "xe", "zo")
IDLE = (
    "i have been searching for hours and found nothing that works",
    "sorry if this was asked before , i am new here",
    "it was fine until last week and i did not change anything",
    "my neighbour told me to ask here",
    "any help would be appreciated , thanks in advance",
    "i already read the manual twice",
    "i do not want to pay somebody for this",
    "please explain it step by step",
    "here is what i have tried so far , without any luck",
    "the shop could not help me either",
)

Track = Callable[[Sequence[int], str], Iterable[int]]
"""Iterates over a sequence and shows its progress."""


def make(folder: Path, num_questions: int, seed: int, track: Track) -> None:
    """Write `text_tokenized.txt`, `train_random.txt`, `dev.txt`, `test.txt` and `heldout.txt` into `folder`.

    Raises:
        ConfigError: `num_questions` is too small, or too few of the questions have similar ones.
    """
    if num_questions < FEWEST:
        raise ConfigError(f"{num_questions} questions are too few for pools of {POOL} with right candidates; ask for {FEWEST} or more")
    random = Random(seed)
    share = min(1.0, num_questions / QUESTIONS)
    num_intents = num_questions // max(FEWEST_PER_INTENT, round(share * PER_INTENT))
    intent_of = [random.randrange(num_intents) for _ in range(num_questions)]
    texts = [_text(intent, random) for intent in (intent_of[question] for question in track(range(num_questions), "questions"))]
    with (folder / "text_tokenized.txt").open("w", encoding="utf-8") as file:
        file.writelines(f"{question + 1}\t{title}\t{body}\n" for question, (title, body) in enumerate(texts))
    num_pools, num_queries = max(FEWEST_POOLS, round(share * POOLS)), round(share * QUERIES)
    order = random.sample(range(num_questions), num_questions)
    held_out, rest = set(order[: round(share * HELD_OUT)]), order[round(share * HELD_OUT) :]
    _write(folder / "heldout.txt", (str(question + 1) for question in sorted(held_out)))
    alike = defaultdict[int, list[int]](list)
    for question in rest:
        alike[intent_of[question]].append(question)
    asked = [question for question in rest if len(alike[intent_of[question]]) > 2]
    pools, queries = asked[: 2 * num_pools], asked[2 * num_pools : 2 * num_pools + num_queries]
    if len(queries) < num_queries:
        raise ConfigError(
            f"{num_questions} questions have only {len(queries)} similar to others, {num_queries} are needed; try another seed"
        )
    _write(folder / "train_random.txt", _training(queries, round(share * PAIRS) - num_queries, intent_of, alike, rest, random))
    vocabulary = Vocabulary.of_words(word for title, body in texts for word in f"{title} {body}".split())
    ids = [vocabulary.ids(f"{title} {body}".split()) for title, body in texts]
    rest = sorted(rest)
    index = BM25Index([ids[question] for question in rest], len(vocabulary), k1=1.2, b=0.75)
    lines = []
    for question in track(pools, "pools"):
        scores = dict(zip(rest, index.scores(ids[question]).tolist(), strict=True))
        found = [rest[place] for place in index.best(ids[question], POOL + 1).tolist() if rest[place] != question][:POOL]
        right = [other for other in found if intent_of[other] == intent_of[question]]
        lines.append(f"{question + 1}\t{_names(right)}\t{_names(found)}\t{' '.join(f'{scores[other]:.4f}' for other in found)}")
    _write(folder / "dev.txt", lines[:num_pools])
    _write(folder / "test.txt", lines[num_pools:])


def _training(
    queries: Sequence[int], extra: int, intent_of: Sequence[int], alike: dict[int, list[int]], rest: Sequence[int], random: Random
) -> Iterable[str]:
    """A line for each query: one similar question (two for `extra` of the queries), and random dissimilar ones."""
    twice = set(random.sample(queries, extra))
    for query in queries:
        similar = [other for other in alike[intent_of[query]] if other != query]
        right = random.sample(similar, 2 if query in twice else 1)
        wrong = list(dict.fromkeys(other for other in random.choices(rest, k=2 * RANDOM) if intent_of[other] != intent_of[query]))[:RANDOM]
        yield f"{query + 1}\t{_names(right)}\t{_names(wrong)}"


def _text(intent: int, random: Random) -> tuple[str, str]:
    """Title and body, in tokens: about 8 and 60 of them, as AskUbuntu's have."""
    asked, answered = _wordings(intent % len(FACTS))
    names = _product(intent // len(FACTS))
    said = [random.choice(asked), *(random.choice(asked if random.random() < 0.5 else answered) for _ in range(random.randint(1, 3)))]
    sentences = [f"{said[1]} it is a {random.choice(names)} .", *said[2:], *random.sample(IDLE, random.randint(1, 6))]
    sentences.append(" ".join(f"e{int(CODES ** random.random())}" for _ in range(random.randint(1, 9))))  # as in log files
    random.shuffle(sentences)
    title = f"{random.choice(names)} {said[0]}" if random.random() < 0.8 else said[0]
    return title, " ".join(sentences)


@cache
def _wordings(fact: int) -> tuple[list[str], list[str]]:
    """All ways to ask for and to answer one of FACTS, in lower-cased tokens."""
    of_splits = (ways_to_ask(FACTS[fact]), ways_to_answer(FACTS[fact]))
    asked, answered = ([" ".join(words_v1(text)) for ways in split.values() for text in ways] for split in of_splits)
    return list(dict.fromkeys(asked)), list(dict.fromkeys(answered))


def _product(number: int) -> tuple[str, str]:
    """Two names of one product.

    >>> _product(0), _product(41)
    (('bababa', 'dx100'), ('hodiba', 'dx141'))
    """
    digits = [number // len(SYLLABLES) ** place % len(SYLLABLES) for place in range(3)]
    return "".join(SYLLABLES[digit] for digit in digits), f"dx{100 + number}"


def _names(questions: Sequence[int]) -> str:
    return " ".join(str(question + 1) for question in questions)


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def make_folder(folder: Path, num_questions: int, seed: int) -> None:
    """Make the files in a new folder, which appears only when it is complete.

    Raises:
        OutputError: the folder is there already, or cannot be written.
    """
    if folder.exists():
        raise OutputError(f"{folder} is there already; name a new folder, or remove that one first")
    with atomic_write(folder, "name another folder") as staging, progress() as bar:
        staging.mkdir()
        make(staging, num_questions, seed, lambda steps, what: bar.track(steps, description=what))
