"""The posts of Yahoo! Answers Comprehensive (Webscope L6), read as a stream from its parts."""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from qaexp.data.files import CUT_OFF, MAX_LINE, Faults, opened

CHUNK = 1 << 20

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


class Post(NamedTuple):
    """A question and the answer chosen as best."""

    uri: str
    subject: str
    best_answer: str
    language: str
    """The code of `qlang`, or empty."""


def posts(files: Sequence[Faults], note: Callable[[str], None]) -> Iterator[Post]:
    """The posts of `files`, which are one stream: a post may continue in the next file.

    The corpus could not be obtained here. The layout is that of its readme, and of the public programs that read it: 12 GB of
    `<vespaadd><document type="wisdom"> … </document></vespaadd>` in two parts, "guaranteed to be on a byte boundary, but not an XML
    stanza boundary". Each document is parsed by itself, so that one that is not XML, or lacks a mandatory field, is left out and counted.
    """
    found = False
    for document in _documents(files):
        found = True
        try:
            element = ElementTree.fromstring(document)
        except (ElementTree.ParseError, LookupError, ValueError):  # LookupError: an unknown encoding
            note("documents that are not XML (left out)")
            continue
        if element.get("type") != "wisdom":
            note("documents that are not questions (left out)")
            continue
        uri, subject, answer, language = (element.findtext(name, "").strip() for name in ("uri", "subject", "bestanswer", "qlang"))
        if uri and subject and answer:
            yield Post(uri, plain(subject), plain(answer), language)
        else:
            note("documents without a uri, a subject or a best answer (left out)")
    if not found and not any(files):
        files[0].add_whole('there is no <document type="wisdom">')


def plain(text: str) -> str:
    """The text of a post without HTML, which the XML escapes a second time.

    >>> plain("if 1 &lt; 2 &amp; 3<br />then <b>x</b> <3")
    'if 1 < 2 & 3 then  x  <3'
    """
    return html.unescape(_TAG.sub(" ", text))


def _documents(files: Sequence[Faults]) -> Iterator[bytes]:
    rest = b""
    for file in files:
        for chunk in _chunks(file):
            *whole, rest = (rest + chunk).split(b"</document>")
            if len(rest) > MAX_LINE:
                file.add_whole(f"it has a document of more than {MAX_LINE:,} bytes, and was read no further")
                return
            for each in whole:
                start = each.find(b"<document")
                yield each[max(0, start) :] + b"</document>"
    if b"<document" in rest and not any(files):
        files[-1].add_whole("it ends within a document: a part is cut off, or lacking")


def _chunks(file: Faults) -> Iterator[bytes]:
    try:
        with opened(file.path) as source:
            while chunk := source.read(CHUNK):
                yield chunk
    except (*CUT_OFF, OSError) as error:
        file.add_whole(f"it cannot be read to its end: {error}")
