"""Things that belong together, and how many go into which split."""

from collections.abc import Iterable

from qaexp.errors import ConfigError


def connected_groups(size: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """For each of `size` things the least one that pairs connect it with.

    >>> connected_groups(5, [(3, 1), (4, 3)])
    [0, 1, 2, 1, 1]
    """
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first, second = np.array(list(pairs), dtype=np.int64).reshape(-1, 2).T
    _, label = connected_components(coo_array((np.ones(len(first)), (first, second)), shape=(size, size)), directed=False)
    _, least, group = np.unique(label, return_index=True, return_inverse=True)
    return least[group].tolist()


def held_out_counts(size: int, dev_share: float, test_share: float) -> tuple[int, int]:
    """How many of `size` things go into dev and into test; training has the rest.

    Raises:
        ConfigError: there is no rest.

    >>> held_out_counts(12, 0.25, 0.1)
    (3, 1)
    """
    num_dev, num_test = round(dev_share * size), round(test_share * size)
    if size and num_dev + num_test >= size:
        raise ConfigError(f"dataset.reader.dev_share={dev_share} and test_share={test_share} leave nothing to train on; lower them")
    return num_dev, num_test
