"""The pages: the site builds, links lead somewhere, commands are ones that the programs take, and the examples run."""

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

import qaexp
from qaexp.cli.commands import COMMANDS
from qaexp.cli.commands import main as run_command
from qaexp.cli.main import main
from qaexp.config import CONF, PRETRAIN, RANK, choices, compose
from qaexp.errors import CheckpointError

REPOSITORY = CONF.parent
GUIDES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("**/*.md"))]
PAGES = [*GUIDES, REPOSITORY / "CHANGELOG.md", REPOSITORY / "benchmarks" / "README.md", *sorted((REPOSITORY / "results").glob("**/*.md"))]
PROGRAMS = {program.module: program for program in (RANK, PRETRAIN)}


def _name(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


def _blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def _prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(tmp_path / "cache"), "docs", str(tmp_path / "html")]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    python = (tmp_path / "html" / "python.html").read_text(encoding="utf-8")
    assert all(
        f'id="{name}"' in python for name in ("qaexp.load", "qaexp.models.scorer.AnswerScorer", "qaexp.training.losses.PairwiseHinge")
    )


def test_the_readme_is_short() -> None:
    assert (REPOSITORY / "README.md").stat().st_size < 10_000


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    dead = [link for link in _links(page) if not _resolves(page, link)]
    assert not dead


def _links(page: Path) -> Iterator[str]:
    prose = re.sub(r"`[^`\n]*`", "", _prose(page))
    for link in [*re.findall(r"\]\(([^)\s]+)\)", prose), *re.findall(r'(?:src|srcset|href)="([^"]+)"', prose)]:
        if not link.startswith(("https://", "http://", "mailto:")):
            yield link


def _resolves(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not anchor or anchor in _anchors(target))


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("picture", sorted((REPOSITORY / "docs" / "images").glob("*.svg")), ids=_name)
def test_pictures_are_whole(picture: Path) -> None:
    assert ElementTree.parse(picture).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def _commands() -> Iterator[str]:
    for page in GUIDES:
        lines = [line for block in _blocks(page, "sh") for line in block.splitlines()]
        for line in [*lines, *re.findall(r"`((?:python -m qaexp|qaexp |make )[^`\n]*)`", _prose(page))]:
            words = shlex.split(line, comments=True)
            while words and re.match(r"[A-Z_]+=", words[0]):
                words = words[1:]
            if words[:2] == ["python", "-m"] or words[:1] in (["make"], ["qaexp"]):
                yield shlex.join(words[: words.index(">")] if ">" in words else words)


@pytest.mark.parametrize("page", GUIDES, ids=_name)
def test_commands_are_in_today_s_form(page: Path) -> None:
    """Blocks and sentences say `qaexp`, not `python -m qaexp`; one sentence tells that the two are the same."""
    older = re.findall(r"python -m qaexp.*", page.read_text(encoding="utf-8"))
    assert [line for line in older if not line.startswith("python -m qaexp` is the same command")] == []


