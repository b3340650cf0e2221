"""Parameters as the papers count them: `pytest -s` prints model, ours, the paper's. Word embeddings are left out."""

from collections.abc import Callable

import pytest
import torch
from hydra.utils import instantiate
from torch import nn

from qaexp.config import compose


def all_of(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters() if p.requires_grad)


def matrices(module: nn.Module) -> int:
    """Without biases, which some papers leave out."""
    return sum(p.numel() for p in module.parameters() if p.requires_grad and p.ndim > 1)


def encoder(model: nn.Module) -> int:
    return all_of(model.get_submodule("question_encoder"))


def encoder_and_hidden(model: nn.Module) -> int:
    """The encoder's matrices and the first dense layer with its bias, as Tay et al. 2018, Table 2, count: no output layer."""
    return matrices(model.get_submodule("question_encoder")) + all_of(model.get_submodule("similarity.dense"))


CTRN_TABLE_2 = ["model.embedding.project_dim=300"]
COUNTS: list[tuple[str, int, list[str], Callable[[nn.Module], int], int]] = [
    # name and source, count, overrides, what is counted, width of the word vectors
    ("LSTM, Lei et al. 2016, Table 3", 423_360, ["model=gru", "model/encoder=lstm", "model.encoder.hidden_dim=240"], encoder, 200),
    ("GRU, Lei et al. 2016, Table 3", 404_040, ["model=gru", "model.encoder.hidden_dim=280"], encoder, 200),
    ("CNN, Lei et al. 2016, Table 3", 400_867, ["model=qa_cnn", "model.encoder.num_filters=667", "model.encoder.window=3"], encoder, 200),
    ("RCNN, Lei et al. 2016, Table 3", 400_800, ["model=rcnn", "model.encoder.hidden_dim=400", "model.encoder.order=2"], encoder, 200),
    ("LSTM, Tay et al. 2018, Table 2", 1_794_176, ["model=lstm", *CTRN_TABLE_2], encoder_and_hidden, 300),
    ("QRNN, Tay et al. 2018, Table 2", 1_052_800, ["model=qrnn", *CTRN_TABLE_2], encoder_and_hidden, 300),
    ("CTRN, Tay et al. 2018, Table 2", 1_052_800, ["model=ctrn", *CTRN_TABLE_2], encoder_and_hidden, 300),
]


@pytest.mark.parametrize(("name", "count", "overrides", "counted", "dim"), COUNTS, ids=[each[0] for each in COUNTS])
def test_the_count_is_the_papers(name: str, count: int, overrides: list[str], counted: Callable[[nn.Module], int], dim: int) -> None:
    model = instantiate(compose(overrides).model, vectors=torch.zeros(3, dim))
    print(f"\n{name}: {counted(model):,} (paper {count:,})")  # noqa: T201
    assert counted(model) == count


def test_the_crossing_adds_nothing() -> None:
    """CTRN has the parameters of QRNN, "no additional parameters"; what the formula leaves out is the output layer."""
    qrnn, ctrn = (instantiate(compose([f"model={name}", *CTRN_TABLE_2]).model, vectors=torch.zeros(3, 300)) for name in ("qrnn", "ctrn"))
    assert all_of(qrnn) == all_of(ctrn)
    projection = 300 * 300 + 300
    assert all_of(qrnn) == 1_052_800 + 128 + 1 + projection


def test_ap_bilstm_is_counted_as_printed_with_a_square_of_twice_the_width() -> None:
    """Tay et al. 2018, Table 2: 5.86M is 4(md + d²) + 4(2d)², with one direction's weights; the formula beside it gives 2.71M.

    Ours has both directions and U of (2d)²: 2 · 4(md + d²) + (2d)² and biases.
    """
    m, d = 300, 512
    model = instantiate(compose(["model=ap_bilstm", f"model.encoder.hidden_dim={d}"]).model, vectors=torch.zeros(3, m))
    assert matrices(model.get_submodule("question_encoder")) + all_of(model.get_submodule("pooling")) == 8 * (m * d + d * d) + (2 * d) ** 2
