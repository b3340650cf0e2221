"""Writes a model card in Hugging Face's format: metadata with the measured scores, then the model, its data and its limits."""

from collections.abc import Iterator
from pathlib import Path

import yaml

from qaexp.errors import ConfigError
from qaexp.evaluation.measures import heading, is_measure
from qaexp.files import atomic_write_text, name_another_place
from qaexp.runs.record import RunRecord


def write_card(run: Path, file: Path) -> Path:
    """Writes the card of a finished run.

    Raises:
        RecordError: this is not a folder of a run.
        ConfigError: the run has not finished, or is a quick look.
    """
    record = RunRecord.load(run)
    if record.status != "finished" or record.debug:
        why = record.debug or f"its status is {record.status}"
        raise ConfigError(f"{run} has no measured scores for a card ({why}); name the folder of a finished run")
    atomic_write_text(file, card_of(record), name_another_place("--card FILE"))
    return file


def card_of(record: RunRecord) -> str:
    """The card's text."""
    model, data = record.config["choices"]["model"], record.data["name"]
    tags = [_task(record).removeprefix("text-"), model] if _has_classes(record) else ["answer-selection", model]
    metadata = {"library_name": "qaexp", "pipeline_tag": _task(record), "tags": tags, "model-index": _index(record)}
    if bases := [_public(name) for name in record.data.get("weights", {})]:
        metadata["base_model"] = bases
    return "\n".join(["---", yaml.safe_dump(metadata, sort_keys=False).rstrip(), "---", "", f"# {model} on {data}", "", *_body(record), ""])


def _has_classes(record: RunRecord) -> bool:
    return record.config["dataset"].get("num_classes", 1) > 1


def _task(record: RunRecord) -> str:
    return "text-classification" if _has_classes(record) else "text-ranking"


def _public(weights: str) -> str:
    """The public name of pretrained weights: a hub name unchanged, and of an absolute path only the folder's name."""
    return Path(weights).name if Path(weights).expanduser().is_absolute() else weights


def _measures(record: RunRecord) -> Iterator[tuple[str, str, int | float]]:
    for split, metrics in record.metrics.items():
        yield from ((split, name, value) for name, value in metrics.items() if is_measure(name))


def _index(record: RunRecord) -> list[dict[str, object]]:
    results = []
    for split, metrics in record.metrics.items():
        measured = [{"type": name, "name": heading(name), "value": round(value, 6)} for name, value in metrics.items() if is_measure(name)]
        dataset = {"name": record.data["name"], "type": record.data["name"], "split": split}
        results.append({"task": {"type": _task(record)}, "dataset": dataset, "metrics": measured})
    return [{"name": record.config["choices"]["model"], "results": results}]


def _body(record: RunRecord) -> Iterator[str]:
    data, classes = record.data, _has_classes(record)
    does = (
        "for pairs of texts. It gives a pair one of several classes."
        if classes
        else "for answer selection. It scores a candidate for a question: higher is better."
    )
    yield f"A model of qaexp {record.versions.get('qaexp', '')} {does} It has {record.parameters['trainable']:,} trained parameters."
    call = 'classify("a text", "another")' if classes else 'rank("a question", ["an answer", "another"])'
    yield from ("", "## Use", "", "```python", "import qaexp", "", f'qaexp.load("RUN").{call}', "```")
    yield from ("", "## Measured", "", f"Convention `{record.convention}`, one run, seed {record.seed}.", "")
    counted = "pairs" if classes else "questions"
    yield from (f"| split | measure | value | {counted} |", "|---|---|---|---|")
    for split, name, value in _measures(record):
        yield f"| {split} | {heading(name)} | {value:.4f} | {record.metrics[split][counted]} |"
    yield from ("", "## Data", "", f"`{data['name']}`, fingerprint `{data['fingerprint']}`.", "")
    for split, counts in data["splits"].items():
        yield f"- {split}: " + ", ".join(f"{count:,} {name}" for name, count in counts.items())
    for name, digest in data.get("weights", {}).items():
        yield f"- pretrained weights: {_public(name)}, `{digest}`"
    vectors = data.get("vectors", {}).get("source", "none read")
    if vectors != "none read":
        yield f"- word vectors: {vectors}"
    yield from ("", "## Training", "", f"`{record.command_line}`", "")
    code = f"Commit `{record.commit}`" if record.commit else f"qaexp {record.versions.get('qaexp', '')}"
    chosen = f" Best epoch on the development split: {record.best_epoch}." if record.best_epoch else ""
    yield f"{code}, torch {record.versions.get('torch', '')}.{chosen}"
    yield from ("", "## Limits", "")
    lengths = [record.config["dataset"].get(name) for name in ("max_question_length", "max_candidate_length")]
    sides = ("First texts", "second ones") if classes else ("Questions", "candidates")
    tokens = "subwords, or sooner where the weights read fewer," if data.get("weights") else "tokens"
    yield f"- {sides[0]} are cut after {lengths[0]} {tokens} and {sides[1]} after {lengths[1]}."
    if not classes:
        yield "- Scores order the candidates of one question. They are not probabilities; scores of different questions cannot be compared."
    done = "classified" if classes else "ranked"
    yield f"- It was measured on {data['name']} alone. Texts of another kind or language may be {done} much worse."
    if data.get("weights"):
        yield "- Its pretrained weights may have been trained on texts of this data set, so a score need not be zero-shot; see their card."
    if data.get("partial"):
        yield "- It was trained on a part of the data set, since files are missing."
