"""A small table of our own over toy data, and made-up records for it."""

from collections.abc import Sequence
from dataclasses import replace

from qaexp.reproduction.claims import Claim, Statement
from qaexp.reproduction.ledger import Entry
from qaexp.reproduction.measured import Measured
from qaexp.reproduction.spec import Column, Row, Setting, Table

TINY = ["model=qa_cnn", "model.encoder.num_filters=8", "trainer.max_epochs=1", "dataset/vectors=random"]
SMALL = [f"dataset.reader.num_{split}={number}" for split, number in (("train", 10), ("dev", 6), ("test", 8))]

TABLE = Table(
    paper="ctrn",
    name="table9",
    source="Tay et al. 2018, Table 9",
    caption="Made up & small.",
    label="Model",
    scale=100,
    decimals=1,
    seeds=[1, 2, 3],
    common=["optimizer=adam"],
    quick=["dataset.batch_size=5"],
    settings={"toy": Setting(["toy"], overrides=SMALL), "absent": Setting(["yahooqa"])},
    columns={"MAP": Column("test/map", "toy"), "P@1": Column("test/p@1", "toy"), "Other": Column("test/map", "absent")},
    rows=[
        Row("Kelp", [75.1, 79.2, None]),
        Row("Word Overlap", [20.0, 30.0, 1.0], overrides=["model=word_overlap"]),
        Row("CNN", [50.0, 50.0, None], overrides=TINY),
        Row("CNN, wide", [50.0, "~50", None], overrides=[*TINY, "model.encoder.num_filters=16"]),
    ],
)


def entry_of(key: str, seed: int, values: Sequence[float], trainable: int = 7) -> Entry:
    mean = sum(values) / len(values)
    return Entry(
        key=key,
        name=f"m_toy_seed{seed}",
        seed=seed,
        command="model=qa_cnn dataset=toy",
        started=f"2026-01-0{seed}",
        commit="c",
        hardware={"processor": "EPYC", "threads": 1, "gpu": None},
        data={"fingerprint": "f" * 64, "partial": False},
        convention="trec",
        parameters={"trainable": trainable, "trainable without word embeddings": trainable},
        history=[],
        best_epoch=1,
        seconds={"total": 2.0},
        steps=0,
        metrics={"test": {"map": mean, "p@1": mean}},
        config={},
        questions={"test": {"of": "q", "map": list(values), "p@1": list(values)}},
    )


def claim_of(said: str, column: str, above: str, below: str, note: str = "", table: int = 9) -> Claim:
    return Claim(Statement(said, "§1", [column], [above], [below], table, note=note), column, above, below)


def over(filled: Measured, label: str, of: str) -> Measured:
    """The same with other questions below a row."""
    state = filled.states[label, "toy"]
    entries = [replace(entry, questions={"test": {**entry.questions["test"], "of": of}}) for entry in state.entries]
    return Measured(TABLE, {**filled.states, (label, "toy"): replace(state, entries=entries)})
