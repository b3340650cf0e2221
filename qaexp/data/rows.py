"""Labelled pairs as people have them: TSV, CSV, JSONL, parquet or a saved data set of Hugging Face's `datasets`, with named columns."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from qaexp.data.files import MAX_LINE, Faults, json_lines, lines
from qaexp.errors import BadDataError, MissingDataError, plural

ENDINGS = ("tsv", "csv", "jsonl", "parquet")
"""File endings that can be read. `.gz` may follow."""

NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "query"),
    "candidate": ("candidate", "candidates", "answer", "answers", "sentence", "sentences", "passage", "passages", "text"),
    "label": ("label", "labels", "relevance", "grade"),
    "question_id": ("question_id", "questionid", "query_id", "qid"),
    "candidate_id": ("candidate_id", "candidate_ids", "answer_id", "sentence_id", "sentenceid", "passage_id", "docid"),
    "split": ("split",),
}
"""The names by which a column is found if the user names none. Letter case is ignored, and the first name that is there counts."""

POSITIONS = ("question", "candidate", "label")
"""The columns of a labelled file without a line of headings."""

Row = dict[str, Any]
"""The cells of a pair by our names of their columns."""

Rows = Iterator[tuple[str, Row]]
"""Pairs with their places: the number of a line, and in a pool the candidate's number after a dot."""


def ending(path: Path) -> str:
    """One of `ENDINGS`, or empty.

    >>> ending(Path("train.TSV.gz")), ending(Path("train"))
    ('tsv', '')
    """
    last = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    return last if last in ENDINGS else ""


def rows(faults: Faults, columns: Mapping[str, str | int | None], required: Sequence[str] = POSITIONS) -> Rows:
    """The pairs of the file of `faults`, read by its ending. Rows of parquet are numbered from 1.

    `columns` maps our names of columns to the file's. The file must have the `required` ones: question, candidate and, for labelled pairs,
    label; a file without headings has exactly these. Pairs have no cells of the other columns that the file lacks. A line of JSONL or
    parquet may be a pool: its candidate is a list of texts, beside lists of labels and ids, or a list of objects. Lines are read one at a
    time, so a file of any length fits in memory, unless it is parquet.
    """
    readers = {"tsv": _tsv, "csv": _csv, "jsonl": _jsonl, "parquet": _parquet}
    yield from readers[ending(faults.path)](faults, _Columns(columns, required))


class _Columns:
    """Finds the columns of a header."""

    def __init__(self, named: Mapping[str, str | int | None], required: Sequence[str] = POSITIONS) -> None:
        self.required = tuple(required)
        self.named = {ours: str(theirs) for ours, theirs in named.items() if theirs not in (None, "")}  # Hydra reads 0 as a number
        self.find = cache(self._find)

    def _find(self, header: tuple[str, ...], required: tuple[str, ...] = ("question", "candidate")) -> dict[str, str]:
        """A mapping from our names of columns to those of the header.

        Raises:
            LookupError: names what is not there, and what is.
        """
        spelled = {name.strip().casefold(): name for name in reversed(header)}
        found = {}
        for ours, usual in NAMES.items():
            theirs = self.named.get(ours)
            if theirs and (theirs in header or "question" in required):
                if theirs not in header:
                    raise LookupError(f"there is no column {theirs!r}, which is named for the {ours}; {_listed(header)}")
                found[ours] = theirs
            elif name := next((spelled[name] for name in usual if name in spelled), None):
                found[ours] = name
        if lacking := [ours for ours in required if ours not in found]:
            raise LookupError(f"there is no column of the {' and the '.join(lacking)}; {_listed(header)}")
        return found

    def is_header(self, fields: Sequence[str]) -> bool:
        """Whether a first line holds headings. It does if the user names columns, if its number of fields is not that of the required
        columns, if it has a heading for each required column, or if it ends in a heading of labels and has another heading in the wrong
        place.
        """
        if self.named or len(fields) != len(self.required):
            return True
        spelled = [field.strip().casefold() for field in fields]
        known = [{*NAMES[ours]} for ours in self.required]
        misplaced = any(name not in names and not names.isdisjoint(spelled) for name, names in zip(spelled, known, strict=True))
        all_known = not any(names.isdisjoint(spelled) for names in known)
        return {*spelled}.issuperset(self.required) or all_known or (misplaced and spelled[-1] in NAMES["label"])


def _listed(header: Sequence[str]) -> str:
    return f"there are: {', '.join(header)}"


def _of_table(faults: Faults, columns: _Columns, table: Iterator[tuple[int, list[str]]]) -> Rows:
    """Rows of a table whose first line may name the columns."""
    header: list[str] = []
    places: dict[str, int] = {}
    for line, fields in table:
        if not header:
            if columns.is_header(fields):
                header = fields
                try:
                    places = {ours: fields.index(theirs) for ours, theirs in columns.find(tuple(fields), columns.required).items()}
                except LookupError as error:
                    faults.add(line, str(error))
                    return
                continue
            header, places = list(columns.required), {name: place for place, name in enumerate(columns.required)}
            if fields[-1].strip().casefold() in NAMES["label"]:
                continue  # headings of other names
        if len(fields) != len(header):
            faults.add(line, f"{plural(len(fields), 'field')}, {len(header)} expected" if any(fields) else "it is blank")
            continue
        yield str(line), {ours: fields[place] for ours, place in places.items()}


