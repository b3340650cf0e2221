"""What every model obeys: each named one in conf/model/, and each choice of a slot within the first named model that takes it.

A new YAML is tested here without a word in this file.
"""

import io
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
import torch
from hydra.utils import instantiate
from omegaconf import DictConfig
from torch import Tensor
from torch.nn import functional as F

from qaexp.config import CONF, choices, compose
from qaexp.data.batch import RankingBatch
from qaexp.data.batching import ScoringBlocks
from qaexp.data.corpus import RankingCorpus, RankingSplit, TokenTable
from qaexp.data.missing_files import reads_vectors
from qaexp.data.vocabulary import Vocabulary
from qaexp.models.scorer import AnswerScorer, read_out
from qaexp.models.types import Text, gather_texts
from qaexp.training.learning_pairs import LearningPairs, Objective
from qaexp.training.losses import PairwiseHinge
from qaexp.training.ranking import loss_of_all
from qaexp.training.scoring import score_blocks

WORDS = 60

NEEDS_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

Build = Callable[..., AnswerScorer]

NAMED = [f"model={name}" for name in choices("model")]
SLOTS = sorted(folder.name for folder in (CONF / "model").iterdir() if folder.is_dir())
CHOICES = [f"model/{slot}={name}" for slot in SLOTS for name in choices(f"model/{slot}")]


@cache
def composed(override: str) -> DictConfig:
    """The configuration of a named model, or of the first named model that takes the slot's choice and can score a pair with it."""
    if override in NAMED:
        return compose([override])
    refusals = []
    for name in NAMED:
        try:
            cfg = compose([name, override])
            scorer, text = instantiate(cfg.model, vectors=torch.zeros(2, 24)).eval(), torch.ones(1, 2, dtype=torch.int64)
            scorer.score(scorer.encode_question(text), scorer.encode_candidate(text))
        except Exception as error:  # a model without this slot, or whose other slots do not fit: the next one may
            refusals.append(f"{name}: {error}")
        else:
            return cfg
    raise AssertionError(f"no named model takes {override}:\n" + "\n".join(refusals))


