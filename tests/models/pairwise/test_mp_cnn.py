"""MP-CNN against loops over windows, filters and perspectives, written from He et al. 2015, Algorithms 1 and 2."""

from functools import partial

import torch
from torch import Tensor, nn

from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.pairwise.mp_cnn import MPCNN
from qaexp.models.scorer import read_out

QUESTIONS = torch.tensor([[3, 4, 2, 9, 0], [5, 0, 0, 0, 0], [6, 7, 8, 1, 2]])
CANDIDATES = torch.tensor([[9, 3, 4, 2, 6, 7, 8], [5, 6, 0, 0, 0, 0, 0], [5, 6, 1, 0, 0, 0, 0]])
DIM, WIDTHS, FILTERS = 4, 3, 2
MAX, MIN, MEAN = (lambda z: z.amax(dim=0)), (lambda z: z.amin(dim=0)), (lambda z: z.mean(dim=0))
INFINITE = WIDTHS + 1


def model(num_classes: int) -> MPCNN:
    torch.manual_seed(1)
    embedding = partial(WordEmbedding, tuned=False, project_dim=None, dropout_rate=0.0)
    return MPCNN(embedding, WIDTHS, FILTERS, hidden_dim=5, num_classes=num_classes, vectors=torch.randn(10, DIM))


def windows(x: Tensor, ws: int) -> list[Tensor]:
    """Every window of `ws` words; a shorter text is padded with zeros to one window."""
    x = torch.cat([x, torch.zeros(max(0, ws - len(x)), DIM)])
    return [x[i : i + ws] for i in range(len(x) - ws + 1)]


def group_a(scorer: MPCNN, ws: int, pool, x: Tensor) -> Tensor:
    if ws == INFINITE:
        return pool(x)
    convolution = scorer.perspectives.holistic[ws - 1]
    assert isinstance(convolution, nn.Conv1d)
    assert convolution.bias is not None
    outputs = [
        [torch.tanh((w.T * window).sum() + b) for w, b in zip(convolution.weight, convolution.bias, strict=True)]
        for window in windows(x, ws)
    ]
    return pool(torch.stack([torch.stack(row) for row in outputs]))


def group_b(scorer: MPCNN, ws: int, pool, x: Tensor, F: int) -> Tensor:
    """Outputs of one filter for every dimension."""
    convolution = scorer.perspectives.by_dimension[ws - 1]
    assert isinstance(convolution, nn.Conv1d)
    assert convolution.bias is not None
    outputs = []
    for window in windows(x, ws):
        rows = [k * FILTERS + F for k in range(DIM)]
        outputs.append(
            torch.stack([torch.tanh(convolution.weight[row, 0] @ window[:, k] + convolution.bias[row]) for k, row in enumerate(rows)])
        )
    return pool(torch.stack(outputs))


def com_u2(x: Tensor, y: Tensor) -> list[Tensor]:
    return [x @ y / (x @ x).sqrt() / (y @ y).sqrt(), ((x - y) @ (x - y)).sqrt()]


def paper(scorer: MPCNN, s1: Tensor, s2: Tensor) -> dict[str, list[Tensor]]:
    """The features by kind, in the model's order."""
    features: dict[str, list[Tensor]] = {}
    for p in (MAX, MIN, MEAN):  # Algorithm 1
        reg1 = torch.stack([group_a(scorer, ws, p, s1) for ws in range(1, INFINITE + 1)])
        reg2 = torch.stack([group_a(scorer, ws, p, s2) for ws in range(1, INFINITE + 1)])
        for i in range(DIM):
            add(features, "horizontal", com_u2(reg1[:, i], reg2[:, i]), None)
    for p in (MAX, MIN, MEAN):  # Algorithm 2
        for ws1 in range(1, INFINITE + 1):
            for ws2 in range(1, INFINITE + 1):
                x, y = group_a(scorer, ws1, p, s1), group_a(scorer, ws2, p, s2)
                add(features, "vertical A", com_u2(x, y), (x - y).abs())
    for p in (MAX, MIN):
        for ws in range(1, WIDTHS + 1):
            for F in range(FILTERS):
                x, y = group_b(scorer, ws, p, s1, F), group_b(scorer, ws, p, s2, F)
                add(features, "vertical B", com_u2(x, y), (x - y).abs())
    return features


def add(features: dict[str, list[Tensor]], kind: str, numbers: list[Tensor], differences: Tensor | None) -> None:
    for name, number in zip(("cosine", "distance"), numbers, strict=True):
        features.setdefault(f"{kind} {name}", []).append(number)
    if differences is not None:
        features.setdefault(f"{kind} differences", []).extend(differences)


def test_scores_equal_those_of_single_comparisons() -> None:
    for num_classes in (1, 3):
        scorer = model(num_classes)
        scores = scorer.score(scorer.encode_question(QUESTIONS), scorer.encode_candidate(CANDIDATES))
        for pair in range(3):
            question, candidate = (t[t != 0] for t in (QUESTIONS[pair], CANDIDATES[pair]))
            features = paper(scorer, scorer.embedding.words(question), scorer.embedding.words(candidate))
            hidden, output = scorer.classifier.hidden, scorer.classifier.output
            x = torch.stack([number for kind in features.values() for number in kind])
            expected = output.weight @ torch.tanh(hidden.weight @ x + hidden.bias) + output.bias
            torch.testing.assert_close(scores[pair], expected if num_classes > 1 else expected[0], rtol=1e-5, atol=1e-5)
            seen = read_out(scorer, question, candidate)["pair.width_cosine"]
            assert seen.shape == (3, INFINITE, INFINITE)
            torch.testing.assert_close(seen.flatten(), torch.stack(features["vertical A cosine"]).detach(), rtol=1e-5, atol=1e-5)


def test_the_number_of_comparisons_is_the_papers() -> None:
    """Horizontal: 2 per filter and pooling. Vertical: 2 + dim per pooling and two widths; in block B, per pooling, width and filter."""
    across, down, by_dimension = 3 * DIM * 2, 3 * INFINITE**2 * (2 + DIM), 2 * WIDTHS * FILTERS * (2 + DIM)
    assert model(1).classifier.hidden.in_features == across + down + by_dimension


def test_the_same_text_twice_has_finite_gradients() -> None:
    """All distances are 0, where the square root has no derivative."""
    scorer = model(1)
    scorer.score(scorer.encode_question(QUESTIONS), scorer.encode_candidate(QUESTIONS)).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in scorer.parameters() if p.grad is not None)
