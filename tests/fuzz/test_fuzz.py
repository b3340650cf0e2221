"""Random input for everything that reads what may come from elsewhere: it is read, or refused with one of qaexp's errors.

Each test takes QAEXP_FUZZ_SECONDS, ten minutes by default. What they have found is in the quick tests of each reader.
"""

import gzip
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from hydra.utils import instantiate
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

import qaexp
from qaexp.cli.main import main
from qaexp.cli.screen import show_results
from qaexp.config import Program, choices, compose
from qaexp.errors import MissingDataError, QaexpError
from qaexp.explain.run_data import data_of
from qaexp.runs.record import RunRecord
from qaexp.runs.table import by_row, markdown, read_records, run_table

SECONDS = float(os.environ.get("QAEXP_FUZZ_SECONDS", "600"))
OLD_RUN = Path(__file__).parent.parent / "runs" / "before_the_move"

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def fuzz(values: st.SearchStrategy[Any], check: Callable[[Any], object]) -> None:
    """Check random values until the time is over."""
    end = time.monotonic() + SECONDS
    for number in count(secrets.randbits(32)):

        @seed(number)
        @settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(values)
        def examples(value: Any) -> None:
            check(value)

        examples()
        if time.monotonic() > end:
            return


TEXTS = st.sampled_from(
    [
        "",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\x00",
        "\x85",
        "\u2028",
        "\ufeff",
        "\ud800",
        "é",
        "😀",
        "=1+1",
        "[/x]",
        "${x}",
        "..",
        "/",
        "%",
        "'",
        '"',
        "None",
    ]
) | st.text(max_size=8)
NUMBERS = st.sampled_from(["0", "1", "2", "-1", "1.5", "1e400", "nan", "inf", "0x1", "1_0", "٣", "²", 5000 * "9"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([10**30, 10**4000, float("nan"), float("inf"), 1e308]) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=4,
)
PIECES = {
    "lines": ["\t", "\n", "\n\n", "what is it", "a b c", "question", "label", "duplicate", "not_duplicate", "Q1", "D1-0", "1 2", "word_1"],
    "json": [
        '{"question": "a b", "candidates": [{"label": 1, "sentence": "c"}, {"label": 0, "sentence": "d"}]}\n',
        '{"id": "Q1", "subject": "a", "body": "b", "comments": [{"label": "Good", "text": "c"}]}\n',
        '{"gold_label": "neutral", "pairID": "1", "sentence1_binary_parse": "( a b )", "sentence2_binary_parse": "c"}\n',
        *'{}[]":,',
        '"question"',
        '"label"',
        "null",
        1000 * "[",
    ],
    "xml": [
        "<QApairs id='1'>\n<question>\na\tb\n</question>\n<positive>\nc\n</positive>\n<negative>\nd\n</negative>\n</QApairs>\n",
        '<xml><Thread><RelQuestion RELQ_ID="Q1"><RelQSubject>a</RelQSubject><RelQBody>b</RelQBody></RelQuestion>'
        '<RelComment RELC_ID="Q1_C1" RELC_RELEVANCE2RELQ="Good"><RelCText>c</RelCText></RelComment></Thread></xml>',
        '<document type="wisdom"><uri>1</uri><subject>a</subject><bestanswer>b</bestanswer></document>',
        '<?xml version="1.0" encoding="hex"?>',
        '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>',
        "</xml>",
        "&b;",
        "&",
        "<",
        ">",
    ],
}
PIECES_OF_ALL = st.sampled_from([piece for pieces in PIECES.values() for piece in pieces])


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """A file: mostly pieces of one layout, sometimes packed, sometimes cut off."""
    pieces = st.sampled_from(PIECES[draw(st.sampled_from(sorted(PIECES)))])
    drawn = draw(st.lists(pieces | pieces | pieces | TEXTS | NUMBERS | PIECES_OF_ALL, max_size=12))
    content = "".join(drawn).encode("utf-8", draw(st.sampled_from(["surrogatepass", "replace"]))) + draw(
        st.just(b"") | st.binary(max_size=4)
    )
    if draw(st.integers(0, 9)) == 0:
        content = gzip.compress(content)
        content = content[: draw(st.integers(0, len(content)))]
    return content


ONE_OF_EACH_READER = {compose([f"dataset={name}"]).dataset.reader._target_: name for name in choices("dataset")}.values()


@pytest.mark.parametrize("name", ONE_OF_EACH_READER)
def test_readers(name: str, tmp_path: Path) -> None:
    cfg = compose([f"dataset={name}", f"data_dir={tmp_path / 'data'}", f"cache_dir={tmp_path / 'cache'}"]).dataset.reader
    if name == "own":
        cfg.folder = str(tmp_path / "data")
    reader = instantiate(cfg)
    try:
        wanted: list[Path] = reader.files()
    except MissingDataError as missing:
        wanted = list(missing.files)
    if not wanted:
        pytest.skip("it reads no files")

    def read(drawn: list[bytes]) -> None:
        shutil.rmtree(tmp_path / "data", ignore_errors=True)
        for path, content in zip(wanted, drawn, strict=False):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        with suppress(QaexpError):
            reader.read()

    fuzz(st.lists(contents(), min_size=len(wanted), max_size=len(wanted)), read)


@st.composite
def changes(draw: st.DrawFn) -> list[tuple[list[int], Any]]:
    """Places in a nested value, each by the number of a child, and what to put there; `...` takes it away."""
    place = st.lists(st.integers(0, 30), min_size=1, max_size=5)
    return draw(st.lists(st.tuples(place, st.just(...) | VALUES), min_size=1, max_size=3))


def changed(whole: Any, drawn: list[tuple[list[int], Any]]) -> Any:
    whole = deepcopy(whole)
    for place, value in drawn:
        node, last = whole, None
        for number in place:
            inner = last[0][last[1]] if last else node
            if not isinstance(inner, (dict, list)) or not inner:
                break
            last = (inner, list(inner)[number % len(inner)] if isinstance(inner, dict) else number % len(inner))
        if last is None:
            continue
        if value is ...:
            del last[0][last[1]]
        else:
            last[0][last[1]] = deepcopy(value)
    return whole


def old_run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(OLD_RUN, tmp_path / "run"))


