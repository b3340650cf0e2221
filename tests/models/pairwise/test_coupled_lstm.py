"""Coupled LSTMs against loops over the cells of a grid, written from Liu et al. 2016, §3–4; parameter counts; invalid options."""

from collections.abc import Callable

import pytest
import torch
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from small_texts import built
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from qaexp.config import compose
from qaexp.data.batch import RankingBatch
from qaexp.models.ops.coupled_cells import CoupledCell
from qaexp.models.pairwise.coupled_lstm import CoupledLSTM
from qaexp.models.scorer import read_out

Cell = tuple[Tensor, Tensor]
LENGTHS = [(3, 5), (1, 4), (4, 1), (2, 2)]
WORDS, DIM = 20, 6


def build(*overrides: str) -> CoupledLSTM:
    model = built(*overrides, "model.hidden_dim=4", "model.output_dim=3", words=WORDS, dim=DIM)
    with torch.no_grad():
        for parameter in (*model.words_block.parameters(), *model.stacked_blocks.parameters()):
            parameter.mul_(8)  # far from linear
    return model


def tight(block: CoupledCell, inputs: Callable[[int, int], Tensor], n: int, m: int) -> dict[tuple[int, int], Tensor]:
    """eq. 9–11, cell by cell; `inputs` gives the gates' share of the words, or of the cell below."""
    zero = torch.zeros(4)
    h, c = dict[tuple[int, int], Tensor](), dict[tuple[int, int], Tensor]()
    for i in range(n):
        for j in range(m):
            around = torch.cat([h.get((i, j - 1), zero), h.get((i - 1, j), zero)])
            gates = inputs(i, j) + block.get_submodule("recurrent").weight @ around
            new, o, write, f1, f2 = gates.chunk(5)
            c[i, j] = new.tanh() * write.sigmoid() + c.get((i, j - 1), zero) * f1.sigmoid() + c.get((i - 1, j), zero) * f2.sigmoid()
            h[i, j] = o.sigmoid() * c[i, j].tanh()
    return h


def lstm(gates: Tensor, c: Tensor) -> Cell:
    new, o, write, keep = gates.chunk(4)
    c = keep.sigmoid() * c + write.sigmoid() * new.tanh()
    return o.sigmoid() * c.tanh(), c


def loose(block: CoupledCell, inputs: Callable[[int, int], tuple[Tensor, Tensor]], n: int, m: int) -> dict[tuple[int, int], Tensor]:
    """eq. 5–8: two LSTMs that share their weights."""
    zero, U = torch.zeros(4), block.get_submodule("recurrent").weight
    first, second = dict[tuple[int, int], Cell](), dict[tuple[int, int], Cell]()
    for i in range(n):
        for j in range(m):
            above = torch.cat([first.get((i - 1, j), (zero, zero))[0], second.get((i - 1, j), (zero, zero))[0]])
            left = torch.cat([first.get((i, j - 1), (zero, zero))[0], second.get((i, j - 1), (zero, zero))[0]])
            of_x, of_y = inputs(i, j)
            first[i, j] = lstm(of_x + U @ above, first.get((i - 1, j), (zero, zero))[1])
            second[i, j] = lstm(of_y + U @ left, second.get((i, j - 1), (zero, zero))[1])
    return {cell: torch.cat([first[cell][0], second[cell][0]]) for cell in first}


def by_hand(model: CoupledLSTM, question: Tensor, candidate: Tensor, is_loose: bool) -> Tensor:
    """The last block's grid of one pair, (row, column, dim). Loose cells give [h¹ ; h²]; each LSTM of the next block reads its own half."""
    words = model.embedding.get_submodule("words").weight
    x, y = words[question], words[candidate]
    n, m = len(x), len(y)
    grid: Tensor | None = None
    for block in (model.words_block, *model.stacked_blocks):
        assert isinstance(block, CoupledCell)
        total = torch.zeros(n, m, 8 if is_loose else 4)
        for x_back, y_back in ((False, False), (False, True), (True, True), (True, False))[: model.num_directions]:

            def place(i: int, j: int, x_back: bool = x_back, y_back: bool = y_back) -> tuple[int, int]:
                return n - 1 - i if x_back else i, m - 1 - j if y_back else j

            def inputs(
                i: int, j: int, block: CoupledCell = block, grid: Tensor | None = grid, place: Callable = place
            ) -> tuple[Tensor, Tensor]:
                i, j = place(i, j)
                if grid is not None:
                    return block.from_question(grid[i, j, :4]), block.from_question(grid[i, j, -4:])
                assert block.from_candidate is not None
                return block.from_question(x[i]), block.from_candidate(y[j])

            if is_loose:
                h = loose(block, inputs, n, m)
            else:
                h = tight(block, lambda i, j, of=inputs, below=grid: of(i, j)[0] if below is not None else sum(of(i, j)), n, m)
            for (i, j), state in h.items():
                total[place(i, j)] += state
        grid = total
    assert grid is not None
    return grid


