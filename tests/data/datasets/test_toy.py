"""The toy corpus: repeatable, disjoint, readable, out of reach for word overlap, and without a hint of the label in its ids."""

import re
import subprocess
import sys
from collections import Counter
from math import log

import pytest

from qaexp.data.datasets.toy import FACTS, SPLITS, TOPICS, Fact, ToyQuestion, generate, ways_to_answer, ways_to_ask
from qaexp.errors import ConfigError

SIZES = {"num_train": 1008, "num_dev": 144, "num_test": 288, "num_candidates": 10}
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a about am an and are as at be but by can could did do does for from get has have how i if in is it its me my no not of on or
        out should so than that the them then there they this to was what when where which while who why will with would you your""",
    )
)


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[ToyQuestion]]:
    return generate(seed=1, **SIZES)


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z'-]+", text.lower()))


def precision_at_1(questions: list[ToyQuestion], score) -> float:
    """Expected over a random order of tied candidates."""
    total = 0.0
    for question in questions:
        scores = [score(question.text, identifier, text) for identifier, text, _ in question.candidates]
        best = [label for (*_, label), value in zip(question.candidates, scores, strict=True) if value == max(scores)]
        total += sum(best) / len(best)
    return total / len(questions)


def test_every_combination_of_thing_and_need_exists():
    assert all(len(topic.things) == 6 and len(topic.needs) == 4 for topic in TOPICS)
    assert len(set(FACTS)) == len(TOPICS) * 6 * 4
    assert all(wording.count("{}") == 1 for topic in TOPICS for need in topic.needs for wording in need.asked + need.answered)


def test_names_and_wordings_mean_one_thing():
    for topic in TOPICS:
        for table in (topic.things, topic.needs):
            said = Counter(text for entry in table for text in {*entry.asked, *entry.answered})
            assert max(said.values()) == 1, said.most_common(1)
    answered = Counter(text for topic in TOPICS for need in topic.needs for text in need.answered)
    assert max(answered.values()) == 1, answered.most_common(1)


def test_one_seed_gives_one_corpus_in_every_process():
    small = {"seed": 3, "num_train": 20, "num_dev": 5, "num_test": 5, "num_candidates": 4}
    command = f"from qaexp.data.datasets.toy import generate; import sys; sys.stdout.write(repr(generate(**{small})))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", command], env={"PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert outputs == {repr(generate(**small))}
    assert generate(**{**small, "seed": 4}) != generate(**small)


def test_sizes_and_labels(corpus):
    assert {split: len(questions) for split, questions in corpus.items()} == {"train": 1008, "dev": 144, "test": 288}
    questions = [question for split in corpus.values() for question in split]
    assert len({question.id for question in questions}) == 1440
    for question in questions:
        assert len({text for _, text, _ in question.candidates}) == 10
        assert sum(label for *_, label in question.candidates) in (1, 2)


def test_no_held_out_question_or_candidate_is_seen_in_training(corpus):
    texts = {split: {question.text for question in questions} for split, questions in corpus.items()}
    assert not texts["train"] & (texts["dev"] | texts["test"])
    assert not texts["dev"] & texts["test"]
    pools = {split: {text for question in questions for _, text, _ in question.candidates} for split, questions in corpus.items()}
    assert not pools["train"] & (pools["dev"] | pools["test"])


def test_each_name_and_wording_is_seen_in_training():
    """What is held out is how they are put together."""
    for fact in FACTS:
        thing, need = TOPICS[fact.topic].things[fact.thing], TOPICS[fact.topic].needs[fact.need]
        for names, wordings, ways in (
            (thing.asked, need.asked, ways_to_ask(fact)["train"]),
            (thing.asked + thing.answered, need.answered, ways_to_answer(fact)["train"]),
        ):
            said = [(name, wording) for name in names for wording in wordings if wording.format(name).lower() in map(str.lower, ways)]
            assert len(said) == len(ways)
            assert {name for name, _ in said} == set(names)
            assert {wording for _, wording in said} == set(wordings)


def test_each_way_to_ask_belongs_to_one_split_and_each_way_to_answer_to_training_or_not():
    for fact in FACTS:
        asked, answered = ways_to_ask(fact), ways_to_answer(fact)
        assert [len(asked[split]) for split in SPLITS] == [7, 1, 2]
        assert len({way for split in SPLITS for way in asked[split]}) == 10
        assert [len(answered[split]) for split in SPLITS] == [12, 4, 4]
        assert len({*answered["train"], *answered["dev"]}) == 16
        assert answered["dev"] == answered["test"]


def facts_by_text(ways) -> dict[str, Fact]:
    """Every way to put a fact → the fact; no text stands for two."""
    said = [(text, fact) for fact in FACTS for text in {text for texts in ways(fact).values() for text in texts}]
    assert len(dict(said)) == len(said)
    return dict(said)


def test_right_candidates_answer_the_question_and_wrong_ones_do_not(corpus):
    asked, answered = facts_by_text(ways_to_ask), facts_by_text(ways_to_answer)
    for question in (question for split in corpus.values() for question in split):
        for _, answer, label in question.candidates:
            assert label == (answered[answer] == asked[question.text]), (question.text, answer)


def test_many_wrong_candidates_share_the_thing_or_the_need(corpus):
    asked, answered = facts_by_text(ways_to_ask), facts_by_text(ways_to_answer)
    for questions in corpus.values():
        pairs = [
            (asked[question.text], answered[answer]) for question in questions for _, answer, label in question.candidates if not label
        ]
        thing = sum(fact[:2] == other[:2] for fact, other in pairs) / len(pairs)
        need = sum((fact.topic, fact.need) == (other.topic, other.need) for fact, other in pairs) / len(pairs)
        assert 0.15 < thing < 0.25
        assert 0.2 < need < 0.3


def test_word_overlap_finds_some_right_answers_but_not_most(corpus):
    frequency = Counter(word for question in corpus["train"] for _, text, _ in question.candidates for word in words(text))
    scores = {
        "shared words": lambda question, _, answer: len(words(question) & words(answer)),
        "shared content words": lambda question, _, answer: len((words(question) & words(answer)) - STOP_WORDS),
        "rare words count more": lambda question, _, answer: sum(
            log(10000 / (1 + frequency[w])) for w in sorted(words(question) & words(answer))
        ),
    }
    random = precision_at_1(corpus["test"], lambda *_: 0)
    for name, score in scores.items():
        for split in ("train", "test"):
            assert random + 0.08 < precision_at_1(corpus[split], score) < 0.55, (name, split)


def test_ids_and_positions_say_nothing_about_labels(corpus):
    questions = [question for split in corpus.values() for question in split]
    text_of = {identifier: text for question in questions for identifier, text, _ in question.candidates}
    assert len(set(text_of.values())) == len(text_of)
    assert all(text_of[identifier] == text for question in questions for identifier, text, _ in question.candidates)
    chance = precision_at_1(questions, lambda *_: 0)
    assert abs(precision_at_1(questions, lambda _, identifier, __: int(identifier.removeprefix("answer-"))) - chance) < 0.03
    assert abs(precision_at_1(questions, lambda _, identifier, __: -int(identifier.removeprefix("answer-"))) - chance) < 0.03
    for position in range(10):
        assert abs(sum(question.candidates[position][2] for question in questions) / len(questions) - chance) < 0.04


def test_label_is_not_told_by_the_length_of_the_answer(corpus):
    questions = [question for split in corpus.values() for question in split]
    chance = precision_at_1(questions, lambda *_: 0)
    assert abs(precision_at_1(questions, lambda _, __, text: len(text.split())) - chance) < 0.06
    assert abs(precision_at_1(questions, lambda _, __, text: -len(text.split())) - chance) < 0.06


def test_texts_read_like_english(corpus):
    for question in (question for split in corpus.values() for question in split):
        assert 4 <= len(question.text.split()) <= 12, question.text
        assert question.text[-1] in "?!", question.text
        for text in (question.text, *(text for _, text, _ in question.candidates)):
            assert re.fullmatch(r"[A-Z][A-Za-z,:.?! -]*[.?!]", text), text
            assert not re.search(r"\b(\w+) \1\b|  | [,.?!]|\ba [aeio]", text), text
        for _, text, _ in question.candidates:
            assert 4 <= len(text.split()) <= 15, text


@pytest.mark.parametrize(
    "sizes", [{"num_test": 289}, {"num_train": 1009}, {"num_dev": 145}, {"num_candidates": 2}, {"num_candidates": 101}]
)
def test_impossible_sizes_are_named(sizes):
    with pytest.raises(ConfigError, match="toy corpus"):
        generate(seed=1, **{**SIZES, **sizes})
