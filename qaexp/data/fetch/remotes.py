"""Where each data set is published, and what proves a copy right.

A git blob id is the SHA-1 of `blob <size in bytes>\\0` followed by the file's bytes, so it checks any copy of a file that
lies in a git repository. Where a set is published elsewhere, the number of lines is checked if it is known.
"""

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True)
class Content:
    """A file as the readers want it. They take it with `.gz` added too."""

    path: str
    """Below the set's folder."""
    blob_id: str | None = None
    size: int | None = None
    """In bytes, where it is known. Shown only; the blob id decides."""
    lines: int | None = None
    """Checked where there is no blob id."""


@dataclass(frozen=True)
class PublishedFile(Content):
    """A file as it is downloaded."""

    urls: tuple[str, ...] = ()
    """Mirrors, in the order in which to try them."""
    members: tuple[Content, ...] = ()
    """What to take out of the file, a zip that is then thrown away. Empty: the file itself is wanted."""

    @property
    def contents(self) -> tuple[Content, ...]:
        return self.members or (self,)


@dataclass(frozen=True)
class PublishedSet:
    """What `python -m qaexp.data fetch <name>` fetches."""

    name: str
    folder: str
    """Below the data folder."""
    title: str
    source: str
    """Repository @ commit, or a host and path."""
    page: str
    """For people."""
    terms: str
    use: str
    """What it is for, as a command names it: choices of `dataset=` or `dataset/vectors=`."""
    files: tuple[PublishedFile, ...]
    note: str = ""

    @property
    def size(self) -> tuple[int, bool]:
        """Bytes to download as far as they are known, and whether that is all."""
        return sum(file.size or 0 for file in self.files), all(file.size is not None for file in self.files)


@dataclass(frozen=True)
class _Commit:
    """One commit of a public repository."""

    repository: str
    commit: str

    def file(self, blob: str, published_path: str, path: str | None = None, size: int | None = None) -> PublishedFile:
        where = quote(published_path)
        urls = (
            f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{where}",
            f"https://cdn.jsdelivr.net/gh/{self.repository}@{self.commit}/{where}",
        )
        return PublishedFile(path=path or published_path, blob_id=blob, size=size, urls=urls)

    @property
    def page(self) -> str:
        return f"https://github.com/{self.repository}/tree/{self.commit}"

    def __str__(self) -> str:
        return f"{self.repository} @ {self.commit}"


def _glove(name: str, archive: str, dims: tuple[int, ...], size: int, use: str) -> PublishedSet:
    hosts = ("https://nlp.stanford.edu/data", "https://downloads.cs.stanford.edu/nlp/data")
    members = tuple(Content(f"{name}.{dim}d.txt") for dim in dims)
    return PublishedSet(
        name=name,
        folder="embeddings",
        title=f"GloVe word vectors, {name.removeprefix('glove.')} tokens of training text, {', '.join(map(str, dims))}d",
        source=f"nlp.stanford.edu/data/{archive}",
        page="https://nlp.stanford.edu/projects/glove/",
        terms="Public Domain Dedication and License (PDDL) 1.0",
        use=use,
        files=(PublishedFile(path=archive, size=size, urls=tuple(f"{host}/{archive}" for host in hosts), members=members),),
    )


_INSURANCEQA = _Commit("shuzi/insuranceQA", "5c380dd086067adacc2fec3bfa920a78e57bdcf6")
_ASKUBUNTU = _Commit("taolei87/askubuntu", "4d0a9169ef0bfa4c93ff1aa9f25bc426a7fa559e")
_YAHOOQA = _Commit("vanzytay/YahooQA_Splits", "3b80378680b84129208f5100ecf4d3d72ab3a555")
_TRECQA = _Commit("aseveryn/deep-qa", "249a1ec14ef980a5630b1a2dccf5f587245e16e1")
_LEXDECOMP = _Commit("mcrisc/lexdecomp", "9b781db8cac9a132b6e97e7a21946a66c945aedf")
_NCE = _Commit("castorini/NCE-CNN-Torch", "9f57a6aa1be493d0bc385a75a690378c9b951b4f")
_YAHOO_HASH = _Commit("BUAAw-ML/Deep-Active-Learning-for-Answer-Selection", "33aedf50b12eb5c0616859dbc93b96915a6d0f29")
_YAHOO_TAB = _Commit("wabyking/qnn", "3383f1b169f2abe40930bfa7c1cddeecb2f4d91d")
_GLOVE_TRECQA = _Commit("brmson/Sentence-selection", "fd0955197fc9f9ba53473476e02f7aefaa346a79")
_SEMEVAL = _Commit("bnsriram/NLPCommunityQuestionAnswering", "8e89aea3ad9f3157088acdbfc4955413d30ebb9d")
_QCN = _Commit("pku-wuwei/QCN", "d5644e8f5b7c4799937743abe125c786f1c363ed")
_WIKIQA = _Commit("wailoktam/my-wikiqa", "86b6a72aff4101af4e4b6d853bf9c418b497aa06")

