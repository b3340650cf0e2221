"""Workspaces and reports as the views that W&B keeps: written to files or sent. Needs wandb-workspaces, the extra `dashboard`."""

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import wandb
import wandb_workspaces.workspaces as ws
from wandb_workspaces.reports.v2.interface import Report
from wandb_workspaces.workspaces import internal

from qaexp.errors import QaexpError, first_line
from qaexp.files import atomic_write_text, name_another_place

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class View:
    """A workspace or a report as W&B stores it. The two differ only in `type` and in the form of `spec`."""

    type: str
    entityName: str  # noqa: N815  W&B's spelling
    projectName: str  # noqa: N815
    name: str
    """Empty: W&B chooses one."""
    displayName: str  # noqa: N815
    description: str
    spec: dict[str, Any]


def workspace_view(workspace: ws.Workspace) -> View:
    model = workspace._to_model()
    return View("project-view", model.entity, model.project, model.name, model.display_name, "", _dumped(model.spec))


def report_view(report: Report) -> View:
    model = report._to_model()
    return View("runs", report.entity, report.project, model.name or "", model.display_name, model.description, _dumped(model.spec))


def _dumped(spec: Any) -> dict[str, Any]:
    """The JSON that the library itself sends."""
    return json.loads(spec.model_dump_json(by_alias=True, exclude_none=True))


def write(views: dict[str, View], folder: Path) -> list[Path]:
    """Write a JSON file for each view, by name.

    Raises:
        OutputError: the folder cannot be written to.
    """
    paths = []
    for name, view in views.items():
        path = folder / f"{name}.json"
        atomic_write_text(path, json.dumps(asdict(view), indent=1, ensure_ascii=False) + "\n", name_another_place("--dry-run FOLDER"))
        paths.append(path)
    return paths


def default_entity() -> str:
    """The user or team that the key belongs to.

    Raises:
        QaexpError: W&B cannot be asked.
    """
    try:
        return wandb.Api().default_entity or ""
    except Exception as error:
        raise QaexpError(_refusal(error)) from error


def send(workspace: ws.Workspace, reports: Sequence[Report]) -> list[str]:
    """Send all views; returns their addresses. Views of an earlier call are replaced: reports by title, the workspace by its name.

    Raises:
        QaexpError: W&B refuses, or cannot be reached.
    """
    entity, project = workspace.entity, workspace.project
    try:
        api = wandb.Api()
        if project not in [known.name for known in api.projects(entity)]:
            api.create_project(project, entity)
        earlier = {known.display_name: known.id for known in api.reports(f"{entity}/{project}")}
        for report in reports:
            report.id = earlier.get(report.title, "")
            report.save()
        workspace._internal_id = _earlier_id(workspace)
        workspace.save()
    except Exception as error:
        raise QaexpError(_refusal(error)) from error
    return [workspace.url, *(report.url for report in reports)]


def _earlier_id(workspace: ws.Workspace) -> str:
    name = workspace._internal_name.removeprefix("nw-").removesuffix("-v")
    try:
        return internal.get_view_dict(workspace.entity, workspace.project, name)["id"]
    except ValueError:  # there is none
        return ""


def _refusal(error: Exception) -> str:
    return f"W&B: {first_line(error).rstrip('.')}. Check WANDB_API_KEY and --entity; `--dry-run FOLDER` writes what would be sent"
