"""The toy corpus: repeatable, disjoint, readable, out of reach for word overlap, and without a hint of the label in its ids."""

import re
import subprocess
import sys
from collections import Counter
from math import log

import pytest

from qaexp.data.datasets.toy_text import FACTS, ToyQuestion, generate, ways_to_ask
from qaexp.data.datasets.toy_topics import TOPICS
from qaexp.errors import ConfigError

SIZES = {"num_train": 1000, "num_dev": 100, "num_test": 200, "num_candidates": 10}
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
    assert all(len(topic.things) == 8 and len(topic.needs) == 6 for topic in TOPICS)
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
    command = f"from qaexp.data.datasets.toy_text import generate; import sys; sys.stdout.write(repr(generate(**{small})))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", command], env={"PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert outputs == {repr(generate(**small))}
    assert generate(**{**small, "seed": 4}) != generate(**small)


def test_sizes_and_labels(corpus):
    assert {split: len(questions) for split, questions in corpus.items()} == {"train": 1000, "dev": 100, "test": 200}
    questions = [question for split in corpus.values() for question in split]
    assert len({question.id for question in questions}) == 1300
    for question in questions:
        assert len({text for _, text, _ in question.candidates}) == 10
        assert sum(label for *_, label in question.candidates) in (1, 2)


def test_no_held_out_question_or_right_answer_is_seen_in_training(corpus):
    texts = {split: {question.text for question in questions} for split, questions in corpus.items()}
    assert not texts["train"] & (texts["dev"] | texts["test"])
    assert not texts["dev"] & texts["test"]
    seen = {text for question in corpus["train"] for _, text, _ in question.candidates}
    right = {text for split in ("dev", "test") for question in corpus[split] for _, text, label in question.candidates if label}
    assert not seen & right


def test_each_thing_and_need_is_asked_for_in_training():
    training = [fact for fact in FACTS if fact.split == "train"]
    assert Counter(fact[:2] for fact in training) == Counter({fact[:2]: 4 for fact in FACTS})
    assert {(fact.topic, fact.need) for fact in training} == {(fact.topic, fact.need) for fact in FACTS}


def test_right_candidates_answer_the_question_and_wrong_ones_do_not(corpus):
    fact_of_question = {text: fact for fact in FACTS for text in ways_to_ask(fact)}
    assert len(fact_of_question) == sum(len(list(ways_to_ask(fact))) for fact in FACTS)
    answers = {  # every answer without an aside -> its fact
        (text := wording.format(name))[0].upper() + text[1:]: fact
        for fact in FACTS
        for name in (*TOPICS[fact.topic].things[fact.thing].asked, *TOPICS[fact.topic].things[fact.thing].answered)
        for wording in TOPICS[fact.topic].needs[fact.need].answered
    }
    for question in corpus["train"][:150] + corpus["test"]:
        asked = next(fact for text, fact in fact_of_question.items() if question.text.endswith(text))
        for _, answer, label in question.candidates:
            (answered,) = {fact for text, fact in answers.items() if text in answer} or {None}
            assert label == (answered == asked), (question.text, answer)


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


def test_label_is_not_told_by_the_answer_alone(corpus):
    """Neither its length nor an aside gives the right answer away."""
    questions = [question for split in corpus.values() for question in split]
    chance = precision_at_1(questions, lambda *_: 0)
    assert abs(precision_at_1(questions, lambda _, __, text: len(text.split())) - chance) < 0.06
    assert abs(precision_at_1(questions, lambda _, __, text: -len(text.split())) - chance) < 0.06


def test_texts_read_like_english(corpus):
    for question in (question for split in corpus.values() for question in split):
        assert 4 <= len(question.text.split()) <= 15, question.text
        assert question.text[-1] in "?!", question.text
        for text in (question.text, *(text for _, text, _ in question.candidates)):
            assert re.fullmatch(r"[A-Z][A-Za-z,:.?! -]*[.?!]", text), text
            assert not re.search(r"\b(\w+) \1\b|  | [,.?!]|\ba [aeio]", text), text
        for _, text, _ in question.candidates:
            assert 8 <= len(text.split()) <= 30, text


@pytest.mark.parametrize("sizes", [{"num_test": 500}, {"num_train": 1729}, {"num_candidates": 2}, {"num_candidates": 1001}])
def test_impossible_sizes_are_named(sizes):
    with pytest.raises(ConfigError, match="toy corpus"):
        generate(seed=1, **{**SIZES, **sizes})
