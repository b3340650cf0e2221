"""What a run of hours says while it goes on."""

import logging

import pytest
from pytorch_lightning.profilers import SimpleProfiler

from qaexp import logs
from qaexp.logs import silence_libraries, throttled_log


def test_a_throttled_logger_lets_one_line_through_at_intervals(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    clock = iter([0.0, 40.0, 80.0, 120.0, 160.0, 200.0, 240.0, 250.0])
    monkeypatch.setattr(logs.time, "monotonic", lambda: next(clock))
    lines = logging.getLogger("qaexp.epochs")
    with caplog.at_level(logging.INFO):
        with throttled_log(100.0, "ap, Table 3: AP-CNN, seed 1", "qaexp.epochs"):
            for epoch in range(1, 7):
                lines.info("epoch %d/%d", epoch, 6)
            lines.warning("the loss rises")
        lines.info("afterwards")
    run = "ap, Table 3: AP-CNN, seed 1: "
    assert caplog.messages == [f"{run}epoch 3/6", f"{run}epoch 6/6", f"{run}the loss rises", "afterwards"]


def test_a_profilers_table_is_shown_though_lightning_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    silence_libraries()
    logging.getLogger("pytorch_lightning").info("not for users")
    profiler = SimpleProfiler()
    profiler.setup("fit")
    with profiler.profile("the step"):
        pass
    profiler.describe()
    [table] = caplog.messages
    assert "Profiler Report" in table
    assert "the step" in table
