"""The gate: everything in conf/ passes it, and nothing that would run code does."""

import json
import resource
import shutil
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from omegaconf import OmegaConf

import qaexp
from qaexp.cli.figures import main as figures
from qaexp.cli.main import main
from qaexp.config import CONF
from qaexp.errors import CheckpointError
from qaexp.runs.other_runs import with_pinned_runs
from qaexp.runs.trusted import MAX_BYTES, TRUSTED, admitted, saved_config

FILE = Path("best.ckpt")
OLD_RUN = Path(__file__).parent / "before_the_move"


def model_part(target: Any) -> dict[str, Any]:
    return {"model": {"encoder": {"_target_": target}}}


def without_references(node: Any) -> Any:
    if isinstance(node, dict):
        return {name: without_references(value) for name, value in node.items()}
    if isinstance(node, list):
        return list(map(without_references, node))
    return None if isinstance(node, str) and "${" in node else node


@pytest.mark.parametrize("group", ["dataset", "logger", "loss", "model", "optimizer", "output", "schedule", "trainer"])
def test_every_choice_of_conf_is_admitted(group: str) -> None:
    for path in (CONF / group).rglob("*.yaml"):
        config = without_references(yaml.safe_load(path.read_text()))
        for slot in reversed(path.relative_to(CONF).parent.parts):
            config = {slot: config}
        assert admitted(config, path) == config


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (
            model_part("os.getcwd"),
            "model.encoder from os.getcwd, which is not part of qaexp; if that is your own, set QAEXP_TRUSTED=os, else",
        ),
        (model_part("qaexp.runs.provenance.os.getcwd"), "which is not part of qaexp"),
        (model_part("qaexp.models.scorer.nn.Linear"), "which is not part of qaexp; if that is your own, set QAEXP_TRUSTED=torch, else"),
        (model_part("qaexp.files.atomic_write_text"), "which is not a part of a model"),
        (model_part("qaexp.models.scorer.Scorer.__init__"), "which is not the name of a class"),
        (model_part("qaexp.models.scorer.Scorer.forward"), "which is not a part of a model"),
        (model_part("qaexp.data.tokenise.words_v1"), "which is not a part of a model"),
        (model_part("qaexp.models.scorer.Gone"), "which is not there; go back to the version that has it"),
        (model_part("qaexp.${name}"), "has qaexp.${name} in place of a plain value"),
        (model_part(["os.getcwd"]), "which is not the name of a class"),
        ({"model": {"_args_": [[{"_target_": "os.getcwd"}]]}}, "model._args_.0.0 from os.getcwd, which is not part of qaexp"),
        ({"model": {"features": {"first": ({"_target_": "os.getcwd"},)}}}, "os.getcwd, which is not part of qaexp"),
        ({"model": {"text": "${oc.create:{_target_: os.getcwd}}"}}, "in place of a plain value"),
        ({"model": {"${x}": 1}}, "in place of a plain value"),
        ({"model": {1.5: 1}}, "a float where the name of an option stands"),
        ({"model": {"_target_": "qaexp.models.scorer.Scorer", "_partial_": None}}, "a NoneType as _partial_"),
        ({"seed": 10**5000}, "a number of more than 64 bits"),
        ({"seed": {1, 2}}, "a set as a value"),
        ({"model": {"_target_": "qaexp.models.encoder.recurrent.GRU"}}, "which is not an AnswerScorer"),
        ({"dataset": {"tokenise": {"_target_": "qaexp.data.tokenise.bare"}}}, "which is not a tokeniser"),
        ({"dataset": {"reader": {"_target_": "qaexp.data.vectors.sources.RandomVectors"}}}, "which is not a reader"),
        ({"dataset": {"reader": {"of": {"_target_": "qaexp.data.datasets.own.OwnReader"}}}}, "which is not a part that this slot takes"),
        ({"loss": {"_target_": "torch.nn.MSELoss"}}, "which is not part of qaexp"),
    ],
)
def test_what_a_slot_does_not_take_is_refused_wherever_it_stands(node: Any, said: str) -> None:
    with pytest.raises(CheckpointError, match=r"best\.ckpt ") as refused:
        admitted(node, FILE)
    assert said in str(refused.value)


