"""The embedded `toy` data set: English questions and answers generated from a seed, so that everything can be tried without any file.

A right answer says the same as its question in different words, so that counting words fails. A fact is a (topic, thing, need), such as
(bicycles, chain, noise). A question asks for one fact and a right candidate answers the same fact. Most wrong candidates share either its
thing or its need, often in the very words of the question. Each fact has several questions and several answers, which are divided
between training and the other splits: training sees all the words of the development and test splits, but none of their texts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from typing import NamedTuple

import yaml

from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.data.tokenise import bare
from qaexp.errors import ConfigError
from qaexp.limits import NonNegativeInt, PositiveInt, Seed

SPLITS = ("train", "dev", "test")
MAX_CANDIDATES = 100

# These shares were chosen so that word overlap finds 25 to 45 % of the right answers, and a small trained model more than 90 %.
SECOND_ANSWER_RATE = 0.2
DISTRACTORS = {"same thing": 20, "same need": 25, "same topic": 20, "elsewhere": 35}


@dataclass(frozen=True)
class Wordings:
    """A thing or a need: `asked` is its wording in questions, `answered` its wording in answers."""

    asked: tuple[str, ...]
    answered: tuple[str, ...]


@dataclass(frozen=True)
class Topic:
    """Things and needs that combine freely."""

    things: tuple[Wordings, ...]
    needs: tuple[Wordings, ...]


def _read_topics() -> tuple[Topic, ...]:
    """The word tables of `toy_topics.yaml`."""
    tables = yaml.safe_load(Path(__file__).with_name("toy_topics.yaml").read_text(encoding="utf-8"))

    def wordings(rows: list[dict[str, list[str]]]) -> tuple[Wordings, ...]:
        return tuple(Wordings(tuple(row["asked"]), tuple(row["answered"])) for row in rows)

    return tuple(Topic(wordings(table["things"]), wordings(table["needs"])) for table in tables)


TOPICS = _read_topics()


@dataclass(frozen=True)
class ToyQuestion:
    """A question and its pool."""

    id: str
    text: str
    candidates: tuple[tuple[str, str, int], ...]
    """(candidate id, text, label), in an order drawn from the seed. Ids belong to texts: the same answer has one id everywhere."""


class Fact(NamedTuple):
    """Row numbers in the tables of `toy_topics.yaml`."""

    topic: int
    thing: int
    need: int


FACTS = tuple(
    Fact(index, thing, need)
    for index, topic in enumerate(TOPICS)
    for thing, need in product(range(len(topic.things)), range(len(topic.needs)))
)


def generate(seed: int, num_train: int, num_dev: int, num_test: int, num_candidates: int) -> dict[str, list[ToyQuestion]]:
    """The three splits, the same for the same arguments on every machine.

    >>> corpus = generate(seed=1, num_train=2, num_dev=1, num_test=1, num_candidates=5)
    >>> [question.id for question in corpus["train"]], len(corpus["test"][0].candidates)
    (['train-0000', 'train-0001'], 5)

    Raises:
        ConfigError: More questions than there are wordings of them, or pools of other than 3 to 100 candidates.
    """
    if not 3 <= num_candidates <= MAX_CANDIDATES:
        raise ConfigError(f"toy corpus: num_candidates is {num_candidates}; choose 3 to {MAX_CANDIDATES}")
    random = Random(seed)
    sizes = dict(zip(SPLITS, (num_train, num_dev, num_test), strict=True))
    drafts = {split: list(_draft(split, sizes[split], num_candidates, random)) for split in SPLITS}
    texts = sorted({text for split in SPLITS for _, pool in drafts[split] for text in pool})
    random.shuffle(texts)
    ids = {text: f"answer-{number:05d}" for number, text in enumerate(texts)}
    return {
        split: [
            ToyQuestion(f"{split}-{number:04d}", text, tuple((ids[answer], answer, label) for answer, label in pool.items()))
            for number, (text, pool) in enumerate(drafts[split])
        ]
        for split in SPLITS
    }


def ways_to_ask(fact: Fact) -> dict[str, list[str]]:
    """Split → its ways to ask for a fact: one in ten for development, two in ten for the test."""
    thing, need = _tables(fact)
    ways: dict[str, list[str]] = {split: [] for split in SPLITS}
    for number, (name, wording) in enumerate(product(thing.asked, need.asked)):
        ways[{0: "dev", 3: "test", 6: "test"}.get((sum(fact) + number) % 10, "train")].append(_filled(wording, name))
    return ways


def ways_to_answer(fact: Fact) -> dict[str, list[str]]:
    """Split → its ways to answer a fact. Half use an asker's word for the thing. Development and test share a quarter of the answers."""
    thing, need = _tables(fact)
    ways: dict[str, list[str]] = {"train": [], "held out": []}
    for (i, name), (j, wording) in product(enumerate(thing.asked + thing.answered), enumerate(need.answered)):
        ways["held out" if (sum(fact) + i + j) % 4 == 0 else "train"].append(_filled(wording, name))
    return {"train": ways["train"], "dev": ways["held out"], "test": ways["held out"]}


