"""The options of a command line as one text, which records keep and which can be pasted into a shell, and back."""

import re
import shlex
from collections.abc import Collection, Iterable


def joined(options: Iterable[str]) -> str:
    """Options end to end. One that has a blank in it is quoted for the shell, any other stands as it is.

    >>> print(joined(["model=ggsa", "widths=[2,3]", "dataset.reader.folder='my data'"]))
    model=ggsa widths=[2,3] 'dataset.reader.folder='"'"'my data'"'"''
    """
    return " ".join(option if option.split() == [option] else shlex.quote(option) for option in options)


def besides(options: Iterable[str], names: Collection[str]) -> list[str]:
    """The options of other top-level keys and groups than these.

    >>> besides(["model=ggsa", "logger.project=mine", "+labels.row=a", "seed=1"], ("logger", "labels"))
    ['model=ggsa', 'seed=1']
    """
    return [option for option in options if re.split("[=/.]", option.lstrip("+~"))[0] not in names]


def as_value(text: str) -> str:
    """A text as Hydra reads it back: quoted where it is more than a plain word.

    >>> print(as_value("runs/a-1"), as_value("runs(1)/it's"))
    runs/a-1 'runs(1)/it\\'s'
    """
    return text if re.fullmatch(r"[A-Za-z0-9_/.@%+-]+", text) else "'" + text.replace("'", "\\'") + "'"


def options_of(command: str) -> list[str]:
    """The options that were joined.

    >>> options_of(joined(["dataset.reader.folder='my data'", "labels.row='a'", "seed=1"]))
    ["dataset.reader.folder='my data'", "labels.row='a'", 'seed=1']
    """
    words = re.findall(r"""('[^']*'(?:"'"'[^']*')*)|(\S+)""", command)
    return [shlex.split(quoted)[0] if quoted else plain for quoted, plain in words]
