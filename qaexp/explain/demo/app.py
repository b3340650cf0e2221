"""The page of `qaexp demo`: a question and candidates, ranked as they are typed. Serves the page and what it asks for."""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from qaexp.data.module import RankingDataModule
from qaexp.explain.names import data_set_in_words
from qaexp.explain.report.contents import significant
from qaexp.explain.report.looks import looked_at
from qaexp.explain.report.page import html_page
from qaexp.explain.run_data import Pair
from qaexp.runs.ranker import Ranker

HERE = Path(__file__).parent
REPORT = HERE.parent / "report"
FILES = {
    "/page.css": ("text/css", [REPORT / "page.css", HERE / "demo.css"]),
    "/page.js": ("text/javascript", [REPORT / "words.js", HERE / "demo.js"]),
}
PAGE = html_page("qaexp demo", '<link rel="stylesheet" href="page.css">', '<script src="page.js"></script>')
MOST_BYTES, MOST_CANDIDATES, MOST_FOUND = 2_000_000, 500, 20
POLICY = {"Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:", "Cache-Control": "no-cache"}
"""The page loads nothing from elsewhere, and runs no script that a text contains."""


class Questions:
    """The questions of a split, to choose from.

    With `as_written`, texts are shown as they stand in their file. Otherwise a text is shown as its words, joined by spaces, if tokenising
    the file's text would give other words: some data sets publish words that differ from their sentences.
    """

    def __init__(self, data: RankingDataModule, as_written: bool) -> None:
        self.name = data.shown_split
        self.data, self.split, self.as_written = data, data.splits[self.name], as_written
        self.texts = [self._text(text) for text in self.split.questions.tolist()]
        self._listed = self.texts
        if data.classes:
            self._listed = [
                f"{first} / {self._text(second)}" for first, second in zip(self.texts, self.split.candidates.tolist(), strict=True)
            ]
        self._lower = [text.lower() for text in self._listed]

    def _text(self, text: int) -> str:
        corpus, written = self.data.corpus, _one_line(self.data.corpus.written(text))
        words, read = corpus.words(text), self.data.tokenise(written)
        if self.data.drop_unknown:
            read = corpus.vocabulary.known(read)
        return written if self.as_written or read in (words, []) else " ".join(words)

    def find(self, words: str) -> list[dict[str, Any]]:
        """The first questions with these characters."""
        found = (number for number, text in enumerate(self._lower) if words in text)
        return [{"number": number, "text": self._listed[number]} for number in islice(found, MOST_FOUND)]

    def question(self, number: int) -> dict[str, Any]:
        """A question, its candidates, and the label of each: right, wrong, or a class."""
        pairs = np.arange(self.split.offsets[number], self.split.offsets[number + 1])[:MOST_CANDIDATES]
        labels, classes = self.split.labels[pairs].tolist(), self.data.classes
        return {
            "question": self.texts[number],
            "candidates": [self._text(text) for text in self.split.candidates[pairs].tolist()],
            "labels": [classes[label] if classes else "right" if label > 0 else "wrong" for label in labels],
        }


