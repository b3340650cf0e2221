"""The page of runs in a real browser: what it shows is what the runs left, texts stay texts, and it is usable without a mouse."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import qaexp
from qaexp.api import Run
from qaexp.cli.commands import main
from qaexp.explain.report import page as page_module
from qaexp.explain.report.page import write_report
from qaexp.explain.run_data import data_of

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed: pip install 'qaexp[dev]'")

NASTY = "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 2'>"
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Two runs on the same few questions. Texts, ids and labels are such as could break a page."""
    folder, lines = tmp_path_factory.mktemp("runs"), []
    for split, count in (("train", 20), ("dev", 8), ("test", 12)):
        for number in range(count):
            pool = [(f"The colour of thing {number} is seen at noon & “{NASTY}”.", 1), ("It is warm.", 0), (f"Call {number} <b>now</b>", 0)]
            word = ("What", "Who", "Is")[number % 3]
            rows = [(f"{word} is the colour of thing {number}, {split}?{NASTY * (number == 0)}", text, grade) for text, grade in pool]
            for place, (question, candidate, label) in enumerate(rows):
                ids = {"question_id": f"<i>{split}{number}", "candidate_id": f'"{number}-{place}&amp;'}
                lines.append(json.dumps({"split": split, "question": question, "candidate": candidate, "label": label, **ids}))
    (folder / "own.jsonl").write_text("\n".join(lines), encoding="utf-8")
    common = ["dataset=own", f"dataset.reader.folder={folder}/own.jsonl", "dataset/vectors=random", "dataset.vectors.dim=8", "logger=none"]
    common += [f"cache_dir={folder}/cache", "trainer.max_epochs=2"]
    return [qaexp.train([*common, f"model={model}"], runs=folder / "runs") for model in ("ap_cnn", "bm25")]


@pytest.fixture(scope="module")
def report(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the first run."""
    [path] = write_report([runs[0].folder], tmp_path_factory.mktemp("report") / "one.html", data_of(runs[0].folder, None), attention=4)
    return path


@pytest.fixture(scope="module")
def both(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of both runs."""
    folder = tmp_path_factory.mktemp("report") / "both"
    assert main(["report", *(str(run.folder) for run in runs), "--to", str(folder), "--attention", "4"]) == 0
    return folder / "index.html"


@pytest.fixture
def see(browser: Any) -> Iterator[Any]:
    """Opens a page, which must make no error and ask for nothing but files."""
    contexts, faults = [], list[str]()

    def open_page(path: Path, size: dict[str, int] = DESK, scheme: str = "light", fragment: str = "") -> Any:
        context = browser.new_context(viewport=size, color_scheme=scheme)
        contexts.append(context)
        seen = context.new_page()
        seen.on("pageerror", lambda error: faults.append(str(error)))
        seen.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else faults.append(asked.url))
        seen.goto(path.as_uri() + fragment)
        seen.wait_for_selector("body[data-ready]")
        return seen

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


def cells(seen: Any, heading: str) -> list[str]:
    """A column of the table of questions."""
    place = seen.locator(".questions thead th").all_inner_texts().index(heading)
    return seen.locator(f".questions tbody tr:not(.detail) td:nth-child({place + 1})").all_inner_texts()


def open_question(seen: Any, number: int) -> Any:
    seen.locator("button.open").nth(number).click()
    seen.wait_for_selector(".ranking li")
    return seen.locator(".ranking").first


def test_the_page_shows_the_measures_of_the_record(report: Path, runs: list[Run], see: Any) -> None:
    seen, test = see(report), runs[0].record.metrics["test"]
    row = seen.locator("section[aria-label=Scores] tbody tr").first
    assert row.locator("td").first.inner_text().split("\n")[0] == f"{test['p@1']:.3f}"
    assert row.locator("td").last.inner_text() == str(test["questions"])
    values = [float(value) for value in cells(seen, "MAP")]
    assert sum(values) / len(values) == pytest.approx(test["map"], abs=1e-3)
    figure = seen.locator("figure", has_text="loss by epoch")
    figure.locator("svg").focus()
    seen.keyboard.press("ArrowRight")
    said = re.fullmatch(r"epoch 1: (\S+)( \(best epoch\))?", figure.locator(".readout").inner_text())
    assert said
    assert float(said[1]) == pytest.approx(runs[0].record.history[0]["train/loss"], rel=1e-3)
    assert bool(said[2]) == (runs[0].record.best_epoch == 1)