def test_of_a_trusted_package_its_own_parts_are_built_and_not_what_it_has_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRUSTED, "own_parts")
    admitted(model_part("own_parts.MeanPooling"), FILE)
    with pytest.raises(CheckpointError, match=r"own_parts\.torch\.load, which is not part of qaexp"):
        admitted(model_part("own_parts.torch.load"), FILE)
    with pytest.raises(CheckpointError, match="which is not a reader"):
        admitted({"dataset": {"reader": {"_target_": "own_parts.MeanPooling"}}}, FILE)
    admitted({"dataset": {"reader": {"_target_": "own_parts.ReaderOfNothing", "option": {"_target_": "own_parts.PlainLoss"}}}}, FILE)


def test_trusting_torch_trusts_its_classes_where_they_belong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRUSTED, "torch")
    admitted(model_part("torch.nn.Linear"), FILE)
    for target in ("torch.load", "torch.hub.load", "torch.utils.data.DataLoader"):
        with pytest.raises(CheckpointError, match=r"which is not (a )?part of (a model|qaexp)"):
            admitted(model_part(target), FILE)


@pytest.mark.parametrize("option", ["_partial_", "another"])
def test_a_tokeniser_that_cannot_read_a_text_is_refused(option: str, tmp_path: Path) -> None:
    checkpoint = torch.load(OLD_RUN / "best.ckpt", weights_only=True)
    checkpoint["qaexp"]["tokenise"][option] = False
    torch.save(checkpoint, tmp_path / "best.ckpt")
    with pytest.raises(
        CheckpointError,
        match=r"has a tokeniser that cannot read a text .* delete its folder, then repeat .*, or restore it from a backup",
    ):
        qaexp.load(tmp_path)


