"""A few points in the place of many: with the same mean of features, or with weights that have it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array
from mercer.checks import check_count
from mercer.formula.data import Rows, length
from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.linalg.cholesky import factorize_shifted, solve_factorized

from .samples import check_sample, check_two, default_kernel, hold, join, make_gram, read_kernels

SWEEPS = 10  # exchanges of all points, at most
ROUNDING = 64 * float(np.finfo(np.float64).eps)  # of the trace, added to a matrix until it has a factor


class MeanOfFeatures:
    """The mean of the features of all points, and its distance to means of some of them."""

    def __init__(self, kernel: Kernel, X: Rows, place: Place) -> None:
        self.gram = make_gram(kernel, X, place)
        self._matrix = hold(self.gram)
        n = self.gram.shape[0]
        sums = self.gram @ np.ones(n) if self._matrix is None else self._matrix.sum(1)
        self.values = np.asarray(host_array(sums), dtype=np.float64) / n  # ⟨φ(x), μ⟩ for each point
        self.diagonal = np.asarray(host_array(self.gram.diag()), dtype=np.float64)

    def row(self, i: int) -> np.ndarray:
        """Return the kernel between one point and all."""
        found = self.gram.rows(i) if self._matrix is None else self._matrix[i]
        return np.asarray(host_array(found), dtype=np.float64)

    def choose(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return points, each the one that brings the mean of all chosen nearest, and their sum of kernel values."""
        chosen, field = np.empty(size, dtype=np.int64), np.zeros(len(self.values))
        free = np.zeros(len(self.values))
        for t in range(size):
            gain = 2.0 * (t + 1) * self.values - 2.0 * field - self.diagonal + free
            chosen[t] = int(np.argmax(gain))
            free[chosen[t]] = -np.inf
            field += self.row(int(chosen[t]))
        return chosen, field

    def exchange(self, chosen: np.ndarray, field: np.ndarray) -> np.ndarray:
        """Exchange each point for the best in its place, until none is better than the one that is there."""
        size, taken = len(chosen), np.zeros(len(self.values), dtype=bool)
        taken[chosen] = True
        rounding = 1e-9 * float(np.abs(self.diagonal).max(initial=0.0)) * size
        for _ in range(SWEEPS):
            swapped = False
            for place in range(size):
                old = int(chosen[place])
                without = field - self.row(old)
                cost = self.diagonal + 2.0 * without - 2.0 * size * self.values
                best = int(np.argmin(np.where(taken & (np.arange(len(taken)) != old), np.inf, cost)))
                if cost[best] < cost[old] - rounding:
                    chosen[place], field, swapped = best, without + self.row(best), True
                    taken[old], taken[best] = False, True
            if not swapped:
                break
        return chosen


def _prepare(owner: str, X: Rows, kernel: Any, memory: float | str | None, device: Any) -> MeanOfFeatures:
    found = read_kernels(owner, kernel, several=False)
    X = check_sample(owner, "X", X, kernel, 1)
    chosen = default_kernel(X) if found is None else found[0]
    return MeanOfFeatures(chosen, X, Place.find(device, memory, X))


def _check_size(owner: str, size: Any, n: int) -> int:
    count = round(math.sqrt(n)) if size is None else check_count(owner, "size", size)
    if count > n:
        raise ValueError(f"{owner}: {count} points cannot be chosen from {n}; ask for fewer")
    return count


def herd(
    X: Rows,
    size: int | None = None,
    kernel: Kernel | None = None,
    *,
    memory: float | str | None = None,
    device: Any = None,
) -> np.ndarray:
    """Return which points to take, one after the other, so that the first few have the mean of all, however many.

    Each point is the one that brings the mean of the features of all chosen so far nearest to that of all points.

    Parameters
    ----------
    X : collection of n objects
        The sample.
    size : int, optional
        How many points; √n if not given.
    kernel : Kernel, optional
        On any objects; for vectors a Gaussian of the median distance if not given.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    device : str or torch.device, optional
        Where to compute kernel values, such as "cuda"; tensors are computed with where they are.

    Returns
    -------
    int array of shape (size,)
        Positions in X, each at most once, in the order in which they were chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.embeddings import herd
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 10.0, 101)[:, None]
    >>> X[herd(X, 1, Gaussian(3.0))]  # the middle
    array([[5.]])
    """
    mean = _prepare("herd", X, kernel, memory, device)
    return mean.choose(_check_size("herd", size, len(mean.values)))[0]


