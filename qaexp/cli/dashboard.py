"""`qaexp dashboard`: the W&B workspace and a report for each of the papers' tables, built from the files of this repository."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from qaexp.cli.command import print_lines
from qaexp.errors import ConfigError
from qaexp.runs.folder import RESULTS, RUNS
from qaexp.tracking.sync import has_key


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, or 2 where something is missing or W&B refuses."""
    options = _parser().parse_args(arguments)
    os.environ.setdefault("WANDB_SILENT", "true")  # read on import
    return print_lines(lambda: _build(options))


def _build(options: argparse.Namespace) -> list[str]:
    from qaexp.reproduction.content import EXPERIMENTS
    from qaexp.reproduction.dashboard import finished_runs, our_numbers, paper_tables, report
    from qaexp.tracking import views
    from qaexp.tracking.workspace import workspace

    if options.dry_run is None and not has_key():
        raise ConfigError(
            "W&B has no key here: set WANDB_API_KEY or run `wandb login`; without one, `--dry-run FOLDER` writes what would be sent"
        )
    for option, folder, usual in (("--runs", options.runs, RUNS), ("--results", options.results, RESULTS)):
        if folder != usual and not folder.is_dir():  # the default folder need not exist before the first run
            raise ConfigError(f"{option} {folder}: there is no such folder; leave the option out for {usual}")
    entity = options.entity or ("" if options.dry_run else views.default_entity())
    tables, records = paper_tables(options.experiments or EXPERIMENTS), finished_runs(options.runs)
    if not tables:
        raise ConfigError(f"--experiments {options.experiments}: it holds no table, such as ggsa/table4.yaml")
    board = workspace(entity, options.project)
    reports = {table.group: report(table, our_numbers(table, options.results), records, entity, options.project) for table in tables}
    if options.dry_run is None:
        return views.send(board, list(reports.values()))
    built = {"workspace": views.workspace_view(board), **{group: views.report_view(each) for group, each in reports.items()}}
    return [str(path) for path in views.write(built, options.dry_run)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="qaexp dashboard",
        description="Build the project's workspace and a report for each table of the papers at W&B. Building again replaces them.",
    )
    parser.add_argument("--entity", default=os.environ.get("WANDB_ENTITY", ""), help="user or team (default: the owner of the key)")
    parser.add_argument("--project", default="qaexp", help="W&B project, as in logger.project (default: %(default)s)")
    parser.add_argument("--dry-run", type=Path, metavar="FOLDER", help="send nothing; write one JSON file for each view")
    parser.add_argument("--runs", type=Path, default=RUNS, help="finished runs (default: %(default)s)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="measured tables (default: %(default)s)")
    parser.add_argument("--experiments", type=Path, help="the papers' tables (default: those of qaexp)")
    return parser