def _tables(fact: Fact) -> tuple[Wordings, Wordings]:
    topic = TOPICS[fact.topic]
    return topic.things[fact.thing], topic.needs[fact.need]


def _filled(wording: str, name: str) -> str:
    text = wording.format(name)
    return text[0].upper() + text[1:]


def _draft(split: str, num_questions: int, num_candidates: int, random: Random) -> Iterator[tuple[str, dict[str, int]]]:
    """Distinct questions of a split, each with its shuffled pool: text → label."""
    questions = [(fact, text) for fact in FACTS for text in ways_to_ask(fact)[split]]
    if num_questions > len(questions):
        raise ConfigError(f"toy corpus: {num_questions} {split} questions asked for; there are only {len(questions)} of them")
    answers = {fact: ways_to_answer(fact)[split] for fact in FACTS}
    for fact, text in random.sample(questions, num_questions):
        yield text, _pool(fact, answers, num_candidates, random)


def _pool(fact: Fact, answers: dict[Fact, list[str]], num_candidates: int, random: Random) -> dict[str, int]:
    """One or two right answers of `fact`; the rest answer other facts."""
    num_right = 2 if random.random() < SECOND_ANSWER_RATE else 1
    labels = dict.fromkeys(random.sample(answers[fact], num_right), 1)
    while len(labels) < num_candidates:
        labels.setdefault(random.choice(answers[_distractor(fact, random)]), 0)
    pool = list(labels.items())
    random.shuffle(pool)
    return dict(pool)


def _distractor(fact: Fact, random: Random) -> Fact:
    """A fact other than the one asked for."""
    (kind,) = random.choices(list(DISTRACTORS), weights=list(DISTRACTORS.values()))
    if kind == "elsewhere":
        return random.choice([f for f in FACTS if f.topic != fact.topic])
    shared = {"same thing": (True, False), "same need": (False, True), "same topic": (False, False)}[kind]
    return random.choice([f for f in FACTS if f.topic == fact.topic and (f.thing == fact.thing, f.need == fact.need) == shared])


@dataclass(frozen=True)
class ToyReader:
    """Generates the corpus from `generator_seed`; see the top of this file for what it is made of."""

    generator_seed: Seed
    num_train: NonNegativeInt
    num_dev: NonNegativeInt
    num_test: NonNegativeInt
    num_candidates: PositiveInt
    tokenise: Callable[[str], list[str]]

    version = 2

    def files(self) -> list[Path]:
        """None: nothing is read."""
        return []

    def read(self) -> RankingCorpus:
        builder, tokenise = CorpusBuilder(), bare(self.tokenise)
        splits = generate(self.generator_seed, self.num_train, self.num_dev, self.num_test, self.num_candidates)
        for split, questions in splits.items():
            for question in questions:
                pool = [(name, builder.text(tokenise(text), written=text), label) for name, text, label in question.candidates]
                builder.question(split, question.id, builder.text(tokenise(question.text), written=question.text), pool)
                if split == "train":
                    for _, text, _ in pool:
                        builder.answer(text)
        return builder.build()
