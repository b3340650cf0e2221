"""`make site`: what `results/` holds, as a folder of static pages that need no server."""

import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from qaexp.errors import MissingDataError
from qaexp.evaluation.measures import FALLING, heading, is_curve, is_measure
from qaexp.explain.names import data_set_in_words
from qaexp.files import FIGURES_REMEDY, atomic_write, atomic_write_text
from qaexp.reproduction.claims import VERDICTS
from qaexp.reproduction.content import EXPERIMENTS
from qaexp.reproduction.ledger import Entry, Ledger
from qaexp.reproduction.overview import BELIEVED
from qaexp.reproduction.page import CLAIMS_EXPLAINED, notes_of
from qaexp.reproduction.site.tables import FIELD_PAPER, Shown, read_csv, read_table, record_page
from qaexp.reproduction.spec import Figure, Table, result_figures, result_tables, tunings

CRITICAL_DIFFERENCE = "CriticalDifference"

PAPERS = {
    "ap": "dos Santos et al. 2016, Attentive Pooling Networks",
    "clstm": "Liu et al. 2016, Modelling Interaction of Sentence Pair with Coupled-LSTMs",
    "ctrn": "Tay et al. 2018, Cross Temporal Recurrent Networks for Ranking Question Answer Pairs",
    "ggsa": "Xu et al. 2019, Gated Group Self-Attention for Answer Selection",
    "rcnn": "Lei et al. 2016, Semi-supervised Question Retrieval with Gated Convolutions",
    FIELD_PAPER: "The field under one protocol",
}

ASSETS = ("site.css", "site.js")

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


@dataclass(frozen=True)
class Paper:
    """What the site has of a paper."""

    name: str
    title: str
    tables: Sequence[Shown]
    figures: Sequence[Shown]
    tunings: Sequence[Shown]
    others: Mapping[str, str]
    """Pages of settings and of data statistics to their titles."""
    verdicts: Mapping[str, int]


def build(results: Path, to: Path, experiments: Path = EXPERIMENTS) -> Path:
    """Write the site into a folder, and return its first page. Everything comes from committed files: no data set and no torch is needed.

    Raises:
        MissingDataError: there are no results.
        OutputError: the folder cannot be written.
    """
    if not (results / "ledger").is_dir():
        raise MissingDataError(f"{results} has no ledger/ with records of runs; name the folder of results with --results FOLDER")
    site = _Site(results, to, experiments)
    site.write()
    return to / "index.html"


