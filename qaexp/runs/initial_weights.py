"""`init_from`: a run starts with the word vectors and the encoder of another run, such as a pre-trained encoder."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from qaexp.errors import CheckpointError
from qaexp.models.scorer import AnswerScorer, Scorer
from qaexp.runs.checkpoint import open_checkpoint, rebuild_scorer, require_same_vocabulary


def with_pinned_source(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration with, with the key, command and step of the run at `init_from` beside its path.

    Key and step are what counts as identity, so that a folder may be moved, and another run at the same path is noticed.

    Raises:
        CheckpointError: there is no checkpoint.
    """
    path = config.get("init_from")
    if path is None or isinstance(path, Mapping):
        return config
    checkpoint = open_checkpoint(path)
    plan = checkpoint["qaexp"]
    if "key" not in plan:
        raise CheckpointError(f"init_from={path} was written before checkpoints named their run; train it again")
    return {**config, "init_from": {"path": str(path), "key": plan["key"], "step": checkpoint["global_step"], "command": plan["command"]}}


def begin_from(source: Mapping[str, Any] | None, scorer: AnswerScorer, vocabulary: Sequence[str]) -> None:
    """Copy word vectors and encoder of a pinned `init_from` into the scorer. None leaves it alone.

    Each of two encoders takes the one of its own side, or the only one. Other parts, such as poolings and similarities, are not copied.

    Raises:
        CheckpointError: the checkpoint is not the one that was pinned, its word ids mean other words, or its encoder is of another make;
            or there are two encoders in it and one here.
    """
    if source is None:
        return
    checkpoint = open_checkpoint(source["path"])
    found = checkpoint["qaexp"]["key"], checkpoint["global_step"]
    if found != (source["key"], source["step"]):
        raise CheckpointError(
            f"init_from={source['path']} is no longer the run that this one started from (key and step {found}, not "
            f"{(source['key'], source['step'])}); put that one back, or start a new run"
        )
    require_same_vocabulary(checkpoint, vocabulary, "init_from takes a run on the same data set, read in the same way")
    held = rebuild_scorer(checkpoint)
    for model, whose in ((held, "init_from"), (scorer, "this run")):
        if not isinstance(model, Scorer):
            raise CheckpointError(f"init_from: the {type(model).__name__} of {whose} has no encoder of its own; leave init_from out")
    assert isinstance(held, Scorer)
    assert isinstance(scorer, Scorer)
    theirs, ours = held.question_encoder, scorer.question_encoder
    if type(theirs) is not type(ours) or theirs.output_dim != ours.output_dim:
        raise CheckpointError(
            f"init_from holds an encoder {type(theirs).__name__} of width {theirs.output_dim}, this run has {type(ours).__name__} of width "
            f"{ours.output_dim}: choose the same model/encoder and model.encoder.hidden_dim for both"
        )
    two = scorer.candidate_encoder is not ours
    if held.candidate_encoder is not theirs and not two:
        raise CheckpointError(
            "init_from holds an encoder each for questions and candidates, this run has one for both, and would lose the candidates'; "
            "set model.shared=false"
        )
    _copy(held.embedding, scorer.embedding, "embedding")
    _copy(theirs, ours, "encoder")
    if two:
        _copy(held.candidate_encoder, scorer.candidate_encoder, "encoder")


def _copy(source: nn.Module, target: nn.Module, slot: str) -> None:
    there, here = ({name: tuple(weights.shape) for name, weights in module.state_dict().items()} for module in (source, target))
    for name in {**there, **here}:
        if there.get(name) != here.get(name):
            raise CheckpointError(
                f"init_from: {name} of its model.{slot} is {there.get(name, 'absent')}, that of this run {here.get(name, 'absent')}; "
                f"give model.{slot} the same options in both, and the word vectors the same width"
            )
    target.load_state_dict(source.state_dict())