@pytest.fixture(params=[*NAMED, *CHOICES])
def override(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def cfg(override: str) -> DictConfig:
    return composed(override)


@pytest.fixture
def build(override: str, cfg: DictConfig, vectors: Tensor, batch: RankingBatch) -> Build:
    """Builds the model from a seed, ready to score; a named one prepared with the batch, unless a test wants not."""

    def built(seed: int = 1, vectors: Tensor = vectors, prepared: bool = True) -> AnswerScorer:
        torch.manual_seed(seed)
        scorer = instantiate(cfg.model, vectors=vectors).eval()
        if prepared and override in NAMED:
            scorer.fit(_as_corpus(batch), lambda epoch: [batch])
        return scorer

    return built


@torch.no_grad()
def pair_by_pair(scorer: AnswerScorer, batch: RankingBatch) -> Tensor:
    """Each pair by itself and without padding: no batch, no cut."""

    def alone(tokens: Tensor) -> Tensor:
        return tokens[tokens != 0][None]

    pairs = zip(batch.questions[batch.pair_question], batch.candidates[batch.pair_candidate], strict=True)
    return torch.cat([scorer.score(scorer.encode_question(alone(q)), scorer.encode_candidate(alone(c))) for q, c in pairs])


@torch.no_grad()
def scores_of(scorer: AnswerScorer, batch: RankingBatch) -> Tensor:
    return scorer(batch)


Learned = tuple[Tensor, dict[str, Tensor]]


def learned(scorer: AnswerScorer, batch: RankingBatch, precision: torch.dtype = torch.float32) -> Learned:
    """The scores of a training step, and its gradients."""
    scorer.train()
    torch.manual_seed(9)
    with torch.autocast(batch.questions.device.type, dtype=precision, enabled=precision != torch.float32):
        scores = scorer(batch)
    if scores.requires_grad:
        scores.square().sum().backward()
    return scores.detach(), {name: p.grad for name, p in scorer.named_parameters() if p.grad is not None}


def same_to_the_last_bit(found: Learned, expected: Learned) -> None:
    assert torch.equal(found[0], expected[0])
    assert found[1].keys() == expected[1].keys()
    assert all(torch.equal(found[1][name], expected[1][name]) for name in expected[1])


def close(actual: Tensor, expected: Tensor, tolerance: float = 1e-5) -> None:
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


def test_a_batch_scores_as_its_pairs_do_one_by_one(build: Build, batch: RankingBatch) -> None:
    scorer = build()
    scores = scores_of(scorer, batch)
    assert scores.shape == (15,)
    assert scores.dtype == torch.float32
    assert len(scores.unique()) > 2, "the scores must depend on the texts"
    close(scores, pair_by_pair(scorer, batch))


def test_scores_depend_on_word_vectors_or_the_model_says_that_they_do_not(
    build: Build, batch: RankingBatch, vectors: Tensor, cfg: DictConfig
) -> None:
    scorer = build()
    if reads_vectors(cfg.model):
        assert not torch.allclose(scores_of(build(vectors=2 * vectors.roll(1, dims=1)), batch), scores_of(scorer, batch), atol=1e-6)
    else:
        assert torch.equal(scores_of(build(vectors=vectors[:, :0]), batch), scores_of(scorer, batch))


@pytest.mark.parametrize("extra", [1, 7, 30])
def test_more_padding_changes_no_score(build: Build, batch: RankingBatch, extra: int) -> None:
    """Not even where a question, or a candidate, has no word."""
    scorer = build()
    batch.questions[1], batch.candidates[3] = 0, 0
    with torch.no_grad():
        questions = scorer.encode_question(F.pad(batch.questions, (0, extra)))
        candidates = scorer.encode_candidate(F.pad(batch.candidates, (0, 2 * extra)))
        scores = scorer.score(gather_texts(questions, batch.pair_question), gather_texts(candidates, batch.pair_candidate))
    close(scores, scores_of(scorer, batch))


def test_a_permutation_of_pairs_and_candidates_permutes_scores(build: Build, batch: RankingBatch) -> None:
    scorer = build()
    random = torch.Generator().manual_seed(3)
    pairs, rows = torch.randperm(15, generator=random), torch.randperm(8, generator=random)
    permuted = replace(
        batch,
        candidates=batch.candidates[rows],
        pair_question=batch.pair_question[pairs],
        pair_candidate=rows.argsort()[batch.pair_candidate[pairs]],
    )
    close(scores_of(scorer, permuted), scores_of(scorer, batch)[pairs])


def test_a_text_of_only_padding_changes_no_other_score(build: Build, batch: RankingBatch) -> None:
    """Its own score is finite; the gradients and the scores of the others are as they were."""
    scorer = build()
    row_of_padding = torch.zeros(1, batch.candidates.shape[1], dtype=torch.int64)
    scores = scorer(
        replace(
            batch,
            candidates=torch.cat([batch.candidates, row_of_padding]),
            pair_candidate=torch.cat([batch.pair_candidate[:14], torch.tensor([8])]),
        )
    )
    assert torch.isfinite(scores).all()
    close(scores[:14].detach(), scores_of(scorer, batch)[:14])
    if scores.requires_grad:
        scores.sum().backward()
        assert all(torch.isfinite(p.grad).all() for p in scorer.parameters() if p.grad is not None)


def test_every_parameter_learns(build: Build, batch: RankingBatch) -> None:
    """Also after a split was scored: nothing that was kept in inference mode may stand in the way of gradients."""
    scorer = build()
    with torch.inference_mode():
        scorer(batch)
    trainable = {name: p for name, p in scorer.named_parameters() if p.requires_grad}
    assert trainable or not list(scorer.parameters()), "a model with parameters must train some"
    scores = scorer(batch)
    assert scores.requires_grad == bool(trainable)
    if not trainable:
        return
    F.binary_cross_entropy_with_logits(scores, batch.labels.float()).backward()  # a pairwise loss has no use for a bias of all scores
    without = [name for name, p in trainable.items() if p.grad is None or not p.grad.any()]
    assert without == []
    assert all(torch.isfinite(p.grad).all() for p in trainable.values() if p.grad is not None)


def test_every_word_of_a_tuned_table_learns_and_no_other(build: Build, batch: RankingBatch) -> None:
    scorer = build()
    tables = [p for name, p in scorer.named_parameters() if name.endswith("words.weight") and p.requires_grad]
    if not tables:
        return
    (scorer(batch) * torch.linspace(0.5, 1.5, 15)).sum().backward()
    used = torch.cat([batch.questions.flatten(), batch.candidates.flatten()]).unique()
    for table in tables:
        assert table.grad is not None
        assert table.grad.abs().sum(dim=1).nonzero().flatten().tolist() == used[used != 0].tolist()


def test_one_seed_gives_one_result_to_the_last_bit(build: Build, batch: RankingBatch) -> None:
    same_to_the_last_bit(learned(build(), batch), learned(build(), batch))


def test_no_score_depends_on_uninitialised_memory(build: Build, batch: RankingBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    """New tensors filled with NaN, as torch does under deterministic algorithms, change neither score nor gradient."""

    def trained(filled: bool) -> Learned:
        monkeypatch.setattr(torch.utils.deterministic, "fill_uninitialized_memory", filled)
        return learned(build(), batch)

    torch.use_deterministic_algorithms(True)
    try:
        same_to_the_last_bit(trained(filled=True), trained(filled=False))
    finally:
        torch.use_deterministic_algorithms(False)


def test_saving_and_loading_change_nothing(build: Build, batch: RankingBatch, vectors: Tensor) -> None:
    saved, file = build(), io.BytesIO()
    with torch.no_grad():  # pretrained weights are the same for all seeds
        for parameter in saved.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    torch.save(saved.state_dict(), file)
    file.seek(0)
    loaded = build(seed=2, vectors=torch.zeros_like(vectors), prepared=False)
    if list(saved.parameters()):
        assert not torch.equal(scores_of(loaded, batch), scores_of(saved, batch))
    loaded.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(scores_of(loaded, batch), scores_of(saved, batch))


def test_the_cut_changes_no_score_and_encodes_each_text_once(build: Build, batch: RankingBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifteen pairs of five questions and eight candidates, in blocks of at most 32 tokens."""
    scorer = build()
    seen: dict[str, list[tuple[int, ...]]] = {"question": [], "candidate": []}

    def counted(side: str, encode: Callable[[Tensor], Text]) -> Callable[[Tensor], Text]:
        def wrapped(tokens: Tensor) -> Text:
            seen[side] += [tuple(row[row != 0].tolist()) for row in tokens]
            return encode(tokens)

        return wrapped

    expected = pair_by_pair(scorer, batch)
    for side in seen:
        monkeypatch.setattr(scorer, f"encode_{side}", counted(side, getattr(scorer, f"encode_{side}")))
    blocks = ScoringBlocks("dev", *_as_split(batch), max_question_length=40, max_candidate_length=40, block_tokens=32)
    assert len(blocks) > 6
    close(score_blocks(scorer, blocks, num_pairs=15), expected)
    for side, tokens in (("question", batch.questions), ("candidate", batch.candidates)):
        assert sorted(seen[side]) == sorted(tuple(row[row != 0].tolist()) for row in tokens)


def _as_split(batch: RankingBatch) -> tuple[TokenTable, RankingSplit]:
    rows = [row[row != 0].numpy() for row in (*batch.questions, *batch.candidates)]
    texts = TokenTable(np.concatenate(rows), np.cumsum([0, *map(len, rows)]))
    names = np.array([b"%d" % i for i in range(15)])
    split = RankingSplit(
        questions=np.arange(5),
        offsets=np.arange(0, 16, 3),
        candidates=batch.pair_candidate.numpy() + 5,
        labels=batch.labels.numpy().astype(np.int8),
        question_ids=names[:5],
        candidate_ids=names,
    )
    return texts, split


def _as_corpus(batch: RankingBatch) -> RankingCorpus:
    """The batch as a development split, with a search engine's scores."""
    texts, split = _as_split(batch)
    return RankingCorpus(
        vocabulary=Vocabulary.of_words(f"word{number}" for number in range(2, WORDS)),
        texts=texts,
        splits={"dev": replace(split, retrieval_scores=np.linspace(9, 2, 15, dtype=np.float32))},
        answer_set=np.arange(5, 13),
    )


def test_reading_out_a_pair_gives_its_score_and_changes_no_score(build: Build, batch: RankingBatch) -> None:
    """Whatever a model shows, it shows of this pair alone: one question's words, one candidate's."""
    scorer = build()
    before = scores_of(scorer, batch)
    question, candidate = batch.questions[1][batch.questions[1] != 0], batch.candidates[3][batch.candidates[3] != 0]
    seen = read_out(scorer, question, candidate)
    close(seen["score"], before[3])
    assert {name.partition(".")[0] for name in seen} <= {"score", "question", "candidate", "pair"}
    for name, tensor in seen.items():
        assert torch.isfinite(tensor.float()).all(), name
        if name.endswith("attention"):
            close(tensor.sum(dim=-1), torch.ones(tensor.shape[:-1]))
    assert torch.equal(scores_of(scorer, batch), before)


def test_bfloat16_scores_and_learns_nearly_as_float32(build: Build, batch: RankingBatch) -> None:
    """As `trainer.precision=bf16-mixed` runs it: 8 bits of mantissa, of which a few layers use up about three. Scores may lie close
    together, so what counts is the share of their range.
    """
    scorer = build()
    exact = scores_of(scorer, batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = scorer(batch)
    assert (scores.detach().float() - exact).abs().max() <= 0.05 * (exact.max() - exact.min())
    if scores.requires_grad:
        scores.sum().backward()
        assert all(torch.isfinite(p.grad).all() for p in scorer.parameters() if p.grad is not None)


def test_bfloat16_separates_the_candidates_of_a_large_pool(build: Build) -> None:
    """Scores of 8 bits would be tied by the hundred, and ranked by the ids of the candidates."""
    random = torch.Generator().manual_seed(8)
    pool = torch.arange(200)
    batch = RankingBatch(
        questions=torch.randint(1, WORDS, (1, 6), generator=random),
        candidates=torch.randint(1, WORDS, (200, 9), generator=random),
        pair_question=torch.zeros_like(pool),
        pair_candidate=pool,
        labels=torch.zeros_like(pool),
        groups=torch.zeros_like(pool),
    )
    scorer = build()
    exact = scores_of(scorer, batch)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        scores = scorer(batch)
    assert scores.dtype == torch.float32
    assert len(scores.unique()) >= 0.9 * len(exact.unique())


@pytest.mark.slow
@pytest.mark.parametrize("override", NAMED)
def test_eight_questions_are_learnt_to_mrr_one(override: str, tmp_path: Path) -> None:
    """MRR 1 on the questions that it was trained on, scored as a split is, within a hundred steps."""
    sizes = [f"dataset.reader.num_{split}={number}" for split, number in (("train", 8), ("dev", 1), ("test", 1))]
    cfg = compose([override, *sizes, "dataset.negatives.num=9", "dataset.batch_size=16", f"cache_dir={tmp_path}"])
    data = instantiate(cfg.dataset)
    torch.manual_seed(1)
    scorer = instantiate(cfg.model, vectors=data.word_vectors)
    data = data.read_by(scorer.subwords)
    if not list(scorer.parameters()):
        pytest.skip("has nothing to learn")
    if scorer.pretrained:
        pytest.skip("a transformer over letters, from random numbers, needs more than a hundred steps")
    loss, optimizer = instantiate(cfg.loss), torch.optim.Adam(scorer.parameters(), lr=1e-3)
    split = data.splits["train"]
    right = torch.from_numpy(split.labels.reshape(8, 10) == 1)
    for step in range(100):
        scorer.train()
        for batch in data.training_batches(epoch=step):
            optimizer.zero_grad()
            loss(scorer(batch), batch.labels, batch.groups).backward()
            optimizer.step()
        scores = score_blocks(scorer.eval(), data.scoring_blocks("train"), split.num_pairs).reshape(8, 10)
        if bool((scores.masked_fill(~right, torch.inf).amin(dim=1) > scores.masked_fill(right, -torch.inf).amax(dim=1)).all()):
            return
    raise AssertionError("after 100 steps a wrong candidate still scores as high as a right one")


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, NEEDS_GPU])])
def test_the_pairs_that_learn_give_the_gradients_of_all(
    build: Build, batch: RankingBatch, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where two of five groups have their right candidate too low. A model with dropout takes the gradients of all pairs."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    scorer, batch = build().train().to(device), batch.to(device)
    if not list(scorer.parameters()):
        pytest.skip("has nothing to learn")

    torch.manual_seed(9)
    with torch.no_grad():
        scores = scorer(batch).reshape(5, 3)
    margin = float((scores[:, 0] - scores[:, 1:].amax(dim=1)).sort().values[1:3].mean())
    pairs = LearningPairs()
    expected_loss, expected = _step(pairs.through_all, scorer, batch, margin)
    state = torch.get_rng_state()
    loss, gradients = _step(pairs.through_few, scorer, batch, margin)
    assert pairs._learning == 2 * 4, "twice the pairs of two groups"
    assert torch.equal(torch.get_rng_state(), state)
    close(loss, expected_loss)
    assert gradients.keys() == expected.keys()
    for name, gradient in expected.items():
        largest = max(float(gradient.abs().max()), 1e-3)
        torch.testing.assert_close(gradients[name], gradient, rtol=1e-3, atol=1e-3 * largest, msg=partial("{}: {}".format, name))
    dropout = any(isinstance(module, torch.nn.Dropout) and module.p for module in scorer.modules())
    assert pairs._repeatable != dropout


def _step(through: Callable[..., Objective], scorer: AnswerScorer, batch: RankingBatch, margin: float) -> Learned:
    """The loss of a step from one seed, and its gradients."""
    scorer.zero_grad()
    torch.manual_seed(9)
    loss_of = partial(loss_of_all, PairwiseHinge(margin), share=batch, num_groups=batch.num_groups, process=0, processes=1)
    loss, objective = through(scorer, batch, loss_of)
    objective.backward()
    return loss, {name: p.grad for name, p in scorer.named_parameters() if p.grad is not None}


def _without_chance(build: Build, batch: RankingBatch, device: str = "cpu") -> tuple[Tensor, Learned]:
    """Scores as a split is ranked, and a training step without dropout, which each device draws its own way."""
    scorer, batch = build().to(device), batch.to(device)
    ranked = scores_of(scorer, batch)
    for module in scorer.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    scores, gradients = learned(scorer, batch)
    return ranked.cpu(), (scores.cpu(), {name: gradient.cpu() for name, gradient in gradients.items()})


def _same_but_for_the_order_of_adding(found: tuple[Tensor, Learned], expected: tuple[Tensor, Learned]) -> None:
    (ranked, (scores, gradients)), (expected_ranked, (expected_scores, expected_gradients)) = found, expected
    close(ranked, expected_ranked, tolerance=1e-4)
    close(scores, expected_scores, tolerance=1e-4)
    assert gradients.keys() == expected_gradients.keys()
    for name, gradient in expected_gradients.items():
        largest = max(float(gradient.abs().max()), 1e-3)
        torch.testing.assert_close(gradients[name], gradient, rtol=1e-3, atol=1e-3 * largest, msg=partial("{}: {}".format, name))


def test_the_faster_ways_of_other_devices_give_the_same(build: Build, batch: RankingBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products for convolutions, scans for loops: tried here, where they are not faster."""
    expected = _without_chance(build, batch)
    monkeypatch.setattr(torch.Tensor, "is_cpu", False, raising=False)
    _same_but_for_the_order_of_adding(_without_chance(build, batch), expected)


@pytest.mark.gpu
@NEEDS_GPU
def test_a_gpu_scores_and_learns_as_a_cpu_does(build: Build, batch: RankingBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    _same_but_for_the_order_of_adding(_without_chance(build, batch, "cuda"), _without_chance(build, batch))


@pytest.mark.gpu
@NEEDS_GPU
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_a_gpu_repeats_itself_to_the_last_bit(build: Build, batch: RankingBatch, monkeypatch: pytest.MonkeyPatch, precision: str) -> None:
    """Under deterministic algorithms, as a run has them: operations without one are refused, and none here is."""
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

    torch.use_deterministic_algorithms(True)
    try:
        once, again = (learned(build().cuda(), batch.to("cuda"), getattr(torch, precision)) for _ in range(2))
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.isfinite(once[0]).all()
    same_to_the_last_bit(once, again)
