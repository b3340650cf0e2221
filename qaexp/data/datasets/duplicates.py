"""AskUbuntu's duplicates: pairs of real questions that users marked as duplicates, made into pools like AskUbuntu's."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from random import Random

from qaexp.data.bm25 import BM25Index
from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import Candidate, CorpusBuilder, connected_groups, held_out_counts
from qaexp.data.datasets.askubuntu import FIELDS
from qaexp.data.fetch.remotes import fetch_hint
from qaexp.data.files import locate, published, records
from qaexp.data.tokenise import bare
from qaexp.data.vocabulary import Vocabulary
from qaexp.errors import require_among
from qaexp.limits import NonNegativeInt, PositiveInt, Rate, Seed

LABELS = ("duplicate", "non-duplicate")
K1, B = 1.2, 0.75
"""Parameters of BM25, Lucene's defaults."""
MAX_ANSWERS = 10
"""Half the size of AskUbuntu's pools."""
_NOTE = re.compile(r"<blockquote>(?:(?!</blockquote>).)*Possible Duplicate.*?</blockquote>", re.DOTALL)
_BODY = re.compile(r"<(?=/?(?:p|h[1-6]|blockquote|pre|ul|ol|div|a|strong|em|code|img|hr|br|sub|sup|kbd)\b)")
_TAG = re.compile(r"<[^>]*>")


def title_and_body(question: str) -> tuple[str, str]:
    """Title and body of a question of the file, without HTML tags and without the note that names its duplicate.

    >>> title_and_body("Why &amp; how?<blockquote><strong>Possible Duplicate:</strong> X</blockquote><p>It <b>fails</b>.</p>")
    ('Why & how?', 'It  fails .')
    """
    title, *body = _BODY.split(_NOTE.sub("<p>", question), maxsplit=1)
    return unescape(title), unescape(_TAG.sub(" ", f"<{body[0]}")).strip() if body else ""


@dataclass(frozen=True)
class AskUbuntuDuplicatesReader:
    """Reads lines of `label, question 1, question 2`, tab-separated; each question is a title followed by its body in HTML.

    Both questions of a duplicate pair are asked. The right candidates of a question are its partners in such pairs, at most MAX_ANSWERS.
    The best questions by BM25 that no chain of pairs connects with it fill the pool up to `num_candidates`. Pools are sorted by BM25 score.
    Groups of connected questions are distributed over the splits by `split_seed`, so that no question of dev or test is asked in training.

    Reading: pairs marked as non-duplicates were drawn at random, so their texts serve only as candidates. `num_held_out` of these texts are
    kept out of training and pools, to measure the perplexity of pre-training.

    Wrong candidates come from all splits, as those of AskUbuntu do: a right one of dev or test may be a wrong one in training.
    """

    folder: str
    pairs: str
    num_candidates: PositiveInt
    split_seed: Seed
    dev_share: Rate
    test_share: Rate
    num_held_out: NonNegativeInt
    fields: Sequence[str]
    """`title`, `body`, or both."""
    tokenise: Callable[[str], list[str]]

    version = 6

    def __post_init__(self) -> None:
        require_among("dataset.reader.fields", self.fields, FIELDS)

    def files(self) -> list[Path]:
        """Raises MissingDataError if the file is missing."""
        return locate([Path(self.folder) / self.pairs], fetch_hint("askubuntu_duplicates"))

    def read(self) -> RankingCorpus:
        """Read the file and retrieve the pools.

        Raises:
            BadDataError: a line has another number of fields, or an unknown label.
        """
        questions, duplicates = self._questions_and_duplicates()
        builder, tokenise = CorpusBuilder(num_fields=len(self.fields)), bare(self.tokenise)
        texts, words = list[int](), list[list[str]]()
        for question in questions:
            written: dict[str, str] = dict(zip(FIELDS, title_and_body(question), strict=True))
            parts = {field: tokenise(text) for field, text in written.items()}
            joined = "\n".join(written[field] for field in self.fields).strip()
            texts.append(builder.text(*(parts[field] for field in self.fields), written=joined))
            words.append([word for field in FIELDS for word in parts[field]])  # pools do not depend on which fields are read
        vocabulary = Vocabulary.of_words(word for text in words for word in text)
        ids = [vocabulary.ids(text) for text in words]
        index = BM25Index(ids, len(vocabulary), K1, B)
        group_of = connected_groups(len(questions), duplicates)
        partners = defaultdict[int, list[int]](list)
        for first, second in dict.fromkeys(duplicates):
            partners[first].append(second)
            partners[second].append(first)
        asked = list(dict.fromkeys(question for pair in duplicates for question in pair))
        never_asked = sorted(set(texts) - {texts[question] for question in asked})
        held_out = set(Random(self.split_seed).sample(never_asked, min(self.num_held_out, len(never_asked))))
        group_size = Counter(group_of)
        split_of = self._splits(list(dict.fromkeys(group_of[question] for question in asked)))
        for split in ("train", "dev", "test"):
            builder.split(split)
        for question in asked:
            same = partners[question][:MAX_ANSWERS]
            scores = index.scores(ids[question])
            best = index.best(ids[question], self.num_candidates + group_size[group_of[question]] + len(held_out)).tolist()
            others = [other for other in best if group_of[other] != group_of[question] and texts[other] not in held_out]
            pool = sorted([*same, *others[: max(0, self.num_candidates - len(same))]], key=lambda other: -scores[other])
            listed: list[Candidate] = [(str(other), texts[other], int(other in same), float(scores[other])) for other in pool]
            builder.question(split_of[group_of[question]], str(question), texts[question], listed)
        for text in texts:
            builder.answer(text)
        for text in sorted(held_out):
            builder.hold_out(text)
        return builder.build()

    def _questions_and_duplicates(self) -> tuple[list[str], list[tuple[int, int]]]:
        """The distinct questions in the order of the file, and the pairs of duplicates, by position among them."""
        [path] = self.files()
        numbers, duplicates = dict[str, int](), list[tuple[int, int]]()
        with published(path, fetch_hint("askubuntu_duplicates")) as faults:
            for line, (label, *questions) in records(faults, 3):
                if label not in LABELS:
                    faults.add(line, f"{label!r} is not {' or '.join(LABELS)}")
                    continue
                first, second = (numbers.setdefault(question, len(numbers)) for question in questions)
                if label == "duplicate" and first != second:
                    duplicates.append((first, second))
        return list(numbers), duplicates

    def _splits(self, groups: list[int]) -> dict[int, str]:
        Random(self.split_seed).shuffle(groups)
        num_dev, num_test = held_out_counts(len(groups), self.dev_share, self.test_share)
        names = ["dev"] * num_dev + ["test"] * num_test + ["train"] * (len(groups) - num_dev - num_test)
        return dict(zip(groups, names, strict=True))
