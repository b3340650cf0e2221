"""The project's workspace: results, curves, training, speed, and what the hardest questions are."""

import wandb_workspaces.expr as expr
import wandb_workspaces.workspaces as ws

from qaexp.tracking.dashboard.panels import DEV, EPOCH, SPEED, TRAINING, bars, curve, pictures, table

NAME = "Papers' tables"
VIEW = "nw-qaexp-v"
"""The view's name at W&B, always the same: building it again replaces it. Its address ends in `?nw=qaexp`."""

FINAL = ("test/map", "test/mrr", "test/p@1", "test1/p@1", "test2/p@1", "test/accuracy")
PINNED = ("summary:test/map", "summary:test/mrr", "summary:test/p@1", "summary:dev/map", "summary:best_epoch", "run:tags")


def workspace(entity: str, project: str) -> ws.Workspace:
    """Runs grouped by the table that they were made for, then by row; those that were made for none by their model."""
    sections = [
        ws.Section("Results", [bars(metric) for metric in FINAL], is_open=True),
        ws.Section("Learning", [curve("train/loss"), *map(curve, DEV)], is_open=True),
        ws.Section("Training", [curve(metric, log_y="norm" in metric) for metric in TRAINING]),
        ws.Section("Speed", [curve(metric) for metric in SPEED]),
        ws.Section("Hardest questions", [pictures(), *(table(f"hardest/{split}") for split in ("dev", "test", "test1", "test2"))]),
        ws.Section("Each question", [table(f"questions/{split}") for split in ("dev", "test", "test1", "test2")]),
    ]
    built = ws.Workspace(
        entity=entity,
        project=project,
        name=NAME,
        sections=sections,
        settings=ws.WorkspaceSettings(x_axis=EPOCH, max_runs=50, tooltip_number_of_runs="all_runs"),
        runset_settings=ws.RunsetSettings(
            groupby=[expr.Metric("Group"), expr.Config("labels.row"), expr.Config("choices.model")], pinned_columns=list(PINNED)
        ),
    )
    built._internal_name = VIEW
    return built