@pytest.mark.parametrize("model", ["lc_lstm", "tc_lstm"])
@pytest.mark.parametrize("options", [[1, 1], [4, 1], [4, 3], [1, 2]], ids=str)
def test_grid_and_gradients_equal_a_loop_over_cells(model: str, options: list[int]) -> None:
    scorer = build(f"model={model}", f"model.num_directions={options[0]}", f"model.num_blocks={options[1]}")
    for n, m in LENGTHS:
        question, candidate = torch.randint(1, WORDS, (n,)), torch.randint(1, WORDS, (m,))
        expected = by_hand(scorer, question, candidate, is_loose=model == "lc_lstm")
        torch.testing.assert_close(
            read_out(scorer, question, candidate)["pair.grid"].permute(1, 2, 0), expected.detach(), rtol=1e-5, atol=1e-5
        )
        parameters = [*scorer.words_block.parameters(), *scorer.stacked_blocks.parameters()]
        v = expected.amax(dim=(0, 1))
        slow = torch.autograd.grad(scorer.output(v[None]).sum(), parameters)
        score = scorer.score(scorer.encode_question(question[None]), scorer.encode_candidate(candidate[None]))
        for ours, theirs in zip(torch.autograd.grad(score.sum(), parameters), slow, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("model", ["lc_lstm", "tc_lstm"])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 1), (2, 3)])
def test_scores_and_gradients_of_a_padded_batch_equal_those_of_single_pairs(model: str, rows: int, columns: int) -> None:
    """Dynamic pooling divides each pair's own grid: word i of L belongs to part ⌊i·parts / L⌋; a part without words gives 0."""
    scorer = build(f"model={model}", "model.num_blocks=2", f"model.pooling_rows={rows}", f"model.pooling_columns={columns}")
    questions, candidates = ([torch.randint(1, WORDS, (length,)) for length in side] for side in zip(*LENGTHS, strict=True))
    pooled = []
    for question, candidate in zip(questions, candidates, strict=True):
        H = by_hand(scorer, question, candidate, is_loose=model == "lc_lstm")
        parts: dict[tuple[int, int], list[Tensor]] = {}
        for i in range(len(question)):
            for j in range(len(candidate)):
                parts.setdefault((i * rows // len(question), j * columns // len(candidate)), []).append(H[i, j])
        highest = {part: torch.stack(cells).amax(dim=0) for part, cells in parts.items()}
        zero = torch.zeros(H.shape[2])
        by_dim = torch.stack([highest.get((p, q), zero) for p in range(rows) for q in range(columns)], dim=1)  # (dim, part)
        pooled.append(by_dim.flatten())
    expected = scorer.output(torch.stack(pooled))
    padded = [pad_sequence(texts, batch_first=True) for texts in (questions, candidates)]
    batch = RankingBatch(*padded, *[torch.arange(4)] * 2, torch.zeros(4, dtype=torch.int64), torch.arange(4))
    scores, weights = scorer(batch), torch.linspace(-1, 2, 4)
    torch.testing.assert_close(scores, expected, rtol=1e-5, atol=1e-5)
    slow = torch.autograd.grad((weights * expected).sum(), list(scorer.parameters()))
    for ours, theirs in zip(torch.autograd.grad((weights * scores).sum(), list(scorer.parameters())), slow, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "overrides", "count", "whole"),
    [
        ("LC-LSTMs", ["model=lc_lstm"], 40_200, 45_000),
        ("four stacked LC-LSTMs", ["model=stacked_lc_lstm"], 130_800, 135_000),
        ("TC-LSTMs", ["model=tc_lstm"], 75_250, 77_500),
        ("four stacked TC-LSTMs", ["model=stacked_tc_lstm"], 188_500, 190_000),
    ],
)
@pytest.mark.parametrize("num_directions", [1, 4])
def test_parameter_counts_are_the_papers(name: str, overrides: list[str], count: int, whole: int, num_directions: int) -> None:
    """Liu et al. 2016, Table 2, whose counts are rounded and include the output layers."""
    cfg = compose([*overrides, f"model.num_directions={num_directions}", "dataset=snli"])
    model = instantiate(cfg.model, vectors=torch.zeros(3, 100))
    recurrence = sum(p.numel() for p in (*model.words_block.parameters(), *model.stacked_blocks.parameters()))
    output = sum(p.numel() for p in model.output.parameters())
    print(f"\n{name}: {recurrence:,} (paper {count:,}), with the output layers {recurrence + output:,} (paper {whole:,})")  # noqa: T201
    assert recurrence == count
    assert abs(recurrence + output - whole) < 1_000


def test_a_pair_has_one_score_per_class() -> None:
    model = instantiate(compose(["model=tc_lstm", "dataset=snli"]).model, vectors=torch.randn(WORDS, DIM))
    tokens = torch.randint(1, WORDS, (2, 4))
    assert model.score(model.encode_question(tokens), model.encode_candidate(tokens)).shape == (2, 3)


def test_two_directions_are_refused() -> None:
    with pytest.raises(InstantiationException, match=r"model\.num_directions=2: a grid has 1 direction or 4"):
        instantiate(compose(["model=tc_lstm", "model.num_directions=2"]).model, vectors=torch.randn(WORDS, DIM))


@pytest.mark.parametrize("model", ["tc_lstm", "stacked_lc_lstm"])
def test_under_autocast_the_grid_stays_in_float32(model: str) -> None:
    """Scores from the same gates are bit-identical with and without autocast."""
    scorer = build(f"model={model}")
    tokens = torch.randint(1, WORDS, (3, 4), generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        texts = scorer.encode_question(tokens), scorer.encode_candidate(tokens.flip(0))
        exact = scorer.score(*texts)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.equal(scorer.score(*texts), exact)