@pytest.mark.parametrize("command", sorted(set(_commands())))
def test_commands_are_taken(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(command)
    if words[0] == "qaexp":  # as a module
        name = f"qaexp.{words[1]}" if words[1:] and words[1] in COMMANDS else "qaexp"
        words = ["python", "-m", name, *words[1 + (name != "qaexp") :]]
    if words[0] == "make":
        assert _is_target(words[1])
    elif (module := words[2]) in PROGRAMS:
        _compose_each(words[3:], PROGRAMS[module])
    else:
        _parse(module, words[3:], monkeypatch)


def _is_target(name: str) -> bool:
    rules = re.findall(r"^([a-z%-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return any(re.fullmatch(rule.replace("%", r"\w+"), name) for rule in rules)


def _compose_each(options: list[str], program: Any) -> None:
    """The first run of a command and, of a sweep, the last."""
    if any(option.startswith("resume=") for option in options):
        assert len(options) == 1
        return
    overrides = [option for option in options if option not in ("-m", "--help", "--cfg", "job")]
    parsed = OverridesParser.create().parse_overrides(overrides)
    values = [list(each.sweep_string_iterator()) if each.is_sweep_override() else [] for each in parsed]
    assert "-m" in options or not any(values)
    for place in (0, -1):
        cfg = compose(
            [f"{each.key_or_group}={value[place]}" if value else str(each.input_line) for each, value in zip(parsed, values, strict=True)],
            program,
        )
        assert OmegaConf.to_container(cfg.model)


class ParsedError(Exception):
    """The arguments were taken."""


def _parse(module: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(parser: argparse.ArgumentParser, given: Any = None, namespace: Any = None) -> None:
        _, rest = parser.parse_known_args(given, namespace)
        if rest:
            parser.error(f"unknown: {rest}")
        raise ParsedError

    for name in ("parse_args", "parse_intermixed_args"):
        monkeypatch.setattr(argparse.ArgumentParser, name, parse)
    name = "table" if module == "qaexp.results.table" else module.rpartition(".")[2]
    assert name in COMMANDS
    if not arguments or {"-h", "--help"} & set(arguments):  # a program that a sentence names
        return
    with pytest.raises(ParsedError):
        run_command([name, *arguments])


def _mistakes() -> Iterator[tuple[str, str]]:
    for page in GUIDES:
        for block in _blocks(page, "console"):
            lines = block.splitlines()
            yield from zip([line.removeprefix("$ ") for line in lines[::2]], lines[1::2], strict=True)


@pytest.mark.parametrize(("command", "message"), list(_mistakes()))
def test_messages_are_quoted_as_they_are(
    command: str, message: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(command)[1:]
    if not command.partition("resume=")[1]:
        arguments += ["logger=none", f"output_dir={tmp_path}"]
    assert main(arguments) == 2
    assert message in caplog.text


def _examples() -> Iterator[Any]:
    for page in GUIDES:
        text = page.read_text(encoding="utf-8")
        for code, command in re.findall(r"^```python\n(# mine\.py\n.*?)^```\n.*?^```sh\n([^\n]*)\n", text, flags=re.DOTALL | re.MULTILINE):
            yield pytest.param(code, command, id=_name(page))


@pytest.mark.parametrize(("code", "command"), list(_examples()))
def test_a_model_of_ones_own_trains_and_loads(code: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    monkeypatch.setenv("QAEXP_TRUSTED", "mine")
    options = [word for word in shlex.split(command) if "=" in word and not word.startswith("PYTHONPATH")]
    small = ["dataset.reader.num_train=40", "dataset.reader.num_dev=8", "dataset.reader.num_test=8", "dataset.expected=null"]
    assert main([*options, *small, "trainer=short", "logger=none", f"output_dir={tmp_path}", f"cache_dir={tmp_path / 'cache'}"]) == 0
    [checkpoint] = tmp_path.glob("*/*/best.ckpt")
    ranker = qaexp.load(checkpoint)
    pooling = ranker.scorer.pooling
    assert type(pooling).__module__ == "mine"
    states = torch.tensor([[[2.0], [5.0], [4.0]], [[3.0], [0.0], [0.0]]])
    text = {"states": states, "mask": torch.tensor([[True, True, True], [True, False, False]])}
    assert pooling(text)["vector"].tolist() == [[3.0], [3.0]]
    export = [sys.executable, "-m", "qaexp", "export", str(checkpoint), "--onnx", str(tmp_path / "mine.onnx")]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{REPOSITORY}"}  # in a process of its own, where no shapes are checked
    done = subprocess.run(export, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    monkeypatch.delitem(sys.modules, "mine")


def test_the_file_of_the_guide_to_own_data_trains_and_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = REPOSITORY / "docs" / "howto" / "own_data.md"
    monkeypatch.chdir(tmp_path)
    Path("faq.csv").write_text(_blocks(page, "text")[0], encoding="utf-8")
    _, *options = shlex.split(_blocks(page, "sh")[0])
    assert main([*options, "trainer.max_epochs=1", "output_dir=runs", "cache_dir=cache"]) == 0
    [checkpoint] = tmp_path.glob("runs/*/*/best.ckpt")
    assert len(qaexp.load(checkpoint).rank("Who waters roses?", ["The gardener does.", "Call the bank."])) == 2


def test_a_whole_model_of_ones_own_trains_and_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (REPOSITORY / "docs" / "howto" / "own_model.md").read_text(encoding="utf-8")
    for file, content in re.findall(r"^```\w+\n# ([\w/]+\.(?:py|yaml))\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(content, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    small = ["dataset.reader.num_train=40", "dataset.reader.num_dev=8", "dataset.reader.num_test=8", "dataset.vectors.dim=8"]
    places = ["logger=none", f"output_dir={tmp_path}", f"cache_dir={tmp_path / 'cache'}"]
    assert main(["--config-dir", str(tmp_path / "my_conf"), "model=mean_vectors", *small, "trainer=short", *places]) == 0
    [checkpoint] = tmp_path.glob("*/*/best.ckpt")
    with pytest.raises(CheckpointError, match=r"not part of qaexp; if that is your own, set QAEXP_TRUSTED=scorers, else do not load it"):
        qaexp.load(checkpoint)
    monkeypatch.setenv("QAEXP_TRUSTED", "scorers")
    ranker = qaexp.load(checkpoint)
    assert type(ranker.scorer).__module__ == "scorers"
    assert ranker.scorer.layer.out_features == 16
    assert [answer.position for answer in ranker.rank("how long does it take", ["", "how long does it take"])] == [1, 0]
    monkeypatch.delitem(sys.modules, "scorers")


def test_every_model_has_a_row_with_its_class_and_slots() -> None:
    rows = re.findall(r"^\| (`.+?`) \| (.+?) \|", (REPOSITORY / "docs" / "models.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    described = {name: says for names, says in rows for name in re.findall(r"`(\w+)`", names)}
    assert sorted(described) == choices("model")
    for name, says in described.items():
        file = OmegaConf.to_container(OmegaConf.load(CONF / "model" / f"{name}.yaml"))
        assert isinstance(file, dict)
        kind = compose([f"model={name}"]).model._target_.rpartition(".")[2]
        slots = [each[slot] for each in file.get("defaults", []) if isinstance(each, dict) for slot in each if slot not in ("embedding",)]
        expected = f"`{kind}`: {', '.join(slot for slot in slots if slot != 'none')}" if kind == "Scorer" else f"`{kind}`"
        assert says.startswith(expected), name


def test_every_data_set_has_a_row() -> None:
    page = (REPOSITORY / "docs" / "data.md").read_text(encoding="utf-8")
    for group in ("dataset", "dataset/vectors", "dataset/negatives"):
        assert [name for name in choices(group) if f"`{name}`" not in page] == []


def test_messages_in_the_lists_are_in_the_code() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "qaexp").glob("**/*.py"))
    code = re.sub(r'"\n\s+f?"', "", code)
    quoted = re.findall(
        r"\*([^*\n]+)\*", "\n".join(re.findall(r"^- .*$", _prose(REPOSITORY / "docs" / "troubleshooting.md"), flags=re.MULTILINE))
    )
    assert len(quoted) > 10
    pieces = [max(re.split(r"[A-Z]{3,}|`[^`]*`|\bnan\b", message), key=len).strip() for message in quoted]
    assert [piece for piece in pieces if piece and piece not in code] == []
