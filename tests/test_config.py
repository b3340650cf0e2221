"""`compose` gives what Hydra gives, from choices of YAML files that are composed once and kept."""

from collections.abc import Sequence
from pathlib import Path
from shutil import copytree

import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from qaexp import config
from qaexp.config import CONF, PRETRAIN, RANK, Program, compose, composed_by_hydra, in_hydra
from qaexp.reproduction.cells import cells_of
from qaexp.reproduction.spec import result_figures, result_tables, tunings


def test_a_configuration_is_composed_while_hydra_runs_another() -> None:
    alone = composed_by_hydra([], RANK.config)
    with initialize_config_dir(str(CONF), version_base="1.3"):
        running = GlobalHydra.instance().hydra
        assert composed_by_hydra([], RANK.config) == alone
        assert GlobalHydra.instance().hydra is running


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    config._composed_choices.cache_clear()
    return tmp_path / "cache"


def command_lines() -> list[tuple[Program, tuple[str, ...]]]:
    """Those of all committed cells, each once."""
    cells = [cell for table in (*result_tables(), *result_figures(), *tunings()) for cell in cells_of(table)]
    lines = [(RANK, tuple(cell.seeded(1))) for cell in cells] + [(PRETRAIN, tuple(cell.pretraining(1))) for cell in cells]
    return list(dict.fromkeys(line for line in lines if line[1]))


def with_every_option(lines: Sequence[tuple[Program, tuple[str, ...]]]) -> list[tuple[Program, tuple[str, ...]]]:
    """A part of the command lines that names every option of theirs, the longest first."""
    seen, part = set[tuple[str, str]](), []
    for program, options in sorted(lines, key=lambda line: -len(line[1])):
        if new := {(program.module, option.partition("=")[0]) for option in options} - seen:
            seen |= new
            part.append((program, options))
    return part


def same(ours: DictConfig, theirs: DictConfig) -> bool:
    flags = [(OmegaConf.is_struct(cfg), OmegaConf.is_readonly(cfg)) for cfg in (ours, theirs)]
    return OmegaConf.to_yaml(ours) == OmegaConf.to_yaml(theirs) and flags[0] == flags[1] and resolved(ours) == resolved(theirs)


def resolved(cfg: DictConfig) -> object:
    return OmegaConf.to_container(cfg, resolve=True)


def unlike_hydra(lines: Sequence[tuple[Program, tuple[str, ...]]]) -> list[tuple[str, ...]]:
    return [options for program, options in lines if not same(compose(options, program), composed_by_hydra(options, program.config))]


def test_cells_are_composed_as_hydra_composes_them() -> None:
    assert unlike_hydra(with_every_option(command_lines())) == []


@pytest.mark.slow
def test_every_cell_is_composed_as_hydra_composes_it() -> None:
    assert unlike_hydra(command_lines()) == []


def test_what_is_kept_on_disk_is_what_was_composed(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["model=iggsa", "dataset=wikiqa", "model.encoder.offset=0", "trainer.max_epochs=2"]
    first = compose(options)
    config._composed_choices.cache_clear()
    monkeypatch.setattr(config, "hydra_compose", None)
    assert same(compose(options), first)
    [kept] = empty_cache.rglob("*.json")
    kept.write_text('{"cut o', encoding="utf-8")
    config._composed_choices.cache_clear()
    with pytest.raises(TypeError):  # a damaged file is composed again
        compose(options)


def test_one_command_line_leaves_the_choices_of_the_next_as_they_were() -> None:
    compose(["model=ggsa", "model.encoder.offset=0", "dataset.name=other"])
    assert same(compose(["model=ggsa"]), composed_by_hydra(["model=ggsa"], "config"))


def test_the_first_of_ones_own_folders_gives_a_choice(tmp_path: Path) -> None:
    """Also after the same folders in another order."""
    folders = [tmp_path / "one", tmp_path / "two"]
    for margin, folder in enumerate(folders, start=1):
        (folder / "loss").mkdir(parents=True)
        text = (CONF / "loss" / "pairwise_hinge.yaml").read_text(encoding="utf-8")
        (folder / "loss" / "mine.yaml").write_text(f"{text}\npull: {margin}\n", encoding="utf-8")
    for order, margin in ((folders, 1), (folders[::-1], 2)):
        config.look_also_in(order)
        assert compose(["loss=mine"]).loss.pull == margin


def test_an_edited_file_counts_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "CONF", copytree(CONF, tmp_path / "conf"))
    before = compose().patience
    main = tmp_path / "conf" / "config.yaml"
    main.write_text(main.read_text(encoding="utf-8").replace(f"patience: {before}", f"patience: {before + 1}"), encoding="utf-8")
    assert compose().patience == before + 1


@pytest.mark.parametrize(
    "option",
    ["model.encoder.nothing=1", "seed=1,2", "model=nothing", "seed=[1", "+seed=2", "~nothing", "hydra.nothing=1", "nothing/at=all"],
)
def test_what_hydra_refuses_is_refused_in_its_words(option: str) -> None:
    errors = []
    for call in (lambda: compose(["model=ggsa", option]), lambda: composed_by_hydra(["model=ggsa", option], "config")):
        with pytest.raises(HydraException) as caught:
            call()
        errors.append((type(caught.value), str(caught.value)))
    assert errors[0] == errors[1]


@pytest.mark.parametrize("option", ["+trainer.profiler=simple", "~schedule", "++seed=2", "hydra.job.name=mine"])
def test_what_is_more_than_a_value_is_left_to_hydra(option: str) -> None:
    assert same(compose([option]), composed_by_hydra([option], "config"))


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "file"))
    assert same(compose(["model=ggsa"]), composed_by_hydra(["model=ggsa"], "config"))


WORDS = [
    "a",
    "it's",
    "a\\",
    "a\\'b",
    "a,b",
    "[a]",
    "{a: b}",
    "1e3",
    "2024_11_28",
    "null",
    "True",
    "nan",
    "",
    "é",
    "a=b",
    "a:b",
    "/t/x.csv",
    "~x",
    "\t",
    "-1",
]


@pytest.mark.parametrize("value", [*WORDS, WORDS, 1, 1.5, None, False, ["a b", 1, None, True, "1"]])
def test_a_value_is_written_so_that_hydra_reads_it_as_it_was(value: object) -> None:
    assert OverridesParser.create().parse_override(f"name={in_hydra(value)}").value() == value
