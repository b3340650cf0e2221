"""What a reader may not give a corpus: ids that trec_eval could not read, or that two questions share."""

import re

import pytest

from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.errors import BadDataError, ConfigError


@pytest.mark.parametrize("name", ["a b", "", "a\u00a0b", "a\n"])
def test_ids_are_single_words(name: str) -> None:
    for question, candidate, named in ((name, "c", "its id"), ("q", name, f"candidate {name!r}")):
        builder = CorpusBuilder()
        text = builder.text(["so"])
        builder.question("dev", question, text, [(candidate, text, 1)])
        with pytest.raises(BadDataError, match=re.escape(f"{named} is empty or contains white space")):
            builder.build()


def test_two_questions_of_a_split_have_two_ids() -> None:
    builder = CorpusBuilder()
    text = builder.text(["so"])
    builder.question("dev", "1", text, [("c", text, 1)])
    builder.question("test", "1", text, [("c", text, 1)])
    builder.build()
    builder.question("dev", "1", text, [("c", text, 1)])
    with pytest.raises(BadDataError, match="two are called '1'"):
        builder.build()


def test_a_word_with_a_line_break_is_refused() -> None:
    """Words are kept one a line."""
    builder = CorpusBuilder()
    builder.text(["a\nb"])
    with pytest.raises(ConfigError, match=r"the word 'a\\nb' contains a line break: let dataset.tokenise"):
        builder.build()
