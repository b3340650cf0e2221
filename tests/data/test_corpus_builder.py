"""What a reader may not give a corpus: ids that trec_eval could not read, or that two questions share."""

import re

import pytest

from qaexp.data.corpus_builder import CorpusBuilder, text_names
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


def test_half_a_character_is_replaced_and_counted() -> None:
    """JSON may hold one half of an emoji, which UTF-8 may not."""
    builder = CorpusBuilder()
    texts = [builder.text(["hi", half]) for half in ("\ud83d", "\udcff", "\ufffd")]
    builder.question("dev", "q\ud83d", texts[0], [("c\ud83d", texts[1], 1), *((name, 0, 0) for name in text_names([["\ud83d"]]))])
    corpus = builder.build()
    assert texts == [0, 0, 0]
    assert corpus.vocabulary.words[2:] == ["hi", "\ufffd"]
    assert corpus.notes["words with half of a character (replaced)"] == 2
    assert [corpus.splits["dev"].question_ids[0].decode(), corpus.splits["dev"].candidate_ids[0].decode()] == ["q\ufffd", "c\ufffd"]


def test_a_candidate_has_one_label_and_one_text() -> None:
    for again, fault in ((("c", 0, 0), "labelled 1 and 0"), (("c", 1, 1), "has two texts")):
        builder = CorpusBuilder()
        builder.text(["so"])
        builder.text(["not"])
        builder.question("test", "q", 0, [("c", 0, 1), ("c", 0, 1), again])
        assert builder.notes == {"test: repeated candidates (dropped)": 1}
        with pytest.raises(BadDataError, match=f"question 'q': candidate 'c' (is )?{fault}"):
            builder.build()


def test_a_text_is_kept_as_it_was_first_written() -> None:
    builder = CorpusBuilder()
    texts = [builder.text(words, written=written) for words, written in ((["so"], "So\ud83d!"), ([], "?!"), (["so"], "so"), (["no"], ""))]
    corpus = builder.build()
    assert texts == [0, 1, 0, 2]
    assert [corpus.written(text) for text in range(3)] == ["So\ufffd!", "?!", "no"]
