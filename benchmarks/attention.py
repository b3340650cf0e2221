"""A training step of GGSA against the same model with global attention, and GGSA against itself on longer texts."""

from collections.abc import Callable, Iterator

import torch
from hydra.utils import instantiate

from benchmarks.made_up import MAX_LENGTH, VOCABULARY, scorer
from benchmarks.row import Row
from benchmarks.timing import CPU, DEVICE, paired
from qaexp.config import compose
from qaexp.data.batch import RankingBatch
from qaexp.models.encoder.self_attention import SelfAttention

QUESTION_LENGTH, LONG = 8, 1_600
TOKENS = 6_400 if DEVICE == CPU else 409_600  # of a step's candidates, whatever their length
NUM_PAIRS = 9


def rows() -> Iterator[Row]:
    ours, other = training_step("ggsa", MAX_LENGTH), training_step("self_attention", MAX_LENGTH)
    step = f"training step, {TOKENS:,} tokens of candidates: GGSA, global attention"
    yield paired(ours, other, NUM_PAIRS, DEVICE).at_most(f"{step}; length {MAX_LENGTH}", 1.1)
    longer, other = training_step("ggsa", LONG), training_step("self_attention", LONG)
    yield paired(longer, other, NUM_PAIRS, DEVICE).at_least(f"{step}; length {LONG:,}", 1.5)
    linear = paired(longer, ours, NUM_PAIRS, DEVICE)
    yield linear.at_most(f"the same tokens through GGSA: length {LONG:,}, length {MAX_LENGTH} (1 is linear)", 1.25)
    groups, windows = attention_step("ggsa"), attention_step("local_self_attention")
    alone = f"attention alone, forward and backward, length {MAX_LENGTH}: in groups of 10, in windows of 11"
    yield paired(groups, windows, NUM_PAIRS, DEVICE).at_least(alone, 4.0)
    yield paired(ours, training_step("local_self_attention", MAX_LENGTH), NUM_PAIRS, DEVICE).told(f"{step.replace('global', 'local')}")


def attention_step(model: str) -> Callable[[], None]:
    """Each word's sum over the words that it may attend to, and its gradients: what the two ways differ in."""
    encoder = scorer(model).to(DEVICE).get_submodule("question_encoder")
    assert isinstance(encoder, SelfAttention)
    num_texts, head_dim = TOKENS // MAX_LENGTH, encoder.output_dim // encoder.num_heads
    QKV = torch.randn(num_texts, MAX_LENGTH, 3, encoder.num_heads, head_dim, device=DEVICE, requires_grad=True)
    mask = torch.ones(num_texts, MAX_LENGTH, dtype=torch.bool, device=DEVICE)
    gradient = torch.randn(num_texts, MAX_LENGTH, encoder.num_heads, head_dim, device=DEVICE)

    def step() -> None:
        QKV.grad = None
        encoder.attend(QKV, mask).backward(gradient)

    return step


def training_step(model: str, length: int, *options: str) -> Callable[[], None]:
    """Forward, backward and optimiser, on groups of one right candidate and one negative, every candidate of full length."""
    cfg = compose([f"model={model}", "loss=pairwise_hinge", "optimizer=rmsprop"])
    module = scorer(model, *options).to(DEVICE)
    loss, optimizer = instantiate(cfg.loss), instantiate(cfg.optimizer)(params=module.parameters())
    num_groups = TOKENS // length // 2
    group = torch.arange(num_groups).repeat_interleave(2)
    generator = torch.Generator().manual_seed(0)
    batch = RankingBatch(
        questions=torch.randint(1, VOCABULARY, (num_groups, QUESTION_LENGTH), generator=generator),
        candidates=torch.randint(1, VOCABULARY, (2 * num_groups, length), generator=generator),
        pair_question=group,
        pair_candidate=torch.arange(2 * num_groups),
        labels=torch.tensor([1, 0]).repeat(num_groups),
        groups=group,
    ).to(DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        loss(module(batch), batch.labels, batch.groups).backward()
        optimizer.step()

    return step
