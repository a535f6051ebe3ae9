"""Random rows without replacement, also of more rows than a permutation of them would fit."""

from __future__ import annotations

import numpy as np

LIMIT = 2**26  # rows up to which a permutation of all is cheap next to whatever is done with them


def some_rows(rng: np.random.RandomState, n: int, count: int) -> np.ndarray:
    """Return ``count`` of the numbers below n, or all of them if there are fewer, in random order.

    Examples
    --------
    >>> import numpy as np
    >>> some_rows(np.random.RandomState(0), 5, 3)
    array([2, 0, 1])
    >>> len(np.unique(some_rows(np.random.RandomState(0), 10**12, 1000)))
    1000
    """
    if n <= LIMIT or 8 * count >= n:
        return np.asarray(rng.permutation(n)[:count])
    found = np.empty(0, dtype=np.int64)
    while len(found) < count:
        found = np.concatenate([found, rng.randint(0, n, size=count - len(found), dtype=np.int64)])
        found = found[np.sort(np.unique(found, return_index=True)[1])]  # the first of equals stays where it is
    return found
