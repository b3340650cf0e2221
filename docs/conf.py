"""Settings of the documentation: Markdown pages, and the Python API from docstrings."""

import re
from typing import Any

project = "qaexp"
author = "the qaexp authors"
project_copyright = "2026, the qaexp authors"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "qaexp"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 100

SPECIAL = re.compile(r"([\\*|_])")


def plain_paragraphs(_app: Any, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Rewrites a docstring, which is plain text, as reStructuredText: names in backquotes become code, examples and indented lines keep
    their form, and no other character has a meaning."""
    paragraphs = "\n".join(lines).strip().split("\n\n")
    lines[:] = [*"\n\n".join(map(_paragraph, filter(str.strip, paragraphs))).splitlines(), ""]


def _paragraph(paragraph: str) -> str:
    lines = paragraph.splitlines()
    if lines[0].lstrip().startswith(">>>"):
        return paragraph
    if lines[0].startswith(" "):
        return "\n".join(["::", "", *(f"    {line}" for line in lines)])
    if any(line.startswith("  ") for line in lines):  # a heading such as `Raises:` above its indented lines
        return "\n".join(f"| {_escaped(line)}" for line in lines)
    return _escaped(paragraph)


def _escaped(text: str) -> str:
    parts = text.split("`")
    return "".join(f"``{part}``" if index % 2 else SPECIAL.sub(r"\\\1", part) for index, part in enumerate(parts))


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", plain_paragraphs)