def test_candidates_stand_in_the_order_of_the_run_file_with_scores_labels_and_texts(report: Path, runs: list[Run], see: Any) -> None:
    seen = see(report)
    pool = open_question(seen, 0)
    lines = [line.split() for line in (runs[0].folder / "test.run").read_text().splitlines() if line.startswith("<i>test0 ")]
    shown = pool.locator("li .meta").all_inner_texts()
    assert [re.search(r"id (\S+)", text)[1] for text in shown] == [line[2] for line in lines]  # type: ignore[index]
    scores = [float(re.search(r"score (\S+)", text)[1].replace("−", "-")) for text in shown]  # type: ignore[index]
    assert scores == pytest.approx([float(line[4]) for line in lines], rel=1e-3)
    right = {line.split()[2] for line in (runs[0].folder / "test.qrels").read_text().splitlines() if line.endswith(" 1")}
    assert [text.startswith("right") for text in shown] == [line[2] in right for line in lines]
    seen.get_by_role("group", name="candidates").get_by_role("button", name="right").click()
    seen.wait_for_function("document.querySelectorAll('.ranking li').length == 1")
    assert pool.locator("li .text").inner_text() == f"The colour of thing 0 is seen at noon & “{NASTY}”."


def test_html_in_texts_and_ids_stays_text(report: Path, both: Path, see: Any) -> None:
    assert NASTY not in report.read_text(encoding="utf-8")
    for path in (report, both):
        seen = see(path)
        open_question(seen, 0)
        assert seen.locator("button.open").first.inner_text().endswith(NASTY)
        assert seen.evaluate("window.broken") is None
        assert seen.locator("main img, main i:not([class], [aria-hidden]), main b").count() == 0


def test_a_long_question_is_cut_in_the_list_and_whole_when_asked_for(report: Path, see: Any) -> None:
    seen = see(report)
    seen.evaluate("D.questions.text[0] = '😀'.repeat(10000); list()")
    assert seen.locator("button.open").first.inner_text() == "😀" * 100 + "…", "no emoji is cut in half"
    open_question(seen, 0)
    whole = seen.locator(".detail .whole .text")
    assert len(whole.inner_text()) < 1000
    seen.keyboard.press("Tab")
    whole.get_by_role("button", name="whole text").press("Enter")
    assert whole.inner_text() == "😀" * 10_000
    assert whole.evaluate("each => each === document.activeElement")
    assert seen.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_words_stay_beside_a_wide_grid_that_is_scrolled(report: Path, see: Any) -> None:
    seen = see(report, PHONE)
    seen.evaluate("""const words = (letter, count) => Array.from({length: count}, (_, place) => letter + place);
        const values = words("", 60).map((_, row) => words("", 90).map((_, column) => row - column));
        const box = make("div", { class: "ranking" }, heat({ title: "grid", rows: words("r", 60), columns: words("c", 90), values }));
        document.getElementById("page").replaceChildren(box)""")
    grid = seen.locator(".grid")
    grid.evaluate("each => each.scrollTo(each.scrollWidth, each.scrollHeight / 2)")
    frame, row, column = (each.bounding_box() for each in (grid, grid.get_by_text("r30", exact=True), grid.get_by_text("c85", exact=True)))
    assert (row["x"] - frame["x"], frame["y"] + frame["height"] - column["y"] - column["height"]) == pytest.approx((0, 0), abs=16)
    assert grid.evaluate("each => each.scrollLeft") > 300


def test_questions_are_searched_filtered_and_sorted(report: Path, runs: list[Run], see: Any) -> None:
    seen = see(report)
    seen.get_by_label("search questions and ids").fill("thing 11")
    assert len(cells(seen, "MAP")) == 1
    seen.get_by_label("search questions and ids").fill("")
    seen.get_by_label("question word").select_option("who")
    assert len(cells(seen, "MAP")) == 4
    seen.get_by_label("question word").select_option("")
    firsts = cells(seen, "first right")
    seen.get_by_label("first right answer ranked").select_option("1")
    assert len(cells(seen, "MAP")) == firsts.count("1")
    seen.get_by_label("first right answer ranked").select_option("")
    words = [int(each) for each in cells(seen, "words")]
    seen.get_by_label("words, from", exact=True).fill(str(max(words)))
    assert len(cells(seen, "MAP")) == words.count(max(words))
    seen.get_by_label("words, from", exact=True).fill("")
    head = seen.locator("th", has_text="MAP").last
    for order in ("ascending", "descending"):
        head.locator("button").click()
        head = seen.locator(".questions th", has_text="MAP")
        assert head.get_attribute("aria-sort") == order
        assert cells(seen, "MAP") == sorted(cells(seen, "MAP"), reverse=order == "descending")


def test_what_the_model_looked_at_is_read_by_keyboard_and_pointer(report: Path, runs: list[Run], see: Any) -> None:
    seen = see(report)
    seen.get_by_label("what the model looked at").select_option("yes")
    assert len(cells(seen, "MAP")) == 4
    open_question(seen, 1)
    seen.get_by_role("button", name="what the model looked at").first.click()
    box = seen.locator(".look > div", has_text="attention, candidate")
    words = box.locator(".strip span").all_inner_texts()
    text = seen.locator(".ranking li .text").first.inner_text()
    question = seen.locator("button.open").nth(1).inner_text()
    weights = qaexp.load(runs[0].folder).read_out(question, text)["pair.attention"]
    box.locator(".strip").focus()
    for _ in range(1):
        seen.keyboard.press("ArrowRight")
    said = box.locator(".readout").inner_text()
    assert said.startswith(f"{words[1]}: ")
    assert float(said.rpartition(" ")[2]) == pytest.approx(weights[1].item(), rel=1e-2)
    box.locator(".strip span").nth(2).hover()
    assert box.locator(".readout").inner_text().startswith(f"{words[2]}: ")
    grid = seen.locator(".look > div", has_text="alignment")
    grid.locator(".grid").focus()
    seen.keyboard.press("ArrowDown")
    assert " × " in grid.locator(".readout").inner_text()


