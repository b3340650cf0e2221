"""W&B runs: who is online, who is not, and that every run is closed."""

from pathlib import Path
from typing import Any

import pytest
import wandb

from qaexp.config import compose
from qaexp.errors import ConfigError
from qaexp.training.logger import has_key, open_logger


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    from omegaconf import OmegaConf

    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    config = OmegaConf.to_container(compose(["logger=wandb"]), resolve=True)
    assert isinstance(config, dict)
    return {str(name): value for name, value in config.items()}


def test_a_key_in_the_environment_or_in_netrc_is_found(config: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not has_key()
    (tmp_path / "netrc").write_text("machine api.wandb.ai\n  login user\n  password secret\n")
    assert has_key()
    (tmp_path / "netrc").write_text("machine example.org\n  login user\n  password secret\n")
    assert not has_key()
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    assert has_key()


def test_unknown_modes_are_refused(config: dict[str, Any], tmp_path: Path) -> None:
    config["logger"]["mode"] = "ofline"
    with pytest.raises(ConfigError, match=r"logger\.mode=ofline: choose one of auto, online, offline, none"), open_logger(config, tmp_path):
        pass


def test_none_opens_nothing(config: dict[str, Any], tmp_path: Path) -> None:
    config["logger"]["mode"] = "none"
    with open_logger(config, tmp_path) as logger:
        assert logger is False
    assert list(tmp_path.glob("wandb*")) == []


def test_a_run_is_closed_after_a_crash_and_the_next_one_is_another(
    config: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    seen = []

    def crash() -> None:
        with open_logger(config, tmp_path):
            assert wandb.run is not None
            seen.append(wandb.run.id)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        crash()
    assert wandb.run is None
    with open_logger(config, tmp_path) as logger:
        logger.log_metrics({"dev/map": 0.5})
        assert wandb.run is not None
        assert wandb.run.id not in seen
        assert wandb.run.config["optimizer"]["lr"] == config["optimizer"]["lr"]
    assert wandb.run is None
    assert len(list(tmp_path.glob("wandb/offline-run-*/*.wandb"))) == 2
    assert caplog.text.count("upload with `wandb sync") == 2
