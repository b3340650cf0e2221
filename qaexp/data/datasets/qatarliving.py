"""QatarLiving (Nakov et al. 2016): the forum threads of SemEval task 3 subtask A, 2015 and 2016, as XML or cleaned jsonl."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.data.fetch.remotes import fetch_hint
from qaexp.data.files import Faults, json_lines, locate, published, raw_lines
from qaexp.data.tokenise import bare
from qaexp.errors import plural
from qaexp.limits import NonNegativeInt

LABELS = {"Good": 1, "PotentiallyUseful": 0, "Bad": 0}


@dataclass
class Comment:
    line: int
    id: str | None
    label: str | None
    text: str = ""


@dataclass
class Thread:
    """A question and its comments, as in one file."""

    line: int
    ids: list[str | None] = field(default_factory=list)
    """One id for each question of the thread; a valid thread has one."""
    subject: str = ""
    body: str = ""
    comments: list[Comment] = field(default_factory=list)


@dataclass(frozen=True)
class QatarLivingReader:
    """Reads threads from several files per split. `Good` is right; `PotentiallyUseful` and `Bad` are wrong.

    Formats: SemEval's `.xml` (`Thread` of one `RelQuestion` and its `RelComment`s), and `.jsonl`, one object per thread:
    `{"id", "subject", "body", "comments": [{"text", "label"}]}`. Comments keep their order in the thread, which `semeval10` needs.

    Reading: the question's text is its subject and then its body; the body alone is empty in 29 threads.

    Reading: "ten answers per thread" (Tay et al. 2018) holds for the threads of 2016. Those of 2015 have 0 to 117, all of which are
    needed for the 36,198 pairs of the training set; so only dev and test must have ten.
    """

    folder: str
    splits: Mapping[str, Sequence[str]]
    """Split to files."""
    num_comments: NonNegativeInt
    """Comments of every thread outside train; another number is a fault."""
    tokenise: Callable[[str], list[str]]

    version = 1

    def files(self) -> list[Path]:
        """The files to read, in the order of the splits.

        Raises:
            MissingDataError: naming those that are absent.
        """
        paths = [Path(self.folder) / name for names in self.splits.values() for name in names]
        derived = " A `.jsonl` is derived, not published: without it, use dataset=qatarliving_xml."
        return locate(paths, fetch_hint("qatarliving") + (derived if any(path.suffix == ".jsonl" for path in paths) else ""))

    def read(self) -> RankingCorpus:
        """Read every split.

        Raises:
            BadDataError: a file is not well-formed or has no thread, or a thread is incomplete, has an unknown label or occurs twice.
        """
        builder, files = CorpusBuilder(), iter(self.files())
        for split, names in self.splits.items():
            builder.split(split)
            seen: dict[str, Path] = {}
            for _ in names:
                self._read_file(split, next(files), seen, builder)
        return builder.build()

    def _read_file(self, split: str, path: Path, seen: dict[str, Path], builder: CorpusBuilder) -> None:
        tokenise = bare(self.tokenise)
        parse = _jsonl_threads if path.name.removesuffix(".gz").endswith(".jsonl") else _xml_threads
        with published(path, fetch_hint("qatarliving")) as faults:
            num_before = len(seen)
            for thread in parse(faults):
                question_id = self._checked(thread, split, faults)
                if question_id in seen:
                    faults.add(thread.line, f"thread {question_id} is already in {seen[question_id].name}")
                seen[question_id] = path
                asked = f"{thread.subject} {thread.body}"
                question = builder.text(tokenise(asked), written=asked)
                pool = [(str(c.id), builder.text(tokenise(c.text), written=c.text), LABELS.get(c.label or "", 0)) for c in thread.comments]
                builder.question(split, question_id, question, pool)
                if split == "train":
                    for _, text, _ in pool:
                        builder.answer(text)
            if len(seen) == num_before and not faults:
                faults.add_whole("there is no thread in it")

    def _checked(self, thread: Thread, split: str, faults: Faults) -> str:
        """The question's id. Adds a fault for everything wrong with the thread."""
        question_id = (thread.ids[0] if thread.ids else None) or f"of line {thread.line}"
        if len(thread.ids) != 1:
            faults.add(thread.line, f"the thread has {len(thread.ids)} questions, 1 expected")
        elif not thread.ids[0]:
            faults.add(thread.line, "the question has no id")
        if split != "train" and (found := len(thread.comments)) != self.num_comments:
            faults.add(thread.line, f"thread {question_id} has {plural(found, 'comment')}, {self.num_comments} expected")
        comment_ids = set[str]()
        for comment in thread.comments:
            if not comment.id:
                faults.add(comment.line, f"a comment of thread {question_id} has no id")
            elif comment.id in comment_ids:
                faults.add(comment.line, f"comment id {comment.id} is used twice")
            elif comment.label not in LABELS:
                faults.add(comment.line, f"comment {comment.id} is labelled {comment.label!r}, {', '.join(LABELS)} expected")
            comment_ids.add(comment.id or "")
        return question_id


def _xml_threads(faults: Faults) -> Iterator[Thread]:
    """The threads of an XML file, up to where it is not well-formed."""
    collector, parser = _Collector(), expat.ParserCreate()
    collector.listen_to(parser)
    try:
        for line in raw_lines(faults):
            parser.Parse(line)
            yield from collector.take()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        yield from collector.take()
        faults.add(error.lineno, f"the XML is not well-formed: {expat.ErrorString(error.code)}")
    except (LookupError, ValueError) as error:  # an unknown or wrong encoding
        faults.add(parser.CurrentLineNumber, f"its encoding cannot be read ({error}); save it as UTF-8")


class _Collector:
    """Builds threads from the events of an XML parser."""

    def __init__(self) -> None:
        self._whole, self._open, self._text = list[Thread](), Thread(line=0), list[str]()

    def listen_to(self, parser: expat.XMLParserType) -> None:
        self._parser = parser
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text.append

    def take(self) -> list[Thread]:
        """The threads completed since the last call."""
        taken, self._whole = self._whole, []
        return taken

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        self._text.clear()
        if name == "Thread":
            self._open = Thread(line)
        elif name == "RelQuestion":
            self._open.ids.append(attributes.get("RELQ_ID"))
        elif name == "RelComment":
            self._open.comments.append(Comment(line, attributes.get("RELC_ID"), attributes.get("RELC_RELEVANCE2RELQ")))

    def _end(self, name: str) -> None:
        text = "".join(self._text)
        if name == "RelQSubject":
            self._open.subject = text
        elif name == "RelQBody":
            self._open.body = text
        elif name == "RelCText" and self._open.comments:
            self._open.comments[-1].text = text
        elif name == "Thread":
            self._whole.append(self._open)


def _jsonl_threads(faults: Faults) -> Iterator[Thread]:
    """The threads of a jsonl file; comments have no ids there and are numbered from 1, as in the XML: `Q1_C1`."""
    for line, found in json_lines(faults):
        try:
            comments = [(f"{found['id']}_C{n}", c["label"], c["text"]) for n, c in enumerate(found["comments"], start=1)]
            strings = [found["id"], found["subject"], found["body"], *(text for comment in comments for text in comment)]
        except KeyError as error:
            faults.add(line, f"field {error.args[0]} is missing")
        except TypeError:
            faults.add(line, "it is not an object with a list of comments, objects each")
        else:
            if all(isinstance(text, str) for text in strings):
                yield Thread(line, [found["id"]], found["subject"], found["body"], [Comment(line, *comment) for comment in comments])
            else:
                faults.add(line, "id, subject, body, text and label must be strings")
