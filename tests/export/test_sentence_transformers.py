"""A folder of sentence-transformers has the run's scores."""

from pathlib import Path

import pytest

import qaexp
from qaexp.cli.export import main

library = pytest.importorskip("sentence_transformers", reason="needs sentence-transformers: pip install 'qaexp[sentence-transformers]'")


def test_the_library_loads_the_folder_with_the_same_cosines(bi_encoder_run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    question, answers = "what is the name?", ["the name is this.", "no", "x " * 60]
    assert main([str(bi_encoder_run), "--sentence-transformers", str(tmp_path / "folder")]) == 0
    model = library.SentenceTransformer(str(tmp_path / "folder"), device="cpu")
    found = model.similarity(model.encode(question), model.encode(answers))[0].tolist()
    ours = {answer.position: answer.score for answer in qaexp.load(bi_encoder_run).rank(question, answers)}
    assert found == pytest.approx([ours[place] for place in range(len(answers))], abs=1e-5)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    assert main([str(bi_encoder_run), "--sentence-transformers", str(tmp_path / "folder")]) == 2
    assert "it is there already; name a new folder" in caplog.text
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_another_model_is_refused(word_overlap_run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert main([str(word_overlap_run), "--sentence-transformers", str(tmp_path / "folder")]) == 2
    assert "is not a model that sentence-transformers has: it takes model=bi_encoder" in caplog.text
