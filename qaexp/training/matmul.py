"""Who multiplies float32 matrices, in float32: on a CPU oneDNN where it is as exact as MKL, else MKL; a GPU without rounding."""

import torch
from torch import Tensor

ALIKE = 10.0
"""Two orders of adding up differ by less than this in their largest error; factors in bfloat16 make it a thousand times as large."""


def choose_products() -> None:
    """What a run begins with, so that `trainer.precision=32-true` is what it says on every device.

    cuDNN's convolutions and LSTMs round factors to 10 bits (TF32) unless they are told not to. bf16-mixed is the way to be faster.
    """
    torch.backends.cudnn.allow_tf32 = False
    prefer_onednn()


def prefer_onednn() -> bool:
    """Let oneDNN multiply float32 matrices, if here it is as exact as MKL; whether it now does.

    MKL is about half as fast as oneDNN on AMD's processors. PyTorch hands float32 products to oneDNN only with leave to
    round factors to bfloat16; oneDNN makes use of that leave on processors with units for it (AMX) alone. Which kind this
    is, is tried: a product in either way, against the true one. A machine with a GPU is left as it is.
    """
    if torch.cuda.is_available():
        return False
    use_onednn(False)
    usual = _product()
    use_onednn(True)
    other = _product()
    if torch.equal(usual, other) or _error(other) > ALIKE * _error(usual):  # oneDNN was not asked, or rounds factors
        use_onednn(False)
        return False
    return True


def use_onednn(yes: bool) -> None:
    """Of float32 products on a CPU alone: convolutions and LSTMs are oneDNN's in any case.

    Fused attention asks for a product for each head of each text, and oneDNN is slow to begin one. Batched products then
    take its place, with the same sums, and keep a weight for every two words of a text: 4 bytes · heads · length² each.
    """
    torch.set_float32_matmul_precision("medium" if yes else "highest")
    torch.backends.cuda.enable_flash_sdp(not yes)  # the CPU's, too


def _product() -> Tensor:
    A, B = _factors()
    return A @ B


def _error(product: Tensor) -> float:
    A, B = _factors()
    return float((A.double() @ B.double() - product).abs().max())


def _factors() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(256, 512, generator=generator), torch.randn(512, 128, generator=generator)