_JACANA = "jacana-qa-naacl2013-data-results"
_2016_TRAIN1 = "SemEval2016-Task3-CQA-QL-train-part1-subtaskA.xml"
_2016_TRAIN2 = "SemEval2016-Task3-CQA-QL-train-part2-subtaskA.xml"
_2016_DEV = "SemEval2016-Task3-CQA-QL-dev-subtaskA.xml"
_2015_DEV = "SemEval2015-Task3-CQA-QL-dev-reformatted-excluding-2016-questions-cleansed.xml"
_2015_TEST = "SemEval2015-Task3-CQA-QL-train-reformatted-excluding-2016-questions-cleansed.xml"  # its name notwithstanding

PUBLISHED: tuple[PublishedSet, ...] = (
    PublishedSet(
        name="insuranceqa",
        folder="insuranceqa",
        title="InsuranceQA V1 (Feng et al. 2015)",
        source=str(_INSURANCEQA),
        page=_INSURANCEQA.page,
        terms="provided as is and for research purpose only; cite Feng et al., ASRU 2015",
        use="dataset=insuranceqa",
        files=(
            _INSURANCEQA.file("5f40b616ab4b33b66dea1ac71fab0ebb8e0a6750", "V1/answers.label.token_idx"),
            _INSURANCEQA.file("01284b03ab9628beda33ebf103794e87a0b9cb72", "V1/question.train.token_idx.label", size=967_467),
            _INSURANCEQA.file("80550909241f7feea26299f58b111e51c0cff2c0", "V1/question.dev.label.token_idx.pool", size=2_853_492),
            _INSURANCEQA.file("8a6a97ff9d8a8c10d7cdbc2a78f901c47b616b10", "V1/question.test1.label.token_idx.pool"),
            _INSURANCEQA.file("460679a4cdcbfb9ad7ba9e4ca13171540ebbc87b", "V1/question.test2.label.token_idx.pool"),
            _INSURANCEQA.file("e1d932ecb11439c9ef692863de94e0d34f74ac5a", "V1/vocabulary", size=408_722),
        ),
    ),
    PublishedSet(
        name="askubuntu",
        folder="askubuntu",
        title="AskUbuntu similar questions (Lei et al. 2016)",
        source=str(_ASKUBUNTU),
        page=_ASKUBUNTU.page,
        terms="the repository states none; question text is from Stack Exchange, CC BY-SA",
        use="dataset=askubuntu",
        files=(
            _ASKUBUNTU.file("64b7ce412dfe509ca1f2a52c950182246fccdc47", "text_tokenized.txt.gz"),
            _ASKUBUNTU.file("0c051c71ee8cae9722303015c7b810018ecc1def", "train_random.txt"),
            _ASKUBUNTU.file("499852e09fdf194b85eb6d8741904b7960aa93de", "dev.txt", size=74_744),
            _ASKUBUNTU.file("7196065ad0f968de386e7583bca8ec1f0133d2b9", "test.txt", size=74_251),
            _ASKUBUNTU.file("f771cd8ce4facd28ac631d3782ab0b5b8c95d2f4", "heldout.txt", size=13_451),
            _ASKUBUNTU.file("6baaba97ed8033fdeac6163a958f26b6e0df9744", "vector/vectors_pruned.200.txt.gz"),
        ),
    ),
    PublishedSet(
        name="yahooqa",
        folder="yahooqa",
        title="YahooQA, the splits of Tay et al. 2017",
        source=str(_YAHOOQA),
        page=_YAHOOQA.page,
        terms="the repository states none; the Yahoo! Answers corpus it derives from is for research only",
        use="dataset=yahooqa",
        files=(_YAHOOQA.file("d0c26beb12441349f697186257137ccd5ba3bfa1", "data/env.pkl.zip", path="env.pkl.zip"),),
        note="env.pkl.zip holds a Python pickle, which can run any code when it is loaded: it was not opened here; never pickle.load it",
    ),
    PublishedSet(
        name="yahooqa_partial",
        folder="yahooqa",
        title="YahooQA, two text files with 3.9K questions",
        source=f"{_YAHOO_HASH} and {_YAHOO_TAB}",
        page=_YAHOO_TAB.page,
        terms="the repositories state none; the Yahoo! Answers corpus it derives from is for research only",
        use="dataset=yahooqa_partial, dataset=yahoomqa_partial or dataset=yahoomqa_partial_10",
        files=(
            _YAHOO_HASH.file("55331d39a538e91d0cda89cc92fd4ce079d1f883", "data/YahooCQA/data.txt", "YahooCQA-data.txt", 1_445_334),
            _YAHOO_TAB.file("975710c350d853d820a2b13afb359f3f40883a85", "data/QA/yahoo/train.txt", "qnn-yahoo-train.txt", 2_086_292),
        ),
    ),
    PublishedSet(
        name="trecqa",
        folder="trecqa",
        title="TREC QA (Wang et al. 2007) as jsonl, and the pseudo-XML of Yao et al. 2013",
        source=f"{_LEXDECOMP} and {_TRECQA}",
        page=_LEXDECOMP.page,
        terms="the repository states none; distributed for research, from TREC QA tracks 8-13",
        use="dataset=trecqa, dataset=trecqa_raw, dataset=trecqa_train_all, dataset=trecqa_train_all_raw or dataset=trecqa_xml",
        files=(
            _LEXDECOMP.file("059c8c94d493b87000e8be8b444138e26c294c76", "trec-qa/train.jsonl", "jsonl/train.jsonl", 1_196_589),
            _LEXDECOMP.file(
                "f47561b13c2d239350727043909df13ad46b7470", "trec-qa/train-all.jsonl.gz", "jsonl/train-all.jsonl.gz", 3_090_794
            ),
            _LEXDECOMP.file("ac33f0ff3b24643cc977db0840389dfbe866838c", "trec-qa/dev.jsonl", "jsonl/dev.jsonl", 256_671),
            _LEXDECOMP.file("a81f4a4724d6cbe00889cb7ad6e052c064747496", "trec-qa/test.jsonl", "jsonl/test.jsonl", 263_821),
            _TRECQA.file("612b2b73fd16dd56df89894a7cd9e8b7dab543a5", f"{_JACANA}/train.xml", "jacana-xml/train.xml", 2_463_979),
            _TRECQA.file("71b01fd26c02b22740f9e39e1ff3f877e0e8eb7f", f"{_JACANA}/train-all.xml", "jacana-xml/train-all.xml"),
            _TRECQA.file("da1231c571bb54b2ca606ada4dfc1294dedb8f0c", f"{_JACANA}/dev.xml", "jacana-xml/dev.xml", 610_306),
            _TRECQA.file("3a98f6a71e4b0998f37bebd425cf52760e12c705", f"{_JACANA}/test.xml", "jacana-xml/test.xml", 837_966),
        ),
    ),
    PublishedSet(
        name="trecqa_toks",
        folder="trecqa",
        title="TREC QA (Wang et al. 2007) in the toks layout, without TRAIN-ALL",
        source=str(_NCE),
        page=_NCE.page,
        terms="the repository states none; distributed for research, from TREC QA tracks 8-13",
        use="dataset=trecqa_toks",
        files=(
            _NCE.file("e423e48865db3f8c50de43a9e4120839af00789e", "data/TrecQA/train/a.toks", "toks/train/a.toks", 290_727),
            _NCE.file("5a2ce49bd74cfb457cad13ebc0f20c923ac3ca6e", "data/TrecQA/train/b.toks", "toks/train/b.toks", 648_434),
            _NCE.file("22980405e4ac63a99f519ec35a7a11f0b9be6743", "data/TrecQA/train/id.txt", "toks/train/id.txt", 13_517),
            _NCE.file("d5c0d8cce23ff07a988ea82e87328c7d7d5f8ee6", "data/TrecQA/train/sim.txt", "toks/train/sim.txt", 9_436),
            _NCE.file("328215006b2a9f8bd9dcc720148b81ab731cb4da", "data/TrecQA/raw-dev/a.toks", "toks/raw-dev/a.toks", 47_267),
            _NCE.file("b3e37238f09238d0bf45d00ed31be04d5bb257be", "data/TrecQA/raw-dev/b.toks", "toks/raw-dev/b.toks", 152_678),
            _NCE.file("655875da2803ed4178a5f48ebbdae6423c4bf9c0", "data/TrecQA/raw-dev/id.txt", "toks/raw-dev/id.txt", 5_335),
            _NCE.file("7cd5289a9af476397ba42b475c519a13d99500f8", "data/TrecQA/raw-dev/sim.txt", "toks/raw-dev/sim.txt", 2_296),
            _NCE.file("28f04c7353e42f2df93f19138c1ee16281a971ee", "data/TrecQA/raw-test/a.toks", "toks/raw-test/a.toks", 66_872),
            _NCE.file("21d3c997c64b736917dc76f588dc679ef3cc5b2b", "data/TrecQA/raw-test/b.toks", "toks/raw-test/b.toks", 210_917),
            _NCE.file("264b88aaec217dbcc82627560c35466eaa03fb92", "data/TrecQA/raw-test/id.txt", "toks/raw-test/id.txt", 7_585),
            _NCE.file("7f80fadf4ffbd53974bf965755651d6a7d171a77", "data/TrecQA/raw-test/sim.txt", "toks/raw-test/sim.txt", 3_034),
        ),
    ),
    PublishedSet(
        name="qatarliving",
        folder="qatarliving",
        title="QatarLiving, SemEval-2016 task 3 subtask A",
        source=f"{_SEMEVAL} and {_QCN}",
        page=_SEMEVAL.page,
        terms="free for general research use; cite Nakov et al. 2016",
        use="dataset=qatarliving_xml",
        files=(
            _SEMEVAL.file("d535d07e699054c1384247e50ce4a16365e4dff1", f"v3.2/train/{_2016_TRAIN1}", _2016_TRAIN1),
            _SEMEVAL.file("552f7101f862ac58f851b9125ff7698eb15768f5", f"v3.2/train/{_2016_TRAIN2}", _2016_TRAIN2, 1_563_500),
            _SEMEVAL.file("b48091137fe63cc8a8940914117800c8f868b4cf", f"v3.2/dev/{_2016_DEV}", _2016_DEV, 998_329),
            _SEMEVAL.file(
                "0f3125572dc22a69700d25ec7f38339796af45fd", f"v3.2/train-more-for-subtaskA-from-2015/{_2015_DEV}", _2015_DEV, 667_017
            ),
            _SEMEVAL.file(
                "ad287b0264de6b2035acd1e6eb3ff726b147a562", f"v3.2/train-more-for-subtaskA-from-2015/{_2015_TEST}", _2015_TEST, 809_680
            ),
            _QCN.file("3205d7ac6c08bc13ed2f300edc5d4e6de8945205", "data/xml/16test.xml", "16test.xml", 1_342_659),
        ),
        note="the threads of the 2015 training part are not among these files, so that dataset=qatarliving lacks one still",
    ),
    PublishedSet(
        name="wikiqa",
        folder="wikiqa",
        title="WikiQA (Yang et al. 2015)",
        source=str(_WIKIQA),
        page=_WIKIQA.page,
        terms="Microsoft Research data licence",
        use="dataset=wikiqa or dataset=wikiqa_all",
        files=(
            _WIKIQA.file("4577922a36d55cac7d484d8796c998f6325ee24d", "WikiQA-train.tsv", size=4_358_942),
            _WIKIQA.file("4fe56d9b95c22e124b1be80ac665fefaed8b3796", "WikiQA-dev.tsv", size=577_103),
            _WIKIQA.file("296195da7def722b9f76070848180d2687a1fc68", "WikiQA-test.tsv", size=1_304_776),
        ),
    ),
    PublishedSet(
        name="snli",
        folder="snli",
        title="SNLI 1.0 (Bowman et al. 2015)",
        source="nlp.stanford.edu/projects/snli/snli_1.0.zip",
        page="https://nlp.stanford.edu/projects/snli/",
        terms="CC BY-SA 4.0 (Stanford NLP Group)",
        use="dataset=snli",
        files=(
            PublishedFile(
                path="snli_1.0.zip",
                urls=("https://nlp.stanford.edu/projects/snli/snli_1.0.zip",),
                members=(
                    Content("snli_1.0_train.jsonl", lines=550_152),
                    Content("snli_1.0_dev.jsonl", lines=10_000),
                    Content("snli_1.0_test.jsonl", lines=10_000),
                ),
            ),
        ),
    ),
    _glove(
        "glove.6B", "glove.6B.zip", dims=(50, 100, 200, 300), size=862_182_613, use="dataset/vectors=glove50 or dataset/vectors=glove100"
    ),
    _glove("glove.840B", "glove.840B.300d.zip", dims=(300,), size=2_176_768_927, use="dataset/vectors=glove300"),
    PublishedSet(
        name="glove_trecqa",
        folder="embeddings",
        title="GloVe word vectors, 50d, of words of TREC QA's test set alone",
        source=str(_GLOVE_TRECQA),
        page=_GLOVE_TRECQA.page,
        terms="Public Domain Dedication and License (PDDL) 1.0",
        use="dataset/vectors=glove50_trecqa",
        files=(
            _GLOVE_TRECQA.file(
                "5a32cf46e6f05130c7fcf53c11f23fbe2389fdc3", "data/tusedembed.txt", "glove.6B.50d.trecqa-subset.txt", 3_146_334
            ),
        ),
    ),
)

