"""What attentive pooling costs over its encoder: training steps with it and with the maximum over time."""

from collections.abc import Iterator

from benchmarks.attention import training_step
from benchmarks.made_up import MAX_LENGTH
from benchmarks.row import Row
from benchmarks.timing import DEVICE, paired


def rows() -> Iterator[Row]:
    for model, encoder in (("ap_cnn", "CNN"), ("ap_bilstm", "biLSTM")):
        maximum, attentive = training_step(model, MAX_LENGTH, "model/pooling=max"), training_step(model, MAX_LENGTH)
        what = f"training step over a {encoder}, length {MAX_LENGTH}: maximum over time, attentive pooling"
        yield paired(maximum, attentive, 5, DEVICE).told(what)
