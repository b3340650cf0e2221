"""A trained chain model as an ONNX file: distinct texts and pairs of them in, scores out."""

import json
import warnings
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from qaexp.errors import ConfigError
from qaexp.files import atomic_write, name_another_place, require_writable
from qaexp.logs import silence_libraries
from qaexp.models.scorer import Scorer
from qaexp.models.types import gather_texts
from qaexp.runs.checkpoint import open_checkpoint, rebuild_scorer

INPUTS = {
    "questions": ("question", "question_length"),
    "candidates": ("candidate", "candidate_length"),
    "pair_question": ("pair",),
    "pair_candidate": ("pair",),
}
"""The graph's inputs, those of a `RankingBatch`, and their axes. Each axis takes any size of at least 1."""


class _Graph(nn.Module):
    """Each distinct text is encoded once, as in training."""

    def __init__(self, scorer: Scorer) -> None:
        super().__init__()
        self.scorer = scorer

    def forward(
        self,
        questions: Int[Tensor, "question question_length"],
        candidates: Int[Tensor, "candidate candidate_length"],
        pair_question: Int[Tensor, " pair"],
        pair_candidate: Int[Tensor, " pair"],
    ) -> Float[Tensor, "pair *class"]:
        asked, given = self.scorer.encode_question(questions), self.scorer.encode_candidate(candidates)
        return self.scorer.score(gather_texts(asked, pair_question), gather_texts(given, pair_candidate))


def graph_of(scorer: Scorer) -> Any:
    """torch's ONNX program of the model."""
    import onnx  # noqa: F401  an extra; if it is missing, fail before the work
    import onnxscript  # noqa: F401

    texts = torch.tensor([[2, 3, 1, 2, 3, 1, 2], [3, 1, 2, 0, 0, 0, 0], [1, 2, 3, 2, 1, 0, 0]])
    example = texts, texts.repeat(2, 2)[:5], torch.tensor([0, 1, 2, 0, 1, 2, 2]), torch.tensor([0, 1, 2, 3, 4, 0, 1])
    free = tuple(dict.fromkeys(range(len(axes)), torch.export.Dim.DYNAMIC) for axes in INPUTS.values())
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns of its own use of torch
        return torch.onnx.export(
            _Graph(scorer).eval(),
            example,
            dynamo=True,
            optimize=False,
            dynamic_shapes=free,
            input_names=list(INPUTS),
            output_names=["scores"],
            verbose=False,
        )


def write_onnx(run: Path, file: Path) -> Path:
    """Writes the model of a run or checkpoint. The file's metadata say how texts become ids.

    Raises:
        CheckpointError: there is no such checkpoint.
        ConfigError: the model is not a chain of slots, or torch cannot export it.
        OutputError: the file cannot be written.
    """
    silence_libraries()
    require_writable(file, name_another_place("--onnx FILE"))
    checkpoint = open_checkpoint(run)
    scorer, plan = rebuild_scorer(checkpoint), checkpoint["qaexp"]
    if not isinstance(scorer, Scorer):
        raise ConfigError(
            f"{run} is a {type(scorer).__name__}, and only chains of slots are exported to ONNX; name a run of a model such as qa_cnn, "
            "ggsa, ctrn or bi_encoder"
        )
    try:
        program = graph_of(scorer)
    except torch.onnx.OnnxExporterError as error:
        remedy = "write sizes as x.shape[0], not len(x), and torch.arange, not range"
        raise ConfigError(f"{run}: torch cannot export this model to ONNX; {remedy}") from error
    reading = {name: plan[name] for name in ("max_question_length", "max_candidate_length", "tokenise", "classes")}
    program.model.metadata_props["qaexp"] = json.dumps({**reading, "drop_unknown": plan.get("drop_unknown", False)})
    if scorer.subwords is None:
        program.model.metadata_props["vocabulary"] = json.dumps(plan["vocabulary"])
    else:  # an id is the tokenizer's plus 1
        program.model.metadata_props["tokenizer"] = next(iter(plan["pretrained"].values()))["tokenizer.json"]
    with atomic_write(file, name_another_place("--onnx FILE")) as staging:
        program.save(staging)
    return file
