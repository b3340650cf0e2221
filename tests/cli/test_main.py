"""The command line as its users meet it: help, mistakes, runs, interruptions."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hydra.errors import InstantiationException
from omegaconf import OmegaConf

import qaexp
from qaexp import config
from qaexp.cli import main as command_line
from qaexp.cli.main import main
from qaexp.config import compose, join_options, look_also_in, split_options
from qaexp.errors import CheckpointError, OutputError
from qaexp.mistakes import explain
from qaexp.models.scorer import Scorer
from qaexp.runs.record import RunRecord
from qaexp.runs.store import claim

ROOT = Path(__file__).resolve().parents[2]
SMALL = [
    "dataset.reader.num_train=60",
    "dataset.reader.num_dev=20",
    "dataset.reader.num_test=20",
    "dataset.vectors.dim=12",
    "trainer.max_epochs=2",
]


@pytest.fixture
def quiet(tmp_path: Path) -> list[str]:
    """Overrides that keep a run small and inside the test's own folder."""
    return ["logger=none", f"output_dir={tmp_path / 'runs'}", f"cache_dir={tmp_path / 'cache'}", *SMALL]


@pytest.fixture(autouse=True)
def no_folders_of_ones_own() -> Iterator[None]:
    yield
    look_also_in([])


def only_run(folder: Path) -> Path:
    [record] = folder.rglob("record.json")
    return record.parent


