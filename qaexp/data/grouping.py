"""Things that belong together."""

from collections.abc import Iterable


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
