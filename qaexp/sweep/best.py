"""The best cell of a sweep as a file of conf/: what a sweep has chosen by dev metric, a table can use by name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from qaexp.config import CONF
from qaexp.results.record import NOT_IDENTITY, RunRecord
from qaexp.whole_files import write_whole


def best_yaml(options: Sequence[str], record: RunRecord, score: float, num_jobs: int) -> str:
    """The options of a run, as YAML that Hydra composes: copied to `conf/experiment/ctrn/best.yaml` it is `experiment=ctrn/best`."""
    options = [option for option in options if option.partition("=")[0].partition(".")[0] not in NOT_IDENTITY]
    groups = [option.partition("=")[::2] for option in options if (CONF / option.partition("=")[0]).is_dir()]
    values = [option for option in options if not (CONF / option.partition("=")[0]).is_dir()]
    defaults: list[Any] = [f"/experiment/{choice}" for group, choice in groups if group == "experiment"]
    defaults += [{f"override /{group}": choice} for group, choice in groups if group != "experiment"]
    tree = OmegaConf.create()
    for override in OverridesParser.create().parse_overrides(values):
        OmegaConf.update(tree, override.key_or_group, override.value())
    settings: Any = OmegaConf.to_container(tree)
    dev = record.config["dataset"]["selection_metric"]
    return (
        "# @package _global_\n"
        f"# The best of {num_jobs} runs by {dev}, {100 * score:.2f} in epoch {record.best_epoch} of {len(record.history)}; selection saw "
        f"dev alone.\n# python -m qaexp {record.command}\n# Run {record.key}, commit {record.commit}.\n"
        + yaml.safe_dump({"defaults": [*defaults, "_self_"], **settings}, sort_keys=False, default_flow_style=None, width=140)
    )


def write_best(paths: Sequence[Path], options: Sequence[str], record: RunRecord, score: float, num_jobs: int) -> None:
    """Write the same file to each path.

    Raises:
        OutputError: a folder is full or read-only.
    """
    for path in paths:
        write_whole(path, best_yaml(options, record, score, num_jobs))
