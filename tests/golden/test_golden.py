"""Frozen scores of every named model: numerics move only on purpose.

`.venv/bin/python tests/golden/test_golden.py` writes scores.json anew: after adding a model, or after a change that is meant
to move numbers. The diff of that file then shows which models moved, and CHANGELOG.md says why.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hydra.utils import instantiate

from qaexp.config import choices, compose
from qaexp.data.batch import RankingBatch

FROZEN = Path(__file__).with_name("scores.json")
REFRESH = ".venv/bin/python tests/golden/test_golden.py"
WORDS = 50
QUESTION_LENGTHS, CANDIDATE_LENGTHS = [1, 7, 12], [26, 10, 3, 1]


@torch.no_grad()
def golden_scores(model: str) -> list[float]:
    """Each of three questions against each of four candidates; weights, word vectors and words come from fixed seeds."""
    random = np.random.RandomState(11)  # its stream is frozen for good
    vectors = random.standard_normal((WORDS, 300)).astype(np.float32)
    vectors[0] = 0

    def texts(lengths: list[int]) -> torch.Tensor:
        tokens = random.randint(1, WORDS, (len(lengths), max(lengths)))
        return torch.from_numpy(tokens * (np.arange(max(lengths)) < np.array(lengths)[:, None]))

    batch = RankingBatch(
        questions=texts(QUESTION_LENGTHS),
        candidates=texts(CANDIDATE_LENGTHS),
        pair_question=torch.arange(3).repeat_interleave(4),
        pair_candidate=torch.arange(4).repeat(3),
        labels=torch.zeros(12, dtype=torch.int64),
        groups=torch.arange(12),
    )
    torch.manual_seed(11)
    scorer = instantiate(compose([f"model={model}"]).model, vectors=torch.from_numpy(vectors)).eval()
    return [round(score, 7) for score in scorer(batch).tolist()]


@pytest.mark.parametrize("model", choices("model"))
def test_scores_have_not_moved(model: str) -> None:
    frozen = json.loads(FROZEN.read_text(encoding="utf-8"))
    assert model in frozen, f"model={model} is new: {REFRESH} freezes its scores"
    assert golden_scores(model) == pytest.approx(frozen[model], abs=1e-5), f"if this was meant: {REFRESH}, and a line in CHANGELOG.md"


def test_no_scores_are_kept_of_models_that_are_gone() -> None:
    assert set(json.loads(FROZEN.read_text(encoding="utf-8"))) == set(choices("model")), f"{REFRESH} writes the file anew"


if __name__ == "__main__":
    sys.path.insert(0, str(FROZEN.parent.parent))
    from tiny_weights import write_tiny_weights

    os.environ["QAEXP_WEIGHTS"] = str(write_tiny_weights(Path(tempfile.mkdtemp())))
    lines = ",\n".join(f'  "{model}": {json.dumps(golden_scores(model))}' for model in choices("model"))
    FROZEN.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
