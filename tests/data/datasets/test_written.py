"""Every reader that tokenises text also keeps it as its file has it: the same tokeniser makes its tokens of it."""

from pathlib import Path

import pytest
from hydra.utils import instantiate

from qaexp.config import compose
from qaexp.errors import MissingDataError

LARGE = ["wikiqa", "trecqa", "trecqa_xml", "qatarliving_raw", "yahooqa_partial", "yahoomqa_partial"]


@pytest.mark.parametrize("name", ["toy", "askubuntu_duplicates", *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)])
def test_tokens_are_those_of_the_written_texts(name: str, data_dir: Path) -> None:
    cfg = compose([f"dataset={name}", f"data_dir={data_dir}"]).dataset
    reader, tokenise = instantiate(cfg.reader), instantiate(cfg.tokenise)
    try:
        reader.files()
    except MissingDataError as error:
        pytest.skip(str(error).splitlines()[1])
    corpus = reader.read()
    texts = range(0, len(corpus.texts), max(1, len(corpus.texts) // 500))
    words = [corpus.words(text) for text in texts]
    assert [tokenise(corpus.written(text)) or ["<unk>"] for text in texts] == words
    assert [corpus.written(text) for text in texts] != [" ".join(text) for text in words]
