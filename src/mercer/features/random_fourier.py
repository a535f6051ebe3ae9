"""Random Fourier features: a kernel of differences as an average of waves with random frequencies (Rahimi and Recht).

By Bochner's theorem k(x − z) = E cos ωᵀ(x − z) for frequencies ω drawn from the kernel's spectral distribution: normal
for the Gaussian, a multivariate t for the Matérn, a Cauchy distribution in each coordinate for the Laplacian kernel,
and stable distributions for exponentials of powers.  The spectrum of a sum is a mixture of those of its terms, and
frequencies of a product are sums of those of its factors.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from functools import singledispatch
from typing import Annotated, Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays.shapes import Axes
from mercer.formula.data import Rows
from mercer.formula.parameters import is_vector
from mercer.kernels import (
    Constant,
    Gaussian,
    Kernel,
    Laplacian,
    Matern,
    PowerExponential,
    RationalQuadratic,
    SpectralMixture,
)
from mercer.kernels.algebra import Power, Product, Scaled, Sum
from mercer.kernels.pullback import On

from .base import KernelMap, Matrix, Seed, check_count

LARGEST_POWER, MOST_TERMS = 16, 4096  # of kernels that are multiplied out
LARGEST = 500.0  # of the logarithm of a frequency, so that its product with data is a number
Directions = Callable[[int, int, np.random.RandomState], np.ndarray]


class RandomFourier(KernelMap):
    """Random features √w_j (cos ω_jᵀx, sin ω_jᵀx), j = 1, …, D/2, for kernels of differences.

    E φ(x)ᵀφ(z) = k(x, z), with an error of the order 1/√D; φ(x)ᵀφ(x) = k(x, x) exactly, because cosines come with
    their sines.  The weights w_j add up to k(x, x), and are all 2/D for a single kernel that is 1 there.

    Parameters
    ----------
    kernel : Kernel, optional
        ``Gaussian``, ``Matern``, ``RationalQuadratic``, ``Laplacian``, ``PowerExponential`` or ``SpectralMixture``, and
        what is made of them by positive factors, constants, sums, products, powers and choices of columns;
        ``Gaussian()`` if not given.
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
    weights_ : array of shape (D/2,)
        The w_j.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import RandomFourier
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> features = RandomFourier(Gaussian(length_scale=2.0), n_components=2000, random_state=0).fit_transform(X)
    >>> bool(np.abs(features @ features.T - Gaussian(length_scale=2.0)(X)).max() < 0.1)
    True
    >>> sum_of_two = 3.0 * Gaussian(length_scale=2.0) + Gaussian(length_scale=0.5).on(0)
    >>> features = RandomFourier(sum_of_two, n_components=4000, random_state=0).fit_transform(X)
    >>> bool(np.abs(features @ features.T - sum_of_two(X)).max() < 0.3)
    True
    """

    frequencies_: Annotated[np.ndarray, Axes("D+ d")]
    weights_: Annotated[np.ndarray, Axes("D+")]

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
        self.frequencies_, self.weights_ = draw_spectrum(self.kernel_, d, count // 2, rng, directions)

    def _map(self, X: Matrix) -> np.ndarray:
        angles = X @ self.frequencies_.T
        half = len(self.frequencies_)
        out = np.empty((X.shape[0], 2 * half), dtype=X.dtype)
        out[:, :half] = np.cos(angles)
        out[:, half:] = np.sin(angles)
        sizes = np.sqrt(self.weights_)
        out *= np.concatenate([sizes, sizes]).astype(X.dtype)
        return out

    def _count_features(self) -> int:
        return 2 * len(self.frequencies_)


Leaf = tuple[Kernel, tuple[int, ...] | None]  # a kernel whose frequencies are known, and the columns it looks at


def draw_spectrum(
    kernel: Kernel, d: int, count: int, rng: np.random.RandomState, directions: Directions
) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies of a kernel of differences on d inputs, one a row, and their weights, which add up to k(0).

    Each term of a sum gets a share of them by its value at 0, and frequencies of a product are sums of those of its
    factors.  Raises if the kernel has a part without known frequencies.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian, Laplacian
    >>> kernel = 2.0 * Gaussian() * Laplacian() + 1.0
    >>> W, weights = draw_spectrum(kernel, 3, 10, np.random.RandomState(0), draw_normal)
    >>> W.shape, float(weights.sum().round(9))
    ((10, 3), 3.0)
    """
    terms = [(weight, leaves) for weight, leaves in split_terms(kernel, d) if weight > 0]
    if len(terms) > count:
        raise ValueError(
            f"RandomFourier: {kernel!r} has {len(terms)} terms, each of which needs a cosine and a sine; take "
            f"n_components={2 * len(terms)} or more"
        )
    if not terms:
        return np.zeros((count, d)), np.zeros(count)
    frequencies, weights = [], []
    for (weight, leaves), share in zip(terms, share_out([weight for weight, _ in terms], count), strict=True):
        total = np.zeros((share, d))
        for leaf, columns in leaves:
            width = d if columns is None else len(columns)
            total[:, slice(None) if columns is None else list(columns)] += draw_frequencies(
                leaf, width, share, rng, directions
            )
        frequencies.append(total)
        weights.append(np.full(share, weight / share))
    return np.concatenate(frequencies), np.concatenate(weights)


