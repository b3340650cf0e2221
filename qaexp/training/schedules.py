"""Learning rates that change with the epoch."""

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR


class InverseEpoch(LambdaLR):
    """λ_t = λ / t, with t the epoch counted from 1 (dos Santos et al. 2016, §5.3)."""

    def __init__(self, optimizer: Optimizer) -> None:
        super().__init__(optimizer, _inverse)


def _inverse(epoch: int) -> float:
    return 1 / (epoch + 1)
