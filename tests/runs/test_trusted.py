"""What a checkpoint may build: everything in conf/ that a run leaves in one, and nothing that is only within reach of it."""

import re
from pathlib import Path
from typing import Any

import pytest

from qaexp.config import CONF
from qaexp.errors import CheckpointError
from qaexp.runs.trusted import TRUSTED, require_ours

FILE = Path("best.ckpt")


def test_every_model_part_of_one_and_tokeniser_is_built() -> None:
    texts = {group: "".join(path.read_text() for path in (CONF / group).rglob("*.yaml")) for group in ("model", "dataset")}
    parts = re.findall(r"_target_: ([\w.]+)", texts["model"])
    tokenisers = re.findall(r"tokenise: {_target_: ([\w.]+)", texts["dataset"])
    assert {"qaexp.models.lexical.svm.SVM", "qaexp.models.ops.coupled_cells.LooseCell"} < set(parts)
    assert "qaexp.data.tokenise.words_v1" in tokenisers
    require_ours([{"_target_": target} for target in (*parts, *tokenisers)], FILE)


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ({"_target_": "os.getcwd"}, "os.getcwd, which is no part of qaexp; if that is your own, set QAEXP_TRUSTED=os, else"),
        ({"_target_": "qaexp.runs.record.os.getcwd"}, "which is no part of qaexp"),
        ({"_target_": "qaexp.models.scorer.nn.Linear"}, "which is no part of qaexp; if that is your own, set QAEXP_TRUSTED=torch, else"),
        ({"_target_": "qaexp.files.atomic_write_text"}, "which is neither a module nor a tokeniser"),
        ({"_target_": "qaexp.models.scorer.Scorer.__init__"}, "which is neither a module nor a tokeniser"),
        ({"_target_": "qaexp.data.tokenise.words_v0"}, "which is not there; go back to the version that has it"),
        ({"_target_": "qaexp.${name}", "name": "whole_files.write_whole"}, "which is not there"),
        ({"_target_": ["os.getcwd"]}, "which is no part of qaexp"),
        ({"_target_": "qaexp.models.scorer.Scorer", "_args_": [[{"_target_": "os.getcwd"}]]}, "os.getcwd, which is no part of qaexp"),
        ([({"features": {"first": {"_target_": "os.getcwd"}}},)], "os.getcwd, which is no part of qaexp"),
        ({"text": "${oc.create:{_target_: os.getcwd}}"}, "in place of a plain value"),
    ],
)
def test_what_is_no_part_of_a_model_is_refused_wherever_it_stands(node: Any, said: str) -> None:
    with pytest.raises(CheckpointError, match=r"best\.ckpt ") as refused:
        require_ours(node, FILE)
    assert said in str(refused.value)


def test_a_trusted_packages_own_parts_are_built_and_its_imports_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRUSTED, "own_parts")
    require_ours({"_target_": "own_parts.MeanPooling"}, FILE)
    with pytest.raises(CheckpointError, match=r"own_parts\.torch\.load, which is no part of qaexp"):
        require_ours({"_target_": "own_parts.torch.load"}, FILE)
