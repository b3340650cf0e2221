"""The demo: what it ranks and shows is what the run says, in a real browser too, and no text or crowd harms it."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import qaexp
from qaexp.api import Run
from qaexp.cli.commands import main
from qaexp.explain.run_data import data_of

app = pytest.importorskip("qaexp.explain.demo.app", reason="starlette is not installed: pip install 'qaexp[demo]'")
uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed: pip install 'qaexp[demo]'")
expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'qaexp[dev]'").expect

NASTY = "</textarea><script>window.broken = 1</script><img src=x onerror='window.broken = 2'>"
SMALL = [f"dataset.reader.{option}" for option in ("num_train=12", "num_dev=6", "num_test=6")]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("runs")
    common = ["dataset=toy", "trainer.max_epochs=1", "logger=none", "dataset.vectors.dim=8", f"cache_dir={folder}/cache", *SMALL]
    return [qaexp.train([*common, f"model={model}"], runs=folder / "runs") for model in ("ap_cnn", "qa_lstm")]


@contextmanager
def serving(runs: list[Run], names: list[str]) -> Iterator[int]:
    """The port of a demo."""
    page = app.make_app([run.load() for run in runs], names, app.Questions(data_of(runs[0].folder, None), as_written=False), ["127.0.0.1"])
    server = uvicorn.Server(uvicorn.Config(page, log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def port(runs: list[Run]) -> Iterator[int]:
    """A demo of both runs listens here."""
    with serving(runs, ["one", "two"]) as port:
        yield port


@pytest.fixture(scope="module")
def port_of_classes(classifiers: list[Run]) -> Iterator[int]:
    with serving(classifiers[:1], ["classes"]) as port:
        yield port


def ask(port: int, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    """The status and what was answered."""
    asked = HTTPConnection("127.0.0.1", port, timeout=60)
    sent = body if body is None or isinstance(body, bytes) else json.dumps(body)
    asked.request("POST" if sent else "GET", path, sent, {"Content-Type": "application/json", **headers} if sent else headers)
    answer = asked.getresponse()
    text = answer.read().decode()
    asked.close()
    return answer.status, json.loads(text) if answer.getheader("content-type") == "application/json" else text


def test_candidates_are_ranked_as_each_run_ranks_them(port: int, runs: list[Run]) -> None:
    question, candidates = "what colour is the sky ?", ["the sky is blue", "bread", "a sky of bread", ""]
    status, answers = ask(port, "/rank", {"question": question, "candidates": candidates})
    assert status == 200
    for run, answer in zip(runs, answers, strict=True):
        ranked = run.load().rank(question, candidates)
        assert answer["order"] == [each.position for each in ranked]
        assert [answer["scores"][each.position] for each in ranked] == pytest.approx([each.score for each in ranked], rel=1e-3)


def test_a_question_of_the_data_set_comes_with_its_candidates_and_labels(port: int, runs: list[Run]) -> None:
    split = data_of(runs[0].folder, None).splits["test"]
    found = ask(port, "/questions?find=")[1]
    assert [each["number"] for each in found] == list(range(len(split.questions)))
    assert ask(port, f"/questions?find={found[3]['text'].split()[-2]}")[1] != []
    chosen = ask(port, "/questions/3")[1]
    assert chosen["question"] == found[3]["text"]
    assert [label == "right" for label in chosen["labels"]] == (split.labels[split.offsets[3] : split.offsets[4]] > 0).tolist()
    assert ask(port, "/questions/99") == (404, {"error": "there is no such question"})


def test_what_a_model_looked_at_is_what_it_reads_out(port: int, runs: list[Run]) -> None:
    question, candidate = "what colour is the sky ?", "the sky is blue"
    attentive, plain = ask(port, "/look", {"question": question, "candidates": [candidate]})[1]
    shown = runs[0].load().read_out(question, candidate)["pair.alignment"].numpy()
    [alignment] = [heat for heat in attentive if heat["title"] == "alignment"]
    np.testing.assert_allclose(alignment["values"], shown, rtol=1e-2, atol=1e-4)
    assert all(heat["title"] != "alignment" for heat in plain)


def test_a_question_of_ten_thousand_words_is_read_up_to_the_limit(port: int) -> None:
    status, answers = ask(port, "/rank", {"question": "sky " * 10_000, "candidates": ["the sky", "blue " * 10_000]})
    assert status == 200
    assert [(answer["read"] < 1000, answer["words"]) for answer in answers] == [(True, 10_000)] * 2
    same = ask(port, "/rank", {"question": "sky " * answers[0]["read"], "candidates": ["the sky", "blue " * 10_000]})[1]
    assert same[0]["scores"] == answers[0]["scores"]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"no JSON", 400, "send a question and candidates"),
        (b"[" * 100_000, 400, "send a question and candidates"),
        ({"question": "a", "candidates": []}, 400, "one at least"),
        ({"question": "a", "candidates": [1]}, 400, "the candidates are texts"),
        ({"question": "a", "candidates": ["b"] * (app.MOST_CANDIDATES + 1)}, 400, f"give {app.MOST_CANDIDATES} at most"),
        ({"question": "a" * 2_000_000, "candidates": ["b"]}, 413, "shorten them"),
    ],
    ids=["no JSON", "deep", "no candidate", "a number", "many", "long"],
)
def test_what_cannot_be_ranked_is_refused_in_a_sentence(port: int, body: Any, status: int, said: str) -> None:
    answer = ask(port, "/rank", body)
    assert answer[0] == status
    assert said in answer[1]["error"]


def test_halves_of_characters_are_read_as_question_marks(port: int) -> None:
    assert ask(port, "/look", b'{"question": "\\ud800 a", "candidates": ["\\udfff b"]}')[0] == 200


def test_pages_of_other_sites_cannot_use_it(port: int) -> None:
    assert ask(port, "/about", Host="elsewhere.example")[0] == 400
    body = {"question": "a", "candidates": ["b"]}
    assert ask(port, "/rank", body, **{"Content-Type": "text/plain"}) == (415, {"error": "send JSON"})


def test_fifty_users_at_once_get_the_same_answer(port: int) -> None:
    body = {"question": "what colour is the sky ?", "candidates": [f"the sky is {number}" for number in range(3)]}
    expected = ask(port, "/rank", body)
    with ThreadPoolExecutor(50) as users:
        assert list(users.map(lambda _: ask(port, "/rank", body), range(50))) == [expected] * 50


@contextmanager
def opened(browser: Any, port: int, **options: Any) -> Iterator[Any]:
    """The page, which must make no error and ask this demo alone."""
    context, faults = browser.new_context(**options), list[str]()
    page = context.new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text))
    page.on("request", lambda asked: None if asked.url.startswith((f"http://127.0.0.1:{port}/", "data:")) else faults.append(asked.url))
    page.goto(f"http://127.0.0.1:{port}/")
    page.wait_for_selector("body[data-ready]")
    yield page
    context.close()
    assert faults == []


@pytest.fixture
def seen(browser: Any, port: int, request: pytest.FixtureRequest) -> Iterator[Any]:
    with opened(browser, port, **getattr(request, "param", {})) as page:
        yield page


def type_texts(seen: Any, question: str, *candidates: str) -> None:
    seen.get_by_label("question", exact=True).fill(question)
    seen.get_by_label("candidates, one a line").fill("\n".join(candidates))
    expect(seen.locator(".ranking").last.locator("li")).to_have_count(len(candidates))


def test_a_changed_word_moves_the_candidates_and_what_was_is_said(seen: Any, runs: list[Run]) -> None:
    type_texts(seen, "what colour is the sky ?", "the sky is blue", "bread is warm", "call now")
    expect(seen.locator(".ranking").first).to_contain_text("bread is warm")
    seen.get_by_role("button", name="compare with this ranking").click()
    assert seen.locator(".moved").count() == 0
    seen.get_by_label("question", exact=True).fill("what colour is warm bread ?")
    seen.wait_for_selector(".moved")
    ranked = runs[0].load().rank("what colour is warm bread ?", ["the sky is blue", "bread is warm", "call now"])
    shown = seen.locator(".ranking").first.locator("li .text").all_inner_texts()
    assert shown == [each.answer for each in ranked]


def test_what_the_model_looked_at_follows_the_words(seen: Any) -> None:
    type_texts(seen, "what colour is the sky ?", "the sky is blue")
    button = seen.locator(".ranking").first.get_by_role("button", name="what the model looked at")
    button.click()
    words = seen.locator(".ranking").first.locator(".look > div", has_text="attention, candidate").locator(".strip span")
    words.first.wait_for()
    assert words.all_inner_texts() == ["the", "sky", "is", "blue"]
    seen.get_by_label("candidates, one a line").fill("the sky is red")
    expect(words).to_have_text(["the", "sky", "is", "red"])


def test_html_in_texts_stays_text(seen: Any) -> None:
    type_texts(seen, NASTY, NASTY, "b")
    expect(seen.locator(".ranking").first.locator("li .text").filter(has_text=NASTY)).to_have_count(1)
    assert seen.evaluate("window.broken") is None
    assert seen.locator("main img, main script").count() == 0


def test_a_question_of_the_data_set_is_found_and_chosen(seen: Any, port: int) -> None:
    chosen = ask(port, "/questions/2")[1]
    seen.get_by_label("a question of").fill(chosen["question"])
    seen.locator(".found button", has_text=chosen["question"]).first.click()
    expect(seen.get_by_label("question", exact=True)).to_have_value(chosen["question"])
    expect(seen.get_by_label("candidates, one a line")).to_have_value("\n".join(chosen["candidates"]))
    expect(seen.locator(".ranking li")).to_have_count(2 * len(chosen["candidates"]))
    expect(seen.locator(".ranking").first.locator("li.right")).to_have_count(chosen["labels"].count("right"))


def test_pairs_of_a_classifier_are_read_as_its_run_read_them(port_of_classes: int, classifiers: list[Run]) -> None:
    written = pd.read_csv(classifiers[0].folder / "test.pairs.csv")
    scores = written[[name for name in written if name.startswith("score of ")]].to_numpy()
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    for number, expected in enumerate(probabilities):
        chosen = ask(port_of_classes, f"/questions/{number}")[1]
        assert chosen["labels"] == [written["class"][number]]
        [answer] = ask(port_of_classes, "/rank", {"question": chosen["question"], "candidates": chosen["candidates"]})[1]
        assert answer["scores"][0] == pytest.approx(expected, abs=1e-4)
    assert ask(port_of_classes, "/about")[1]["notes"] == ["Words are separated by spaces, as in the data: put a space before a full stop."]


def test_a_classifier_shows_the_class_of_each_pair(browser: Any, port_of_classes: int, classifiers: list[Run]) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed: pip install 'qaexp[dev]'")
    with opened(browser, port_of_classes, **SIZES[0]) as seen:
        seen.get_by_label("a pair of").fill("a tall man")
        seen.locator(".found button", has_text="a man plays . / a tall man plays .").click()
        expect(seen.get_by_label("other texts, one a line")).to_have_value("a tall man plays .")
        expect(seen.get_by_label("text", exact=True)).to_have_value("a man plays .")
        seen.get_by_label("other texts, one a line").fill("nobody plays .\na man is playing .")
        expect(seen.locator(".ranking li")).to_have_count(2)
        expected = classifiers[0].load().classify("a man plays .", "nobody plays .")
        rows = seen.locator(".ranking li").first.locator("tr")
        assert {row.split()[0]: float(row.split()[1]) for row in rows.all_inner_texts()} == pytest.approx(expected, abs=1e-3)
        assert seen.locator(".ranking li").first.locator(".predicted").inner_text().split()[::2] == [next(iter(expected)), "predicted"]
        seen.get_by_label("text", exact=True).fill("nobody tall")
        expect(seen.locator(".moved").first).to_contain_text("was ")
        seen.get_by_role("button", name="compare with these classes").click()
        faults = axe.Axe().run(seen).response["violations"]
        assert [(fault["id"], [node["html"] for node in fault["nodes"]]) for fault in faults] == []


SIZES = [
    {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
    {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
]


@pytest.mark.parametrize("seen", [*SIZES, {**SIZES[0], "color_scheme": "dark"}, {**SIZES[1], "color_scheme": "light"}], indirect=True)
def test_the_page_passes_axe_and_fits_the_screen(seen: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed: pip install 'qaexp[dev]'")
    seen.get_by_label("question", exact=True).fill("what colour is bread ?")
    seen.wait_for_selector(".moved")
    seen.get_by_role("button", name="what the model looked at").first.click()
    seen.wait_for_selector(".look .strip")
    seen.get_by_label("a question of").fill("what")
    seen.wait_for_selector(".found button")
    faults = axe.Axe().run(seen).response["violations"]
    assert [(fault["id"], [node["html"] for node in fault["nodes"]]) for fault in faults] == []
    assert seen.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_command_listens_on_this_machine_alone_and_ends_with_ctrl_c(runs: list[Run]) -> None:
    command = [sys.executable, "-m", "qaexp", "demo", str(runs[0].folder), "--port", "0"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONWARNINGS": "error"}
    ) as demo:
        assert demo.stderr
        said = demo.stderr.readline()
        assert said.startswith("http://127.0.0.1:")
        port = int(said.split()[0].rpartition(":")[2])
        assert ask(port, "/about")[1]["runs"] == [{"name": "AP-CNN on toy, seed 1", "classes": []}]
        listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if line.split()[3] == "0A"]
        assert [address for address in listening if address.endswith(f":{port:04X}")] == [f"0100007F:{port:04X}"]
        time.sleep(0.1)
        demo.send_signal(signal.SIGINT)
        assert demo.wait(20) == 0


def test_what_cannot_be_shown_is_refused_in_a_sentence(runs: list[Run], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert main(["demo", str(tmp_path / "none")]) == 2
    assert "does not exist" in caplog.messages[-1]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["demo", str(runs[0].folder), "--port", str(taken.getsockname()[1])]) == 2
    assert "choose others with --host and --port" in caplog.messages[-1]
