"""Draws from the Gaussian process of a kernel at many points, as exactly as their number allows.

Waves: by Bochner's theorem √(2/D) Σ (aⱼ cos ωⱼᵀx + bⱼ sin ωⱼᵀx) with normal aⱼ, bⱼ and frequencies ωⱼ of the kernel has
its covariance up to 1/√D.  Sums of kernels are sums of independent draws, and frequencies of a product are sums of
those of its factors.  Finitely many features are exact.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import lapack

from mercer.features.random_fourier import draw_orthogonal, draw_spectrum, has_spectrum
from mercer.formula.data import Rows, length, take
from mercer.gram import Gram
from mercer.kernels import Constant, Kernel
from mercer.kernels.algebra import Scaled, Sum
from mercer.kernels.pullback import On
from mercer.linalg.pivoting import PivotedCholesky

WAVES = 4096  # cosines and sines together, and features that are exact
EXACT = 10_000  # points up to which a kernel without waves is factored
RANK = 2000  # of its approximation beyond
BLOCK_BYTES = 2**26  # of waves at a time
ROUNDING = 32 * float(np.finfo(np.float64).eps)  # of the largest variance, below which a pivot is nothing


def draw_prior(kernel: Kernel, X: Rows, size: int, rng: np.random.RandomState, memory: int) -> np.ndarray:
    """Return draws of f at all points, one a column.

    By waves for ``Gaussian``, ``Matern``, ``RationalQuadratic``, ``Laplacian``, ``PowerExponential``,
    ``SpectralMixture``, their products, and kernels with at most 4,096 features, also on some columns, multiplied by
    numbers and summed up.  For others by a factor of the matrix up to 10,000 points, if it fits; beyond by a factor of
    rank 2,000 at random pivots, what it does not explain of each variance being added as noise.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[0.0], [0.1], [9.0]])
    >>> f = draw_prior(Gaussian(), X, 20_000, np.random.RandomState(0), 2**30)
    >>> np.cov(f).round(1)
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    found = (
        _draw_waves(kernel, X, size, rng, min(BLOCK_BYTES, memory // 4))
        if isinstance(X, np.ndarray) and X.ndim == 2
        else None
    )
    if found is not None:
        return found
    n = length(X)
    gram = Gram(kernel, X, memory=memory, dtype=np.float64)
    if n <= EXACT and 24.0 * n * n <= memory:
        return draw_normal(np.asarray(gram.dense()), size, rng)
    pivoted = PivotedCholesky.of(gram, rng)
    pivoted.grow(max(1, min(RANK, n, int(memory / (32.0 * n)))))
    values = np.sqrt(np.maximum(np.asarray(pivoted.residual), 0.0))[:, None] * rng.standard_normal((n, size))
    for F in pivoted.parts:
        values += np.asarray(F).T @ rng.standard_normal((len(F), size))
    return values


def draw_normal(covariance: np.ndarray, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Return normal draws of a covariance, one a column, by a factor with pivots; the matrix is overwritten.

    Directions below rounding are left out, so that a singular matrix needs no jitter.

    Examples
    --------
    >>> import numpy as np
    >>> draw_normal(np.ones((2, 2)), 3, np.random.RandomState(0)).round(2)
    array([[1.76, 0.4 , 0.98],
           [1.76, 0.4 , 0.98]])
    """
    n = len(covariance)
    largest = float(covariance.diagonal().max())
    if largest <= 0:
        return np.zeros((n, size))
    L, order, rank, _ = lapack.dpstrf(covariance, lower=1, tol=ROUNDING * largest)
    noise, values = rng.standard_normal((rank, size)), np.empty((n, size))
    values[order - 1] = np.tril(L[:, :rank]) @ noise
    return values


def _draw_waves(kernel: Kernel, X: np.ndarray, size: int, rng: np.random.RandomState, room: int) -> np.ndarray | None:
    """Return draws by waves and features, in blocks of so many bytes; None where the kernel has neither."""
    d = X.shape[1]
    if isinstance(kernel, Constant):
        return np.full((len(X), 1), math.sqrt(kernel.value)) * rng.standard_normal((1, size))
    if isinstance(kernel, Scaled):
        inner = _draw_waves(kernel.kernel, X, size, rng, room) if kernel.weight >= 0 else None
        return None if inner is None else math.sqrt(kernel.weight) * inner
    if isinstance(kernel, Sum):
        first = _draw_waves(kernel.k1, X, size, rng, room)
        second = None if first is None else _draw_waves(kernel.k2, X, size, rng, room)
        return None if first is None or second is None else first + second
    if isinstance(kernel, On) and all(isinstance(column, int) for column in kernel.chosen(d)):
        return _draw_waves(kernel.kernel, X[:, list(kernel.chosen(d))], size, rng, room)
    if has_spectrum(kernel, d, WAVES // 2):
        return _sum_waves(*draw_spectrum(kernel, d, WAVES // 2, rng, draw_orthogonal), X, size, rng, room)
    if kernel.feature_dim(d) <= WAVES:
        return _sum_features(kernel, X, size, rng, room)
    return None


def _sum_waves(
    frequencies: np.ndarray, weights: np.ndarray, X: np.ndarray, size: int, rng: np.random.RandomState, room: int
) -> np.ndarray:
    half = len(frequencies)
    a, b = rng.standard_normal((2, half, size)) * np.sqrt(weights)[:, None]
    middle, values = X.mean(axis=0, dtype=np.float64), np.empty((len(X), size))
    step = max(1, room // (24 * half))
    for start in range(0, len(X), step):
        angles = (X[start : start + step] - middle) @ frequencies.T
        values[start : start + step] = np.cos(angles) @ a
        values[start : start + step] += np.sin(angles, out=angles) @ b
    return values


def _sum_features(kernel: Kernel, X: np.ndarray, size: int, rng: np.random.RandomState, room: int) -> np.ndarray | None:
    try:
        phi = kernel.features().fit(X)
    except ValueError:  # features that are not known
        return None
    width = phi.features_.width
    weights, step = rng.standard_normal((width, size)), max(1, room // (16 * width))
    parts = [phi.transform(take(X, i, min(i + step, len(X)))) @ weights for i in range(0, len(X), step)]
    return np.concatenate(parts)
