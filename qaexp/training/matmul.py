"""Chooses the library that multiplies float32 matrices on a CPU: MKL or oneDNN (`trainer.matmul`)."""

import torch
from torch import Tensor

from qaexp.errors import ConfigError, meant

BACKENDS = ("auto", "mkl", "onednn")

SAME_PRECISION = 10.0
"""Two float32 backends differ by less than this factor in their largest error; rounding to bfloat16 makes it about 1,000 times larger."""


def choose_matmul(backend: str) -> str:
    """Sets the backend for the whole process and returns its name. `auto` takes oneDNN if it is as exact as MKL here, else MKL.

    `trainer.precision=32-true` then means float32 on every device: cuDNN's convolutions and LSTMs do not round factors to 10 bits (TF32).
    A machine with a GPU takes MKL for the CPU: the permission that oneDNN needs would let the GPU round factors, too. Every backend taken
    here multiplies in full float32, so that a run's key need not include `trainer.matmul`.

    Raises:
        ConfigError: there is no such backend, or it would round factors here.
    """
    if backend not in BACKENDS:
        raise ConfigError(f"trainer.matmul={backend}: there is no such backend; {meant(str(backend), BACKENDS)}")
    torch.backends.cudnn.allow_tf32 = False
    gpu = torch.cuda.is_available()
    if backend == "onednn" and (gpu or onednn_rounds()):
        use_onednn(False)
        where = "on a GPU" if gpu else "on this processor"
        raise ConfigError(f"trainer.matmul=onednn would round float32 products {where}; choose trainer.matmul=auto or mkl")
    onednn = backend == "onednn" or (backend == "auto" and not gpu and onednn_is_exact())
    use_onednn(onednn)
    return "onednn" if onednn else "mkl"


def onednn_is_exact() -> bool:
    """Whether oneDNN multiplies float32 matrices on this machine, in full float32. Tries one product with each backend.

    MKL is about half as fast as oneDNN on AMD's processors. PyTorch gives float32 products to oneDNN only with permission to round
    factors to bfloat16. oneDNN uses this permission only on processors with bfloat16 units (AMX).
    """
    by_mkl, by_onednn = _products()
    asked = not torch.equal(by_mkl, by_onednn)
    return asked and not _is_coarser(by_onednn, by_mkl)


def onednn_rounds() -> bool:
    """Whether oneDNN rounds factors to bfloat16 here."""
    by_mkl, by_onednn = _products()
    return _is_coarser(by_onednn, by_mkl)


def use_onednn(yes: bool) -> None:
    """Switches float32 products on a CPU to oneDNN or to MKL. Convolutions and LSTMs always use oneDNN.

    Fused attention asks for one product per head and text, and oneDNN is slow to start one. Batched products take its place,
    with the same sums. They keep a weight for every two words of a text: 4 bytes · heads · length² each.
    """
    torch.set_float32_matmul_precision("medium" if yes else "highest")
    torch.backends.cuda.enable_flash_sdp(not yes)  # this switch also controls the CPU


def _products() -> tuple[Tensor, Tensor]:
    """The same product by MKL and by oneDNN. Leaves oneDNN switched on."""
    use_onednn(False)
    by_mkl = _product()
    use_onednn(True)
    return by_mkl, _product()


def _is_coarser(product: Tensor, reference: Tensor) -> bool:
    return _error(product) > SAME_PRECISION * _error(reference)


def _product() -> Tensor:
    A, B = _factors()
    return A @ B


def _error(product: Tensor) -> float:
    A, B = _factors()
    return float((A.double() @ B.double() - product).abs().max())


def _factors() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(256, 512, generator=generator), torch.randn(512, 128, generator=generator)
