"""Two ways to multiply by K: a fast one to iterate with, and an exact one to certify with."""

from __future__ import annotations

import numpy as np

from mercer.gram import Gram

from .base import Problem

WIDE = 48  # features from which reading float32 entries from memory beats computing them again
PARTIAL = 4096  # rows summed in float32 before they are added up in float64


class Products:
    """K as conjugate gradients use it, stored where that is cheaper than computing it again and fits the budget.

    ``fast(V)`` has kernel values in float32 where that gains anything; ``exact(V)`` has them in float64.  The whole
    matrix is kept, in at most half of the budget, when the kernel is evaluated in Python (in float64 if that fits,
    which serves both) or on wide data.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.base import Problem
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> K = Products(Problem(Gaussian(), X, np.zeros((6, 1))))
    >>> K.stored, K.single, bool(np.allclose(K.fast(np.eye(6)), Gaussian()(X)))
    (False, True, True)
    """

    first_rank = 5.0  # √n times this is the rank that a preconditioner starts with
    share = 0.25  # of the budget that a preconditioner may take
    flops = 4e10  # of matrix products in float64 on two cores; only ratios of such rates matter here

    def __init__(self, problem: Problem) -> None:
        self.gram = problem.gram(dtype=np.float64)
        self._fast: Gram | None = None
        self._dense: np.ndarray | None = None
        self._width = width(problem.X)
        entries, half = problem.n**2, problem.memory // 2
        if self.gram.backend_name == "native":
            self._fast = problem.gram(dtype=np.float32)
            if self._width >= WIDE and 4 * entries <= half:
                self._keep(self._fast)
        elif 8 * entries <= half:
            self._dense = self.gram.dense()
        elif 4 * entries <= half:
            self._keep(problem.gram(dtype=np.float32))

    @property
    def stored(self) -> bool:
        """Whether the whole matrix is in memory."""
        return self._dense is not None

    @property
    def single(self) -> bool:
        """Whether the fast product has float32 kernel values."""
        return self._fast is not None if self._dense is None else self._dense.dtype == np.float32

    @property
    def seconds(self) -> float:
        """A rough time of one fast product on two cores, to be weighed against other work."""
        entries, overhead = float(self.gram.shape[0]) ** 2, 5e-4
        if self._dense is not None:
            return overhead + entries * self._dense.itemsize / 12e9
        if self.gram.backend_name != "native":
            return overhead + entries / 5e7
        return overhead + entries * (1.0 if self.single else 2.0) * (1e-10 + 5e-12 * self._width)

    def place(self, V: np.ndarray) -> np.ndarray:
        """Return a column of numbers where the products take it: here."""
        return np.asarray(V, dtype=np.float64)

    def fast(self, V: np.ndarray) -> np.ndarray:
        """K @ V to about six digits, or exactly where that costs the same."""
        if self._dense is not None:
            return stored_product(self._dense, V)
        if self._fast is None:
            return self.exact(V)
        try:
            return np.asarray(self._fast @ V)
        except OverflowError:  # values beyond float32
            self.give_up_single()
            return self.exact(V)

    def exact(self, V: np.ndarray) -> np.ndarray:
        """K @ V in float64."""
        if self._dense is not None and self._dense.dtype == np.float64:
            return stored_product(self._dense, V)
        return np.asarray(self.gram @ V)

    def give_up_single(self) -> None:
        """Make the fast product exact, because six digits turned out to be too few."""
        self._fast = None
        if self.single:
            self._dense = None

    def _keep(self, gram: Gram) -> None:
        try:
            self._dense = gram.dense()
        except OverflowError:  # values beyond float32
            self._fast = None


def stored_product(K: np.ndarray, V: np.ndarray) -> np.ndarray:
    """K @ V of a stored symmetric matrix; float32 entries are summed a few thousand at a time and then in float64.

    Examples
    --------
    >>> import numpy as np
    >>> stored_product(np.array([[2.0, 1.0], [1.0, 3.0]], dtype=np.float32), np.eye(2))
    array([[2., 1.],
           [1., 3.]])
    """
    total = np.zeros(V.shape)
    step = PARTIAL if K.dtype == np.float32 else max(PARTIAL, len(K))
    for start in range(0, len(K), step):
        rows, part = K[start : start + step].T, V[start : start + step].astype(K.dtype)
        if V.shape[1] <= 3:  # one column at a time is faster than a thin matrix product
            for j in range(V.shape[1]):
                total[:, j] += rows @ part[:, j]
        else:
            total += rows @ part
    return total


def width(X: object) -> int:
    """Return the number of features of a matrix, 1 for collections of other objects."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return int(shape[1]) if len(shape) == 2 else 1
