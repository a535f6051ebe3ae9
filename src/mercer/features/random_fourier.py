"""Random Fourier features: a kernel of differences as an average of waves with random frequencies (Rahimi and Recht).

By Bochner's theorem k(x − z) = E cos ωᵀ(x − z) for frequencies ω drawn from the kernel's spectral distribution: normal
for the Gaussian, a multivariate t for the Matérn, a Cauchy distribution in each coordinate for the Laplacian kernel,
and stable distributions for exponentials of powers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch
from typing import Annotated, Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays.shapes import Axes
from mercer.formula.data import Rows
from mercer.formula.parameters import is_vector
from mercer.kernels import Gaussian, Kernel, Laplacian, Matern, PowerExponential, RationalQuadratic

from .base import KernelMap, Matrix, Seed, check_count

LARGEST = 500.0  # of the logarithm of a frequency, so that its product with data is a number
Directions = Callable[[int, int, np.random.RandomState], np.ndarray]


class RandomFourier(KernelMap):
    """Random features √(2/D) (cos ω_jᵀx, sin ω_jᵀx), j = 1, …, D/2, for kernels of differences.

    E φ(x)ᵀφ(z) = k(x, z), with an error of the order 1/√D; φ(x)ᵀφ(x) = k(x, x) exactly, because cosines come with
    their sines.

    Parameters
    ----------
    kernel : Kernel, optional
        ``Gaussian``, ``Matern``, ``RationalQuadratic``, ``Laplacian`` or ``PowerExponential``; ``Gaussian()`` if not
        given.
    n_components : int, default=100
        D, the number of features.  Even, because cosines and sines come in pairs.
    orthogonal : bool, default=True
        Draw directions in orthogonal blocks of as many as there are inputs, which lowers the error (Yu et al., 2016).
        Frequencies of a Laplacian, or of a PowerExponential with p < 2, are drawn coordinate by coordinate, so it
        makes no difference to them.
    random_state : int, RandomState or None, default=None
        The seed.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel used.
    frequencies_ : array of shape (D/2, d)
        The ω_j.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import RandomFourier
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> features = RandomFourier(Gaussian(length_scale=2.0), n_components=2000, random_state=0).fit_transform(X)
    >>> bool(np.abs(features @ features.T - Gaussian(length_scale=2.0)(X)).max() < 0.1)
    True
    """

    frequencies_: Annotated[np.ndarray, Axes("D+ d")]

    _takes_sparse = True

    def __init__(
        self,
        kernel: Kernel | None = None,
        n_components: int = 100,
        orthogonal: bool = True,
        random_state: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.orthogonal = orthogonal
        self.random_state = random_state

    def _learn(self, X: Rows) -> None:
        self.kernel_ = self._choose_kernel()
        count = check_count(self, "n_components")
        if count % 2:
            raise ValueError(
                f"RandomFourier: n_components must be even, because every cosine comes with its sine; got {count}, "
                f"take {count + 1}"
            )
        rng = check_random_state(self.random_state)
        directions = draw_orthogonal if self.orthogonal else draw_normal
        d = getattr(self, "n_features_in_", 0)  # objects have none, and no kernel on them has frequencies
        self.frequencies_ = draw_frequencies(self.kernel_, d, count // 2, rng, directions)

    def _map(self, X: Matrix) -> np.ndarray:
        angles = X @ self.frequencies_.T
        half = len(self.frequencies_)
        out = np.empty((X.shape[0], 2 * half), dtype=X.dtype)
        out[:, :half] = np.cos(angles)
        out[:, half:] = np.sin(angles)
        out *= 1.0 / math.sqrt(half)
        return out

    def _count_features(self) -> int:
        return 2 * len(self.frequencies_)


@singledispatch
def draw_frequencies(
    kernel: Kernel, d: int, count: int, rng: np.random.RandomState, directions: Directions
) -> np.ndarray:
    """Return ``count`` frequencies from the spectral distribution of a kernel on d inputs, one a row.

    ``directions`` draws standard normal vectors, independent or orthogonal; register a function for a new kernel here.
    """
    raise ValueError(
        f"RandomFourier: {kernel!r} is not a kernel whose random frequencies are known, which are Gaussian, Matern, "
        "RationalQuadratic, Laplacian and PowerExponential; use mercer.features.Nystroem, which takes any kernel, or "
        "mercer.features.ExplicitMap where the kernel has finitely many features"
    )


@draw_frequencies.register
def _(kernel: Gaussian, d: int, count: int, rng: np.random.RandomState, directions: Directions) -> np.ndarray:
    return directions(count, d, rng) / check_scales(kernel, d)


@draw_frequencies.register
def _(kernel: Matern, d: int, count: int, rng: np.random.RandomState, directions: Directions) -> np.ndarray:
    normal = directions(count, d, rng) / check_scales(kernel, d)
    if kernel.nu == math.inf:
        return normal
    # A multivariate t distribution with 2ν degrees of freedom: a normal vector over the root of a mean of squares.
    return normal / np.sqrt(rng.gamma(kernel.nu, 1.0 / kernel.nu, size=(count, 1)))


@draw_frequencies.register
def _(kernel: RationalQuadratic, d: int, count: int, rng: np.random.RandomState, directions: Directions) -> np.ndarray:
    # An average of Gaussians over a gamma distribution of inverse squared length scales.
    inverse = rng.gamma(kernel.alpha, 1.0 / kernel.alpha, size=(count, 1))
    return directions(count, d, rng) * np.sqrt(inverse) / check_scales(kernel, d)


@draw_frequencies.register
def _(kernel: Laplacian, d: int, count: int, rng: np.random.RandomState, directions: Directions) -> np.ndarray:
    return rng.standard_cauchy(size=(count, d)) / check_scales(kernel, d)


@draw_frequencies.register
def _(kernel: PowerExponential, d: int, count: int, rng: np.random.RandomState, directions: Directions) -> np.ndarray:
    # exp(−s^a) is an average of exp(−ts) over a stable distribution of t, and exp(−t|x|^p) one of waves over another.
    p, a = float(kernel.p), float(kernel.q / kernel.p)
    if p == 2:
        normal = math.sqrt(2.0) * directions(count, d, rng)
        sizes, signs = np.log(np.abs(normal)), np.sign(normal)
    else:
        sizes, signs = draw_symmetric_stable(p, (count, d), rng)
    logs = sizes + draw_positive_stable(a, (count, 1), rng) / p
    return signs * np.exp(np.clip(logs, -LARGEST, LARGEST)) / check_scales(kernel, d)


def draw_symmetric_stable(
    p: float, shape: tuple[int, ...], rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Return logarithms of the sizes and signs of ω with E cos(tω) = exp(−|t|^p), p < 2 (Chambers, Mallows, Stuck)."""
    angle, wait = rng.uniform(-0.5 * math.pi, 0.5 * math.pi, size=shape), rng.exponential(size=shape)
    tilt = (1.0 - p) / p * np.log(np.cos((1.0 - p) * angle) / wait)
    return np.log(np.abs(np.sin(p * angle))) - np.log(np.cos(angle)) / p + tilt, np.sign(angle)


