"""Fine-tuning: a run begins exactly where another ended, is known by that run and not by its path, and refuses what does not fit."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from made_up_questions import write_questions
from omegaconf import OmegaConf

import qaexp
import qaexp.errors
from qaexp.cli.main import main
from qaexp.config import PRETRAIN, compose
from qaexp.errors import CheckpointError
from qaexp.models.embedding.word_vectors import IDFWeightedEmbedding, WordEmbedding
from qaexp.models.scorer import Scorer
from qaexp.pretrain import pretrain
from qaexp.runs.checkpoint import open_checkpoint
from qaexp.runs.identity import config_key
from qaexp.runs.initial_weights import _copy
from qaexp.runs.record import RunRecord
from qaexp.runs.table import read_records, row_name, run_table
from qaexp.train import train

ENCODER = ["model=rcnn", "model.encoder.hidden_dim=12"]
FINE = [*ENCODER, "model/pooling=last", "loss=max_margin", "trainer.max_epochs=1"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return [*write_questions(tmp_path_factory.mktemp("data")), f"cache_dir={tmp_path_factory.mktemp('cache')}"]


@pytest.fixture(scope="module")
def pretrained(data: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a pre-training run."""
    folder = tmp_path_factory.mktemp("pretrained")
    short = ["output=full", "pairs.batch_size=32", "pairs.steps_per_epoch=5", "trainer.max_epochs=2", "optimizer.lr=0.01"]
    pretrain(compose([*data, *ENCODER, *short], PRETRAIN), folder, "model=rcnn seed=1 logger=none")
    return folder


def key(overrides: list[str]) -> str:
    config: Any = OmegaConf.to_container(compose(overrides), resolve=True)
    return config_key(config)


def scorer(folder: Path) -> Scorer:
    found = qaexp.load(folder).scorer
    assert isinstance(found, Scorer)
    return found


def test_fine_tuning_starts_with_the_states_of_the_pre_trained_encoder(data: list[str], pretrained: Path, tmp_path: Path) -> None:
    """With a learning rate of zero it also ends with them; tuned word vectors would be learned on, so they are compared too."""
    for name, more in {"begun": [f"init_from={pretrained}"], "by itself": []}.items():
        (tmp_path / name).mkdir()
        train(compose([*data, *FINE, "optimizer.lr=0", *more]), tmp_path / name)
    tokens = torch.randint(1, 60, (5, 9))
    before, begun, by_itself = (
        scorer(place).encode_question(tokens)["vector"] for place in (pretrained, *map(tmp_path.joinpath, ("begun", "by itself")))
    )
    assert torch.equal(before, begun)
    assert not torch.allclose(before, by_itself, atol=1e-2)
    weights, theirs = open_checkpoint(tmp_path / "begun")["state_dict"], open_checkpoint(pretrained)["state_dict"]
    for part in ("scorer.question_encoder.", "scorer.candidate_encoder.", "scorer.embedding."):
        names = [weight for weight in weights if weight.startswith(part)]
        assert names
        assert all(torch.equal(weights[weight], theirs[weight]) for weight in names)


