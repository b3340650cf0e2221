"""Grids, random and TPE search over a space with a known best cell, and the same cells again at every invocation."""

from collections.abc import Callable
from math import log10

import pytest

from qaexp.config import compose
from qaexp.errors import ConfigError
from qaexp.sweep.strategies import Cell, Grid, RandomSearch, Space, Strategy, TPESearch

PARAMS = {"optimizer.lr": "1e-3,1e-4,1e-5", "model.encoder.hidden_dim": "range(128,1025,128)", "model/pooling": "mean,max"}


def searched(strategy: Strategy, space: Space, score: Callable[[Cell], float | None]) -> list[Cell]:
    """The cells that a strategy runs, in order."""
    batches, cells = strategy.batches(space), list[Cell]()
    batch = next(batches, None)
    while batch is not None:
        cells += batch
        try:
            batch = batches.send([score(cell) for cell in batch])
        except StopIteration:
            batch = None
    return cells


def test_a_space_holds_what_the_command_line_leaves_of_the_grid() -> None:
    space = Space.parse(PARAMS, ["experiment=ctrn/grid", "optimizer.lr=1e-4", "seed=1,2"])
    assert {"experiment": "ctrn/grid", "optimizer.lr": "0.0001"}.items() <= space.options.items()
    assert space.size == 8 * 2 * 2
    cells = list(space.cells())
    assert len({tuple(cell.items()) for cell in cells}) == 32
    grid, asked = ["model.encoder.hidden_dim=128", "model/pooling=mean"], ["experiment=ctrn/grid", "optimizer.lr=0.0001", "seed=1"]
    assert space.overrides(cells[0]) == [*grid, *asked]


def test_the_command_line_replaces_values_of_the_grid_or_parts_of_them() -> None:
    space = Space.parse({"model.encoder": "{group_size:4,offset:2},{group_size:10,offset:5}"}, ["model.encoder.offset=0", "model=ggsa"])
    composed = [compose(space.overrides(cell)).model.encoder for cell in space.cells()]
    assert [(encoder.group_size, encoder.offset) for encoder in composed] == [(4, 0), (10, 0)]


def test_a_glob_stands_for_the_choices_of_a_group() -> None:
    assert Space.parse({}, ["model=glob(bm*)"]).overrides({"model": "bm25"}) == ["model=bm25"]
    assert Space.parse({}, ["model=glob(bm*)"]).axes["model"].choices == ("bm25", "bm25_scores")
    with pytest.raises(ConfigError, match=r"model.b=glob\(\*\): it has no values"):
        Space.parse({}, ["model.b=glob(*)"])


def test_a_grid_runs_every_cell_once_and_refuses_intervals() -> None:
    space = Space.parse(PARAMS, [])
    cells = searched(Grid(), space, lambda cell: 0.0)
    assert len(cells) == len({tuple(cell.items()) for cell in cells}) == Grid().count(space) == 48
    with pytest.raises(ConfigError, match=r"optimizer\.lr is an interval"):
        Grid().count(Space.parse({"optimizer.lr": "interval(1e-5,1e-3)"}, []))


@pytest.mark.parametrize("make", [lambda: RandomSearch(20, 20, 1), lambda: TPESearch(20, 4, 1, 5)], ids=["random", "tpe"])
def test_a_search_runs_distinct_cells_and_the_same_ones_when_it_is_repeated(make: Callable[[], Strategy]) -> None:
    space = Space.parse(PARAMS, [])

    def score(cell: Cell) -> float | None:
        return None if cell["model.encoder.hidden_dim"] == "256" else float(cell["optimizer.lr"])

    first = searched(make(), space, score)
    assert len(first) == len({tuple(sorted(cell.items())) for cell in first}) == 20
    assert searched(make(), space, score) == first
    turned = Space.parse(dict(reversed(PARAMS.items())), [])
    assert list(turned.axes) != list(space.axes)
    assert searched(make(), turned, score) == first


@pytest.mark.parametrize("axis", ["interval(0.1,0.001)", "tag(log,interval(0.0,0.1))", "range(5,1)"])
def test_an_axis_without_values_is_named(axis: str) -> None:
    with pytest.raises(ConfigError, match=r"optimizer\.lr="):
        Space.parse({"optimizer.lr": axis}, [])


def test_a_search_ends_when_its_space_is_exhausted() -> None:
    space = Space.parse({"seed": "1,2,3"}, [])
    cells = searched(RandomSearch(20, 20, 1), space, lambda cell: 0.0)
    assert sorted(cell["seed"] for cell in cells) == ["1", "2", "3"]


@pytest.mark.parametrize("make", [lambda: RandomSearch(47, 4, 1), lambda: TPESearch(47, 4, 1, 5)], ids=["random", "tpe"])
def test_a_search_runs_the_requested_number_of_cells_if_its_sampler_repeats_itself(make: Callable[[], Strategy]) -> None:
    """TPE, which likes one cell of few values, had ended before."""
    space = Space.parse(PARAMS, [])
    cells = searched(make(), space, lambda cell: float(cell["optimizer.lr"] == "0.001"))
    assert len({tuple(sorted(cell.items())) for cell in cells}) == len(cells) == 47
    assert searched(make(), space, lambda cell: float(cell["optimizer.lr"] == "0.001")) == cells


def test_tpe_asks_for_better_cells_than_random_search_once_it_has_seen_some() -> None:
    space = Space.parse({"optimizer.lr": "tag(log,interval(1e-6,1))", "model.embedding.dropout_rate": "interval(0.0,1.0)"}, [])

    def score(cell: Cell) -> float:
        return -((log10(float(cell["optimizer.lr"])) + 3) ** 2) - (float(cell["model.embedding.dropout_rate"]) - 0.3) ** 2

    later, drawn = 0.0, 0.0
    for seed in range(6):
        later += sum(map(score, searched(TPESearch(40, 4, seed, 10), space, score)[20:]))
        drawn += sum(map(score, searched(RandomSearch(40, 40, seed), space, score)[20:]))
    assert later > 0.6 * drawn, (later, drawn)  # below 0, as every score
