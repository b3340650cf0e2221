"""What the trainer is built from, and what it is refused."""

from pathlib import Path

import pytest
import torch

from qaexp.config import compose
from qaexp.errors import ConfigError
from qaexp.training.trainer import open_trainer


@pytest.mark.filterwarnings("ignore:You passed")
@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_float16_without_a_gpu_is_refused_where_lightning_would_take_bfloat16(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="precision=16-mixed needs a GPU; choose bf16-mixed"):
        open_trainer(compose(["trainer.precision=16-mixed"]).trainer, tmp_path, [], [], False)
    assert open_trainer(compose(["trainer.precision=bf16-mixed"]).trainer, tmp_path, [], [], False).precision == "bf16-mixed"