def _tsv(faults: Faults, columns: _Columns) -> Rows:
    """Quotes are plain characters."""
    return _of_table(faults, columns, ((line, text.split("\t")) for line, text in lines(faults)))


def _csv(faults: Faults, columns: _Columns) -> Rows:
    """Fields may be quoted and hold line breaks. Semicolons separate if the first line has no comma."""
    return _of_table(faults, columns, _csv_fields(faults))


def _csv_fields(faults: Faults) -> Iterator[tuple[int, list[str]]]:
    texts = (text for _, text in lines(faults))
    if (first := next(texts, None)) is None:
        return

    def terminated() -> Iterator[str]:
        yield f"{first}\n"
        for text in texts:
            yield f"{text}\n"

    csv.field_size_limit(MAX_LINE)
    reader = csv.reader(terminated(), delimiter=";" if "," not in first and ";" in first else ",", strict=True)
    line = 1
    try:
        for fields in reader:
            yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        faults.add(line, f"it is not CSV ({error})")


def _jsonl(faults: Faults, columns: _Columns) -> Rows:
    for line, entry in json_lines(faults):
        if not isinstance(entry, dict):
            faults.add(
                line, f"it is a {type(entry).__name__}: an object is expected, such as {{'question': ..., 'candidate': ..., 'label': 1}}"
            )
            continue
        yield from _of_entries(faults, columns, [(line, entry)])


def rows_of_entries(faults: Faults, columns: Mapping[str, str | int | None], entries: Iterable[tuple[int, Row]]) -> Rows:
    """Pairs from numbered rows, each a mapping from the file's names of columns to cells."""
    return _of_entries(faults, _Columns(columns), entries)


def _of_entries(faults: Faults, columns: _Columns, entries: Iterable[tuple[int, Row]]) -> Rows:
    for line, entry in entries:
        try:
            row = {ours: _plain(entry[theirs]) for ours, theirs in columns.find(tuple(entry)).items()}
            pool = isinstance(row["candidate"], list)
            for number, pair in enumerate(_pool(row, columns) if pool else [row], start=1):
                if "label" in columns.required and "label" not in pair:
                    raise LookupError(f"there is no column of the label; {_listed(tuple(entry))}")
                yield (f"{line}.{number}" if pool else str(line)), pair
        except LookupError as error:
            faults.add(line, str(error))


def _pool(row: Row, columns: _Columns) -> list[Row]:
    """The pairs of a line with a list of candidates.

    Raises:
        LookupError: its lists are of different lengths, or an object has no candidate.
    """
    pairs: list[Row] = []
    for candidate in row["candidate"]:
        cells = {"candidate": candidate}
        if isinstance(candidate, dict):
            cells = {ours: candidate[theirs] for ours, theirs in columns.find(tuple(candidate), ("candidate",)).items()}
        pairs.append({**row, **cells})
    for name in ("label", "candidate_id"):
        if isinstance(values := row.get(name), list):
            if len(values) != len(pairs):
                raise LookupError(f"there are {len(pairs)} candidates, and {len(values)} in the list of {name}")
            for pair, value in zip(pairs, values, strict=True):
                pair[name] = value
    return pairs


def _plain(cell: Any) -> Any:
    """A cell without NumPy's types, which parquet gives, also within lists."""
    cell = cell.tolist() if hasattr(cell, "tolist") else cell
    return [_plain(each) for each in cell] if isinstance(cell, list) else cell


def _parquet(faults: Faults, columns: _Columns) -> Rows:
    import pandas as pd  # takes half a second

    try:
        table = pd.read_parquet(faults.path)
    except ImportError as error:
        raise MissingDataError(f"{faults.path} is a parquet file; `pip install fastparquet` reads it", [faults.path]) from error
    except Exception as error:  # each engine has errors of its own
        faults.add_whole(f"it is not a parquet file that can be read ({error})")
        return
    table = table.astype(object).where(table.notna(), None)
    yield from _of_entries(faults, columns, enumerate(cast(list[Row], table.to_dict("records")), start=1))


def is_saved_by_datasets(folder: Path) -> bool:
    """Whether `datasets` saved this folder with `save_to_disk`."""
    return any((folder / name).is_file() for name in ("dataset_dict.json", "dataset_info.json"))


def tables_of_datasets(folder: Path) -> Mapping[str, Any]:
    """The table of each split of such a folder, to be read by `rows_of_entries`. The name is empty if it has no splits.

    Raises:
        MissingDataError: the library is not installed.
        BadDataError: it cannot read the folder.
    """
    try:
        from datasets import Dataset, load_from_disk  # type: ignore[import-not-found]  # an extra of its own, as it is large
    except ModuleNotFoundError as error:
        message = f"{folder} was saved by the library datasets, which is not installed; pip install 'qaexp[datasets]'"
        raise MissingDataError(message, [folder]) from error
    try:
        saved = load_from_disk(str(folder))
    except Exception as error:  # the library's, Arrow's or the file system's
        raise BadDataError(folder, [f"datasets cannot read it: {error}"], "Save it again with save_to_disk.") from error
    return {"": saved} if isinstance(saved, Dataset) else dict(saved)