def command(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    """`qaexp` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "qaexp", *arguments],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.parametrize(
    ("program", "named"),
    [
        ("RANK", ["dataset", "model/encoder", "insuranceqa_subset", "qa_lstm", "resume=", "loss", "init_from="]),
        ("PRETRAIN", ["dataset", "model/encoder", "askubuntu", "gru", "resume=", "output", "pairs.steps_per_epoch=", "init_from="]),
    ],
)
def test_help_names_every_group_and_imports_no_torch(program: str, named: list[str]) -> None:
    script = (
        "import sys, qaexp.pretrain; from qaexp.cli.main import main; from qaexp.config import PRETRAIN, RANK\n"
        f"status = main(['--help'], {program})\n"
        "heavy = {'torch', 'pytorch_lightning', 'wandb', 'pandas'} & set(sys.modules)\n"
        "sys.exit(status or (f'imported {heavy}' if heavy else 0))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in named:
        assert name in done.stdout
    assert ("\n  output\n" in done.stdout) == (program == "PRETRAIN")


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("modl=ggsa", "there is no option modl, did you mean model"),
        ("model=gsa", "there is no model=gsa, did you mean ggsa or iggsa; choices: "),
        ("model=0", "there is no model=0; choices: "),
        ("trainer=[0]", "there is no trainer=0; choices: "),
        ("lr=1e-3", "there is no option lr, did you mean optimizer.lr"),
        ("epochs=3", "there is no option epochs, did you mean trainer.max_epochs"),
        ("n_trials=20", "there is no option n_trials, did you mean hydra.sweeper.strategy.trials"),
        ("model=wikiqa", "there is no model=wikiqa, did you mean dataset=wikiqa; choices: "),
        ("wikiq", "'wikiq' is not an option: did you mean dataset=wikiqa?"),
        ("model", "'model' is not an option: write model= and one of "),
        ("logger=[csv,wandbb]", "there is no logger=wandbb, did you mean wandb; choices: "),
        ("~patience", "~patience: a run needs patience; set it instead"),
        ("~schedule", "~schedule: a run needs schedule; set it instead, to one of constant, cosine, inverse_epoch, linear"),
        ("hydra.searchpath=[file:///nowhere]", "hydra.searchpath: there is no folder /nowhere; name one that has groups in it"),
        ("hydra.searchpath=[pkg://nothing.conf]", "hydra.searchpath: there is no package nothing.conf; install it"),
        ("--config-name=nosuch", "--config-name nosuch: no such file, or its defaults do not begin with `- config`"),
        ("dataset/vectors=webtext", "there is no dataset/vectors=webtext, did you mean webtext300 or webtext100"),
        ("model.encoder.ofset=2", "there is no option model.encoder.ofset, did you mean model.encoder.offset"),
        ("trainer.max_epoch=3", "there is no option trainer.max_epoch, did you mean trainer.max_epochs"),
        ("ggsa", "'ggsa' is not an option: write model=ggsa"),
        ("model/pooling.hops=3", "model/pooling.hops=3: only the choice of a YAML file has slashes; write model.pooling.hops=3"),
        (
            "trainer.limit_train_batches=5",
            "trainer.limit_train_batches is not set by this configuration; to add it, write +trainer.limit_train_batches=5",
        ),
        ("optimizer.weight_decay=1e-5", "to add it, write +optimizer.weight_decay=1e-5"),
        ("+trainer.precision=bf16-mixed", "+trainer.precision=bf16-mixed: it is set already; leave out the +, as in trainer.precision="),
        ("+trainer.logger=true", "trainer.logger=True: loggers are chosen with logger=NAME, such as logger=csv; leave it out"),
        ("+trainer.overfit_batch=1", "nothing reads the option trainer.overfit_batch, did you mean trainer.overfit_batches"),
        ("--model=ctrn", "--model=ctrn: options are written without dashes, as in model=ctrn"),
        ("--seed", "--seed: options are written without dashes, as in seed=VALUE"),
        ("seed=one", "seed=one: must be a number, as in seed=1"),
        ("trainer.deterministic=maybe", "trainer.deterministic=maybe: must be true or false"),
        ("dataset=toy,wikiqa", "dataset=toy,wikiqa has several values, which make a sweep: add -m"),
        ("optimizer.lr=-1", "optimizer.lr=-1: must be at least 0"),
        pytest.param("seed=" + 5000 * "9", "seed: a number of more than 4300 digits, which no option takes", id="too many digits"),
        ("optimizer.lr=1e99", "optimizer.lr=1e+99: must be a float32 number, at most 3.4e38"),
        ("trainer.max_epochs=two", "trainer.max_epochs=two: must be a number"),  # and not of the 2 before it
        ("dataset.batch_size=0", "dataset.batch_size=0: must be at least 1"),
        ("model.embedding.dropout_rate=1.5", "model.embedding.dropout_rate=1.5: must be at least 0 and less than 1"),
        ("trainer.precision=64-true", "trainer.precision=64-true: must be one of 32-true, bf16-mixed, 16-mixed"),
        ("seed=-1", "seed=-1: must be at least 0 and at most 4294967295"),
        ("trainer.max_epochs=1.5", "trainer.max_epochs=1.5: must be a whole number"),
        ("seed=1,2", "seed=1,2 has several values, which make a sweep: add -m"),
        (
            "output_dir=my däta",
            "output_dir=my däta: Hydra cannot parse this; quote the value for the shell and for Hydra: \"output_dir='my däta'\"",
        ),
        ("patience=null", "patience=null: must be a number, as in patience="),
        ("data_dir=null", "data_dir=null: must be text, as in data_dir="),
        ("dataset.name=null", "dataset.name=null: must be text, as in dataset.name=toy"),
        ("seed=true", "seed=true: must be a number, as in seed=1"),
        ("dataset.shuffle_seed=abc", "dataset.shuffle_seed=abc: must be a number"),
        ("dataset.measures=null", "dataset.measures=null: must be a list"),
        ("dataset.tokenise=3", "dataset.tokenise=3: has options of its own; set one of them, such as dataset.tokenise._target_"),
        ("dataset.negatives=null", "dataset.negatives=null: a run needs it; leave the option out, or write dataset/negatives= and one of "),
        ("model.encoder=null", "model.encoder=null: a run needs it; leave the option out, or write model/encoder= and one of "),
        ("+trainer.limit_train_batches=0", "trainer.limit_train_batches=0: must be at least 1"),
        ("output_dir=", "output_dir= is empty; name a folder, or leave it out"),
        ("resume=", "resume= is empty; name a run's folder"),
        ("dataset.vectors=random", "a choice is written with slashes, dataset/vectors=random; choices: "),
        ("init_from=nowhere", "init_from=nowhere does not exist; name a run's folder or a .ckpt file in one"),
        (
            "+trainer.gradient_clip_algorithm=best",
            "the trainer cannot be built from this configuration: `gradient_clip_algorithm` best is invalid",
        ),
        ("+trainer.strategy=dpp", "the trainer cannot be built from this configuration: You selected an invalid strategy name"),
        ("+trainer.val_check_interval=0.5", "trainer.val_check_interval=0.5: the record would have metrics of an earlier epoch"),
        ("dataset.vectors.deviation=-1", "dataset.vectors.deviation=-1: must be at least 0"),
        ("dataset.reader.num_train=-1", "dataset.reader.num_train=-1: must be at least 0"),
        ("dataset.tokenise=words", "dataset.tokenise=words: has options of its own; set one of them, such as dataset.tokenise._target_"),
        ("+trainer.val_check_interval=1", "trainer.val_check_interval=1: the record would have"),  # after each batch, to Lightning
        ("+trainer.max_steps=5", "trainer.max_steps=5: the record would have"),
        ("trainer.accelerator=tpu", "the trainer cannot be built from this configuration: "),
        ("--foo", "unrecognized arguments: --foo; options are written without dashes, as in model=ggsa"),
        ("+trainer.num_nodes=2", "trainer.num_nodes=2: all processes of a run must be on one machine"),
        ("trainer.num_sanity_val_steps=1", "trainer.num_sanity_val_steps=1: a part of dev gives no metrics"),
        ("+trainer.limit_val_batches=0", "trainer.limit_val_batches=0: must be at least 1"),
        ("+trainer.limit_val_batches=1.5", "trainer.limit_val_batches=1.5: must be a whole number"),
        ("callbacks=early_stopping", "callbacks has no best_checkpoint, whose weights a run ranks with; add it"),
        ("callbacks.best_checkpoint.monitor=dev/mrr", "the best epoch is that of dataset.selection_metric=dev/map; set that one"),
        ("+callbacks.mine={_target_:torch.nn.ReLU}", "callbacks.mine is not a Lightning callback; derive its class from"),
        ("schedule.factor=2", "optimizer or schedule cannot be built from this configuration: Constant multiplicative factor expected"),
        ("model.encoder.offset=10", "model.encoder.offset=10 must be at least 0 and smaller than model.encoder.group_size=10"),
        ("model.pooling._target_=own_parts.StrictPooling", "add +model.pooling.power=VALUE, or set it in the YAML file of its choice"),
        ("model.pooling._target_=own_parts.MeanPoling", "model.pooling._target_=own_parts.MeanPoling: there is no such class"),
        ("model.pooling._target_=own_parts.PoolingWithoutWidth", "PoolingWithoutWidth sets no output_dim"),
        (
            "model.pooling._target_=own_parts.PoolingOfAnotherKey",
            "model/pooling=PoolingOfAnotherKey gives pooled and no vector, which is read next; give {'vector': ...}",
        ),
        ("model.pooling._targt_=own_parts.MeanPooling", "there is no option model.pooling._targt_"),
        ("model.similarity._target_=own_parts.PlainSimilarity", "derive it from qaexp.models.stage.Similarity"),
        ("loss._target_=own_parts.PlainLoss", "loss=PlainLoss is not a Loss: derive it from qaexp.training.losses.Loss"),
        ("loss._target_=own_parts.LossWithWeights", "loss=LossWithWeights has weights to learn, and a loss learns nothing here"),
        ("dataset.reader._target_=own_parts.PlainReader", "PlainReader is not a reader: it lacks version and files. A reader has files()"),
        ("dataset.reader._target_=own_parts.ReaderOfNoSettings", "ReaderOfNoSettings is not a reader: make it a dataclass"),
        ("dataset.reader._target_=own_parts.ReaderOfLists", "ReaderOfLists.read() gives a list: a RankingCorpus is expected"),
        ("dataset.reader._target_=own_parts.ReaderOfNothing", "dataset=toy has no questions to rank; add dev and test"),
        ("dataset.convention=treck", "no scoring convention is called 'treck'; did you mean trec?"),
        (
            "dataset.selection_metric=test/map",
            "dataset.selection_metric=test/map: one of dev/p@1, dev/mrr, dev/map, dev/p@5, dev/ndcg@10 is expected",
        ),
        ("dataset.reader.num_train=0", "dataset=toy has dev, test, and nothing to train on"),
        ("dataset.reader.num_dev=0", "dataset=toy has train, test, and no dev to choose the best epoch by"),
    ],
)
def test_mistakes_are_answered_with_one_sentence(argument: str, sentence: str, quiet: list[str], caplog: pytest.LogCaptureFixture) -> None:
    assert main([*quiet, argument]) == 2
    assert sentence in caplog.text
    assert "dataset.seed" not in caplog.text  # which nobody gave
    assert "Traceback" not in caplog.text


def test_a_comma_in_the_name_of_a_folder_is_answered_with_quotes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("first,second").mkdir()
    assert main(["dataset=toy", "init_from=first,second"]) == 2
    assert """init_from=first,second: the name has a comma; write it in quotes: init_from="'first,second'\"""" in caplog.text


def test_a_missing_value_of_a_sweep_is_named(quiet: list[str], caplog: pytest.LogCaptureFixture) -> None:
    assert main([*quiet[:3], "-m", "seed=1,,2"]) == 2
    assert "seed=1,,2: a value is missing; write seed=1,2" in caplog.text


def test_the_option_that_does_not_exist_is_blamed_and_not_one_that_is_added(quiet: list[str], caplog: pytest.LogCaptureFixture) -> None:
    assert main([*quiet[:3], "+trainer.limit_train_batches=3", "optimizer.momentumm=0.1"]) == 2
    assert "optimizer.momentumm" in caplog.text
    assert "limit_train_batches" not in caplog.text


def test_options_that_another_choice_does_not_take_are_named_with_the_way_to_leave_them_out() -> None:
    error = InstantiationException("Error instantiating Scorer\nfull_key: model")
    # the checks of annotations in tests word it otherwise
    error.__cause__ = TypeError("Cosine.__init__() got an unexpected keyword argument 'hidden_dim'")
    sentence = str(explain(error, ["dataset=toy", "model=nbow", "model/similarity=cosine"]))
    assert sentence.startswith("model.similarity cannot be built from this configuration: Cosine.__init__() got an unexpected keyword")
    without = "~model.similarity.hidden_dim ~model.similarity.num_layers ~model.similarity.dropout_rate"
    assert sentence.endswith(f"add {without} to leave out what it does not take")


def test_a_word_where_a_list_is_expected(quiet: list[str], caplog: pytest.LogCaptureFixture) -> None:
    assert main([*quiet[:3], "dataset=askubuntu_duplicates", "dataset.reader.fields=title"]) == 2
    assert "dataset.reader.fields=title: must be a list, as in dataset.reader.fields=[title]" in caplog.text


def test_an_option_that_nothing_reads_is_warned_of(
    quiet: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(command_line, "run_in", lambda folder, cfg, command, program: None)
    assert main([*quiet, "+patienc=3"]) == 0
    assert caplog.messages == ["nothing in qaexp reads the option patienc, did you mean patience"]


def test_options_of_sweeps_are_warned_of_in_a_single_run(
    quiet: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(command_line, "run_in", lambda folder, cfg, command, program: None)
    assert main([*quiet[:3], "experiment=ctrn/grid", "hydra/sweeper=tpe", "dataset=toy"]) == 0
    assert caplog.messages == [
        "experiment=ctrn/grid describes a grid of runs, and this is one run; add -m for all of them",
        "hydra/sweeper=tpe has an effect in sweeps only; add -m for a sweep",
    ]


@pytest.mark.parametrize("how", ["--config-dir", "-cd", "hydra.searchpath"])
def test_choices_are_read_from_a_folder_of_ones_own(
    how: str, quiet: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    runs: list[Any] = []
    monkeypatch.setattr(
        command_line, "run_in", lambda folder, cfg, command, program: runs.append(OmegaConf.to_container(cfg, resolve=True))
    )
    own = tmp_path / "own" / "model" / "mine.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("defaults: [qa_lstm, _self_]\nencoder: {hidden_dim: 7}\n")
    place = [f"{how}=[file://{tmp_path / 'own'}]"] if how == "hydra.searchpath" else [how, str(tmp_path / "own")]
    assert main([*place, *quiet, "model=mine", "model.encoder.hidden_dim=8"]) == 0
    assert [(cfg["choices"]["model"], cfg["model"]["encoder"]["hidden_dim"]) for cfg in runs] == [("mine", 8)]
    assert main([*place, *quiet, "model=mine", "model.encoder.hidden_dim=0"]) == 2
    assert caplog.messages == ["model.encoder.hidden_dim=0: must be at least 1"]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with a user's own YAML."""
    folder = tmp_path / "own"
    files = {
        "model/mine.yaml": "# GGSA with mean pooling\ndefaults: [ggsa, _self_]\npooling: {_target_: own_parts.StrictPooling, power: 2.0}\n",
        "mine.yaml": "defaults: [config, {override model: qa_lstm}, _self_]\nseed: 5\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_a_class_of_ones_own_replaces_another_with_its_options(
    own: Path,
    quiet: list[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs: list[Any] = []
    monkeypatch.setattr(command_line, "run_in", lambda folder, cfg, command, program: runs.append(cfg.model.pooling))
    assert main(["-cd", str(own), *quiet, "model=mine"]) == 0
    option = "model.pooling._target_=own_parts.StrictPooling"
    assert main([*quiet, option, "+model.pooling.power=2.0"]) == 0
    assert runs == [{"_target_": "own_parts.StrictPooling", "_partial_": True, "power": 2.0}] * 2  # without `squash` of max pooling
    assert compose([option, "+model.pooling.power=2.0"]).model.pooling == runs[0]
    capsys.readouterr()
    assert main([option, "--cfg", "job"]) == 0
    assert "squash" not in OmegaConf.create(capsys.readouterr().out).model.pooling
    assert main([*quiet, option, "+model.pooling.powr=2.0"]) == 2
    assert "nothing reads the option model.pooling.powr, did you mean model.pooling.power" in caplog.text


def test_a_class_of_ones_own_replaces_another_from_a_search_path_and_in_a_sweep(own: Path, quiet: list[str], tmp_path: Path) -> None:
    small = ["dataset.reader.num_train=20", "dataset.reader.num_dev=4", "dataset.reader.num_test=4"]
    options = ["model=mine", "trainer=short", *quiet, *small]
    assert main([f"hydra.searchpath=[{own}]", *options]) == 0
    assert main(["-m", "-cd", str(own), *options]) == 0
    assert main(["-m", f"hydra.searchpath=[{own}]", *options, "seed=2"]) == 0
    assert main(["hydra.mode=MULTIRUN", "-cd", str(own), *options]) == 0, "Hydra's other way to ask for a sweep"
    assert main(["--m", "-cd", str(own), *options]) == 0, "as argparse shortens --multirun"


def test_a_mapping_cannot_be_null(caplog: pytest.LogCaptureFixture) -> None:
    assert main(["dataset=wikiqa", "dataset.expected.train=null"]) == 2
    assert "dataset.expected.train=null: must be a mapping of names to values" in caplog.text


def test_an_experiment_of_ones_own_is_listed_wherever_it_lies(own: Path, quiet: list[str], caplog: pytest.LogCaptureFixture) -> None:
    (own / "experiment").mkdir()
    (own / "experiment" / "first.yaml").write_text("# @package _global_\nseed: 3\n")
    assert main(["-cd", str(own), *quiet, "experiment=frst"]) == 2
    assert main(["-cd", str(own), *quiet, "experiment=first", "optimizer.learning_rate=1"]) == 2
    assert "there is no experiment=frst, did you mean first" in caplog.messages[0]
    assert "there is no option optimizer.learning_rate" in caplog.messages[1]


def test_a_primary_configuration_may_name_folders(
    own: Path, quiet: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    runs: list[str] = []
    monkeypatch.setattr(command_line, "run_in", lambda folder, cfg, command, program: runs.append(cfg.run_name))
    (own / "more" / "model").mkdir(parents=True)
    (own / "more" / "model" / "other.yaml").write_text("defaults: [qa_lstm]\n")
    (own / "with_more.yaml").write_text(f"defaults: [config, {{override model: other}}, _self_]\nhydra: {{searchpath: [{own / 'more'}]}}\n")
    assert main(["-cd", str(own), "--config-name", "with_more.yaml", *quiet]) == 0
    assert runs == ["other_toy_seed1"]
    assert main(["-cd", str(own), "--config-name", "with_more", *quiet, "model=othr"]) == 2
    assert "did you mean other" in caplog.text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [", r"a YAML file cannot be read: .*broken\.yaml"),
        ("dim: 3", r"model has no _target_"),
        ("_target_: own_parts.Nothing", r"own_parts\.Nothing cannot be loaded"),
        ("_target_: faulty_part.Model", r"problem in .*faulty_part.*SyntaxError"),
    ],
)
def test_a_broken_yaml_of_ones_own_is_answered_in_one_sentence(
    text: str,
    sentence: str,
    own: Path,
    quiet: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "faulty_part.py").write_text("x = (\n")
    (own / "model" / "broken.yaml").write_text(text + "\n")
    assert main(["-cd", str(own), *quiet, "model=broken"]) == 2
    assert re.search(sentence, caplog.messages[-1])


def test_a_module_is_no_class_and_a_number_no_choice(own: Path, quiet: list[str], caplog: pytest.LogCaptureFixture) -> None:
    (own / "model" / "1.yaml").write_text("defaults: [ggsa]\n")
    assert main([*quiet, "model.pooling._target_=own_parts"]) == 2
    assert main(["-cd", str(own), *quiet, "model=1"]) == 2
    assert "model.pooling._target_=own_parts: there is no such class" in caplog.messages[0]
    assert "must be a string" in caplog.messages[1]


def test_scores_without_a_gradient_are_answered_in_one_sentence(quiet: list[str], caplog: pytest.LogCaptureFixture) -> None:
    assert main([*quiet, "model=qa_lstm", "trainer=short", "model.similarity._target_=own_parts.DetachedCosine"]) == 2
    assert "the loss depends on no parameter of the model" in caplog.text


@pytest.mark.parametrize("option", ["~model", "logger=[]", "callbacks=[]"])
def test_a_part_that_is_left_out_is_missed_before_anything_runs(
    option: str, quiet: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert main([*(each for each in quiet if not each.startswith("logger")), option]) == 2
    assert f"{option}: a run needs " in caplog.text or "callbacks has no best_checkpoint" in caplog.text
    assert not list(tmp_path.rglob("record.json"))


def test_info_is_shown_once() -> None:
    done = subprocess.run([sys.executable, "-m", "qaexp", "--info", "searchpath"], capture_output=True, text=True, check=True)
    assert done.stdout.count("Config search path\n") == 1
    assert done.stderr == ""


def test_a_run_shows_what_differs_when_nothing_is_composed_yet(
    quiet: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("qaexp.config.cache_folder", lambda: tmp_path / "composed")
    config._composed_choices.cache_clear()
    assert main([*quiet, "callbacks=early_stopping"]) == 2
    assert "callbacks has no best_checkpoint" in caplog.text
    assert "what differs from the defaults" in capsys.readouterr().out


def test_hints_and_help_know_the_users_own_choices(
    own: Path, quiet: list[str], caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*quiet, "model=mien", "--config-dir", str(own)]) == 2
    assert "there is no model=mien, did you mean mine; choices: " in caplog.text
    assert main(["--help", f"hydra.searchpath=[{own}]"]) == 0
    assert re.search(r"mine +GGSA with mean pooling", capsys.readouterr().out)


def test_a_primary_configuration_of_ones_own(
    own: Path, quiet: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    runs: list[str] = []
    monkeypatch.setattr(command_line, "run_in", lambda folder, cfg, command, program: runs.extend([cfg.run_name, command]))
    assert main(["-cd", str(own), "--config-name", "mine", *quiet]) == 0
    assert runs == ["qa_lstm_toy_seed5", join_options([f"--config-dir={own}", "--config-name=mine", *quiet])]
    assert main(split_options(runs[1])) == 0  # the command of a record makes its run again
    assert runs[2:] == runs[:2]
    assert main([*quiet, "-cd", str(own), "-cn", "mine", "modl=ggsa"]) == 2
    assert "there is no option modl, did you mean model" in caplog.text


def test_lightnings_own_options_are_its_own(quiet: list[str], tmp_path: Path) -> None:
    callback = "+trainer.callbacks=[{_target_:pytorch_lightning.callbacks.ModelSummary,max_depth:1}]"
    own = ["+trainer.profiler=simple", "+trainer.enable_progress_bar=false", "trainer.num_sanity_val_steps=-1", callback]
    assert main([*quiet, "trainer.max_epochs=1", *own]) == 0
    [record] = [json.loads(path.read_text()) for path in tmp_path.rglob("record.json")]
    assert record["metrics"]["dev"]["questions"] == 20


def test_a_checkpoint_callback_of_lightning_writes_into_the_run(quiet: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    callback = "+callbacks.mine._target_=pytorch_lightning.callbacks.ModelCheckpoint"
    assert main([*quiet, "trainer.max_epochs=1", callback, "hydra.run.dir=here"]) == 0
    assert len(list(Path("here/checkpoints").glob("epoch=0-*.ckpt"))) == 1
    assert not Path("checkpoints").exists()


def test_a_folder_that_has_a_run_is_named_with_the_remedy(
    quiet: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    command = [*quiet, "model=word_overlap", "hydra.run.dir=here"]
    assert main(command) == 0
    assert main(command) == 2
    assert re.search(
        r"here has a run already; continue it with: qaexp resume=\S+here, or name another folder in hydra.run.dir", caplog.text
    )


def test_a_slot_of_ones_own_that_is_built_too_early_is_named(own: Path, quiet: list[str], caplog: pytest.LogCaptureFixture) -> None:
    (own / "model" / "pooling").mkdir()
    (own / "model" / "pooling" / "mine.yaml").write_text("_target_: own_parts.StrictPooling\npower: 2.0\n")
    assert main(["-cd", str(own), *quiet, "model=qa_lstm", "model/pooling=mine"]) == 2
    assert "qaexp gives input_dim itself: write `_partial_: true` into its YAML file" in caplog.text


def test_a_part_of_ones_own_is_trained_and_loaded_where_it_is_trusted(
    quiet: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([*quiet, "trainer.max_epochs=1", "model.pooling._target_=own_parts.MeanPooling"]) == 0
    with pytest.raises(CheckpointError, match="if that is your own, set QAEXP_TRUSTED=own_parts, else do not load it"):
        qaexp.load(only_run(tmp_path))
    monkeypatch.setenv("QAEXP_TRUSTED", "another, own_parts")
    ranker = qaexp.load(only_run(tmp_path))
    assert isinstance(ranker.scorer, Scorer)
    assert type(ranker.scorer.pooling).__name__ == "MeanPooling"


def test_a_run_without_a_record_is_not_resumed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "config.yaml").write_text("seed: 1\n")
    assert main([f"resume={tmp_path}"]) == 2
    assert "there is no record.json in it to continue from; start the run again with its command line" in caplog.text


def test_a_run_is_resumed_as_it_began_or_not_at_all(quiet: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert main([*quiet, "trainer.max_epochs=1"]) == 0
    folder = only_run(tmp_path)
    assert main([f"resume={folder}"]) == 0  # a finished run only shows its table
    assert "was deleted" not in caplog.text
    (folder / "best.ckpt").unlink()
    assert main([f"resume={folder}"]) == 0
    assert f"{folder}/best.ckpt, with the best epoch's weights, was deleted" in caplog.text
    config = folder / "config.yaml"
    config.write_text(config.read_text().replace("num_heads: 6", "num_heads: 3"))
    assert main([f"resume={folder}"]) == 2
    assert "config.yaml was changed after the run began; restore it from record.json" in caplog.text
    for damaged in ("model: [", "", "seed: 1\n", "- seed\n"):
        config.write_text(damaged)
        caplog.clear()
        assert main([f"resume={folder}"]) == 2
        assert "config.yaml is damaged" in caplog.text


def test_a_finished_run_goes_on_to_where_a_longer_one_would_have_been(
    quiet: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    small = ["model=qa_cnn", "model.encoder.num_filters=4"]
    assert main([*quiet, *small, "trainer.max_epochs=1", f"output_dir={tmp_path / 'short'}"]) == 0
    assert main([*quiet, *small, "trainer.max_epochs=3", f"output_dir={tmp_path / 'long'}"]) == 0
    short, long = (next((tmp_path / name).rglob("record.json")).parent for name in ("short", "long"))
    assert main([f"resume={short}", "trainer.max_epochs=3"]) == 0
    one, other = RunRecord.load(short), RunRecord.load(long)
    assert (one.key, one.history, one.metrics, one.status) == (other.key, other.history, other.metrics, "finished")
    assert ("trainer.max_epochs=3" in one.command, "trainer.max_epochs=1" in one.command) == (True, False)
    assert (short / "test.run").read_bytes() == (long / "test.run").read_bytes()
    assert main([f"resume={short}"]) == 0
    for options, says in (
        (["trainer.max_epochs=2"], "trainer.max_epochs=2: write a whole number above 3, which the run had"),
        (["trainer.max_epochs=5,6"], "trainer.max_epochs=5,6: write a whole number above 3, which the run had"),
        (["trainer.max_epochs=4", "seed=2"], "leave seed=2 out"),
    ):
        assert main([f"resume={short}", *options]) == 2
        assert says in caplog.text
    whole = (short / "last.ckpt").read_bytes()
    (short / "last.ckpt").write_bytes(whole[:-100])
    assert main([f"resume={short}", "trainer.max_epochs=4"]) == 2
    assert "last.ckpt is damaged" in caplog.text
    assert RunRecord.load(short).status == "finished", "the run is as it was"
    assert main([f"resume={short}"]) == 0
    (short / "last.ckpt").unlink()
    assert main([f"resume={short}", "trainer.max_epochs=4"]) == 2
    assert "there is no last.ckpt to go on from" in caplog.text


def test_a_run_whose_data_changed_is_not_made_longer(quiet: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It had taken the longer limit, and a finished run had become a failed one."""
    lines = [f"q{place}?\t{answer}\t{label}\n" for place in range(4) for answer, label in (("yes", 1), ("no", 0))]
    text = "".join(["question\tcandidate\tlabel\n", *lines])
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.tsv").write_text(text)
    own = ["dataset=own", f"dataset.reader.folder={tmp_path}", "dataset/vectors=random", "model=qa_cnn", "model.encoder.num_filters=4"]
    assert main([*quiet[:3], *own, "trainer.max_epochs=1"]) == 0
    folder = only_run(tmp_path)
    before = (folder / "record.json").read_text(), (folder / "config.yaml").read_text()
    (tmp_path / "train.tsv").write_text(text.replace("q0?", "and now?"))
    assert main([f"resume={folder}", "trainer.max_epochs=3"]) == 2
    assert "has changed since; put the old files back, or start a new run" in caplog.text
    assert ((folder / "record.json").read_text(), (folder / "config.yaml").read_text()) == before


def test_a_configuration_is_shown_as_asked(
    quiet: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert main([*quiet, "model=word_overlap", "print_config=none"]) == 0
    assert "configuration:" not in capsys.readouterr().out
    assert main([*quiet, "model=word_overlap", "print_config=nothing", f"output_dir={tmp_path / 'other'}"]) == 2
    assert "print_config: there is no 'nothing'; choose among diff, full, none" in caplog.text
    assert not (tmp_path / "other").exists() or not list((tmp_path / "other").rglob("config.yaml"))


def test_a_run_that_stopped_early_goes_on_with_more_patience(quiet: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert main([*quiet, "model=qa_cnn", "model.encoder.num_filters=4", "optimizer.lr=0", "trainer.max_epochs=8", "patience=1"]) == 0
    folder = only_run(tmp_path)
    assert len(RunRecord.load(folder).history) == 2
    assert main([f"resume={folder}", "trainer.max_epochs=9"]) == 2
    assert "it stopped early, after 2 epochs (patience=1); raise patience, too" in caplog.text
    assert main([f"resume={folder}", "patience=3"]) == 0
    record = RunRecord.load(folder)
    assert (len(record.history), record.command.endswith(" patience=3")) == (4, True)


def test_one_process_at_a_time_works_in_a_runs_folder(quiet: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert main([*quiet, "trainer.max_epochs=1"]) == 0
    folder = only_run(tmp_path)
    with claim(folder) as mine:
        assert mine
        assert main([f"resume={folder}"]) == 2
    assert f"another process is running in {folder}" in caplog.text


def test_a_run_that_never_began_leaves_no_folder(quiet: list[str], tmp_path: Path) -> None:
    assert main([*quiet, "seed=-1"]) == 2
    assert not list(tmp_path.glob("runs/*/*"))


def test_no_options_at_all_are_the_usual_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs: list[str] = []
    monkeypatch.setattr(command_line, "run_in", lambda folder, cfg, command, program: runs.append(cfg.run_name))
    assert main([]) == 0
    assert runs == ["ggsa_toy_seed1"]


def test_missing_files_are_named_at_once_with_the_command_that_fetches_them(
    quiet: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    overrides = [option for option in quiet if not option.startswith(("dataset.reader", "dataset.vectors"))]
    overrides += ["dataset=insuranceqa", "dataset/vectors=glove300", f"data_dir={tmp_path / 'nowhere'}"]
    assert main(overrides) == 2
    for name in ("answers.label.token_idx", "question.test2.label.token_idx.pool", "qaexp data fetch insuranceqa", "glove."):
        assert name in caplog.text
    assert not capsys.readouterr().out  # before the configuration is shown
    assert main([*overrides, "model=bm25"]) == 2
    assert "glove." not in caplog.records[-1].message  # it reads none


def test_an_output_folder_that_cannot_be_made(quiet: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    assert main([*quiet, f"output_dir={tmp_path / 'file'}"]) == 2
    assert "; name another place with output_dir=FOLDER" in caplog.text


def test_a_failing_job_does_not_stop_a_sweep(quiet: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert main([*quiet, "-m", "model.encoder.offset=10,5", "trainer.max_epochs=1"]) == 2
    assert "model.encoder.offset=10 must be at least 0 and smaller" in caplog.text
    assert "2 jobs: 1 ran, 0 skipped, 1 failed" in caplog.messages[-1]
    statuses = [json.loads(path.read_text())["status"] for path in tmp_path.rglob("record.json")]
    assert sorted(statuses) == ["failed", "finished"]


def test_a_failed_run_says_where_until_it_is_resumed_to_its_end(quiet: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OutputError("cannot write test.run: No space left on device")

    monkeypatch.setattr("qaexp.runs.tasks.write_run", full)
    assert main([*quiet, "trainer.max_epochs=1"]) == 2
    folder = only_run(tmp_path)
    assert "No space left" in (folder / "error.log").read_text()
    monkeypatch.undo()
    assert main([f"resume={folder}"]) == 0
    assert not (folder / "error.log").exists()


def test_a_killed_run_resumes_to_the_very_same_scores(quiet: list[str], tmp_path: Path) -> None:
    longer = [*quiet, "trainer.max_epochs=4", "dataset.batch_size=4"]
    whole = command(*longer, f"output_dir={tmp_path / 'whole'}")
    killed = command(*longer, f"output_dir={tmp_path / 'killed'}")
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            records = list((tmp_path / "killed").rglob("record.json"))
            if records and len(json.loads(records[0].read_text())["history"]) >= 2 and (records[0].parent / "last.ckpt").exists():
                break
            time.sleep(0.02)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
    finally:
        out, _ = whole.communicate(timeout=120)
    assert whole.returncode == 0, out
    folder = only_run(tmp_path / "killed")
    before = json.loads((folder / "record.json").read_text())
    assert before["status"] == "running"
    assert len(before["history"]) in (2, 3)
    resumed = command(f"resume={folder}")
    out, _ = resumed.communicate(timeout=120)
    assert resumed.returncode == 0, out
    for name in ("test.run", "dev.run"):
        assert (folder / name).read_text() == (only_run(tmp_path / "whole") / name).read_text()
    record = json.loads((folder / "record.json").read_text())
    assert record["status"] == "finished"
    assert [entry["epoch"] for entry in record["history"]] == [1, 2, 3, 4]
    assert 0 < before["seconds"]["steps"] < before["seconds"]["fit"] < before["seconds"]["total"]  # the killed part's time is not lost
    assert record["seconds"]["steps"] < record["seconds"]["fit"] < record["seconds"]["total"]
    assert before["seconds"]["total"] < record["seconds"]["total"] - record["seconds"]["test"]
    again = command(f"resume={folder}")  # a finished run only shows its table
    out, _ = again.communicate(timeout=120)
    assert again.returncode == 0
    assert "P@1" in out


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_control_c_and_sigterm_keep_what_was_measured_and_say_how_to_go_on(name: str, quiet: list[str], tmp_path: Path) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # `make test &` ignores it, and so would the run
    run = command(*quiet, "trainer.max_epochs=500", "patience=500")
    while not list((tmp_path / "runs").glob("**/best.ckpt")):
        assert run.poll() is None
        time.sleep(0.05)
    run.send_signal(getattr(signal, name))
    out, _ = run.communicate(timeout=60)
    folder = only_run(tmp_path)
    assert run.returncode == 130, out
    assert f"qaexp resume={folder}" in out
    assert "Traceback" not in out
    record = json.loads((folder / "record.json").read_text())
    assert record["status"] == "interrupted"
    assert record["history"]
    assert (folder / "best.ckpt").exists()


def test_wandb_without_a_key_is_offline_and_never_asks_on_a_terminal(quiet: list[str], tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("WANDB_API_KEY", "WANDB_MODE")}
    run = subprocess.Popen(
        [sys.executable, "-m", "qaexp", *quiet[1:], "trainer.max_epochs=1"],
        cwd=ROOT,
        env={**environment, "HOME": str(tmp_path), "TERM": "xterm", "NETRC": str(tmp_path / "none")},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        close_fds=True,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += (chunk := os.read(ours, 4096))
        except OSError:
            break
        if not chunk:
            break
    assert run.wait(timeout=120) == 0, shown.decode(errors="replace")
    screen = shown.decode(errors="replace")
    assert "wandb sync" in screen
    assert "(1) Create" not in screen  # W&B's question, when it asks one
    [offline] = only_run(tmp_path / "runs").glob("wandb/offline-run-*/run-*.wandb")
    assert offline.stat().st_size > 0


def test_text_that_looks_like_a_number_stays_text(quiet: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["model=random_guess", "dataset.shuffle_seed=null", "data_dir=007", "cache_dir=2024", "dataset.name=1e3"]
    assert main([*(option for option in quiet if not option.startswith("output_dir")), *options, "output_dir=2024_11_28"]) == 0
    [record] = (tmp_path / "2024_11_28").rglob("record.json")
    config = json.loads(record.read_text())["config"]
    assert (config["data_dir"], config["cache_dir"], config["output_dir"]) == ("007", "2024", "2024_11_28")
    assert (config["dataset"]["name"], config["dataset"]["cache_dir"], config["dataset"]["shuffle_seed"]) == ("1e3", "2024", None)
    assert (tmp_path / "2024" / "corpora").is_dir()