def draw_positive_stable(a: float, shape: tuple[int, ...], rng: np.random.RandomState) -> np.ndarray:
    """Return logarithms of t with E exp(−st) = exp(−s^a), a ≤ 1 (Kanter)."""
    if a == 1:
        return np.zeros(shape)
    angle, wait = rng.uniform(0.0, math.pi, size=shape), rng.exponential(size=shape)
    tilt = (1.0 - a) / a * np.log(np.sin((1.0 - a) * angle) / wait)
    return np.asarray(np.log(np.sin(a * angle)) - np.log(np.sin(angle)) / a + tilt)


def check_scales(kernel: Any, d: int) -> np.ndarray:
    """Return the length scale, or one for each of d inputs."""
    scales = np.asarray(kernel.length_scale, dtype=np.float64)
    if is_vector(kernel.length_scale) and len(scales) != d:
        raise ValueError(
            f"{kernel!r} has {len(scales)} length scales but the data has {d} features; "
            "give one length scale, or one for each feature"
        )
    return scales


def draw_normal(count: int, d: int, rng: np.random.RandomState) -> np.ndarray:
    """Return independent standard normal vectors, one a row."""
    return rng.standard_normal(size=(count, d))


def draw_orthogonal(count: int, d: int, rng: np.random.RandomState) -> np.ndarray:
    """Return vectors that are each standard normal, but orthogonal to the others in blocks of d."""
    blocks = []
    for start in range(0, count, d):
        Q, R = np.linalg.qr(rng.standard_normal(size=(d, d)))
        Q = Q * np.where(R.diagonal() < 0, -1.0, 1.0)  # without the signs Q is not uniform over rotations
        blocks.append(Q[: min(d, count - start)])
    lengths = np.sqrt(rng.chisquare(d, size=(count, 1)))
    return np.concatenate(blocks) * lengths
