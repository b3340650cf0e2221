"""The page of runs: `qaexp report RUN [RUN...] --to PLACE`. One HTML file or, if it is large, a file and a folder of parts beside it.

The parts are JSON, packed by gzip and written in base64, which no text in them can break out of. The page unpacks a part when it is needed.
"""

import gzip
import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qaexp.data.module import RankingDataModule
from qaexp.explain.report.contents import contents_of, open_runs, pools_of, ranked_split
from qaexp.explain.report.looks import choose_questions, looks_of
from qaexp.files import atomic_write_text, name_another_place
from qaexp.limits import NonNegativeInt

HERE = Path(__file__).parent
LARGEST_FILE = 5_000_000
"""A page with more bytes keeps its parts in a folder."""
PAIRS_IN_PART, TEXT_IN_PART, LOOKS_IN_PART = 20_000, 300_000, 300_000
"""How many pairs, characters of texts, and characters of what the models looked at go into a part. A part has at least one question."""
REMEDY = name_another_place("--to PLACE")


class ReportPage:
    """The report of a run, for `logger.pages`. `attention` is the number of questions that carry what the model looked at."""

    def __init__(self, attention: NonNegativeInt) -> None:
        self.attention = attention

    def write(self, run: Path, to: Path, data: RankingDataModule) -> list[Path]:
        """Write the page of a run to a file. Returns it, and the folders that it reads."""
        return write_report([run], to, data, attention=self.attention)


def write_report(
    runs: Sequence[Path], to: Path, data: RankingDataModule, split: str | None = None, attention: int = 40, questions: Sequence[str] = ()
) -> list[Path]:
    """Write the report of runs on these data to `to`, which ends in .html, or to `index.html` in the folder `to`. Returns the files.

    `attention` is the number of questions that carry what the models looked at; those in `questions` always carry it.

    Raises:
        QaexpError: the runs cannot be reported together, or a file is missing or damaged.
        OutputError: the page cannot be written.
    """
    records, name = open_runs(runs, data, split)
    ranked = ranked_split(runs, records, data, name)
    contents = contents_of(runs, records, data, name, ranked)
    texts = np.unique(np.concatenate([ranked.split.candidates[pool] for pool in ranked.pairs])).tolist()
    written = [data.corpus.written(text) for text in texts]
    pools = pools_of(ranked, data, {text: number for number, text in enumerate(texts)})
    measured = [values.iloc[:, contents["chosen"]] for values in ranked.values]
    looks = dict(looks_of(runs, ranked, data, name, choose_questions(measured, attention, questions)))
    parts: dict[str, Any] = {}
    contents["pools"] = _divide("pools", pools, [len(pool["text"]) for pool in pools], PAIRS_IN_PART, parts)
    contents["texts"] = _divide("texts", written, map(len, written), TEXT_IN_PART, parts)
    contents["looks"] = {"questions": list(looks), "asked": attention}
    lengths = [len(json.dumps(each)) for each in looks.values()]
    contents["looks"]["starts"] = _divide("looks", list(looks.values()), lengths, LOOKS_IN_PART, parts)
    return _write(to, f"{' and '.join(run['name'] for run in contents['runs'])}: report", contents, parts)


def _divide(name: str, values: Sequence[Any], sizes: Iterable[int], limit: int, parts: dict[str, Any]) -> list[int]:
    """Cut values into parts of about the size `limit`, and add them to `parts`. Returns the place at which each part begins."""
    starts, filled = [0], 0
    for place, size in enumerate(sizes):
        if filled and filled + size > limit:
            starts.append(place)
            filled = 0
        filled += size
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(values)], strict=True)):
        parts[f"{name}-{number}"] = values[start:end]
    return starts


def _write(to: Path, title: str, contents: dict[str, Any], parts: dict[str, Any]) -> list[Path]:
    page = to if to.suffix in (".html", ".htm") else to / "index.html"
    folder = page.with_name(f"{page.stem}_files")
    packed = {name: _packed(part) for name, part in parts.items()}
    index = _packed(contents)
    apart = sum(map(len, packed.values())) + len(index) > LARGEST_FILE
    inside = {"index": index} if apart else {"index": index, **packed}
    filled = {
        "title": title,
        "folder": folder.name,
        "style": f"<style>\n{_file('page.css')}\n</style>",
        "script": f"<script>\n{_file('words.js')}\n{_file('page.js')}\n</script>",
        "parts": "\n".join(f'<script type="text/plain" id="part-{name}">{part}</script>' for name, part in inside.items()),
    }
    written = {f"{name}.js": part for name, part in packed.items()} if apart else {}
    for name, part in written.items():
        atomic_write_text(folder / name, f'qaexpPart("{name.removesuffix(".js")}", "{part}");\n', REMEDY)
    atomic_write_text(page, html_page(**filled), REMEDY)
    for earlier in folder.glob("*-*.js") if folder.is_dir() else ():
        if earlier.name not in written and re.fullmatch(r"(pools|texts|looks)-\d+\.js", earlier.name):
            earlier.unlink()
    return [page, folder] if apart else [page]


def html_page(title: str, style: str, script: str, folder: str = "", parts: str = "") -> str:
    """The frame of a page that its script draws. The title and the folder of parts are texts, the others HTML."""
    values = {"title": html.escape(title), "folder": html.escape(folder), "style": style, "script": script, "parts": parts}
    return re.sub(r"\{\{(\w+)\}\}", lambda field: values[field[1]], _file("page.html"))


def _file(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _packed(value: Any) -> str:
    content = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return b64encode(gzip.compress(content, 6, mtime=0)).decode()
