"""What the screen shows while a job runs in the sweep's own process."""

import io
import logging

from qaexp.sweep.job import _quiet_screen


def test_a_sweeps_progress_is_seen_while_a_job_runs_and_the_jobs_epochs_are_not() -> None:
    shown = io.StringIO()
    screen = logging.StreamHandler(shown)
    logging.getLogger().addHandler(screen)
    before = logging.getLogger().level
    logging.getLogger().setLevel(logging.INFO)
    try:
        with _quiet_screen():
            logging.getLogger("qaexp.sweep.progress").info("[1/3] seed=1: ran")
            logging.getLogger("qaexp.some.module").info("epoch 1/2")
            logging.getLogger("qaexp.some.module").error("the disk is full")
        logging.getLogger("qaexp.some.module").info("after it")
    finally:
        logging.getLogger().removeHandler(screen)
        logging.getLogger().setLevel(before)
    assert shown.getvalue().splitlines() == ["[1/3] seed=1: ran", "the disk is full", "after it"]
