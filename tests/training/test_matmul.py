"""oneDNN's float32 products are as exact as MKL's, and MKL is kept where they are not."""

from collections.abc import Iterator

import pytest
import torch
from torch.nn import functional as F

from qaexp.errors import ConfigError
from qaexp.training import matmul
from qaexp.training.matmul import choose_matmul, use_onednn


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = torch.get_float32_matmul_precision(), torch.backends.cuda.flash_sdp_enabled(), torch.backends.cudnn.allow_tf32
    yield
    torch.set_float32_matmul_precision(before[0])
    torch.backends.cuda.enable_flash_sdp(before[1])
    torch.backends.cudnn.allow_tf32 = before[2]


@pytest.mark.parametrize(("rows", "inner", "columns"), [(1, 300, 900), (7, 33, 5), (200, 1200, 300), (3000, 50, 400)])
def test_every_backend_multiplies_in_full_float32(rows: int, inner: int, columns: int) -> None:
    """Factors in bfloat16 would be off by some 0.4%: thousands of times what is allowed here."""
    choose_matmul("auto")
    X, W = torch.randn(rows, inner, requires_grad=True), torch.randn(columns, inner, requires_grad=True)
    F.linear(X, W).square().sum().backward()
    Y = X.detach().double() @ W.detach().double().T
    assert X.grad is not None
    assert W.grad is not None
    torch.testing.assert_close(F.linear(X, W).double(), Y, atol=3e-6 * inner**0.5, rtol=1e-5)
    torch.testing.assert_close(X.grad.double(), 2 * Y @ W.detach().double(), atol=1e-5 * inner * columns**0.5, rtol=1e-5)
    torch.testing.assert_close(W.grad.double(), 2 * Y.T @ X.detach().double(), atol=1e-5 * inner * rows**0.5, rtol=1e-5)


def test_a_processor_that_rounds_factors_keeps_mkl(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = matmul._product

    def rounding() -> torch.Tensor:
        if torch.get_float32_matmul_precision() == "highest":
            return exact()
        A, B = matmul._factors()
        return (A.bfloat16() @ B.bfloat16()).float()

    monkeypatch.setattr(matmul, "_product", rounding)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    choose_matmul("auto")
    assert torch.get_float32_matmul_precision() == "highest"
    assert torch.backends.cuda.flash_sdp_enabled()


def test_fused_attention_stays_if_the_backend_does_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch does not ask oneDNN on processors without bfloat16."""
    A, B = matmul._factors()
    monkeypatch.setattr(matmul, "_product", lambda: A @ B)
    monkeypatch.setattr(matmul, "_factors", lambda: (A, B))
    monkeypatch.setattr(torch, "equal", lambda *_: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    choose_matmul("auto")
    assert torch.backends.cuda.flash_sdp_enabled()


def test_a_machine_with_a_gpu_keeps_mkl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    use_onednn(False)
    choose_matmul("auto")
    assert torch.backends.cuda.flash_sdp_enabled()


def test_attention_is_the_same_fused_or_not() -> None:
    Q, K, V = torch.randn(3, 5, 2, 10, 50)
    use_onednn(False)
    fused = F.scaled_dot_product_attention(Q, K, V)
    use_onednn(True)
    torch.testing.assert_close(F.scaled_dot_product_attention(Q, K, V), fused, atol=2e-2, rtol=1e-2)  # on AMX, bfloat16


def test_a_gpu_rounds_no_factors() -> None:
    torch.backends.cudnn.allow_tf32 = True
    choose_matmul("auto")
    assert not torch.backends.cudnn.allow_tf32
    assert not torch.backends.cuda.matmul.allow_tf32 or not torch.cuda.is_available()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpus_convolutions_lstms_and_products_are_float32() -> None:
    """Factors of 10 bits would be off by some 0.05%: hundreds of times what is allowed here."""
    choose_matmul("auto")
    x, layer, lstm = torch.randn(8, 64, 50), torch.nn.Conv1d(64, 128, 3), torch.nn.LSTM(64, 128, batch_first=True)
    linear = torch.nn.Linear(64, 128)
    for module, given in ((layer, x), (lstm, x.transpose(1, 2)), (linear, x.transpose(1, 2))):
        expected, found = module.double()(given.double()), module.float().cuda()(given.cuda())
        expected, found = (each[0] if isinstance(each, tuple) else each for each in (expected, found))
        torch.testing.assert_close(found.cpu().double(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("backend", "precision"), [("mkl", "highest"), ("onednn", "medium")])
def test_a_named_backend_is_taken_as_it_is(backend: str, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = matmul._product()
    monkeypatch.setattr(matmul, "_product", lambda: exact)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_matmul(backend) == backend
    assert torch.get_float32_matmul_precision() == precision


@pytest.mark.parametrize(("gpu", "where"), [(True, "on a GPU"), (False, "on this processor")])
def test_onednn_is_refused_where_it_would_round_products(gpu: bool, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of a run leaves `trainer.matmul` out, so that no backend may change more than the last digits."""
    A, B = matmul._factors()
    products = {"highest": A @ B, "medium": (A.bfloat16() @ B.bfloat16()).float()}
    monkeypatch.setattr(matmul, "_product", lambda: products[torch.get_float32_matmul_precision()])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    with pytest.raises(ConfigError, match=f"would round float32 products {where}; choose trainer.matmul=auto or mkl"):
        choose_matmul("onednn")
    assert torch.get_float32_matmul_precision() == "highest"
    assert not torch.backends.cuda.matmul.allow_tf32
    assert choose_matmul("auto") == "mkl"


def test_a_mistyped_backend_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"trainer.matmul=onedn: there is no such backend; did you mean onednn\?"):
        choose_matmul("onedn")
