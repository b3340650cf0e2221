"""`qaexp data`: commands for data sets. Each adds its own parser and is listed in COMMANDS."""

import argparse
import contextlib
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from qaexp.cli.command import exit_code, non_negative_int, positive_int, positive_seconds
from qaexp.data.fetch.remotes import PUBLISHED, RETRIES, TIMEOUT, UNPUBLISHED, PublishedSet, data_root, fetch_hint, find
from qaexp.errors import ConfigError, meant

Parsers = argparse._SubParsersAction  # what `add_subparsers` returns has no public name


def add_fetch(parsers: Parsers) -> None:
    """`fetch`: download, verify and install published files."""
    parser = parsers.add_parser(
        "fetch",
        help="download published data sets, or install copies you have, and verify them",
        description="Put published data sets in the data folder. Correct files that are already there are kept.\n"
        "A file is verified before it is moved into place, if its checksum or its number of lines is\n"
        "known. The same command resumes a download that was cut off.",
        epilog=f"data sets:\n{listing()}\n\nWithout a name, `fetch` prints this list.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("dataset", nargs="*", help="which sets to fetch")
    parser.add_argument(
        "--from", dest="copies", metavar="FOLDER_OR_ARCHIVE", help="take files from a folder, zip or tar you have; no network"
    )
    parser.add_argument("--data", metavar="DIR", help="the data folder (default: the environment's QAEXP_DATA, else ./data)")
    parser.add_argument("--replace", action="store_true", help="overwrite wrong files")
    parser.add_argument("--base-url", metavar="URL", help="a mirror of your own with the published paths, e.g. http://host:8000")
    parser.add_argument("--retries", type=non_negative_int, default=RETRIES, help="tries after a cut connection (default: %(default)s)")
    parser.add_argument("--timeout", type=positive_seconds, default=TIMEOUT, help="seconds to wait for a byte (default: %(default)s)")
    parser.set_defaults(run=run_fetch)


def run_fetch(args: argparse.Namespace) -> None:
    """Fetch the named sets, or list all."""
    if not args.dataset:
        sys.stdout.write(f"{listing()}\n")
        return
    sets = [named(name) for name in args.dataset]
    from qaexp.data.fetch.download import Downloader  # here, as pooch and requests are an extra
    from qaexp.data.fetch.fetch import Fetch
    from qaexp.data.fetch.local_archives import Copies

    downloader = Downloader(retries=args.retries, timeout=args.timeout, base_url=args.base_url)
    source = Copies(Path(args.copies).expanduser()) if args.copies else downloader
    for published in sets:
        Fetch(data_root(args.data), source, args.replace).run(published)


def add_check(parsers: Parsers) -> None:
    """`check`: canaries."""
    parser = parsers.add_parser(
        "check",
        help="score data sets with scorers that know nothing or everything, and show what leaks",
        description="Score dev and test splits with a constant, a random, an order-based and a label-leaking scorer. Each has\n"
        "a known result; if it gets another one, the data or the metrics are wrong.\n"
        "Exit status 1: something leaks or is broken.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("dataset", nargs="*", help="choices of dataset= (default: all whose files are there), and options")
    parser.add_argument("--data", metavar="DIR", help="the data folder (default: the environment's QAEXP_DATA, else ./data)")
    parser.add_argument("--seed", type=non_negative_int, default=1, help="seed of the random scorer (default: %(default)s)")
    parser.set_defaults(run=run_check)


def run_check(args: argparse.Namespace) -> int:
    """Check the named data sets, or all on disk. Returns 1 if a check failed."""
    from qaexp.cli.check import check_all  # here, as torch takes seconds to import

    return check_all(args.dataset, args.data, args.seed)


def add_describe(parsers: Parsers) -> None:
    """`describe`: the papers' tables of data statistics."""
    parser = parsers.add_parser(
        "describe",
        help="the papers' tables of data statistics, from what is on disk",
        description="Print the papers' tables of data statistics (experiments/*/table*.yaml): our counts beside the printed\n"
        "ones. The status of each data set is measured, partial data or data missing.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--csv", metavar="DIR", help="also write DIR/<paper>/table<N>.csv, e.g. --csv results/")
    parser.add_argument("--data", metavar="DIR", help="the data folder (default: the environment's QAEXP_DATA, else ./data)")
    parser.set_defaults(run=run_describe)


def run_describe(args: argparse.Namespace) -> None:
    """Print every table; with --csv, write it as well."""
    from qaexp.reproduction.statistics import describe_all  # here, as torch takes seconds to import

    describe_all(args.data, args.csv)


def add_make_up(parsers: Parsers) -> None:
    """`make-up`: generated files in AskUbuntu's layout."""
    parser = parsers.add_parser(
        "make-up",
        help="generate files with AskUbuntu's layout and size",
        description="Generate files with AskUbuntu's layout and size, for trying pre-training and fine-tuning without the real ones\n"
        "(dataset=askubuntu_made_up). Numbers measured on them say nothing about AskUbuntu.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a new folder, such as $QAEXP_DATA/askubuntu_made_up")
    parser.add_argument("--questions", type=positive_int, metavar="N", help="how many (default: as many as AskUbuntu has, 167765)")
    parser.add_argument("--seed", type=non_negative_int, default=1, help="equal seeds give equal files (default: %(default)s)")
    parser.set_defaults(run=run_make_up)


def run_make_up(args: argparse.Namespace) -> None:
    """Write the files, and name their folder."""
    from qaexp.data.made_up import QUESTIONS, make_folder  # here, as numpy and rich take time to import

    folder = args.folder.expanduser()
    make_folder(folder, args.questions or QUESTIONS, args.seed)
    sys.stdout.write(f"{folder}\n")


COMMANDS: tuple[Callable[[Parsers], None], ...] = (add_fetch, add_check, add_describe, add_make_up)


def named(name: str) -> PublishedSet:
    """The published set called `name`.

    Raises:
        ConfigError: there is none; the message says what to use instead of an unpublished set, or gives the nearest names.
    """
    published = find(name)
    if published is not None:
        return published
    if fetch_hint(name) in UNPUBLISHED.values():
        raise ConfigError(fetch_hint(name))
    raise ConfigError(f"no published data set is called {name}: {meant(name, [candidate.name for candidate in PUBLISHED])}")


def listing() -> str:
    """A line for each set: name, size of the download, title."""
    return "\n".join(f"  {published.name:<15} {_size(published):>15}  {published.title}" for published in PUBLISHED)


def _size(published: PublishedSet) -> str:
    size, whole = published.size
    if not size:
        return "size unknown"
    shown = f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
    return shown if whole else f"over {shown}"


def main(arguments: Sequence[str]) -> int:
    """Run one command. Exit status: 0 done, 1 a check failed, 2 a mistake of the user (one sentence on standard error), 130 interrupted."""
    parser = argparse.ArgumentParser(prog="qaexp data", description="Commands for data sets.")
    parsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for add in COMMANDS:
        add(parsers)
    args = parser.parse_args(arguments)
    with _messages():
        return exit_code(lambda: args.run(args) or 0, "run the same command again to resume")


@contextlib.contextmanager
def _messages() -> Iterator[None]:
    """Prints log messages as they are: information to standard output, warnings to standard error."""
    log, root = logging.getLogger("qaexp"), logging.getLogger()
    out, err = logging.StreamHandler(sys.stdout), logging.StreamHandler(sys.stderr)
    out.addFilter(lambda record: record.levelno < logging.WARNING)
    err.setLevel(logging.WARNING)
    level = log.level
    log.setLevel(logging.INFO)
    root.addHandler(out)
    root.addHandler(err)
    try:
        yield
    finally:
        root.removeHandler(out)
        root.removeHandler(err)
        log.setLevel(level)