def make_app(rankers: Sequence[Ranker], names: Sequence[str], questions: Questions | None, hosts: Sequence[str]) -> Starlette:
    """The page for these runs. Only requests for a host name in `hosts` are answered, so that pages of other sites cannot read it.

    One question is ranked at a time; the others wait.
    """
    one = CapacityLimiter(1)
    runs = [{"name": name, "classes": list(ranker.classes)} for name, ranker in zip(names, rankers, strict=True)]
    about = {"runs": runs, "most": MOST_CANDIDATES, "notes": list(_notes(rankers, questions))}
    about |= (
        {"dataset": data_set_in_words(str(questions.data.name)), "split": questions.name, "questions": len(questions.texts)}
        if questions
        else {"questions": 0}
    )

    def file(request: Request) -> Response:
        kind, paths = FILES[request.url.path]
        return Response("\n".join(path.read_text(encoding="utf-8") for path in paths), media_type=kind, headers=POLICY)

    def found(request: Request) -> JSONResponse:
        return JSONResponse(questions.find(request.query_params.get("find", "").lower()) if questions else [])

    def chosen(request: Request) -> JSONResponse:
        number = request.path_params["number"]
        if questions is None or number >= len(questions.texts):
            raise HTTPException(404, "there is no such question")
        return JSONResponse(questions.question(number))

    def answered(work: Callable[[str, list[str]], Any]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> JSONResponse:
            texts = _texts(await _body(request))
            return JSONResponse(await to_thread.run_sync(lambda: work(*texts), limiter=one))

        return answer

    def look(question: str, candidates: list[str]) -> list[Any]:
        pairs = [Pair("", *ranker.words(question, candidates[0])) for ranker in rankers]
        return [looked_at(ranker, pair) for ranker, pair in zip(rankers, pairs, strict=True)]

    routes = [
        Route("/", lambda _: HTMLResponse(PAGE, headers=POLICY)),
        *(Route(path, file) for path in FILES),
        Route("/about", lambda _: JSONResponse(about)),
        Route("/questions", found),
        Route("/questions/{number:int}", chosen),
        Route(
            "/rank", answered(lambda question, candidates: [_ranked(ranker, question, candidates) for ranker in rankers]), methods=["POST"]
        ),
        Route("/look", answered(look), methods=["POST"]),
    ]
    handlers: Any = {HTTPException: lambda _, error: JSONResponse({"error": error.detail}, error.status_code)}
    middleware = [Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)]
    return Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)


def _notes(rankers: Sequence[Ranker], questions: Questions | None) -> Iterator[str]:
    """What a user should know of how the runs read."""
    if any(ranker.scorer.subwords is None and ranker.tokenise("a.") == ["a."] for ranker in rankers):
        yield "Words are separated by spaces, as in the data: put a space before a full stop."
    if questions and questions.data.corpus.texts.num_fields > 1:
        yield "The runs read texts field by field; here a text is one field, so that scores differ from those of the runs."


def _ranked(ranker: Ranker, question: str, candidates: list[str]) -> dict[str, Any]:
    """The candidates' places, best first, and the score of each, or its probability of each class."""
    words, read = len(ranker.tokenise(question)), len(ranker.words(question, "")[0])
    said = {"read": read, "words": max(words, read) if ranker.scorer.subwords is None else read}
    if ranker.classes:
        probable = [ranker.classify(question, candidate) for candidate in candidates]
        scores = [[significant(each[name], 5) for name in ranker.classes] for each in probable]
        return {"order": list(range(len(candidates))), "scores": scores, **said}
    ranked = ranker.rank(question, candidates)
    score = {each.position: significant(each.score, 5) for each in ranked}
    return {"order": [each.position for each in ranked], "scores": [score[place] for place in range(len(candidates))], **said}


async def _body(request: Request) -> bytes:
    """The body of a request, which must be JSON: pages of other sites cannot send JSON, so they cannot keep this one busy."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise HTTPException(415, "send JSON")
    body = b""
    async for chunk in request.stream():
        if len(body := body + chunk) > MOST_BYTES:
            raise HTTPException(413, f"the texts have more than {MOST_BYTES:,} bytes; shorten them")
    return body


def _texts(body: bytes) -> tuple[str, list[str]]:
    try:
        sent = json.loads(body)
        question, candidates = sent["question"], sent["candidates"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise HTTPException(400, "send a question and candidates") from error
    if not isinstance(candidates, list) or not candidates or not all(isinstance(text, str) for text in [question, *candidates]):
        raise HTTPException(400, "the question is a text, and the candidates are texts: one at least")
    if len(candidates) > MOST_CANDIDATES:
        raise HTTPException(400, f"there are {len(candidates):,} candidates; give {MOST_CANDIDATES} at most")
    return _encodable(question), [_encodable(candidate) for candidate in candidates]


def _encodable(text: str) -> str:
    """The text with `?` for each lone surrogate. A lone surrogate is half a character: JSON can hold it, UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()


def _one_line(text: str) -> str:
    return " ".join(text.split())