def test_two_encoders_begin_alike(data: list[str], pretrained: Path, tmp_path: Path) -> None:
    train(compose([*data, *FINE, "optimizer.lr=0", "model.shared=false", f"init_from={pretrained}"]), tmp_path)
    model = scorer(tmp_path)
    assert model.question_encoder is not model.candidate_encoder
    for ours, theirs in zip(model.candidate_encoder.parameters(), scorer(pretrained).question_encoder.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_two_encoders_begin_each_with_its_own_where_there_are_two(data: list[str], tmp_path: Path) -> None:
    two = [*data, *FINE, "optimizer.lr=0", "model.shared=false"]
    for name, more in {"source": [], "begun": ["seed=2", f"init_from={tmp_path / 'source'}"]}.items():
        (tmp_path / name).mkdir()
        train(compose([*two, *more]), tmp_path / name)
    source, begun = scorer(tmp_path / "source"), scorer(tmp_path / "begun")
    question, candidate = (encoder.state_dict() for encoder in (source.question_encoder, source.candidate_encoder))
    assert not torch.equal(question["W"], candidate["W"])
    torch.testing.assert_close(begun.question_encoder.state_dict(), question, rtol=0, atol=0)
    torch.testing.assert_close(begun.candidate_encoder.state_dict(), candidate, rtol=0, atol=0)
    (tmp_path / "one").mkdir()
    with pytest.raises(qaexp.errors.CheckpointError, match=r"but this run has one for both; set model\.shared=false"):
        train(compose([*data, *FINE, f"init_from={tmp_path / 'source'}"]), tmp_path / "one")


def test_a_run_is_known_by_what_it_began_with_and_not_by_its_path(data: list[str], pretrained: Path, tmp_path: Path) -> None:
    overrides = [*data, *FINE]
    elsewhere = shutil.copytree(pretrained, tmp_path / "elsewhere")
    begun = key([*overrides, f"init_from={pretrained}"])
    assert begun == key([*overrides, f"init_from={elsewhere}"]) == key([*overrides, f"init_from={elsewhere / 'best.ckpt'}"])
    assert begun != key(overrides)
    other = open_checkpoint(elsewhere)
    other["global_step"] += 1
    torch.save(other, elsewhere / "best.ckpt")
    assert begun != key([*overrides, f"init_from={elsewhere}"])
    other["global_step"] -= 1
    other["qaexp"]["key"] = "another"
    torch.save(other, elsewhere / "best.ckpt")
    assert begun != key([*overrides, f"init_from={elsewhere}"])


def test_runs_without_initial_weights_keep_the_keys_that_they_had_before_there_were_any(data: list[str]) -> None:
    config: Any = OmegaConf.to_container(compose([*data, *FINE]), resolve=True)
    without = {name: value for name, value in config.items() if name != "init_from"}
    assert config_key(config) == config_key(without)


def test_the_record_outlives_the_folder_that_the_run_began_with(data: list[str], pretrained: Path, tmp_path: Path) -> None:
    source = shutil.copytree(pretrained, tmp_path / "source")
    (tmp_path / "run").mkdir()
    overrides = [*FINE, f"init_from={source}"]
    train(compose([*data, *overrides]), tmp_path / "run", " ".join(overrides))
    shutil.rmtree(source)
    record = RunRecord.load(tmp_path / "run")
    assert record.config["init_from"]["key"] == RunRecord.load(pretrained).key
    assert record.key == config_key(record.config)
    assert row_name(record).endswith("trainer.max_epochs=1 init_from=(model=rcnn)")
    assert len(run_table(read_records(tmp_path), "test")) == 1


def test_a_run_that_broke_off_in_its_first_epoch_begins_there_again(data: list[str], pretrained: Path, tmp_path: Path) -> None:
    source = shutil.copytree(pretrained, tmp_path / "source")
    cfg = compose([*data, *FINE, "optimizer.lr=0", f"init_from={source}"])
    for name in ("whole", "resumed"):
        (tmp_path / name).mkdir()
        train(cfg, tmp_path / name)
    (tmp_path / "resumed" / "best.ckpt").unlink()
    (tmp_path / "resumed" / "last.ckpt").unlink()
    train(cfg, tmp_path / "resumed", resume=True)
    assert (tmp_path / "resumed" / "test.run").read_bytes() == (tmp_path / "whole" / "test.run").read_bytes()
    other = open_checkpoint(source)
    other["qaexp"]["key"] = "another"
    torch.save(other, source / "best.ckpt")
    (tmp_path / "resumed" / "last.ckpt").unlink()
    with pytest.raises(qaexp.errors.CheckpointError, match="is no longer the run that this one was started with"):
        train(cfg, tmp_path / "resumed", resume=True)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["model.encoder.hidden_dim=14"], "init_from holds an encoder RCNN of width 12, this run has RCNN of width 14: choose the same"),
        (["model=gru"], "init_from holds an encoder RCNN of width 12, this run has GRU of width 12: choose the same"),
        (["model.encoder.order=3"], "init_from: W of its model.encoder is (36, 16), that of this run (48, 16)"),
        (["dataset.vectors.dim=8"], "init_from: words.weight of its model.embedding is ("),
        (["model/embedding=projected"], "projection.weight of its model.embedding is absent"),
        (["dataset.reader.fields=[title]"], "another vocabulary"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(
    arguments: list[str], sentence: str, data: list[str], pretrained: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    general = FINE if "model=gru" not in arguments else ["model.encoder.hidden_dim=12", *FINE[2:]]
    assert main([*data, *general, *arguments, f"init_from={pretrained}", f"output_dir={tmp_path}"]) == 2
    assert sentence in caplog.text
    assert "Traceback" not in caplog.text


def test_a_model_without_an_encoder_is_refused(data: list[str], pretrained: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert main([*data, "model=word_overlap", f"init_from={pretrained}", f"output_dir={tmp_path}"]) == 2
    assert "has no encoder of its own; leave init_from out" in caplog.text
    assert main([*data, *FINE, f"init_from={tmp_path / 'nowhere'}", f"output_dir={tmp_path}"]) == 2
    assert "nowhere does not exist; name a run's folder" in caplog.text


def test_document_frequencies_stay_those_of_the_run_s_own_data() -> None:
    """They are fitted to the data, not learned."""
    vectors = torch.randn(4, 3)
    theirs, ours = (IDFWeightedEmbedding(vectors, tuned=True, project_dim=None, dropout_rate=0.0) for _ in range(2))
    theirs.idf.fill_(9.0)
    ours.idf.copy_(torch.arange(4.0))
    theirs.words.weight.data.add_(1.0)
    _copy(theirs, ours, "embedding")
    assert ours.idf.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert torch.equal(ours.words.weight, vectors + 1.0)
    with pytest.raises(CheckpointError, match=r"init_from: idf of its model\.embedding is absent"):
        _copy(WordEmbedding(vectors, tuned=True, project_dim=None, dropout_rate=0.0), ours, "embedding")


def test_another_data_set_with_the_same_word_vectors_keeps_what_was_learned_of_common_words(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text(
        "".join(f"{word} {' '.join(['0.1'] * 49)} 0.{n}\n" for n, word in enumerate(("the", "soup", "zebra"), 1))
    )
    published = ["dataset/vectors=glove50", f"dataset.vectors.path={tmp_path / 'glove.txt'}", f"cache_dir={tmp_path / 'cache'}"]
    model = ["model=gru", "model.encoder.hidden_dim=4", "model/embedding=tuned", "trainer.max_epochs=1", "logger=none"]
    for name, lines in (("here", ["the soup", "the"]), ("there", ["zebra soup", "the zebra"])):
        (tmp_path / f"{name}.csv").write_text(
            "split,question,answer,label\n"
            + "".join(f"{split},{lines[0]},{lines[1]},1\n{split},{lines[0]},soup soup,0\n" for split in ("train", "dev", "test"))
        )
    of = {name: [*published, *model, "dataset=own", f"dataset.reader.folder={tmp_path / name}.csv"] for name in ("here", "there")}
    (tmp_path / "one").mkdir()
    train(compose([*of["here"], "optimizer.lr=0.1"]), tmp_path / "one")
    (tmp_path / "other").mkdir()
    record = train(compose([*of["there"], "optimizer.lr=0", f"init_from={tmp_path / 'one'}"]), tmp_path / "other")
    assert record.metrics
    learned, begun = (open_checkpoint(tmp_path / name) for name in ("one", "other"))
    places = [{word: row for row, word in enumerate(each["qaexp"]["vocabulary"])} for each in (learned, begun)]
    assert places[0] != places[1]
    tables = [each["state_dict"]["scorer.embedding.words.weight"] for each in (learned, begun)]
    for word in ("soup", "the"):
        assert torch.equal(tables[0][places[0][word]], tables[1][places[1][word]])
    assert tables[1][places[1]["zebra"]].tolist() == pytest.approx([0.1] * 49 + [0.3])
    assert tables[1][places[1]["soup"]][-1].item() != pytest.approx(0.2)
    (tmp_path / "third").mkdir()
    unlike = [option for option in of["there"] if "vectors" not in option]
    with pytest.raises(qaexp.errors.CheckpointError, match="or with word vectors from the same published file"):
        train(compose([*unlike, "dataset/vectors=random", f"init_from={tmp_path / 'one'}"]), tmp_path / "third")
