"""Runs that the tests of the report and of the demo share."""

import json

import pytest

import qaexp
from qaexp.api import Run

SECOND_TEXTS = {"entailment": "A man is playing.", "neutral": "A tall man plays.", "contradiction": "Nobody plays."}
"""The class of each pair with `A man plays.`"""


@pytest.fixture(scope="session")
def classifiers(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Two runs on three pairs in SNLI's layout: the words of its parses are not those between the blanks of its sentences."""
    folder = tmp_path_factory.mktemp("classes")
    (folder / "snli").mkdir()
    for split in ("train", "dev", "test"):
        lines = []
        for number, (label, second) in enumerate(SECOND_TEXTS.items()):
            texts = {"sentence1": "A man plays.", "sentence2": second}
            parses = {f"{name}_binary_parse": text.replace(".", " .") for name, text in texts.items()}
            lines.append(json.dumps({"gold_label": label, "pairID": f"{split}{number}", **texts, **parses}))
        (folder / "snli" / f"snli_1.0_{split}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    options = ["dataset=snli", "model=nbow", "dataset.expected=null", "dataset/vectors=random", "dataset.vectors.dim=8", "logger=none"]
    places = [f"data_dir={folder}", f"cache_dir={folder}/cache", "trainer.max_epochs=1"]
    return [qaexp.train([*options, *places, f"seed={seed}"], runs=folder / "runs") for seed in (1, 2)]