def test_records(tmp_path: Path) -> None:
    folder = old_run(tmp_path)
    whole = json.loads((folder / "record.json").read_text())

    def read(content: str) -> None:
        (folder / "record.json").write_text(content, encoding="utf-8", errors="surrogatepass")
        with suppress(QaexpError):
            records = read_records(folder)
            markdown(by_row(run_table(records, "test")))
            show_results(records[0], folder)
            RunRecord.load(folder).is_of({"seed": 1})

    def dumped(drawn: list[tuple[list[int], Any]]) -> None:
        try:
            content = json.dumps(changed(whole, drawn))
        except ValueError:  # Python refuses to write numbers of thousands of digits
            return
        read(content)

    fuzz(changes(), dumped)


def test_configurations(tmp_path: Path) -> None:
    folder = old_run(tmp_path)
    whole = OmegaConf.to_container(OmegaConf.load(folder / "config.yaml"))
    record = json.loads((folder / "record.json").read_text())

    def read(drawn: list[tuple[list[int], Any]]) -> None:
        config = changed(whole, drawn)
        try:
            (folder / "config.yaml").write_text(OmegaConf.to_yaml(OmegaConf.create(config)))
            (folder / "record.json").write_text(json.dumps({**record, "config": config}))
        except Exception:  # there is no such file
            return
        with suppress(QaexpError):
            data_of(folder, None)
        assert main([f"resume={folder}"]) in (0, 2)

    fuzz(changes(), read)


def test_yaml(tmp_path: Path) -> None:
    folder = old_run(tmp_path)
    pieces = st.sampled_from(
        ["model: ", "seed: ", "[", "]", "{", "}", "&a ", "*a", "- ", "!!python/name:os.system ", "? ", "|", ">", "%", "\n", ": "]
    )

    def read(drawn: list[str]) -> None:
        (folder / "config.yaml").write_text("".join(drawn), encoding="utf-8", errors="surrogatepass")
        assert main([f"resume={folder}"]) == 2

    fuzz(st.lists(pieces | TEXTS | NUMBERS, max_size=20), read)


def test_checkpoints(tmp_path: Path) -> None:
    whole = torch.load(OLD_RUN / "best.ckpt", weights_only=True)
    packed = (OLD_RUN / "best.ckpt").read_bytes()
    file = tmp_path / "best.ckpt"

    def read() -> None:
        with suppress(QaexpError):
            qaexp.load(file).rank("what is it", ["a", "b"])

    def with_changes(drawn: list[tuple[list[int], Any]]) -> None:
        torch.save(changed(whole, drawn), file)
        read()

    def with_flips(drawn: list[tuple[int, int]]) -> None:
        content = bytearray(packed)
        for place, value in drawn:
            content[place % len(content)] = value
        file.write_bytes(content)
        read()

    flips = st.lists(st.tuples(st.integers(0, len(packed)), st.integers(0, 255)), min_size=1, max_size=4)
    fuzz(changes() | flips, lambda drawn: with_changes(drawn) if isinstance(drawn[0][0], list) else with_flips(drawn))


KEYS = [
    "model",
    "dataset",
    "seed",
    "loss",
    "optimizer.lr",
    "model.encoder.hidden_dim",
    "dataset.reader.folder",
    "output_dir",
    "labels.row",
    "x",
]
KEYS += [
    "model/pooling",
    "trainer.max_epochs",
    "init_from",
    "resume",
    "dataset.tokenise._target_",
    "+a.b",
    "~loss",
    "hydra.run.dir",
    "patience",
    "run_name",
]
ODD = [
    "[1,2",
    "{a:1}",
    "'a",
    "${oc.env:HOME}",
    "???",
    "null",
    "a b",
    "1,2",
    "range(1,3)",
    300 * "x",
    "[/x]",
    "../..",
    "\x00",
    "=",
    "@x",
    "ggsa",
]


def test_command_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Program, "load", lambda _: lambda *_: RunRecord.load(OLD_RUN))

    def run(arguments: list[str]) -> None:
        try:
            assert main(["logger=none", f"output_dir={tmp_path / 'runs'}", *arguments]) in (0, 2)
        except SystemExit as stop:
            assert stop.code in (0, 2)  # noqa: PT017  argparse, whose message is a sentence

    values = st.sampled_from(ODD) | TEXTS | NUMBERS | VALUES.map(repr)
    options = st.tuples(st.sampled_from(KEYS), st.sampled_from(["=", "=", "=", ""]), values).map("".join)
    fuzz(st.lists(options | TEXTS.filter(lambda text: not text.startswith("-")), max_size=3), run)
