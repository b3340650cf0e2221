"""Dashboards as code. Needs wandb-workspaces, the extra `dashboard`."""

import warnings
from importlib.util import find_spec

if find_spec("wandb_workspaces"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its validators are in pydantic's old style
        import wandb_workspaces.reports.v2
        import wandb_workspaces.workspaces  # noqa: F401
