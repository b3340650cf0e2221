"""The published data sets: `remotes.yaml` as objects, and one sentence on where to get each."""

import os
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

RETRIES, TIMEOUT = 4, 30.0
"""How often a mirror is tried again, and the seconds without a byte after which a connection counts as cut."""


def data_root(override: str | None = None) -> Path:
    """The data folder: `override`, else `${QAEXP_DATA}`, else `data`."""
    return Path(override or os.environ.get("QAEXP_DATA") or "data").expanduser()


@dataclass(frozen=True)
class Content:
    """A file as the readers expect it. They also read it with `.gz` added."""

    path: str
    """Below the set's folder."""
    blob_id: str | None = None
    size: int | None = None
    """In bytes, if known. It is shown and limits the download; only the blob id verifies the file."""
    lines: int | None = None
    """Checked if there is no blob id."""

    @property
    def max_bytes(self) -> int | float:
        """The most bytes to accept: the size or, without a blob id, twice the size, since a later edition may be larger. Infinite if the
        size is unknown.
        """
        return inf if self.size is None else self.size if self.blob_id else 2 * self.size


@dataclass(frozen=True)
class PublishedFile(Content):
    """A file as it is downloaded."""

    urls: tuple[str, ...] = ()
    """Mirrors, in the order in which to try them."""
    members: tuple[Content, ...] = ()
    """What to take out of the file, a zip archive that is then removed. Empty: the file itself is wanted."""

    @property
    def contents(self) -> tuple[Content, ...]:
        return self.members or (self,)


@dataclass(frozen=True)
class PublishedSet:
    """What `qaexp data fetch <name>` fetches."""

    name: str
    folder: str
    """Below the data folder."""
    title: str
    source: str
    """Repository @ commit, or a host and path."""
    page: str
    """A web page about the set, for people."""
    terms: str
    use: str
    """Choices of `dataset=` or `dataset/vectors=` that read it."""
    files: tuple[PublishedFile, ...]
    note: str = ""

    @property
    def size(self) -> tuple[int, bool]:
        """Known bytes to download, and whether every file's size is known."""
        return sum(file.size or 0 for file in self.files), all(file.size is not None for file in self.files)


def _read_set(name: str, table: dict[str, Any]) -> PublishedSet:
    repositories = [group["repository"] for group in table["from"] if "repository" in group]
    texts = {key: table[key] for key in ("folder", "title", "terms", "use")}
    return PublishedSet(
        name=name,
        source=table.get("source") or " and ".join(repositories),
        page=table.get("page") or "https://github.com/{}/tree/{}".format(*repositories[0].split(" @ ")),
        files=tuple(_read_file(group, row) for group in table["from"] for row in group["files"]),
        note=table.get("note", ""),
        **texts,
    )


def _read_file(group: dict[str, Any], row: dict[str, Any]) -> PublishedFile:
    if "repository" in group:
        repository, commit = group["repository"].split(" @ ")
        where = quote(row.get("published_as", row["path"]))
        urls = (
            f"https://raw.githubusercontent.com/{repository}/{commit}/{where}",
            f"https://cdn.jsdelivr.net/gh/{repository}@{commit}/{where}",
        )
    else:
        urls = tuple(group["urls"])
    members = tuple(Content(**member) for member in row.get("members", ()))
    return PublishedFile(row["path"], row.get("blob_id"), row.get("size"), urls=urls, members=members)


_TABLES = yaml.safe_load(Path(__file__).with_name("remotes.yaml").read_text(encoding="utf-8"))
PUBLISHED = tuple(_read_set(name, table) for name, table in _TABLES["sets"].items())
UNPUBLISHED: dict[str, str] = _TABLES["unpublished"]
"""How to get the sets that no command fetches, by the beginning of their names."""


def find(name: str) -> PublishedSet | None:
    """The set with that name; upper and lower case are the same.

    >>> find("GloVe.6b").name
    'glove.6B'
    """
    return next((published for published in PUBLISHED if published.name.lower() == name.lower()), None)


def fetch_hint(dataset: str) -> str:
    """Tells where `dataset` is published and which command fetches it, or what to use instead.

    The name of a variant finds its set (`trecqa_clean`: `trecqa`), and a file of word vectors finds its archive.

    >>> fetch_hint("wikiqa")
    'wikiqa is published in wailoktam/my-wikiqa @ 86b6a72aff4101af4e4b6d853bf9c418b497aa06; `qaexp data fetch wikiqa` fetches it.'
    >>> fetch_hint("embeddings/glove.840B.300d.txt").split(";")[0]
    'glove.840B is published in nlp.stanford.edu/data/glove.840B.300d.zip'
    """
    name = dataset.lower().removeprefix("embeddings/")
    for unpublished, hint in UNPUBLISHED.items():
        if name.startswith(unpublished):
            return hint
    found = [published for published in PUBLISHED if name.startswith(published.name.lower())]
    found = sorted(found, key=lambda published: -len(published.name))  # the longest matching name first
    found = found or [published for published in PUBLISHED if name and published.name.lower().startswith(name)]
    if not found:
        known = ", ".join(published.name for published in PUBLISHED)
        return f"{dataset} is not among the published sets that `qaexp data fetch` knows ({known})."
    published = found[0]
    return f"{published.name} is published in {published.source}; `qaexp data fetch {published.name}` fetches it."
