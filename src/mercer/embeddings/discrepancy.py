"""The distance of two samples: that of the means of their features, from sums of kernel values alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer.arrays.namespace import put_beside
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array
from mercer.checks import check_count
from mercer.expansion import Expansion
from mercer.formula.data import Rows, length, take
from mercer.gram import Gram
from mercer.kernels import Kernel

from .samples import check_two, default_kernel, hold, join, make_gram, read_kernels

CHUNK = 512  # points whose kernel values are computed together for estimators of few pairs

Estimator = Literal["unbiased", "biased", "linear", "block"]
ESTIMATORS = ("unbiased", "biased", "linear", "block")


def mmd(
    X: Rows,
    Y: Rows,
    kernel: Kernel | None = None,
    *,
    estimator: Estimator = "unbiased",
    block_size: int | None = None,
    memory: float | str | None = None,
    device: Any = None,
) -> float:
    """Return the squared maximum mean discrepancy of two samples, ‖E φ(x) − E φ(y)‖².

    It is the largest difference of means, squared, among all functions of the kernel's space with norm 1.  With a
    kernel such as the Gaussian it is 0 only if the distributions are the same.

    Parameters
    ----------
    X : collection of n objects
        A sample.
    Y : collection of m objects
        Another one, of the same kind.
    kernel : Kernel, optional
        On any objects; for vectors a Gaussian of the median distance if not given.
    estimator : {"unbiased", "biased", "linear", "block"}, default="unbiased"
        "unbiased" is the mean of k(x, x′) + k(y, y′) − 2k(x, y) over all pairs of different points, and may be
        negative; "biased" counts each point with itself, too, and is the squared distance of the means of the samples;
        "block" is the mean of "unbiased" over blocks of consecutive points, and "linear" that of blocks of two, in a
        time that grows as the number of points.  The last two take as many points of each sample, and leave out the
        rest of the longer.
    block_size : int, optional
        Points of each sample in a block, √n if not given.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are.

    Returns
    -------
    float

    Examples
    --------
    With the linear kernel it is the squared distance of means:

    >>> from mercer.embeddings import mmd
    >>> from mercer.kernels import Linear
    >>> mmd([[0.0], [2.0]], [[4.0], [6.0]], Linear(), estimator="biased")
    16.0
    """
    if estimator not in ESTIMATORS:
        raise ValueError(f"mmd: estimator must be one of {ESTIMATORS}, got {estimator!r}")
    if block_size is not None and estimator != "block":
        raise ValueError(f"mmd: block_size is of estimator='block', and was given with estimator={estimator!r}")
    found = read_kernels("mmd", kernel, several=False)
    X, Y = check_two("mmd", X, Y, kernel, 1 if estimator == "biased" else 2)
    chosen = default_kernel(join(X, Y)) if found is None else found[0]
    place = Place.find(device, memory, X, Y)
    if estimator in ("linear", "block"):
        count = min(length(X), length(Y))
        size = 2 if estimator == "linear" else max(2, round(math.sqrt(count)))
        size = size if block_size is None else check_count("mmd", "block_size", block_size, 2)
        if size > count:
            raise ValueError(f"mmd: blocks of {size} points are longer than the shorter sample, of {count}")
        return _average_blocks(chosen, X, Y, size, count // size, place)
    two = TwoSamples(make_gram(chosen, join(X, Y), place), length(X))
    return float(two.measure(np.arange(two.size)[:, None] < two.n, unbiased=estimator == "unbiased")[0])


@dataclass(frozen=True)
class TwoSamples:
    """The kernel between all points of two samples, of which the first n are the first."""

    gram: Gram
    n: int

    @property
    def size(self) -> int:
        """How many points there are in both."""
        return self.gram.shape[0]

    def measure(self, groups: np.ndarray, *, unbiased: bool = True) -> np.ndarray:
        """Return the statistic for each column of ``groups``, which says which n points are taken for the first sample.

        With w = 1/n for those and −1/m for the others the biased one is wᵀKw: one form for each column, of one pass
        over the matrix.  The unbiased one follows from it with sums of rows.  Weights are scaled to whole numbers, so
        that in float32 they add up to 0 exactly.
        """
        n, m = self.n, self.size - self.n
        common = math.gcd(n, m)
        weights = np.where(groups, float(m // common), -float(n // common))
        K = hold(self.gram)
        forms = self.gram.forms(weights) if K is None else sum_forms(K, weights)
        biased = host_array(forms) * (common / (n * m)) ** 2
        if not unbiased:
            return np.asarray(biased)
        sums = self.gram @ np.ones(self.size) if K is None else K.sum(1)
        diagonal = np.asarray(host_array(self.gram.diag()), dtype=np.float64)
        rows = np.asarray(host_array(sums), dtype=np.float64) - diagonal
        first = groups.astype(np.float64)
        own = diagonal @ first
        off = biased - own / n**2 - (diagonal.sum() - own) / m**2
        p = rows @ first  # all pairs with one point at least in the first sample, those across counted once
        q = rows.sum() - p
        across = (p / n**2 + q / m**2 - off) / (1 / n + 1 / m) ** 2
        a, b = 1 / (n * (n - 1)), 1 / (m * (m - 1))
        return np.asarray(p * a + q * b - across * (a + b + 2 / (n * m)))

    def size_of_sums(self) -> float:
        """Return how large the sums are that the statistic is the difference of."""
        return float(np.abs(np.asarray(host_array(self.gram.diag()), dtype=np.float64)).mean())


def sum_forms(K: Any, weights: np.ndarray) -> Any:
    """Return vᵀKv for each column v, of a matrix that is held."""
    V = put_beside(K, weights)
    return (V * (K @ V)).sum(0)


def _average_blocks(kernel: Kernel, X: Rows, Y: Rows, size: int, count: int, place: Place) -> float:
    """Return the mean of the unbiased statistic over blocks, several of which are computed together."""
    together = max(1, CHUNK // size)
    total = 0.0
    for start in range(0, count, together):
        blocks = min(together, count - start)
        rows = slice(start * size, (start + blocks) * size)
        A, B = take(X, rows.start, rows.stop), take(Y, rows.start, rows.stop)
        owner = np.arange(blocks * size) // size
        same = owner[:, None] == owner
        apart = same & ~np.eye(len(owner), dtype=bool)
        within = sum(_sum_values(kernel, side, None, apart, place) for side in (A, B)) / (size * (size - 1))
        total += within - 2.0 * _sum_values(kernel, A, B, same, place) / size**2
    return total / count


def _sum_values(kernel: Kernel, A: Rows, B: Rows | None, where: np.ndarray, place: Place) -> float:
    values = Gram(kernel, A, B, memory=place.memory, dtype=np.float64, device=place.device).dense()
    return float(np.asarray(host_array(values))[where].sum())


def witness(X: Rows, Y: Rows, kernel: Kernel | None = None) -> Expansion:
    """Return the function whose means in two samples are furthest apart for its norm: f = E φ(x) − E φ(y).

    It is positive where X has more points than Y, and negative where Y has more; its squared norm is the biased
    discrepancy, and it is not scaled to norm 1.

    Parameters
    ----------
    X : collection of n objects
        A sample.
    Y : collection of m objects
        Another one, of the same kind.
    kernel : Kernel, optional
        On any objects; for vectors a Gaussian of the median distance if not given.

    Returns
    -------
    Expansion
        With coefficients 1/n at the points of X and −1/m at those of Y.

    Examples
    --------
    >>> from mercer.embeddings import mmd, witness
    >>> from mercer.kernels import Gaussian
    >>> X, Y = [[0.0], [1.0]], [[3.0], [4.0]]
    >>> f = witness(X, Y, Gaussian())
    >>> f([[0.0], [4.0]]).round(2)
    array([ 0.8, -0.8])
    >>> round(f.norm() ** 2 - mmd(X, Y, Gaussian(), estimator="biased"), 12)
    0.0
    """
    found = read_kernels("witness", kernel, several=False)
    X, Y = check_two("witness", X, Y, kernel, 1)
    points = join(X, Y)
    chosen = default_kernel(points) if found is None else found[0]
    n, m = length(X), length(Y)
    return Expansion(chosen, points, np.concatenate([np.full(n, 1.0 / n), np.full(m, -1.0 / m)]))
