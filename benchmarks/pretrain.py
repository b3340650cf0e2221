"""A step of pre-training at 100,000 words, forward, backward and optimiser, with the adaptive softmax against the full one."""

from collections.abc import Callable, Iterator

import torch
from hydra.utils import instantiate

from benchmarks.row import Row
from benchmarks.timing import CPU, DEVICE, paired
from qaexp.config import PRETRAIN, compose
from qaexp.models.decoder import TitleDecoder

WORDS, EMBEDDING_DIM = 100_000, 200
PAIRS, CONTEXT, TITLE = 64, 60, 10
"""Bodies have 59.7 words on average, and titles "around 10" (Lei et al. 2016, §4.2)."""
NUM_PAIRS = 3 if DEVICE == CPU else 20


def rows() -> Iterator[Row]:
    for model in ("rcnn", "gru"):
        adaptive, full = (step(model, output) for output in ("adaptive", "full"))
        size = f"{PAIRS} titles of {TITLE} among {WORDS:,} words, contexts of {CONTEXT}"
        what = f"{model}: a step of pre-training, {size}: adaptive, full softmax"
        yield paired(adaptive, full, NUM_PAIRS, DEVICE).at_least(what, 3.0)


def step(model: str, output: str) -> Callable[[], None]:
    """A step on made-up pairs, whose words are as frequent as 1 / rank (Zipf), so that rare ones come up as in text."""
    cfg = compose([f"model={model}", f"output={output}"], PRETRAIN)
    torch.manual_seed(1)
    draw = torch.Generator().manual_seed(2)
    frequencies = 1 / torch.arange(1, WORDS).double()
    uses = torch.cat([torch.tensor([PAIRS]), (1e7 * frequencies).long()])
    words = torch.multinomial(frequencies, PAIRS * (TITLE + CONTEXT), replacement=True, generator=draw).view(PAIRS, -1) + 1
    titles, contexts = words[:, :TITLE].to(DEVICE), words[:, TITLE:].to(DEVICE)
    scorer = instantiate(cfg.model, vectors=torch.randn(WORDS, EMBEDDING_DIM))
    decoder = TitleDecoder(instantiate(cfg.model.encoder), EMBEDDING_DIM, instantiate(cfg.output), uses).to(DEVICE)
    scorer.to(DEVICE)
    optimizer = instantiate(cfg.optimizer)(params=[p for p in [*scorer.parameters(), *decoder.parameters()] if p.requires_grad])

    def run() -> None:
        optimizer.zero_grad()
        _, state = scorer.question_encoder.run(scorer.embedding.of(contexts), None)
        (-decoder(titles, state, scorer.embedding).mean()).backward()
        optimizer.step()

    return run