_DERIVED = (
    "insuranceqa_subset is not published anywhere: this project's maintainers derived it from the part of InsuranceQA's text that is "
    "public; use the whole set instead with dataset=insuranceqa, which `python -m qaexp.data fetch insuranceqa` fetches."
)
_YAHOO_PAIRS = "yahoomqa_partial is made of the files of yahooqa_partial, which `python -m qaexp.data fetch yahooqa_partial` fetches."
_WEBSCOPE = (
    "Yahoo! Answers Comprehensive (L6) is given to researchers on request, at https://webscope.sandbox.yahoo.com; no command fetches it. "
    "Put FullOct2007.xml.part1.gz and FullOct2007.xml.part2.gz in the folder yahoomqa of the data folder."
)
_GOOGLE_NEWS = (
    "GoogleNews-vectors-negative300.bin.gz is published at https://code.google.com/archive/p/word2vec/, which asks for a browser; no "
    "command fetches it. Put it, packed or not, in the folder embeddings of the data folder."
)
_MADE_UP = (
    "askubuntu_made_up is made, not fetched: `python -m qaexp.data make-up FOLDER`, with askubuntu_made_up in the data folder as FOLDER; "
    "with fewer questions than it makes by itself, also set dataset.expected=null."
)
_DUPLICATES = (
    "noclue-val.tsv is val.tsv of noclue in nlx-group/Replicating-Bogdanova-et-al.-2015-Duplicate-Question-Detection; no command fetches "
    "it. Put it in the folder askubuntu/duplicates of the data folder."
)
_WEBTEXT = (
    "The webtext vectors are not published anywhere: this project's maintainers trained them on public text; use instead "
    "dataset/vectors=own_text (trained on the data set's own text), or GloVe, which `python -m qaexp.data fetch glove.6B` fetches."
)
UNPUBLISHED = {
    "insuranceqa_subset": _DERIVED,
    "insuranceqa/v1_subset": _DERIVED,
    "webtext": _WEBTEXT,
    "yahoomqa_partial": _YAHOO_PAIRS,
    "yahoomqa": _WEBSCOPE,
    "googlenews": _GOOGLE_NEWS,
    "askubuntu_made_up": _MADE_UP,
    "askubuntu_duplicates": _DUPLICATES,
}
"""What no fetch can bring, and how to come by it, or what to use in its place. Of names that begin alike, the longer comes first."""


