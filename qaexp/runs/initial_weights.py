"""`init_from`: a run starts with the word vectors and the encoder of another run, such as a pre-trained encoder."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from qaexp.data.vocabulary import PADDING, UNKNOWN, Vocabulary
from qaexp.errors import CheckpointError
from qaexp.models.embedding.word_vectors import WordTable
from qaexp.models.scorer import AnswerScorer, Scorer
from qaexp.runs.checkpoint import rebuild_scorer, require_same_vocabulary
from qaexp.runs.folder import checkpoint_file
from qaexp.runs.other_runs import open_pinned
from qaexp.runs.record import vector_files_of


def begin_from(source: Mapping[str, Any] | None, scorer: AnswerScorer, vocabulary: Sequence[str], vector_files: Sequence[str]) -> None:
    """Copy word vectors and encoder of the pinned run `source` (`init_from`) into the scorer. None leaves the scorer as it is.

    If the scorer has an encoder for each side, each is copied from that side's encoder of the other run, or from its only one. Other parts,
    such as poolings and similarities, are not copied. The other run may be on another data set if its word vectors come from the same
    published files, whose digests are `vector_files`: words of both data sets take its vectors, the others keep those of the files.

    Raises:
        CheckpointError: the checkpoint is not the one that was pinned, its word ids mean other words, or its encoder has another class,
            width or shape; or it has two encoders and the scorer has one.
    """
    if source is None:
        return
    checkpoint = open_pinned("init_from", source)
    theirs_too = None
    if vector_files and vector_files_of(checkpoint_file(source["path"]).parent) == list(vector_files):
        theirs_too = Vocabulary(checkpoint["qaexp"]["vocabulary"]).ids(vocabulary)
        theirs_too[:2] = PADDING, UNKNOWN
    else:
        require_same_vocabulary(
            checkpoint, vocabulary, "init_from takes a run on the same data set, or with word vectors from the same published file"
        )
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
            "init_from has one encoder for questions and another for candidates, but this run has one for both; set model.shared=false"
        )
    _copy(held.embedding, scorer.embedding, "embedding", theirs_too)
    _copy(theirs, ours, "encoder")
    if two:
        _copy(held.candidate_encoder, scorer.candidate_encoder, "encoder")


def _copy(source: nn.Module, target: nn.Module, slot: str, rows: Sequence[int] | None = None) -> None:
    """Copy all weights. Buffers are not copied, because the target's were fitted to this run's data.

    `rows` has the source's row for each word of the target; with it, a table of words is copied row by row.
    """
    held = source.state_dict()
    state = {**held, **{name: buffer for name, buffer in target.named_buffers() if name in held}}
    if rows is not None:
        ours, known = target.state_dict(), (torch.tensor(rows) != UNKNOWN) | (torch.arange(len(rows)) == UNKNOWN)
        for name in {f"{prefix}.weight" for prefix, module in source.named_modules() if isinstance(module, WordTable)} & ours.keys():
            if state[name].shape[1:] == ours[name].shape[1:]:
                state[name] = torch.where(known[:, None], state[name][rows], ours[name])
    there, here = ({name: tuple(weights.shape) for name, weights in weights_of.items()} for weights_of in (state, target.state_dict()))
    for name in {**there, **here}:
        if there.get(name) != here.get(name):
            raise CheckpointError(
                f"init_from: {name} of its model.{slot} is {there.get(name, 'absent')}, that of this run {here.get(name, 'absent')}; "
                f"give model.{slot} the same options in both, and the word vectors the same width"
            )
    target.load_state_dict(state)
