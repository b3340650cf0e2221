"""`qaexp demo RUN...`: a page on this machine that ranks what is typed."""

import argparse
import logging
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from qaexp.cli.command import exit_code, non_negative_int
from qaexp.errors import ConfigError, QaexpError

LOCAL = "127.0.0.1"
LOCAL_NAMES = (LOCAL, "localhost")

log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0 after Ctrl-C, or 2 when a run cannot be loaded or the address is taken."""
    parser = argparse.ArgumentParser(
        prog="qaexp demo",
        description="Open a page on this machine that ranks candidates with one or several runs while you type. Type a question and "
        "candidates, or choose a question of the runs' data set; the page also shows what the models look at. Ctrl-C ends it.",
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="folders of runs")
    parser.add_argument(
        "--host", default=LOCAL, help="the address to listen at; 0.0.0.0 is open to the whole network (default: %(default)s)"
    )
    parser.add_argument("--port", type=non_negative_int, default=7860, help="0 picks a free port (default: %(default)s)")
    parser.add_argument("--data", metavar="DIR", help="the data folder (default: that of the first run)")
    options = parser.parse_args(arguments)
    return exit_code(lambda: _serve(options))


def _serve(options: argparse.Namespace) -> int:
    import uvicorn  # needs torch and an extra

    from qaexp.explain.demo.app import Questions, make_app
    from qaexp.explain.report.contents import titles_of
    from qaexp.explain.run_data import data_of
    from qaexp.runs.ranker import load
    from qaexp.runs.record import RunRecord

    rankers = [load(run) for run in options.runs]
    if len({ranker.classes for ranker in rankers}) > 1:
        raise ConfigError("some runs rank and others predict classes, or other classes; show runs of one kind together")
    names = titles_of(options.runs, [RunRecord.load(run) for run in options.runs])
    try:
        questions = Questions(data_of(options.runs[0], options.data), as_written=any(ranker.scorer.subwords for ranker in rankers))
    except QaexpError as error:
        log.info("without the data set's questions: %s", error)
        questions = None
    try:
        listening = socket.create_server((options.host, options.port))
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"cannot listen at {options.host}, port {options.port} ({error}); choose others with --host and --port"
        ) from error
    port = listening.getsockname()[1]
    hosts = LOCAL_NAMES if options.host in LOCAL_NAMES else ["*"]
    if options.host not in LOCAL_NAMES:
        log.warning("anyone who can reach %s can use this page and read the data set's questions", options.host)
    server = uvicorn.Server(uvicorn.Config(make_app(rankers, names, questions, hosts), log_level="warning"))
    log.info("http://%s:%d (Ctrl-C ends it)", options.host, port)
    with listening, suppress(KeyboardInterrupt):  # the usual end, which uvicorn passes on
        server.run(sockets=[listening])
    return 0
