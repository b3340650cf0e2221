"""Training steps of the recurrent models of Tay et al. 2018 at d = 512, length 50, batch 256: CTRN, QRNN, LSTM, AP-biLSTM."""

from collections.abc import Callable, Iterator

import torch
from hydra.utils import instantiate
from torch import Tensor, nn

from benchmarks.row import Row
from benchmarks.timing import CPU, DEVICE, paired
from qaexp.config import compose
from qaexp.data.batch import RankingBatch
from qaexp.models.encoder.qrnn import QRNN
from qaexp.models.encoder.recurrent import LSTM
from qaexp.models.ops.packed import run_packed, run_packed_from
from qaexp.models.stage import Encoder
from qaexp.training.losses import PairwiseHinge, PointwiseCrossEntropy

DIM, LENGTH, BATCH, EMBEDDING_DIM, VOCABULARY = 512, 50, 256, 300, 5000
FIGURE_3 = 800
NUM_PAIRS = 5 if DEVICE == CPU else 20


def rows() -> Iterator[Row]:
    batch = made_up_batch().to(DEVICE)
    at = f"d {DIM}, length {LENGTH}, batch {BATCH}"
    steps = {name: step(name, batch) for name in ("ctrn", "qrnn", "lstm", "ap_bilstm")}
    yield paired(steps["ctrn"], steps["qrnn"], NUM_PAIRS, DEVICE).at_most(f"training step at {at}: CTRN, QRNN", 1.4)
    yield paired(steps["qrnn"], steps["lstm"], NUM_PAIRS, DEVICE).at_least(
        "the same: QRNN, nn.LSTM (which multiplies 1.75 times as much)", 1.7
    )
    qrnn, lstm = layer(QRNN(EMBEDDING_DIM, DIM, window=2)), layer(LSTM(EMBEDDING_DIM, DIM))
    yield paired(qrnn, lstm, NUM_PAIRS, DEVICE).at_least("the layers alone, over word vectors that stay fixed: QRNN, nn.LSTM", 1.7)
    wide = [step(name, batch, dim=FIGURE_3) for name in ("qrnn", "lstm")]
    yield paired(wide[0], wide[1], 3, DEVICE).at_least(f"the same at d {FIGURE_3}, the width of Figure 3: QRNN, nn.LSTM", 1.7)
    yield paired(steps["ctrn"], steps["ap_bilstm"], max(3, NUM_PAIRS // 2), DEVICE).at_least("the same: CTRN, AP-biLSTM", 3.0)
    if DEVICE == CPU:
        ours, packed = over_texts(run_packed), over_texts(lambda lstm, states, mask: run_packed_from(lstm, states, mask, None)[0])
        what = "a biLSTM of 141 forward and backward over 256 texts of 95 words on average: in blocks by length, packed by torch"
        yield paired(ours, packed, 3, DEVICE).at_least(what, 3.0)


def step(model: str, batch: RankingBatch, dim: int = DIM) -> Callable[[], None]:
    """Forward and backward of a model of the same width, its words frozen under a projection."""
    torch.manual_seed(1)
    options = [f"model={model}", "model/embedding=projected", f"model.encoder.hidden_dim={dim}"]
    scorer = instantiate(compose(options).model, vectors=torch.randn(VOCABULARY, EMBEDDING_DIM)).to(DEVICE)
    loss = PairwiseHinge(margin=0.1) if model == "ap_bilstm" else PointwiseCrossEntropy()

    def run() -> None:
        scorer.zero_grad()
        loss(scorer(batch), batch.labels, batch.groups).backward()

    return run


def over_texts(run: Callable[[nn.RNNBase, Tensor, Tensor], Tensor]) -> Callable[[], None]:
    """Forward and backward of QA-LSTM's layer over texts of many lengths, whose word vectors learn, too."""
    torch.manual_seed(1)
    lengths = (torch.randn(BATCH) * 50 + 95).clamp(5, 200)
    layer, mask = nn.LSTM(EMBEDDING_DIM, 141, batch_first=True, bidirectional=True), torch.arange(200) < lengths.unsqueeze(1)
    states = torch.randn(BATCH, 200, EMBEDDING_DIM, requires_grad=True)

    def step() -> None:
        run(layer, states, mask).sum().backward()

    return step


def layer(encoder: Encoder) -> Callable[[], None]:
    """Forward and backward of one layer over as many texts as a batch has."""
    encoder = encoder.to(DEVICE)
    mask = torch.ones(2 * BATCH, LENGTH, dtype=torch.bool, device=DEVICE)
    text = {"states": torch.randn(2 * BATCH, LENGTH, EMBEDDING_DIM, device=DEVICE), "mask": mask}
    gradient = torch.randn(2 * BATCH, LENGTH, DIM, device=DEVICE)

    def run() -> None:
        encoder.zero_grad()
        encoder(text)["states"].backward(gradient)

    return run


def made_up_batch() -> RankingBatch:
    """Pairs of texts of their own, all of the full length, a right and a wrong one in turn."""
    random = torch.Generator().manual_seed(0)
    rows = torch.arange(BATCH)
    return RankingBatch(
        questions=torch.randint(1, VOCABULARY, (BATCH, LENGTH), generator=random),
        candidates=torch.randint(1, VOCABULARY, (BATCH, LENGTH), generator=random),
        pair_question=rows,
        pair_candidate=rows,
        labels=1 - rows % 2,
        groups=rows // 2,
    )