def test_a_model_far_larger_than_its_weights_is_refused_before_it_is_built(tmp_path: Path) -> None:
    checkpoint = torch.load(OLD_RUN / "best.ckpt", weights_only=True)
    checkpoint["qaexp"]["model"]["hidden_dim"] = 60_000  # some hundred GB
    torch.save(checkpoint, tmp_path / "best.ckpt")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CheckpointError, match=r"needs [\d,]+ bytes of weights, and it holds [\d,]+; do not load it"):
        qaexp.load(tmp_path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 1 << 19  # kilobytes


def test_what_grows_when_it_is_read_is_refused() -> None:
    shared: Any = [1]
    for _ in range(60):
        shared = {"a": shared, "b": shared}
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    itself: Any = []
    itself.append(itself)
    for node in (shared, deep, itself, list(range(10**5))):
        with pytest.raises(CheckpointError, match=r"it has more than 20,000 values|it is nested too deeply"):
            admitted(node, FILE)


GADGETS: dict[str, Callable[[str], dict[str, Any]]] = {
    "builtins.exec": lambda file: {"_args_": [f"open({file!r}, 'w')"]},
    "builtins.eval": lambda file: {"_args_": [f"open({file!r}, 'w')"]},
    "builtins.open": lambda file: {"_args_": [file, "w"]},
    "builtins.__import__": lambda file: {"_args_": ["antigravity"]},
    "os.system": lambda file: {"_args_": [f"touch {file}"]},
    "os.popen": lambda file: {"_args_": [f"touch {file}"]},
    "os.mkdir": lambda file: {"_args_": [file]},
    "posix.system": lambda file: {"_args_": [f"touch {file}"]},
    "subprocess.run": lambda file: {"_args_": [["touch", file]]},
    "subprocess.Popen": lambda file: {"_args_": [["touch", file]]},
    "subprocess.check_output": lambda file: {"_args_": [["touch", file]]},
    "shutil.copy": lambda file: {"_args_": ["/etc/hostname", file]},
    "pathlib.Path.touch": lambda file: {"_args_": [{"_target_": "pathlib.Path", "_args_": [file]}]},
    "pickle.loads": lambda file: {"_args_": [{"_target_": "builtins.bytes"}]},
    "pandas.read_pickle": lambda file: {"_args_": [f"{file}.pkl"]},
    "joblib.load": lambda file: {"_args_": [f"{file}.pkl"]},
    "numpy.load": lambda file: {"_args_": [f"{file}.pkl"], "allow_pickle": True},
    "numpy.save": lambda file: {"_args_": [file, 1]},
    "torch.load": lambda file: {"_args_": [f"{file}.pkl"], "weights_only": False},
    "torch.save": lambda file: {"_args_": [1, file]},
    "torch.hub.load": lambda file: {"_args_": [file, "x"], "source": "local", "trust_repo": True},
    "torch.jit.load": lambda file: {"_args_": [file]},
    "torch.utils.cpp_extension.load_inline": lambda file: {"name": "x", "cpp_sources": [""]},
    "torch.serialization.load": lambda file: {"_args_": [f"{file}.pkl"], "weights_only": False},
    "torch.package.PackageImporter": lambda file: {"_args_": [file]},
    "torch.optim.lr_scheduler.LambdaLR": lambda file: {"lr_lambda": {"_target_": "os.mkdir", "_args_": [file]}},
    "pytorch_lightning.callbacks.LambdaCallback": lambda file: {"setup": {"_target_": "os.mkdir", "_args_": [file]}},
    "pytorch_lightning.cli.LightningCLI": lambda file: {},
    "pytorch_lightning.Trainer.save_checkpoint": lambda file: {"_args_": [1, file]},
    "hydra.utils.call": lambda file: {"_args_": [{"_target_": "os.mkdir", "_args_": [file]}]},
    "hydra.utils.instantiate": lambda file: {"_args_": [{"_target_": "os.mkdir", "_args_": [file]}]},
    "hydra.utils.get_method": lambda file: {"_args_": ["os.system"]},
    "hydra._internal.utils._locate": lambda file: {"_args_": ["antigravity"]},
    "omegaconf.OmegaConf.register_new_resolver": lambda file: {"_args_": ["x", {"_target_": "os.mkdir", "_args_": [file]}]},
    "importlib.import_module": lambda file: {"_args_": ["antigravity"]},
    "runpy.run_path": lambda file: {"_args_": [f"{file}.py"]},
    "functools.partial": lambda file: {"_args_": [{"_target_": "os.mkdir", "_args_": [file]}]},
    "logging.FileHandler": lambda file: {"_args_": [file]},
    "logging.config.fileConfig": lambda file: {"_args_": [file]},
    "wandb.init": lambda file: {"dir": file},
    "qaexp.files.atomic_write_text": lambda file: {"_args_": [{"_target_": "pathlib.Path", "_args_": [file]}, "x"]},
    "qaexp.cli.main.main": lambda file: {"_args_": [["resume=x"]]},
    "qaexp.__main__.main": lambda file: {},
    "qaexp.config.Program": lambda file: {"module": "x", "config": "x", "function": "os:system", "own_key": "x", "needs": "x"},
    "qaexp.runs.provenance.os.mkdir": lambda file: {"_args_": [file]},
    "qaexp.load": lambda file: {"_args_": [file]},
    "own_parts.torch.load": lambda file: {"_args_": [f"{file}.pkl"]},
}
SLOTS = (
    "model",
    "model.encoder",
    "loss",
    "optimizer",
    "schedule",
    "trainer",
    "dataset",
    "dataset.reader",
    "dataset.tokenise",
    "dataset.vectors",
)


def hostile_folder(saved: Any, tmp_path: Path, change: Callable[[Any], None]) -> Path:
    folder = tmp_path / "run"
    shutil.copytree(OLD_RUN, folder)
    config = deepcopy(saved)
    change(config)
    (folder / "config.yaml").write_text(OmegaConf.to_yaml(config))
    record = json.loads((folder / "record.json").read_text())
    (folder / "record.json").write_text(json.dumps({**record, "config": config, "status": "running"}))
    checkpoint = torch.load(folder / "best.ckpt", weights_only=True)
    checkpoint["qaexp"] |= {"model": config["model"], "tokenise": config["dataset"]["tokenise"]}
    torch.save(checkpoint, folder / "best.ckpt")
    return folder


@pytest.fixture(scope="module")
def saved() -> Any:
    return OmegaConf.to_container(OmegaConf.load(OLD_RUN / "config.yaml"))


@pytest.mark.parametrize("target", GADGETS)
def test_no_gadget_passes_the_gate(target: str, saved: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRUSTED, "own_parts, torch, numpy")
    for slot in SLOTS:
        config = inner = deepcopy(saved)
        *above, last = slot.split(".")
        for name in above:
            inner = inner[name]
        inner[last] = {"_target_": target, **GADGETS[target](str(tmp_path / "victim"))}
        with pytest.raises(CheckpointError, match=r"do not load it|which is not there"):
            admitted(config, FILE)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "target", ["pandas.read_pickle", "joblib.load", "torch.load", "torch.hub.load", "os.mkdir", "subprocess.run", "hydra.utils.call"]
)
def test_a_hostile_folder_runs_nothing_whoever_reads_it(target: str, saved: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    victim = tmp_path / "victim"

    def hostile(config: Any) -> None:
        config["dataset"]["tokenise"] = {"_target_": target, **GADGETS[target](str(victim))}

    folder = hostile_folder(saved, tmp_path, hostile)
    (tmp_path / "victim.pkl").write_bytes(b"cos\nmkdir\n(V" + str(victim).encode() + b"\ntR.")
    for command in (
        lambda: main([f"resume={folder}"]),
        lambda: figures(["heat_map", str(folder), "--to", str(tmp_path)]),
        lambda: figures(["neurons", str(folder), "--to", str(tmp_path)]),
        lambda: figures(["gates", str(folder), "--to", str(tmp_path)]),
    ):
        caplog.clear()
        assert command() == 2
        assert f"from {target}, which is no" in caplog.text
    with pytest.raises(CheckpointError, match="which is no"):
        qaexp.load(folder)
    with pytest.raises(CheckpointError, match="which is no"):
        with_pinned_runs({"init_from": str(folder)})
    assert not victim.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model: ${oc.env:HOME}", "in place of a plain value"),
        ("model: ${oc.decode:${oc.env:HOME}}", "in place of a plain value"),
        ("model: ${hydra:runtime.cwd}", "in place of a plain value"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "is damaged (it has an alias"),
        ("a: " + 1000 * "[" + 1000 * "]", "is damaged (it has an alias, or is nested too deeply)"),
        ("seed: " + 5000 * "9", "is damaged (Exceeds the limit"),
        ("seed: 0x" + 5000 * "f", "a number of more than 64 bits"),
        ("model: !!python/object/apply:os.system [true]", "is damaged (could not determine a constructor"),
        ("model: [", "is damaged (while parsing"),
        ("model: {a: 1, a: 2}", "is damaged"),
        ("seed: 2020-01-01\n1.5: 2\n", "a float where the name of an option stands"),
        ("- model\n", "is damaged"),
        ("seed: 1\n", "is damaged (it has no model._target_)"),
        ("model: []\n", "is damaged (it has no model._target_)"),
        ("0", "is damaged (AssertionError)"),
        ("\x00", "is damaged"),
        ("#" + MAX_BYTES * "x", "is damaged (it has more than 1,048,576 bytes)"),
        ("dataset: {seed: -1}\npatience: 0\n", "patience=0: must be at least 1"),
    ],
)
def test_a_configuration_that_no_run_has_left_is_answered_with_a_sentence(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(CheckpointError, match=r"config\.yaml ") as refused:
        saved_config(tmp_path)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "part", ["model", "tokenise", "vocabulary", "vector_dim", "classes", "max_question_length", "state_dict", "global_step"]
)
@pytest.mark.parametrize("value", [..., None, {}, [1], "\ud800", -1, 1.5])
def test_a_checkpoint_that_lacks_a_part_is_refused(part: str, value: Any, tmp_path: Path) -> None:
    checkpoint = torch.load(OLD_RUN / "best.ckpt", weights_only=True)
    holder = checkpoint if part in checkpoint else checkpoint["qaexp"]
    holder[part] = value
    if value is ...:
        del holder[part]
    torch.save(checkpoint, tmp_path / "best.ckpt")
    with pytest.raises(CheckpointError, match=r"best\.ckpt is not a whole checkpoint|is of another version"):
        qaexp.load(tmp_path)
