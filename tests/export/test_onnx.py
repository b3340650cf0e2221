"""ONNX files of the chain models score as the models do, for batches and lengths other than those of their export."""

import json
from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import pytest
import torch
from hydra.utils import instantiate

from qaexp.cli.export import main
from qaexp.config import CONF, choices, compose
from qaexp.export.onnx import _Graph, graph_of
from qaexp.models.pooling.over_time import MeanPooling

pytest.importorskip("onnx", reason="needs onnx: pip install 'qaexp[onnx]'")
pytest.importorskip("onnxscript", reason="needs onnxscript: pip install 'qaexp[onnx]'")
onnxruntime = pytest.importorskip("onnxruntime", reason="the test runs the file with onnxruntime: pip install onnxruntime")

CHAINS = [name for name in choices("model") if "models.scorer.Scorer\n" in (CONF / "model" / f"{name}.yaml").read_text(encoding="utf-8")]
QUICK = ("ap_bilstm", "ctrn")
"""They have ONNX's own recurrence, and loops. An export takes seconds, so the others are marked slow."""


@pytest.fixture(autouse=True)
def unchecked() -> Iterator[None]:
    """A length that is free in an export is not an int, which the checks of annotations expect."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def texts(lengths: list[int], random: torch.Generator) -> torch.Tensor:
    tokens = torch.randint(1, 60, (len(lengths), max(lengths)), generator=random)
    return tokens * (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None])


@pytest.mark.usefixtures("tiny_weights")
@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CHAINS])
def test_onnxruntime_gives_the_models_scores(name: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    vectors = torch.randn(60, 24)
    scorer = instantiate(compose([f"model={name}"]).model, vectors=vectors).eval()
    graph_of(scorer).save(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    random = torch.Generator().manual_seed(2)
    for questions, candidates, num_pairs in (([5, 13, 1], [23, 1, 10, 40], 9), ([2], [7], 1), ([30, 4], [9, 2, 6], 5)):
        pairs = (torch.randint(0, len(side), (num_pairs,), generator=random) for side in (questions, candidates))
        batch = (texts(questions, random), texts(candidates, random), *pairs)
        [scores] = session.run(None, {each.name: tensor.numpy() for each, tensor in zip(session.get_inputs(), batch, strict=True)})
        with torch.no_grad():
            torch.testing.assert_close(torch.from_numpy(scores), _Graph(scorer)(*batch), atol=1e-4, rtol=0)


def test_the_file_of_a_run_says_how_texts_become_ids(bi_encoder_run: Path, tmp_path: Path) -> None:
    import qaexp

    file = tmp_path / "model.onnx"
    assert main([str(bi_encoder_run), "--onnx", str(file)]) == 0
    session = onnxruntime.InferenceSession(file)
    metadata = session.get_modelmeta().custom_metadata_map
    question, answers = "what is the name?", ["the name is this.", "no"]
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(metadata["tokenizer"])
    ids = [[number + 1 for number in tokenizer.encode(text, add_special_tokens=False).ids] for text in (question, *answers)]
    reading = json.loads(metadata["qaexp"])
    assert max(map(len, ids)) <= reading["max_candidate_length"]
    assert reading["drop_unknown"] is False
    padded = torch.nn.utils.rnn.pad_sequence([torch.tensor(each) for each in ids[1:]], batch_first=True)
    inputs = torch.tensor(ids[:1]), padded, torch.tensor([0, 0]), torch.tensor([0, 1])
    [scores] = session.run(None, {each.name: tensor.numpy() for each, tensor in zip(session.get_inputs(), inputs, strict=True)})
    expected = {answer.position: answer.score for answer in qaexp.load(bi_encoder_run).rank(question, answers)}
    assert scores.tolist() == pytest.approx([expected[0], expected[1]], abs=1e-4)


def test_a_stage_that_torch_cannot_export_is_refused_in_one_sentence(
    bi_encoder_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(MeanPooling, "forward", lambda _, text: {"vector": text["states"][range(len(text["states"])), 0]})
    assert main([str(bi_encoder_run), "--onnx", str(tmp_path / "model.onnx")]) == 2
    assert "torch cannot export this model to ONNX; write sizes as x.shape[0]" in caplog.text


def test_a_model_that_is_no_chain_is_refused(word_overlap_run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert main([str(word_overlap_run), "--onnx", str(tmp_path / "model.onnx")]) == 2
    assert "is a WordOverlap, and only chains of slots are exported to ONNX" in caplog.text
    assert not (tmp_path / "model.onnx").exists()