def test_two_runs_stand_side_by_side_with_the_test_of_their_difference(both: Path, runs: list[Run], see: Any) -> None:
    seen, row = see(both), qaexp.compare(*runs, measures=["AP"]).iloc[0]
    section = seen.locator("section[aria-label='Run against run']")
    assert f"A in {row['better']}, equal in {row['equal']}, B in {row['worse']} of 12 questions" in section.inner_text()
    assert section.locator("tr", has_text="mean of A").locator("td").inner_text() == f"{row['first mean']:.3f}"
    assert section.locator("tr", has_text="p").nth(-2).locator("td").inner_text() == f"{row['p']:.3f}".replace("0.000", "< 0.001")
    section.get_by_label("first run").select_option("1")
    assert section.locator("tr", has_text="mean of B").locator("td").inner_text() == f"{row['second mean']:.3f}"
    assert section.locator("tr", has_text="mean of A").locator("td").inner_text() == f"{row['first mean']:.3f}"
    section.get_by_label("first run").select_option("0")
    section.locator("svg").focus()
    seen.keyboard.press("ArrowRight")
    count = int(re.search(r": (\d+) question", section.locator("figure .readout").inner_text())[1])  # type: ignore[index]
    seen.keyboard.press("Enter")
    assert len(cells(seen, "A − B")) == count
    seen.get_by_role("button", name="show all again").click()
    section.get_by_role("button", name="A is better by most").click()
    found = [float(value.replace("−", "-")) for value in cells(seen, "A − B")]
    assert found == sorted(found, reverse=True)
    open_question(seen, 0)
    assert seen.locator(".ranking").count() == 2
    assert "B ranks it" in seen.locator(".ranking").first.inner_text()
    seen.get_by_label("sort by").select_option("-words")
    assert seen.locator(".ranking").count() == 2, "a question stays open when the table is sorted"


@pytest.mark.parametrize(("size", "scheme"), [(PHONE, "light"), (DESK, "dark")], ids=["phone", "desk"])
def test_the_page_passes_axe_and_fits_the_screen(both: Path, size: dict[str, int], scheme: str, see: Any) -> None:
    seen = see(both, size, scheme)
    seen.get_by_label("what the model looked at").select_option("yes")
    open_question(seen, 0)
    seen.get_by_role("button", name="what the model looked at").first.click()
    seen.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    faults = axe.Axe().run(seen).response["violations"]
    assert [(fault["id"], [node["html"] for node in fault["nodes"]]) for fault in faults] == []
    assert seen.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert seen.evaluate("document.querySelector('.questions').scrollWidth <= document.querySelector('.questions').parentNode.clientWidth")
    assert (seen.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)") == (scheme == "light")


def test_a_large_report_is_a_page_with_parts_beside_it(runs: list[Run], tmp_path: Path, see: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "LARGEST_FILE", 1000)
    monkeypatch.setattr(page_module, "PAIRS_IN_PART", 10)
    written = write_report([runs[0].folder], tmp_path / "large # page.html", data_of(runs[0].folder, None), attention=2)
    assert written == [tmp_path / "large # page.html", tmp_path / "large # page_files"]
    assert {path.name for path in written[1].iterdir()} >= {"pools-0.js", "pools-3.js", "texts-0.js", "looks-0.js"}
    seen = see(written[0], fragment="#q=%3Ci%3Etest11")
    seen.wait_for_selector(".ranking li")
    assert seen.locator(".ranking li").count() == 3
    assert "<i>test11" in seen.locator(".detail").inner_text()
    (written[1] / "pools-0.js").unlink()
    seen.get_by_role("button", name="show all again").click()
    seen.locator("button.open").first.click()
    assert "pools-0.js is missing: keep the folder beside the page" in seen.get_by_role("alert").inner_text()
    monkeypatch.undo()
    assert write_report([runs[0].folder], tmp_path / "large # page.html", data_of(runs[0].folder, None), attention=2) == written[:1]
    assert list(written[1].iterdir()) == [], "parts of an earlier page are removed"


def test_the_same_runs_give_the_same_page(report: Path, runs: list[Run], tmp_path: Path) -> None:
    [again] = write_report([runs[0].folder], tmp_path / "one.html", data_of(runs[0].folder, None), attention=4)
    assert again.read_bytes() == report.read_bytes()