def find(name: str) -> PublishedSet | None:
    """The set of that name, in any case.

    >>> find("GloVe.6b").name
    'glove.6B'
    """
    return next((published for published in PUBLISHED if published.name.lower() == name.lower()), None)


def fetch_hint(dataset: str) -> str:
    """One sentence for whoever lacks files of `dataset`: where it is published and which command fetches it, or what to use instead.

    A variant's name finds its set (`trecqa_clean`: `trecqa`), and a file of word vectors its archive.

    >>> fetch_hint("wikiqa")
    'wikiqa is published in wailoktam/my-wikiqa @ 86b6a72aff4101af4e4b6d853bf9c418b497aa06; `python -m qaexp.data fetch wikiqa` fetches it.'
    >>> fetch_hint("embeddings/glove.840B.300d.txt").split(";")[0]
    'glove.840B is published in nlp.stanford.edu/data/glove.840B.300d.zip'
    """
    name = dataset.lower().removeprefix("embeddings/")
    for unpublished, hint in UNPUBLISHED.items():
        if name.startswith(unpublished):
            return hint
    found = [published for published in PUBLISHED if name.startswith(published.name.lower())]
    found = sorted(found, key=lambda published: -len(published.name))  # of names that begin alike, the longer
    found = found or [published for published in PUBLISHED if name and published.name.lower().startswith(name)]
    if not found:
        known = ", ".join(published.name for published in PUBLISHED)
        return f"{dataset} is not among the published sets that `python -m qaexp.data fetch` knows ({known})."
    published = found[0]
    return f"{published.name} is published in {published.source}; `python -m qaexp.data fetch {published.name}` fetches it."
