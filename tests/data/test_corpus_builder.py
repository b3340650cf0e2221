"""What a reader may not give a corpus: ids that trec_eval could not read, or that two questions share."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from qaexp.data.corpus import RankingCorpus
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


def test_a_text_has_as_many_fields_as_the_corpus() -> None:
    """Numbers of texts had pointed at others."""
    with pytest.raises(ConfigError, match=r"a text of 2 fields was given to CorpusBuilder\(num_fields=1\)"):
        CorpusBuilder().text(["title"], ["body"])
    with pytest.raises(ConfigError, match=r"a text of 1 field was given to CorpusBuilder\(num_fields=2\)"):
        CorpusBuilder(num_fields=2).text(["title"])
    with pytest.raises(ConfigError, match=r"name one in dataset\.reader\.fields"):
        CorpusBuilder(num_fields=0)


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


LANGUAGES = [("C++ or C?", "c or c"), ("C# or C?", "c or c"), ("c", "c"), ("C#", "c"), ("No.", "no"), ("C++", "c"), ("C#", "c")]


def corpus_of_spellings(languages: Sequence[tuple[str, str]] = LANGUAGES) -> RankingCorpus:
    """Two questions with the same words, about candidates with the same words."""
    builder = CorpusBuilder()
    first, second, c, sharp, no, plus, again = (builder.text(words.split(), written=written) for written, words in languages)
    builder.question("train", "1", first, [("a", plus, 1), ("b", no, 0), ("c", c, 0)])
    builder.question("test", "2", second, [("a", sharp, 1), ("b", no, 0)])
    for text in (plus, no, sharp, again):
        builder.answer(text)
    return builder.build()


def test_texts_with_the_same_words_are_told_apart_by_their_spelling_on_demand(tmp_path: Path) -> None:
    """All had been read in the first spelling by models that read texts as they are written."""
    made = corpus_of_spellings()
    made.save(tmp_path / "corpus")
    for corpus in (made, RankingCorpus.load(tmp_path / "corpus")):
        assert len(corpus.texts) == 3
        assert corpus.answer_set.tolist() == [1, 2]
        assert corpus.splits["test"].asked_in(corpus.splits["train"]) == 1
        spelled = corpus.by_spelling()
        assert [spelled.written(text) for text in range(len(spelled.texts))] == ["C++ or C?", "c", "No.", "C# or C?", "C#", "C++"]
        assert [spelled.words(text) for text in (0, 3, 4)] == [["c", "or", "c"], ["c", "or", "c"], ["c"]]
        assert [spelled.written(text) for text in spelled.answer_set.tolist()] == ["C++", "No.", "C#"]
        for split, asked, pool in (("train", "C++ or C?", ["C++", "No.", "c"]), ("test", "C# or C?", ["C#", "No."])):
            for table in (spelled.splits[split], corpus.splits[split].keep(np.array([0])).by_spelling()):
                assert spelled.written(int(table.questions[0])) == asked
                assert [spelled.written(text) for text in table.candidates.tolist()] == pool
            shuffled = corpus.splits[split].shuffled(seed=3).by_spelling()
            names = [name.decode() for name in shuffled.candidate_ids]
            assert [pool["abc".index(name)] for name in names] == [spelled.written(text) for text in shuffled.candidates.tolist()]


def test_the_fingerprint_of_words_does_not_tell_spellings_and_that_of_written_texts_does() -> None:
    corpus, alike = corpus_of_spellings(), corpus_of_spellings([(words, words) for _, words in LANGUAGES])
    assert alike.by_spelling() is alike
    assert corpus.fingerprint == alike.fingerprint == corpus.by_spelling().fingerprint
    swapped = corpus_of_spellings([LANGUAGES[place] for place in (0, 1, 2, 5, 4, 3, 6)])
    assert len({each.written_fingerprint() for each in (corpus, alike, swapped)}) == 3
    assert corpus.written_fingerprint() == corpus_of_spellings().written_fingerprint() == corpus.by_spelling().written_fingerprint()


def test_candidates_of_a_split_have_retrieval_scores_or_none_has() -> None:
    for pools in ([[("a", 0, 1, 0.5), ("b", 0, 0)]], [[("a", 0, 1)], [("a", 0, 1, 0.5)]]):
        builder = CorpusBuilder()
        builder.text(["so"])
        for number, pool in enumerate(pools):
            builder.question("dev", str(number), 0, pool)
        with pytest.raises(BadDataError, match="1 have no retrieval scores but others have, the first '0'"):
            builder.build()


def test_a_text_that_is_held_out_is_no_negative() -> None:
    builder = CorpusBuilder()
    texts = [builder.text(["so"], written="So"), builder.text(["no"]), builder.text(["so"], written="so")]
    for text in texts:
        builder.answer(text)
    assert builder.build().answer_set.tolist() == [0, 1]
    builder.hold_out(texts[2])
    corpus = builder.build()
    assert (corpus.answer_set.tolist(), corpus.held_out.tolist()) == ([1], [0])
