"""Two ways to multiply by K: a fast one to iterate with, and an exact one to certify with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.arrays.columns import norms
from mercer.arrays.namespace import namespace
from mercer.formula.data import pick
from mercer.gram import Gram
from mercer.gram.half import StoredHalf

from .base import Problem

PARTIAL = 4096  # rows summed in float32 before they are added up in float64
SAMPLE = 4096  # rows in float64 that tell what float32 does to a product
MANY = 32 * SAMPLE  # rows from which such a sample is next to nothing


@dataclass(frozen=True)
class Rates:
    """What work costs at a place, roughly, and what a preconditioner is worth there; only ratios matter.

    Parameters
    ----------
    flops : float
        Operations a second of matrix products in float64.
    entry, feature : float
        Seconds of a float32 kernel value, and more for each feature.
    read : float
        Bytes a second of a stored matrix.
    python : float
        Kernel values a second where they are computed in Python.
    call : float
        Seconds of any product.
    first_rank : float
        √n times this is the rank that a preconditioner starts with.
    share : float
        Of the budget, that a preconditioner may take.
    wide : int
        Features from which reading float32 entries from memory beats computing them again.
    held, applied : int
        Bytes of a number of a preconditioner, where it is held and where it is applied.
    hidden : float
        Share of a residual that float32 may hide before it is exchanged: more slows iterations down, less asks for more
        products in float64.
    """

    flops: float
    entry: float
    feature: float
    read: float
    python: float = 5e7
    call: float = 5e-4
    first_rank: float = 5.0
    share: float = 0.25
    wide: int = 48
    held: int = 8
    applied: int = 8
    hidden: float = 0.03


RATES = {
    # Where half of the matrix is read, and factors are held in float64 and in float32.
    "host": Rates(flops=6e10, entry=8e-11, feature=5e-12, read=25e9, wide=4, held=12, applied=4),
    "cuda": Rates(
        flops=4e13, entry=2.2e-13, feature=0.0, read=3e12, call=1.5e-3, first_rank=4.0, share=0.5, hidden=0.1
    ),  # where float64 takes sixteen times as long
    "cpu": Rates(flops=2e10, entry=1e-8, feature=0.0, read=12e9, call=1e-4, first_rank=20.0, share=0.5),
}


def find_rates(problem: Problem) -> Rates:
    """Return what work costs where a problem is."""
    return RATES.get(problem.place.kind, RATES["cpu"])


def pays_to_store(problem: Problem) -> bool:
    """Whether reading float32 entries beats computing them again, and half of the budget holds all of them."""
    return width(problem.X) >= find_rates(problem).wide and 4 * problem.n**2 <= problem.memory // 2


class Products:
    """K as conjugate gradients use it, stored where that is cheaper than computing it again and fits the budget.

    ``fast(V)`` has kernel values in float32 where that gains anything; ``exact(V)`` has them in float64.  The
    matrix is kept, in at most half of the budget, when the kernel is evaluated in Python (in float64 if that fits,
    which serves both) or on wide data; in float32 on the host only the half that says all.

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

    def __init__(self, problem: Problem) -> None:
        self.gram = problem.gram(dtype=np.float64)
        self.rates = find_rates(problem)
        self.put = problem.place.put
        self._problem = problem
        self._fast: Gram | None = None
        self._dense: Array | StoredHalf | None = None
        self._width = width(problem.X)
        entries, half = problem.n**2, problem.memory // 2
        if self.gram.cheap:
            self._fast = problem.gram(dtype=np.float32)
            if pays_to_store(problem):
                self._keep(self._fast)
        elif 8 * entries <= half:
            self._dense = self.gram.dense()
        elif 4 * entries <= half:
            self._keep(problem.gram(dtype=np.float32))

    @property
    def stored(self) -> bool:
        """Whether the matrix is in memory, all of it or the half that says all."""
        return self._dense is not None

    @property
    def single(self) -> bool:
        """Whether the fast product has float32 kernel values."""
        return self._fast is not None if self._dense is None else self._dense.dtype.itemsize == 4

    @property
    def seconds(self) -> float:
        """A rough time of one fast product, to be weighed against other work."""
        entries, rates = float(self.gram.shape[0]) ** 2, self.rates
        if self._dense is not None:
            return rates.call + self._dense.nbytes / rates.read
        if not self.gram.cheap:
            return rates.call + entries / rates.python
        return rates.call + entries * (1.0 if self.single else 2.0) * (rates.entry + rates.feature * self._width)

    def fast(self, V: Array) -> Array:
        """K @ V to about six digits, or exactly where that costs the same."""
        if self._dense is not None:
            return multiply_stored(self._dense, V)
        if self._fast is None:
            return self.exact(V)
        try:
            return self._fast @ V
        except OverflowError:  # values beyond float32
            self.give_up_single()
            return self.exact(V)

    def fast_rows(self, index: np.ndarray, V: Array) -> Array:
        """K[index] @ V, as precise as :meth:`fast`."""
        if self._dense is not None and not isinstance(self._dense, StoredHalf):
            xp = namespace(self._dense)
            rows, total = self._dense[xp.asarray(index, device=self._dense.device)], 0.0
            for start in range(0, rows.shape[1], PARTIAL):
                part = slice(start, start + PARTIAL)
                total = total + xp.astype(rows[:, part], xp.float64, copy=False) @ V[part]
            return total
        if self._fast is not None:
            try:
                return self._fast.strip(index) @ V
            except OverflowError:  # values beyond float32
                self.give_up_single()
        return self.gram.strip(index) @ V

    def exact(self, V: Array) -> Array:
        """K @ V in float64."""
        if self._dense is not None and self._dense.dtype.itemsize == 8:
            return multiply_stored(self._dense, V)
        return self.gram @ V

    @property
    def sampled(self) -> bool:
        """Whether :meth:`sample_error` tells what the fast product lacks for much less than an exact one."""
        return self.single and self.gram.shape[0] >= MANY

    def sample_error(self, V: Array, image: Array, roots: Array, rng: np.random.Generator) -> np.ndarray:
        """Return how long an image of V lacks to be K @ V, for each column: what is seen of it in random rows.

        Rows are weighted by ``roots`` of shape (n, 1).  The squares of ``SAMPLE`` rows estimate those of all of them,
        up to some percent unless few rows hold most of the error.
        """
        n = self.gram.shape[0]
        chosen = np.sort(rng.choice(n, min(n, SAMPLE), replace=False))
        problem, where = self._problem, namespace(image).asarray(chosen, device=image.device)
        rows = Gram(
            problem.kernel, pick(problem.X, chosen), problem.X, memory=problem.memory, device=problem.device,
            dtype=np.float64,
        )  # fmt: skip
        missing = rows @ V - image[where]
        return np.asarray(np.sqrt(n / len(chosen)) * norms(roots[where] * missing))

    def give_up_single(self) -> None:
        """Make the fast product exact, because six digits turned out to be too few."""
        self._fast = None
        if self.single:
            self._dense = None

    def _keep(self, gram: Gram) -> None:
        try:
            self._dense = gram.half() if gram.where == "host" else gram.dense()
        except OverflowError:  # values beyond float32
            self._fast = None


def multiply_stored(K: Array | StoredHalf, V: Array) -> Array:
    """K @ V of a stored symmetric matrix; float32 entries are summed a few thousand at a time and then in float64.

    Examples
    --------
    >>> import numpy as np
    >>> multiply_stored(np.array([[2.0, 1.0], [1.0, 3.0]], dtype=np.float32), np.eye(2))
    array([[2., 1.],
           [1., 3.]])
    """
    if isinstance(K, StoredHalf):
        return K @ V
    xp = namespace(K)
    total = xp.zeros(V.shape, dtype=xp.float64, device=K.device)
    step = PARTIAL if K.dtype.itemsize == 4 else max(PARTIAL, len(K))
    for start in range(0, len(K), step):
        rows, part = K[start : start + step].T, xp.astype(V[start : start + step], K.dtype, copy=False)
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