def has_spectrum(kernel: Kernel, d: int, count: int) -> bool:
    """Whether so many frequencies of a kernel on d inputs can be drawn: all parts have some, and none too few.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> has_spectrum(Gaussian() + 1.0, 3, 10), has_spectrum(Gaussian() + 1.0, 3, 1)
    (True, False)
    >>> has_spectrum(Gaussian() + Linear(), 3, 10)
    False
    """
    unknown = draw_frequencies.dispatch(object)
    try:
        terms = split_terms(kernel, d)
    except ValueError:  # too many to be multiplied out
        return False
    known = all(draw_frequencies.dispatch(type(leaf)) is not unknown for _, leaves in terms for leaf, _ in leaves)
    return known and len(terms) <= count


def split_terms(kernel: Kernel, d: int, columns: tuple[int, ...] | None = None) -> list[tuple[float, tuple[Leaf, ...]]]:
    """Return a kernel as a sum of weighted products of kernels that are 1 at 0, multiplied out.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Matern
    >>> [(weight, len(leaves)) for weight, leaves in split_terms((2.0 * Gaussian() + Matern()) ** 2, 3)]
    [(4.0, 2), (2.0, 2), (2.0, 2), (1.0, 2)]
    """
    if isinstance(kernel, Constant):
        return [(float(kernel.value), ())]
    if isinstance(kernel, Scaled) and kernel.weight >= 0:
        return [(kernel.weight * weight, leaves) for weight, leaves in split_terms(kernel.kernel, d, columns)]
    if isinstance(kernel, Sum):
        return split_terms(kernel.k1, d, columns) + split_terms(kernel.k2, d, columns)
    if isinstance(kernel, Product):
        return _multiply(split_terms(kernel.k1, d, columns), split_terms(kernel.k2, d, columns))
    if isinstance(kernel, Power) and kernel.exponent <= LARGEST_POWER:
        inner = split_terms(kernel.kernel, d, columns)
        return functools.reduce(_multiply, [inner] * int(kernel.exponent))
    if isinstance(kernel, On):
        width = d if columns is None else len(columns)
        chosen = kernel.chosen(width)
        if all(isinstance(column, int) and -width <= column < width for column in chosen):
            seen = range(d) if columns is None else columns
            return split_terms(kernel.kernel, d, tuple(seen[column] for column in chosen))
    if isinstance(kernel, SpectralMixture):
        parts = zip(kernel.weights, kernel.frequencies, kernel.length_scales, strict=True)
        return [(float(w), ((SpectralMixture([1.0], [f], [scale]), columns),)) for w, f, scale in parts]
    return [(1.0, ((kernel, columns),))]


def _multiply(
    one: list[tuple[float, tuple[Leaf, ...]]], other: list[tuple[float, tuple[Leaf, ...]]]
) -> list[tuple[float, tuple[Leaf, ...]]]:
    if len(one) * len(other) > MOST_TERMS:
        raise ValueError(
            f"RandomFourier: multiplied out, the kernel has more than {MOST_TERMS} terms; use mercer.features.Nystroem"
        )
    return [(a * b, (*left, *right)) for a, left in one for b, right in other]


def share_out(weights: list[float], count: int) -> list[int]:
    """Return how many of ``count`` each weight gets: at least one, and otherwise as its share, the remainder by size.

    Examples
    --------
    >>> share_out([3.0, 1.0, 0.001], 9)
    [5, 3, 1]
    """
    left = np.array(weights) / sum(weights) * (count - len(weights))
    shares = np.floor(left).astype(int)
    most = np.argsort(shares - left, kind="stable")[: count - len(weights) - shares.sum()]
    shares[most] += 1
    return [int(share) + 1 for share in shares]


@singledispatch
def draw_frequencies(
    kernel: Kernel, d: int, count: int, rng: np.random.RandomState, directions: Directions
) -> np.ndarray:
    """Return ``count`` frequencies from the spectral distribution of a kernel on d inputs, one a row.

    ``directions`` draws standard normal vectors, independent or orthogonal; register a function for a new kernel here.
    """
    raise ValueError(
        f"RandomFourier: {kernel!r} is not a kernel whose random frequencies are known, which are Gaussian, Matern, "
        "RationalQuadratic, Laplacian, PowerExponential and SpectralMixture, and sums, products and positive multiples "
        "of them; use mercer.features.Nystroem, which takes any kernel, or mercer.features.ExplicitMap where there are "
        "finitely many features"
    )


@draw_frequencies.register
def _(kernel: SpectralMixture, d: int, count: int, rng: np.random.RandomState, directions: Directions) -> np.ndarray:
    # Of a single component: a bell around its frequency.  The one around the other sign has the same cosines.
    if d != 1:
        raise ValueError(f"{kernel!r} takes points with one feature, got {d}; pick a column with k.on(0)")
    waves = 2.0 * math.pi * float(kernel.frequencies[0])
    return directions(count, d, rng) / float(kernel.length_scales[0]) + waves


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
