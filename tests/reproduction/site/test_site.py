"""The site of the committed results, in a real browser: its numbers are those of the tables, and it works by mouse, keyboard and touch."""

import csv
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from qaexp.cli.site import main
from qaexp.errors import MissingDataError, OutputError
from qaexp.reproduction.ledger import Ledger
from qaexp.reproduction.site.build import build
from qaexp.reproduction.site.tables import _line
from qaexp.reproduction.spec import result_tables

RESULTS = Path(__file__).resolve().parents[3] / "results"
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
PAGES = ["index.html", "ap/table5.html", "field/table1.html", "ap/claims.html", "ap/figure3.html", "ap/table1.html", "RECORD"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    assert main(["--results", str(RESULTS), "--to", str(folder)]) == 0
    return folder


@pytest.fixture
def see(browser: Any, site: Path) -> Iterator[Any]:
    """Opens a page from its file. It may ask for no more than files, and make no error."""
    contexts, faults = [], list[str]()

    def open_page(name: str, size: dict[str, int] = DESK, scheme: str = "light", **options: Any) -> Any:
        contexts.append(browser.new_context(viewport=size, color_scheme=scheme, **options))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else faults.append(asked.url))
        page.goto((site / _file(name)).as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


def _file(name: str) -> str:
    return f"records/{Ledger(RESULTS / 'ledger').entries[0].file_key}.html" if name == "RECORD" else name


class Links(HTMLParser):
    """The links and pictures of a page, and the ids that they can lead to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found, self.ids = set[str](), set[str]()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.found |= {link for name in ("href", "src") if (link := values.get(name))}
        self.ids |= {values["id"]} if values.get("id") else set()  # type: ignore[arg-type]


def test_every_link_leads_to_a_file_of_the_site(site: Path) -> None:
    pages = {path: Links(path) for path in site.rglob("*.html")}
    assert len(pages) > 100
    dead = [
        (str(path.relative_to(site)), link)
        for path, links in pages.items()
        for link in links.found
        if not link.startswith(("https:", "data:"))
        and not (
            (target := (path.parent / link.partition("#")[0]).resolve() if link[0] != "#" else path).is_file()
            and (not (anchor := link.partition("#")[2]) or anchor in pages[target].ids)
        )
    ]
    assert dead == []


def test_a_folder_without_results_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="has no ledger/ with records of runs"):
        build(tmp_path, tmp_path / "site")


def test_a_page_brings_the_files_of_the_results_that_it_links_to_and_no_others(tmp_path: Path) -> None:
    results, to = tmp_path / "results", tmp_path / "site" / "inner"
    (results / "ledger").mkdir(parents=True)
    for name in ("LICENSE", "results/numbers.csv"):
        (tmp_path / name).write_text("a file")
    (results / "own.md").write_text("# Own\n\n[ours](numbers.csv), [not ours](../LICENSE)\n")
    build(results, to)
    assert (to / "numbers.csv").is_file()
    assert [path.name for path in to.parent.iterdir()] == ["inner"]


def test_the_page_of_a_run_that_left_the_ledger_is_removed(tmp_path: Path) -> None:
    results, to = tmp_path / "results", tmp_path / "site"
    kept, left = sorted((RESULTS / "ledger").rglob("*.json"))[:2]
    for entry in (kept, left):
        copy = results / entry.relative_to(RESULTS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(entry, copy)
    build(results, to)
    assert len(list((to / "records").iterdir())) == 2
    (results / left.relative_to(RESULTS)).unlink()
    (to / "own.html").write_text("of the user")
    build(results, to)
    assert [page.stem for page in (to / "records").iterdir()] == [Ledger(results / "ledger").entries[0].file_key]
    assert (to / "own.html").is_file()


def test_a_csv_that_is_older_than_its_table_is_named(tmp_path: Path) -> None:
    """It ended in a KeyError."""
    shutil.copytree(RESULTS / "ledger", tmp_path / "ledger")
    (tmp_path / "ap").mkdir()
    older = (RESULTS / "ap" / "table5.csv").read_text(encoding="utf-8").replace("MAP", "MAP@10")
    (tmp_path / "ap" / "table5.csv").write_text(older, encoding="utf-8")
    with pytest.raises(MissingDataError, match=r"ap/table5\.csv is older than its table: it has no column 'MAP'; `make tables` writes it"):
        build(tmp_path, tmp_path / "site")


def test_a_verdict_stands_at_numbers_that_have_one() -> None:
    """The paper prints numbers of parameters as texts, such as 80K, which have no verdict; they had that of the accuracy beside them."""
    table = next(table for table in result_tables() if table.title == "clstm, Table 2")
    row = next(row for row in table.rows if row.overrides)
    names = list(table.columns)
    line = {table.label: row.label, "status": "measured", "verdict": "below", "command": "", "records": ""}
    line |= {heading: "1" for name in names for heading in (name, f"{name} ci95", f"{name} (paper)")}
    verdicts = {number.column: number.verdict for number in _line(table, row, line, {}).numbers}
    printed = dict(zip(names, row.published, strict=True))
    assert set(verdicts.values()) == {"", "below"}
    assert all((verdicts[name] == "below") == isinstance(printed[name], (int, float)) for name in names)


def test_a_folder_that_cannot_be_written_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"cannot write .*index\.html: .* with --to FOLDER"):
        build(RESULTS, tmp_path / "file")


def test_a_table_shows_our_number_above_the_papers(see: Any) -> None:
    page = see("ap/table5.html")
    with (RESULTS / "ap" / "table5.csv").open(encoding="utf-8", newline="") as file:
        lines = {line["System"]: line for line in csv.DictReader(file)}
    for label, line in lines.items():
        cell = page.locator("tbody tr", has=page.locator(f"th:text-is('{label}')")).locator("td.number").first
        assert re.findall(r"\d\.\d+", cell.inner_text())[:1] == [line["MAP"] or line["MAP (paper)"]]
        assert cell.locator("> .paper").inner_text() == line["MAP (paper)"]


@pytest.mark.parametrize("way", ["hover", "focus", "tap"])
def test_a_number_opens_its_seeds_and_leads_to_their_records(see: Any, way: str) -> None:
    page = see("ap/table5.html", PHONE if way == "tap" else DESK, has_touch=way == "tap")
    number = page.locator("tr", has_text="AP-CNN").locator("button.ours").first
    pop = page.locator(f"#{number.get_attribute('popovertarget')}")
    assert not pop.is_visible()
    if way == "focus":
        page.keyboard.press("Tab")
        while not number.evaluate("each => each === document.activeElement"):
            page.keyboard.press("Tab")
    else:
        getattr(number, way)()
    pop.wait_for(state="visible")
    assert pop.locator(".seeds li").count() == 5
    seeds = [float(text.split()[-1]) for text in pop.locator(".seeds li").all_inner_texts()]
    assert sum(seeds) / 5 == pytest.approx(float(re.findall(r"[\d.]+", number.inner_text())[0]), abs=1e-4)
    assert "qaexp dataset=wikiqa" in pop.inner_text()
    pop.locator(".seeds a").first.click()
    page.wait_for_url("**/records/*.html")
    assert page.locator("h1").inner_text() == "AP-CNN on WikiQA, seed 1"


def test_code_in_notes_is_shown_as_code(site: Path) -> None:
    assert "<code>model=candidate_only</code>), which reads only" in (site / "ggsa" / "table7.html").read_text(encoding="utf-8")


def test_data_sets_are_named_as_people_write_them(site: Path) -> None:
    claims = (site / "ap" / "claims.html").read_text(encoding="utf-8")
    assert ("on InsuranceQA subset, seeds" in claims, "insuranceqa_subset" in claims) == (True, False)
    assert "<h1>ctrn, tuning on TREC QA</h1>" in (site / "ctrn" / "tuning_trecqa.html").read_text(encoding="utf-8")


def test_escape_closes_what_the_keyboard_opened(see: Any) -> None:
    page = see("ap/table5.html")
    number = page.locator("button.ours").first
    number.press("Enter")
    pop = page.locator(f"#{number.get_attribute('popovertarget')}")
    pop.wait_for(state="visible")
    page.keyboard.press("Escape")
    page.wait_for_timeout(200)  # longer than focus waits before it opens
    assert not pop.is_visible()


def test_a_leaderboard_is_sorted_by_a_heading_and_has_its_picture(see: Any) -> None:
    page = see("field/table1.html")
    assert page.locator("figure img").evaluate("each => each.naturalWidth") > 100
    values = [float(text.split("±")[0]) for text in page.locator("tbody td:nth-child(5)").all_inner_texts() if text.strip()]
    assert values == sorted(values, reverse=True)
    assert len(values) >= 6
    page.locator("button.sort", has_text="P@1").click()
    page.locator("button.sort", has_text="P@1").click()
    values = [float(text.split("±")[0]) for text in page.locator("tbody td:nth-child(3)").all_inner_texts() if text.strip()]
    assert len(values) >= 6
    assert values == sorted(values)
    assert page.locator("tbody td.rank").first.inner_text() == "1"
    assert page.locator("th[aria-sort=ascending]").count() == 1


@pytest.mark.parametrize(("name", "scheme"), [*((name, "light") for name in PAGES), *((name, "dark") for name in ("index.html", "RECORD"))])
def test_pages_are_accessible_and_fit_a_phone(see: Any, name: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed: pip install 'qaexp[dev]'")
    page = see(name, PHONE, scheme)
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