def thin(
    X: Rows,
    size: int | None = None,
    kernel: Kernel | None = None,
    *,
    memory: float | str | None = None,
    device: Any = None,
) -> np.ndarray:
    """Return which points to keep so that the mean of their features is near that of all.

    They are chosen by :func:`herd`, and then each is exchanged for the best in its place until none is better.  √n
    points so chosen have means of functions that are about those of all n, where as many at random are far worse.

    Parameters
    ----------
    X : collection of n objects
        The sample.
    size : int, optional
        How many points; √n if not given.
    kernel : Kernel, optional
        On any objects; for vectors a Gaussian of the median distance if not given.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    device : str or torch.device, optional
        Where to compute kernel values, such as "cuda"; tensors are computed with where they are.

    Returns
    -------
    int array of shape (size,)
        Positions in X, in increasing order.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.embeddings import mmd, thin
    >>> X = np.random.default_rng(0).normal(size=(900, 2))
    >>> kept = thin(X)
    >>> len(kept)
    30
    >>> mmd(X, X[kept], estimator="biased") < 0.05 * mmd(X, X[:30], estimator="biased")
    True
    """
    mean = _prepare("thin", X, kernel, memory, device)
    return np.sort(mean.exchange(*mean.choose(_check_size("thin", size, len(mean.values)))))


def quadrature_weights(
    nodes: Rows,
    sample: Rows,
    kernel: Kernel | None = None,
    *,
    memory: float | str | None = None,
    device: Any = None,
) -> np.ndarray:
    """Return weights w of nodes such that Σ wᵢ f(zᵢ) is as near as it can be to the mean of f over a sample.

    Among all weights these, w = K⁻¹μ with μᵢ the mean of k(zᵢ, x) over the sample, have the least error for the worst
    function of norm 1 in the kernel's space: ‖Σ wᵢ φ(zᵢ) − E φ(x)‖.  They may be negative, and need not add up to 1.

    Parameters
    ----------
    nodes : collection of m objects
        Where functions are evaluated.
    sample : collection of n objects
        Whose mean is wanted.
    kernel : Kernel, optional
        On any objects; for vectors a Gaussian of the median distance if not given.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    device : str or torch.device, optional
        Where to compute kernel values, such as "cuda"; tensors are computed with where they are.

    Returns
    -------
    array of shape (m,)

    Examples
    --------
    Nodes 0 and 1, and the mean of functions a + bx over points with mean 0.3:

    >>> from mercer.embeddings import quadrature_weights
    >>> from mercer.kernels import Linear
    >>> quadrature_weights([[0.0], [1.0]], [[0.1], [0.5]], 1.0 + Linear()).round(6)
    array([0.7, 0.3])
    """
    found = read_kernels("quadrature_weights", kernel, several=False)
    nodes, sample = check_two("quadrature_weights", nodes, sample, kernel, 1, ("nodes", "sample"))
    chosen = default_kernel(join(nodes, sample)) if found is None else found[0]
    place = Place.find(device, memory, nodes, sample)
    K = Gram(chosen, nodes, memory=place.memory, dtype=np.float64, device=place.device).dense()
    cross = Gram(chosen, nodes, sample, memory=place.memory, dtype=np.float64, device=place.device)
    mean = cross @ np.full(length(sample), 1.0 / length(sample))
    trace = float(host_array(K).trace())
    if not trace > 0:
        raise ValueError(f"quadrature_weights: {chosen!r} is 0 at all nodes, so that no weights have any effect")
    factor, _ = factorize_shifted(K, 0.0, ROUNDING * trace)
    return np.asarray(host_array(solve_factorized(factor, mean)))
