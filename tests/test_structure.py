"""The one-way door: the papers' wing imports the laboratory, the laboratory never the papers' wing, and no folder one above it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import qaexp

PACKAGE = Path(qaexp.__file__).parent

FLOORS = [
    ["cli"],
    ["explain", "export", "reproduction"],
    ["sweep"],
    ["api", "train", "pretrain"],
    ["training", "tracking"],
    ["runs"],
    ["models"],
    ["data"],
    ["evaluation"],
    ["mistakes"],
    ["config", "ddp", "errors", "files", "limits", "logs", "own_choices", "processes"],
]
"""Each folder, or module beside them, may import from its own floor and from those below."""

COMMANDS = {"__main__", "dashboard", "figures", "reproduce", "results", "sync", "data.__main__"}
"""`python -m qaexp.…`: a line each that calls a command line of `cli`."""

FLOOR_OF = {name: floor for floor, names in enumerate(FLOORS) for name in names}


def modules() -> dict[str, Path]:
    """Module names below `qaexp` to files."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def imports_of(path: Path) -> Iterator[str]:
    """What a file imports of qaexp, local imports and those for type checkers included, but for what only its own command line needs."""
    body = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if not is_command_line(node)]
    for node in (inner for outer in body for inner in ast.walk(outer)):
        if isinstance(node, ast.Import):
            yield from (name.name.removeprefix("qaexp.") for name in node.names if name.name.startswith("qaexp."))
            yield from ("api" for name in node.names if name.name == "qaexp")
        elif isinstance(node, ast.ImportFrom) and node.module == "qaexp":
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("qaexp."):
            yield node.module.removeprefix("qaexp.")


def is_command_line(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"


ORDINARY = [name for name in modules() if name != "__init__" and name not in COMMANDS and name.partition(".")[0] not in COMMANDS]


@pytest.mark.parametrize("name", ORDINARY)
def test_imports_go_down(name: str) -> None:
    floor = FLOOR_OF[name.partition(".")[0]]
    above = [imported for imported in imports_of(modules()[name]) if FLOOR_OF[imported.partition(".")[0]] < floor]
    assert above == []


def test_no_folders_import_each_other_in_a_circle() -> None:
    arrows: dict[str, set[str]] = {}
    for name in ORDINARY:
        folder = name.partition(".")[0]
        arrows.setdefault(folder, set()).update(imported.partition(".")[0] for imported in imports_of(modules()[name]))
    assert [(a, b) for a in arrows for b in arrows[a] if a < b and a in arrows.get(b, set())] == []


def test_the_command_lines_do_nothing_but_call_cli() -> None:
    for name, path in modules().items():
        if name in COMMANDS or name.partition(".")[0] in COMMANDS:
            assert {imported.partition(".")[0] for imported in imports_of(path)} <= {"cli"}, name
