"""A small English corpus made from a seed: questions and answers that mean the same in different words, so that counting words fails.

A fact is a (topic, thing, need), such as (bicycles, chain, noise). A question asks for one fact, a right candidate answers the same fact,
and most wrong ones share either its thing or its need, often in the very words of the question. Facts are dealt to the splits so that
each thing and each need is asked for in training, but no fact of the development or test split is: what must be learnt is which words
correspond, not which sentences.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import NamedTuple

from qaexp.data.datasets.toy_topics import ASIDES_AFTER, ASIDES_BEFORE, GREETINGS, TOPICS
from qaexp.errors import ConfigError

SPLITS = ("train", "dev", "test")

# Shares chosen so that word overlap finds 25 to 45 % of the right answers, and a small trained model more than 90 %.
GREETING_RATE = 0.15
SECOND_ANSWER_RATE = 0.2
ECHO_RATE = 0.5
"""Answers that call their thing what an asker would call it."""
ASIDE_RATE = 0.1
"""Answers that also name a thing that they are not about."""


@dataclass(frozen=True)
class ToyQuestion:
    """A question and its pool."""

    id: str
    text: str
    candidates: tuple[tuple[str, str, int], ...]
    """(candidate id, text, label), in an order drawn from the seed. Ids belong to texts: the same answer has one id everywhere."""


class Fact(NamedTuple):
    """Row numbers in the tables of `toy_topics`."""

    topic: int
    thing: int
    need: int

    @property
    def split(self) -> str:
        """Of each thing's six facts, one belongs to the development split and one to the test split."""
        return {0: "dev", 1: "test"}.get((self.topic + self.thing + self.need) % 6, "train")


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
        ConfigError: More questions than there are wordings of them, or pools of other than 3 to 1000 candidates.
    """
    if not 3 <= num_candidates <= 1000:
        raise ConfigError(f"toy corpus: num_candidates is {num_candidates}; choose 3 to 1000")
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


def _draft(split: str, num_questions: int, num_candidates: int, random: Random) -> Iterator[tuple[str, dict[str, int]]]:
    """Distinct questions of a split, each with its shuffled pool: text → label."""
    wordings = [(fact, text) for fact in FACTS if fact.split == split for text in ways_to_ask(fact)]
    if num_questions > len(wordings):
        raise ConfigError(f"toy corpus: {num_questions} {split} questions asked for; there are only {len(wordings)} of them")
    # Training pools hold only training facts, so that no answer of another split is ever shown as a wrong one.
    facts = [fact for fact in FACTS if split != "train" or fact.split == "train"]
    for fact, text in random.sample(wordings, num_questions):
        greeting = f"{random.choice(GREETINGS)} " if random.random() < GREETING_RATE else ""
        yield greeting + text, _pool(fact, text, facts, num_candidates, random)


def ways_to_ask(fact: Fact) -> Iterator[str]:
    """Every way to ask for a fact, without a greeting."""
    topic = TOPICS[fact.topic]
    for name, wording in product(topic.things[fact.thing].asked, topic.needs[fact.need].asked):
        yield _capitalised(wording.format(name))


def _way_to_answer(fact: Fact, aside_about: int | None, random: Random) -> str:
    """One way to answer a fact, with an aside about another thing of its topic if one is named."""
    topic = TOPICS[fact.topic]
    thing = topic.things[fact.thing]
    name = random.choice(thing.asked if random.random() < ECHO_RATE else thing.answered)
    text = _capitalised(random.choice(topic.needs[fact.need].answered).format(name))
    if aside_about is None:
        return text
    mention = topic.mention.format(random.choice(topic.things[aside_about].asked))
    if random.random() < 0.5:
        return f"{random.choice(ASIDES_BEFORE).format(mention)} {text}"
    return f"{text} {random.choice(ASIDES_AFTER).format(mention)}"


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]


def _pool(fact: Fact, question: str, facts: list[Fact], num_candidates: int, random: Random) -> dict[str, int]:
    """One or two right answers of `fact`; the rest answer other facts."""
    labels: dict[str, int] = {}
    others = [thing for thing in range(len(TOPICS[fact.topic].things)) if thing != fact.thing]
    num_right = 2 if random.random() < SECOND_ANSWER_RATE else 1
    while len(labels) < num_right:
        labels[_way_to_answer(fact, random.choice(others) if random.random() < ASIDE_RATE else None, random)] = 1
    while len(labels) < num_candidates:
        wrong, aside_about = _distractor(fact, facts, random)
        labels.setdefault(_way_to_answer(wrong, aside_about, random), 0)
    pool = list(labels.items())
    random.shuffle(pool)
    return dict(pool)


def _distractor(fact: Fact, facts: list[Fact], random: Random) -> tuple[Fact, int | None]:
    """A fact other than the one asked for, and the thing of its topic that its answer mentions in passing, if any."""
    kind = random.choices(("same thing", "same need", "same topic", "elsewhere"), weights=(25, 30, 15, 30))[0]
    if kind == "same thing":
        eligible = [f for f in facts if f[:2] == fact[:2] and f != fact]
    elif kind == "same need":
        eligible = [f for f in facts if f.topic == fact.topic and f.need == fact.need and f != fact]
    elif kind == "same topic":
        eligible = [f for f in facts if f.topic == fact.topic and f.thing != fact.thing and f.need != fact.need]
    else:
        eligible = [f for f in facts if f.topic != fact.topic]
    wrong = random.choice(eligible)
    if random.random() >= ASIDE_RATE:
        return wrong, None
    others = [thing for thing in range(len(TOPICS[wrong.topic].things)) if thing != wrong.thing]
    return wrong, fact.thing if kind == "same topic" else random.choice(others)
