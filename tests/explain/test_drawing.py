"""Figures can be read on white and on dark pages, and are the same files every time."""

from pathlib import Path

import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from qaexp.errors import OutputError
from qaexp.explain.drawing import COLOURS, INK, MARKERS, new_figure, save

PAGES = {"white": "#ffffff", "dark": "#0d1117"}


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(first: str, second: str) -> float:
    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("page", PAGES)
def test_every_colour_stands_out_on_every_page(page: str) -> None:
    """WCAG asks 3:1 of graphics; text has 4:1 and is never smaller than nine points."""
    for colour in COLOURS:
        assert contrast(colour, PAGES[page]) >= 3
    assert contrast(INK, PAGES[page]) >= 4


def test_there_is_a_marker_for_each_colour() -> None:
    assert len(set(MARKERS)) == len(set(COLOURS)) == len(MARKERS) == len(COLOURS)


def draw(folder: Path) -> list[Path]:
    table = pd.DataFrame({"step": [1, 2], "mrr": [0.25, 0.5]})
    figure, [[axes]] = new_figure(3.0, 2.0)
    axes.plot(table["step"], table["mrr"], color=COLOURS[0])
    return save(figure, table, folder, "line")


def test_a_figure_has_no_background_and_its_numbers_beside_it(tmp_path: Path) -> None:
    png, svg, csv = draw(tmp_path / "new" / "folder")
    pixels = imread(png)
    assert pixels.shape == (400, 600, 4)
    assert pixels[0, 0, 3] == 0  # transparent
    assert (pixels[..., 3] > 0.9).any()
    assert COLOURS[0].lower() in svg.read_text()
    pd.testing.assert_frame_equal(pd.read_csv(csv), pd.DataFrame({"step": [1, 2], "mrr": [0.25, 0.5]}))


def test_equal_figures_give_equal_files(tmp_path: Path) -> None:
    for first, second in zip(draw(tmp_path / "a"), draw(tmp_path / "b"), strict=True):
        assert first.read_bytes() == second.read_bytes()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(
        OutputError,
        match=r"cannot write .*file/inside/line.png: .*/file is a file, and a folder is needed there; name another place with --to FOLDER",
    ):
        draw(tmp_path / "file" / "inside")
