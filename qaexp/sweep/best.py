"""Writes the best cell of a sweep, by dev metric, as a YAML file that can be used as `experiment=...`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from qaexp.config import RANK, Program, choice_file, is_choice, join_options
from qaexp.files import atomic_write_text, name_another_place
from qaexp.runs.identity import measured_options
from qaexp.runs.record import RunRecord
from qaexp.sweep.job import JobResult

BEST_REMEDY = name_another_place("hydra.sweeper.best=FILE")


@dataclass(frozen=True)
class Best:
    """The chosen options and their runs: one, or one per seed where seeds were swept."""

    options: Sequence[str]
    runs: Sequence[JobResult]
    failed: int = 0
    """The number of runs without a score, such as seeds that diverged."""

    @property
    def score(self) -> float:
        """The mean of the runs' dev scores."""
        return mean(run.score for run in self.runs if run.score is not None)


def best_of_each_measure(results: Sequence[JobResult]) -> dict[str, Best]:
    """`best_of` the runs that are measured alike, by measure. A failed run has no measure; it counts against its options."""
    measures = dict.fromkeys(result.measure for result in sorted(results, key=lambda result: result.cell) if result.score is not None)
    bests = {measure: best_of([result for result in results if result.score is None or result.measure == measure]) for measure in measures}
    return {measure: best for measure, best in bests.items() if best is not None}


def best_of(results: Sequence[JobResult]) -> Best | None:
    """The options with the highest mean score over their seeds (the first of equals); None when no run has a score.

    Options that failed with some seeds rank behind those that never failed.
    """
    seeds = {_seed_of(result.options) for result in results}
    cells: dict[tuple[str, ...], list[JobResult]] = {}
    for result in sorted(results, key=lambda result: result.cell):
        options = [option for option in result.options if len(seeds) < 2 or option not in seeds]
        cells.setdefault(tuple(options), []).append(result)
    scored = {options: [run for run in runs if run.score is not None] for options, runs in cells.items()}
    found = [Best(options, scored[options], len(runs) - len(scored[options])) for options, runs in cells.items() if scored[options]]
    return max(found, key=lambda best: (-best.failed, best.score), default=None)


def _seed_of(options: Sequence[str]) -> str:
    return next((option for option in reversed(options) if option.startswith("seed=")), "")


def best_yaml(best: Best, record: RunRecord, num_jobs: int, program: Program = RANK) -> str:
    """The chosen options as YAML for Hydra: as `conf/experiment/ctrn/best.yaml` they are `experiment=ctrn/best`.

    `record` is that of the first run. The axes of the sweep are not kept.
    """
    measured = measured_options(best.options)
    deleted = [option for option in measured if option.startswith("~")]
    options = [option for option in measured if option not in deleted]
    groups = [(option.partition("=")[0], _chosen(option)) for option in options if is_choice(option)]
    values = [option for option in options if not is_choice(option)]
    chosen, tree = dict[str, Any](), OmegaConf.create()
    for choice in (choice for group, choice in groups if group == "experiment"):
        former, tree = _of_experiment(choice)
        chosen |= former
    added = {f"/{group[1:]}": choice for group, choice in groups if group.startswith("+")}
    replaced = {f"override /{group}": choice for group, choice in groups if group != "experiment" and not group.startswith("+")}
    chosen = added | chosen | replaced  # Hydra wants overrides at the end
    defaults = [name if choice is None else {name: choice} for name, choice in chosen.items()]
    for override in OverridesParser.create().parse_overrides(values):
        OmegaConf.update(tree, override.key_or_group, override.value())
    OmegaConf.update(tree, "hydra.sweeper.params", None)
    settings: Any = OmegaConf.to_container(tree)
    alone = f" in epoch {record.best_epoch} of {len(record.history)}" if record.best_epoch else ""
    where = alone if len(best.runs) == 1 else f", the mean of {len(best.runs)} seeds"
    where += f"; {best.failed} more failed" if best.failed else ""
    return (
        "# @package _global_\n"
        f"# The best of {num_jobs} runs by {record.selection_metric}, {100 * best.score:.2f}{where}; chosen on "
        f"dev only.\n# {program.command} {record.command}\n# Run {record.key}{record.commit and f', commit {record.commit}'}.\n"
        + (f"# Give these, too, since a file cannot delete an option: {join_options(deleted)}\n" if deleted else "")
        + yaml.safe_dump({"defaults": [*defaults, "_self_"], **settings}, sort_keys=False, default_flow_style=None, width=140)
    )


def _chosen(option: str) -> Any:
    """The choice of a group: a name, or a list of names."""
    value = OverridesParser.create().parse_override(option).value()
    return value if isinstance(value, list) else option.partition("=")[2]


def _of_experiment(choice: str) -> tuple[dict[str, Any], DictConfig]:
    """The choices and values of an experiment. The file of an earlier best is replaced by its content, since the new file may
    overwrite it."""
    path = choice_file("experiment", choice)
    content = OmegaConf.load(path) if path else OmegaConf.create()
    assert isinstance(content, DictConfig)
    defaults: Any = OmegaConf.to_container(content.pop("defaults", OmegaConf.create([])))
    if OmegaConf.select(content, "hydra.sweeper", default={}).get("params", {}) is not None:  # only a best empties them
        return {f"/experiment/{choice}": None}, OmegaConf.create()
    chosen = dict[str, Any]()
    for each in defaults:
        chosen |= each if isinstance(each, dict) else {each: None} if each != "_self_" else {}
    return chosen, content


def write_best(paths: Sequence[Path], best: Best, record: RunRecord, num_jobs: int, program: Program = RANK) -> None:
    """Write the same file to each path.

    Raises:
        OutputError: a folder is full or read-only.
    """
    text = best_yaml(best, record, num_jobs, program)
    for path in paths:
        atomic_write_text(path, text, BEST_REMEDY)
