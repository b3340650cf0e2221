"""Chooses the float32 matmul backend of a CPU: MKL or oneDNN (`trainer.matmul`)."""

import torch
from torch import Tensor

from qaexp.errors import ConfigError, meant

BACKENDS = ("auto", "mkl", "onednn")

SAME_PRECISION = 10.0
"""Two float32 backends differ by less than this factor in their largest error; rounding to bfloat16 makes it about 1,000 times larger."""


def choose_matmul(backend: str) -> None:
    """Sets the backend for the whole process. `auto` takes oneDNN where it is as exact as MKL, else MKL.

    `trainer.precision=32-true` then means float32 on every device: cuDNN's convolutions and LSTMs do not round factors to 10 bits (TF32).
    A machine with a GPU keeps torch's own choice for the CPU.

    Raises:
        ConfigError: there is no such backend.
    """
    if backend not in BACKENDS:
        raise ConfigError(f"trainer.matmul={backend}: there is no such backend; {meant(str(backend), BACKENDS)}")
    torch.backends.cudnn.allow_tf32 = False
    if backend == "auto":
        if not torch.cuda.is_available():
            use_onednn(onednn_is_exact())
    else:
        use_onednn(backend == "onednn")


def onednn_is_exact() -> bool:
    """Whether oneDNN multiplies in full float32 here. Tries one product with each backend.

    MKL is about half as fast as oneDNN on AMD's processors. PyTorch gives float32 products to oneDNN only with leave to round factors
    to bfloat16. oneDNN uses that leave on processors with bfloat16 units (AMX) alone.
    """
    use_onednn(False)
    by_mkl = _product()
    use_onednn(True)
    by_onednn = _product()
    asked = not torch.equal(by_mkl, by_onednn)
    return asked and _error(by_onednn) <= SAME_PRECISION * _error(by_mkl)


def use_onednn(yes: bool) -> None:
    """Switches float32 products on a CPU. Convolutions and LSTMs are oneDNN's in any case.

    Fused attention asks for one product per head and text, and oneDNN is slow to start one. Batched products take its place,
    with the same sums. They keep a weight for every two words of a text: 4 bytes · heads · length² each.
    """
    torch.set_float32_matmul_precision("medium" if yes else "highest")
    torch.backends.cuda.enable_flash_sdp(not yes)  # this switch is the CPU's, too


def _product() -> Tensor:
    A, B = _factors()
    return A @ B


def _error(product: Tensor) -> float:
    A, B = _factors()
    return float((A.double() @ B.double() - product).abs().max())


def _factors() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(256, 512, generator=generator), torch.randn(512, 128, generator=generator)