class _Site:
    def __init__(self, results: Path, to: Path, experiments: Path) -> None:
        self.results, self.to = results, to
        self.entries = {entry.file_key: entry for entry in Ledger(results / "ledger").entries}
        tables, figures, grids = result_tables(experiments), result_figures(experiments), tunings(experiments)
        self.shown = [read_table(table, results, self.entries) for table in (*tables, *figures, *grids)]
        self.shown_in = defaultdict[str, list[tuple[Shown, str]]](list)
        """The page of a record to the tables and rows that show it."""
        for shown in self.shown:
            for line in shown.lines:
                for page in {seed.record for number in line.numbers for seed in number.seeds}:
                    self.shown_in[page].append((shown, line.label))
        self.claims = {path.parent.name: read_csv(path) for path in sorted(results.glob("*/claims.csv"))}
        self.environment = Environment(
            loader=PackageLoader("qaexp.reproduction.site"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.environment.filters["data_set"] = data_set_in_words
        self.environment.filters["inline"] = lambda text: Markup(_with_links_to_pages(_MARKDOWN.renderInline(text)))
        self.environment.globals["slug"] = _slug

    def write(self) -> None:
        papers = self._papers()
        others = {f"{path.stem}.html": _title(path) for path in self._texts() if path.parent == self.results}
        self._page("index.html", "index.html", papers=papers, believed=self._believed(), machines=self._machines(), others=others)
        for shown in self.shown:
            self._table_page(shown)
        for paper, claims in self.claims.items():
            self._claims_page(paper, claims)
        for path in self._texts():
            self._text_page(path)
        for entry in self.entries.values():
            self._record_page(entry)
        for asset in ASSETS:
            source, _, _ = self.environment.loader.get_source(self.environment, asset)  # type: ignore[union-attr]
            self._write(asset, source)
        self._remove_former_records()

    def _papers(self) -> list[Paper]:
        names = sorted({shown.table.paper for shown in self.shown}, key=lambda name: (name == FIELD_PAPER, name))
        found = []
        for name in names:
            own = [shown for shown in self.shown if shown.table.paper == name]
            counted = Counter(line["verdict"] for line in self.claims.get(name, []))
            found.append(
                Paper(
                    name,
                    PAPERS.get(name, name),
                    [shown for shown in own if type(shown.table) is Table],
                    [shown for shown in own if isinstance(shown.table, Figure)],
                    [shown for shown in own if shown.is_tuning],
                    {
                        str(path.relative_to(self.results).with_suffix(".html")): _title(path)
                        for path in self._texts()
                        if path.parent.name == name
                    },
                    {verdict: counted[verdict] for verdict in VERDICTS if counted[verdict]},
                )
            )
        return found

    def _texts(self) -> list[Path]:
        """The pages in Markdown that no other page of the site shows."""
        made = {self.results / shown.table.paper / f"{shown.table.name}.md" for shown in self.shown}
        made |= {self.results / paper / "claims.md" for paper in self.claims} | {self.results / name for name in ("README.md", BELIEVED)}
        return [path for path in sorted([*self.results.glob("*.md"), *self.results.glob("*/*.md")]) if path not in made]

    def _believed(self) -> Markup:
        """What is believed, without its heading; empty if nobody has written it."""
        path = self.results / BELIEVED
        return Markup(_markdown(path.read_text(encoding="utf-8").partition("\n")[2]) if path.is_file() else "")

    def _machines(self) -> list[tuple[str, int]]:
        return Counter(entry.machine for entry in self.entries.values()).most_common()

    def _table_page(self, shown: Shown) -> None:
        table = shown.table
        claims = [line for line in self.claims.get(table.paper, []) if line["of"] == table.place]
        pictures = [shown] if shown.picture else []
        if shown.leaderboard:
            pictures += [
                each
                for each in self.shown
                if each.picture and _is_critical_difference(each.table) and each.table.settings == table.settings
            ]
        for picture in pictures:
            for kind in ("svg", "csv"):
                self._copy(self.results / picture.table.paper / f"{picture.table.name}.{kind}")
        self._page(shown.page, "table.html", shown=shown, table=table, claims=claims, pictures=pictures, notes=notes_of(table))

    def _copy(self, path: Path) -> None:
        """A file of the results to its place in the site."""
        target = self.to / path.relative_to(self.results)
        with atomic_write(target, FIGURES_REMEDY) as staging:
            shutil.copyfile(path, staging)

    def _claims_page(self, paper: str, claims: Sequence[Mapping[str, str]]) -> None:
        said = groupby(claims, key=lambda line: (line["claim"], line["where"], line["of"]))
        values = {"paper": paper, "title": PAPERS.get(paper, paper), "explained": Markup(_markdown(CLAIMS_EXPLAINED))}
        self._page(f"{paper}/claims.html", "claims.html", claims=[(claim, list(lines)) for claim, lines in said], **values)

    def _text_page(self, path: Path) -> None:
        """A page in Markdown, with the files that it shows and links to."""
        html = _markdown(path.read_text(encoding="utf-8").partition("\n")[2])
        for link in re.findall(r'(?:href|src)="([^"#:]+)"', html):
            linked = (path.parent / link).resolve()
            if linked.is_file() and linked.is_relative_to(self.results.resolve()):
                self._copy(self.results / linked.relative_to(self.results.resolve()))
        self._page(str(path.relative_to(self.results).with_suffix(".html")), "text.html", title=_title(path), text=Markup(html))

    def _record_page(self, entry: Entry) -> None:
        report = self.results / "reports" / f"{entry.file_key}.html"
        if report.is_file():
            self._copy(report)
        self._page(
            record_page(entry),
            "record.html",
            entry=entry,
            shown_in=self.shown_in[record_page(entry)],
            report=f"reports/{report.name}" if report.is_file() else "",
            curves=list(_curves(entry)),
            metrics=_metrics(entry),
            config=yaml.safe_dump(dict(entry.config), sort_keys=False, allow_unicode=True),
        )

    def _remove_former_records(self) -> None:
        """Remove the pages of runs that have left the ledger since the site was last written."""
        for folder in ("records", "reports"):
            for page in (self.to / folder).glob("*.html"):
                if page.stem not in self.entries:
                    page.unlink()

    def _page(self, name: str, template: str, **values: Any) -> None:
        root = "../" * name.count("/")
        self._write(name, self.environment.get_template(template).render(root=root, **values) + "\n")

    def _write(self, name: str, text: str) -> None:
        atomic_write_text(self.to / name, text, FIGURES_REMEDY)


def _slug(text: str) -> str:
    """
    >>> _slug("not as counted")
    'not-as-counted'
    """
    return re.sub(r"\W+", "-", text).strip("-").lower()


def _title(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def _is_critical_difference(table: Table) -> bool:
    return isinstance(table, Figure) and str(table.draw.get("_target_", "")).endswith(f".{CRITICAL_DIFFERENCE}")


def _markdown(text: str) -> str:
    """HTML of our own Markdown. Links to pages in Markdown lead to those of the site; tables can be scrolled with the keyboard."""
    html = _with_links_to_pages(_MARKDOWN.render(text))
    html = re.sub(r"<th([^>]*)></th>", r"<td\1></td>", html)  # a heading without a word
    html = html.replace("<table>", '<div class="scroll" tabindex="0" role="group" aria-label="table"><table>')
    return html.replace("</table>", "</table></div>")


def _with_links_to_pages(html: str) -> str:
    html = re.sub(r'(href="(?!https?:)[^"#]*?)README\.md', r"\1index.html", html)
    return re.sub(r'(href="(?!https?:)[^"#]*)\.md', r"\1.html", html)


def _metrics(entry: Entry) -> tuple[list[str], list[list[str]]]:
    """The headings, and a line for each split, in percent as in the tables."""
    names = list(dict.fromkeys(name for metrics in entry.metrics.values() for name in metrics if is_measure(name)))
    counted = "questions" if any("questions" in metrics for metrics in entry.metrics.values()) else "pairs"
    lines = []
    for split, metrics in entry.metrics.items():
        lines.append([split, *(f"{100 * metrics[name]:.2f}" if name in metrics else "" for name in names), f"{metrics[counted]:,.0f}"])
    return ["split", *map(heading, names), counted], lines


@dataclass(frozen=True)
class Curve:
    """A line over epochs, in a box of 100 by 30."""

    name: str
    points: str
    first: str
    best: str
    last: str
    best_at: float | None = None


def _curves(entry: Entry) -> Iterator[Curve]:
    for name in dict.fromkeys(name for epoch in entry.history for name in epoch if is_curve(name)):
        split, _, measure = name.rpartition("/")
        values = [float(epoch[name]) for epoch in entry.history if name in epoch]
        low, high = min(values), max(values)
        width, span = max(1, len(values) - 1), (high - low) or 1.0
        points = [f"{100 * place / width:.1f},{28 - 26 * (value - low) / span:.1f}" for place, value in enumerate(values)]
        best = (min if measure in FALLING else max)(values)
        at = 100 * (entry.best_epoch - 1) / width if entry.best_epoch else None
        ends = {"first": f"{values[0]:.4f}", "best": f"{best:.4f}", "last": f"{values[-1]:.4f}"}
        yield Curve(f"{split} {heading(measure)}", " ".join(points), **ends, best_at=at)
