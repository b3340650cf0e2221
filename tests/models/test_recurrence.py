"""The recurrence of quasi-recurrent layers against a loop over words, values and gradients."""

import torch

from qaexp.models.recurrence import forget_mult


def test_it_is_the_loop_and_so_are_its_gradients() -> None:
    torch.manual_seed(1)
    f, z = (torch.randn(7, 3, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    weights = torch.randn(7, 3, 4, dtype=torch.float64)
    c, cells = torch.zeros(3, 4, dtype=torch.float64), []
    for t in range(7):
        c = f[t].sigmoid() * c + (1 - f[t].sigmoid()) * z[t]
        cells.append(c)
    slow = torch.stack(cells)
    expected = torch.autograd.grad((slow * weights).sum(), (f, z))
    fast = forget_mult(f.sigmoid(), z)
    torch.testing.assert_close(fast, slow)
    for ours, theirs in zip(torch.autograd.grad((fast * weights).sum(), (f, z)), expected, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert torch.autograd.gradcheck(lambda a, b: forget_mult(a.sigmoid(), b), (f, z))


def test_one_word_is_a_text_too() -> None:
    f, z = torch.full((1, 1, 1), 0.25), torch.full((1, 1, 1), 2.0, requires_grad=True)
    c = forget_mult(f, z)
    c.sum().backward()
    assert c.item() == 1.5
    assert z.grad is not None
    assert z.grad.item() == 0.75
