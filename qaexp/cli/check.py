"""`qaexp data check`: canaries on data sets, and the table of what they found."""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from hydra.errors import HydraException
from hydra.utils import instantiate
from omegaconf.errors import OmegaConfBaseException
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from qaexp.config import choices, compose
from qaexp.data.audit.canaries import BROKEN, ERRORS, LEAK, NOTE, OK, Finding
from qaexp.data.module import RankingDataModule
from qaexp.errors import ConfigError, MissingDataError, plural, require_among
from qaexp.evaluation.conventions import METRICS
from qaexp.mistakes import check_config, config_of_choices, explain
from qaexp.runs.tasks import task_of

log = logging.getLogger(__name__)

COLORS = {OK: "green", NOTE: "yellow", LEAK: "bold red", BROKEN: "bold red"}


def show(data: RankingDataModule, findings: Sequence[Finding], console: Console) -> None:
    """Print a row for each finding, and its remark below the table.

    `expected` and `off` (in standard errors) are those of P@1 and MRR, or of the accuracy of classes.
    """
    partial = " (partial data)" if data.partial_data else ""
    table = Table(
        title=escape(f"{data.name}{partial}, scored by {data.convention}"), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for heading in ("split", "canary", *task_of(data).headings, "expected", "off, s.e.", ""):
        table.add_column(heading, justify="left" if heading in ("split", "canary", "") else "right", no_wrap=True)
    for finding in findings:
        table.add_row(escape(finding.split), finding.canary, *_cells(finding), f"[{COLORS[finding.verdict]}]{finding.verdict}[/]")
    console.print(table)
    for finding in findings:
        if finding.remark:
            line = f"{finding.split}, {finding.canary}: {finding.verdict}: {finding.remark}"
            console.print(line, highlight=False, markup=False, soft_wrap=True)


def _cells(finding: Finding) -> list[str]:
    measured, expected = finding.measured, finding.expected
    if "count" in measured:
        return [f"{measured['count']:,.0f}", "", "", "", ""]
    if "share" in measured:
        return [f"{measured['share']:.3f}", "", "", "", ""]
    if "accuracy" in measured:
        chance = expected["accuracy"]
        return [f"{measured['accuracy']:.3f}", "", "", f"{chance.mean:.3f}", f"{chance.deviation(measured['accuracy']):+.1f}"]
    metrics = [f"{measured[name]:.3f}" for name in METRICS[:3]]
    if not expected:
        return [*metrics, "", ""]
    deviations = "" if finding.canary == "label-leaking" else " ".join(f"{expected[n].deviation(measured[n]):+.1f}" for n in expected)
    return [*metrics, " ".join(f"{each.mean:.3f}" for each in expected.values()), deviations]


def check_all(words: Sequence[str], data_dir: str | None, seed: int) -> int:
    """Check and show data sets. Returns 1 if a check failed, else 0.

    `words` are choices of `dataset=`, and options of training such as `dataset.reader.folder=faq.csv`, which apply to all of them. If no
    data set is named, every choice whose files are on disk is checked.

    Raises:
        ConfigError: `dataset=` has no such choice, or there is no such option.
        MissingDataError: files of a data set that was named are missing.
    """
    known, names, options = choices("dataset"), [word for word in words if "=" not in word], [word for word in words if "=" in word]
    require_among("dataset", names, known)
    fallen, num_checked = list[str](), 0
    for name in names or known:
        try:
            data = _built(name, data_dir, options)
            findings = task_of(data).audit(partial(_built, name, data_dir, options, shuffle_seed=None), seed)
        except MissingDataError:
            if names:
                raise
            log.info("%s: not checked, because files are missing (`qaexp data check %s` names them)", name, name)
            continue
        show(data, findings, Console())
        num_checked += 1
        fallen += [f"{name}, {f.split}, {f.canary}: {f.verdict}" for f in findings if f.verdict in (LEAK, BROKEN)]
    fine = f"nothing leaks or is broken (`note`: more than {ERRORS:g} standard errors off, or seen in training)"
    log.info("%s\nchecked: %s of %d", "\n".join(fallen) or fine, plural(num_checked, "data set"), len(names or known))
    return int(bool(fallen))


def _built(name: str, data_dir: str | None, options: Sequence[str] = (), **changes: Any) -> RankingDataModule:
    """The data module as a run would have it, its corpus read.

    Raises:
        ConfigError: there is no such option, or the data module cannot be built with it.
    """
    words = [f"dataset={name}", "dataset/vectors=random", *options]
    try:
        cfg = compose(words)
        check_config(cfg, config_of_choices(words), words)
        if data_dir:
            cfg.data_dir = data_dir
        data: RankingDataModule = instantiate(cfg.dataset, **changes)
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(explain(error, words) or str(error)) from error
    _ = data.corpus
    return data
