"""A measured figure as PNG and SVG, with what is drawn as CSV."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import pandas as pd
from hydra.utils import instantiate
from matplotlib.figure import Figure as Drawn

from qaexp.errors import ConfigError
from qaexp.explain.drawing import KINDS, look, save
from qaexp.reproduction.ledger import Ledger
from qaexp.reproduction.measured import Measured
from qaexp.reproduction.spec import Figure


@runtime_checkable
class Picture(Protocol):
    """What `draw:` of a figure's file names. The constructor takes what stands there besides."""

    def frame(self, measured: Measured, ledger: Ledger) -> pd.DataFrame:
        """The data of the picture, a line a point, in the paper's unit; empty where nothing was measured."""
        ...

    def draw(self, measured: Measured, frame: pd.DataFrame) -> Drawn:
        """The picture of them. It is called within the look of figures."""
        ...


def picture_of(figure: Figure) -> Picture:
    """Raises: ConfigError, where `draw:` names no picture or lacks something; names the file."""
    try:
        return instantiate(dict(figure.draw), _convert_="all")
    except Exception as error:
        reason = str(error.__cause__ or error).splitlines()[0]
        raise ConfigError(f"experiments/{figure.paper}/{figure.name}.yaml: `draw:` does not make a picture: {reason}") from error


def write_figure(measured: Measured, ledger: Ledger, folder: Path) -> Sequence[Path]:
    """`figure<N>.png`, `.svg` and `.csv` in a folder, or none of them, nor old ones, where nothing was measured.

    Raises:
        OutputError: the folder cannot be written.
        ConfigError: the figure's file does not say how it is drawn.
    """
    figure = measured.table
    assert isinstance(figure, Figure)
    picture = picture_of(figure)
    frame = picture.frame(measured, ledger)
    if not len(frame):
        for kind in KINDS:
            (folder / f"{figure.name}.{kind}").unlink(missing_ok=True)
        return []
    with look():
        drawn = picture.draw(measured, frame)
    return save(drawn, frame, folder, figure.name)
