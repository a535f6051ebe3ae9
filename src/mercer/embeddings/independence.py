"""Are pairs independent?  The Hilbert–Schmidt criterion against that of pairs that are put together anew."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from mercer.arrays import Array
from mercer.arrays.budget import MemoryBudgetError, show_bytes
from mercer.arrays.namespace import namespace
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array
from mercer.checks import check_count
from mercer.formula.data import Rows, pick
from mercer.kernels import Kernel
from mercer.linalg.pivoting import PivotedCholesky

from .dependence import DIAGONALS, LEAST, center_unbiased, permuted_products, shifted_products
from .outcome import Outcome, compare, settle_ties
from .resampling import make_generator
from .samples import (
    SINGLE,
    Kernels,
    check_level,
    check_paired,
    check_sample,
    default_kernel,
    make_gram,
    read_kernels,
)

EXPLAINED = 1e-7  # share of the trace that factors may leave out: less than float32 values do
SCRATCH = 10  # arrays of the size of the diagonals that are transformed together

Null = Literal["permutation", "shift"]


@dataclass(frozen=True)
class HSICTest:
    """The test of independence by the Hilbert–Schmidt criterion: whether x tells anything about y.

    Under the hypothesis that it does not, each x could as well have come with any other y.  The p-value is the share of
    such pairings whose criterion is as large, counted with the one that happened, so that the level holds for every
    number of pairs and every kernel.  If there are more pairs than permutations asked for, these are the cyclic shifts
    of a random order of the pairs: a group of its own, so that the level is as exact, and Fourier transforms give the
    criterion of all of them in a time of n² log n.

    Parameters
    ----------
    kernel_x : Kernel or list of Kernel, optional
        Of X, on any objects; for vectors a Gaussian of the median distance if not given.
    kernel_y : Kernel or list of Kernel, optional
        Of Y.  With lists all pairs of kernels are tried: each criterion is measured in deviations of its own
        permutations, and the soft maximum is compared with that of each permutation.
    null : {"permutation", "shift"}, default="permutation"
        "shift" is for series whose points depend on those before them: Y is shifted against X, and what each has with
        its own past stays as it is.  The level holds for long series.
    n_permutations : int, default=999
        How many permutations at least.
    lag : float, optional
        With "shift", by how many points series are shifted at least, either way; √n if not given.
    level : float, default=0.05
        The p-value up to which the hypothesis is rejected.
    random_state : int, Generator, RandomState or None, default=None
        The seed.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.  Matrices that do not fit are
        replaced by their factors, if these are exact to rounding.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are.

    Examples
    --------
    A circle, on which nothing is correlated:

    >>> import numpy as np
    >>> from mercer import HSICTest
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 200)
    >>> x, y = np.cos(angle), np.sin(angle)
    >>> HSICTest(random_state=0).test(x[:, None], y[:, None])
    <rejected: X and Y are independent (p = 0.001)>

    Texts and numbers:

    >>> from mercer.kernels import Gaussian, Spectrum
    >>> texts = ["aba", "abab", "bb", "bbb"] * 10
    >>> HSICTest(Spectrum(1), Gaussian(), random_state=0).test(texts, [[len(text)] for text in texts]).rejected
    True
    """

    kernel_x: Kernels = None
    kernel_y: Kernels = None
    null: Null = "permutation"
    n_permutations: int = 999
    lag: float | None = None
    level: float = 0.05
    random_state: Any = None
    memory: float | str | None = None
    device: Any = None

    def test(self, X: Rows, Y: Rows) -> Outcome:
        """Ask whether the i-th of X tells anything about the i-th of Y.

        Parameters
        ----------
        X : collection of n objects
            The first of each pair.
        Y : collection of n objects
            The second of each pair, of any other kind.

        Returns
        -------
        Outcome
            With the unbiased criterion as ``statistic`` (the biased one from factors), and in ``kernel`` and
            ``kernels`` one for X and one for Y.
        """
        if self.null not in ("permutation", "shift"):
            raise ValueError(f"HSICTest: null must be 'permutation' or 'shift', got {self.null!r}")
        level = check_level("HSICTest", self.level)
        count, rng = check_count("HSICTest", "n_permutations", self.n_permutations), make_generator(self.random_state)
        left, right = (read_kernels("HSICTest", kernel) for kernel in (self.kernel_x, self.kernel_y))
        X = check_sample("HSICTest", "X", X, left[0] if left else None, LEAST)
        Y = check_sample("HSICTest", "Y", Y, right[0] if right else None, LEAST)
        n, place = check_paired("HSICTest", X=X, Y=Y), Place.find(self.device, self.memory, X, Y)
        left = left or (default_kernel(X),)
        right = right or (default_kernel(Y),)
        pairs = list(product(left, right))
        room = n * n * (8 if n <= SINGLE else 4) * 2 + SCRATCH * 8 * min(DIAGONALS, n * n)
        if room > place.memory and self.null == "permutation":
            method, rows = "permutations, by factors of both matrices", _by_factors(pairs, X, Y, place, count, rng)
        else:
            _require_room(room, place.memory, n)
            method, rows = self._by_matrices(pairs, X, Y, place, count, rng)
        which, observed, null, p = compare(np.array(rows))
        return Outcome(
            float(rows[which][0]), p, observed, null, pairs[which], tuple(pairs), "X and Y are independent", "HSIC",
            method, level,
        )  # fmt: skip

    def _by_matrices(
        self, pairs: list[tuple[Kernel, Kernel]], X: Rows, Y: Rows, place: Place, count: int, rng: np.random.Generator
    ) -> tuple[str, list[np.ndarray]]:
        """Return how permutations were made, and the criterion of all of them for each pair of kernels."""
        n = check_paired("HSICTest", X=X, Y=Y)
        kept, cyclic = np.arange(n), n > count or self.null == "shift"
        if self.null == "shift":
            kept, method = self._choose_shifts(n), "shifts of the series"
        elif cyclic:
            order = rng.permutation(n)
            X, Y = pick(X, order), pick(Y, order)
            method = "cyclic shifts of a random order"
        else:
            method = "permutations"
        rows: list[np.ndarray] = []
        seed, last = rng.integers(2**63), None
        A: Array = None
        for one, two in pairs:
            if one is not last:
                A, last = _center(one, X, place), one
            B = _center(two, Y, place)
            same = np.random.default_rng(seed)  # all pairs of kernels see the same permutations
            found = shifted_products(A, B)[kept] if cyclic else permuted_products(A, B, count, same)
            size = math.sqrt(float((A * A).sum()) * float((B * B).sum()))
            epsilon = float(np.finfo(np.float64 if n <= SINGLE else np.float32).eps)
            rows.append(settle_ties(found[None], size / n, epsilon)[0] / (n * (n - 3)))
        return method, rows

    def _choose_shifts(self, n: int) -> np.ndarray:
        lag: Any = math.sqrt(n) if self.lag is None else self.lag
        if not isinstance(lag, numbers.Real) or not 0 <= float(lag) < n / 2:
            raise ValueError(f"HSICTest: lag must be between 0 and half the {n} points, got {self.lag!r}")
        first = max(1, math.ceil(float(lag)))
        return np.concatenate([[0], np.arange(first, n - first + 1)])


def _center(kernel: Kernel, X: Rows, place: Place) -> Array:
    return center_unbiased(make_gram(kernel, X, place).dense())


def _require_room(room: float, memory: int, n: int) -> None:
    if room > memory:
        raise MemoryBudgetError(
            f"HSICTest: the kernels between all {n} points need {show_bytes(room)}, but the memory budget is "
            f"{show_bytes(memory)}; give more memory or fewer points"
        )


def _by_factors(
    pairs: list[tuple[Kernel, Kernel]], X: Rows, Y: Rows, place: Place, count: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Return ‖FᵀHG[π]‖²/n² for K = FFᵀ and L = GGᵀ, for the identity and then for random permutations."""
    n = check_paired("HSICTest", X=X, Y=Y)
    found: dict[tuple[int, Kernel], Array] = {}
    for side, points in enumerate((X, Y)):
        for kernel in {pair[side] for pair in pairs}:
            found[side, kernel] = _factor(kernel, points, place, n, rng)
    seed, rows = rng.integers(2**63), []
    for one, two in pairs:
        F, G = found[0, one], found[1, two]
        same = np.random.default_rng(seed)
        orders = [np.arange(n), *(same.permutation(n) for _ in range(count))]
        places = (namespace(G).asarray(order, device=G.device) for order in orders)
        values = np.array([float(((F.T @ G[order]) ** 2).sum()) for order in places])
        rows.append(settle_ties(values[None], values[0], float(np.finfo(np.float64).eps))[0] / n**2)
    return rows


def _factor(kernel: Kernel, X: Rows, place: Place, n: int, rng: np.random.Generator) -> Array:
    """Return F with FFᵀ = HKH to rounding, or raise if it does not fit into memory either."""
    gram = make_gram(kernel, X, place)
    factor, most = PivotedCholesky.of(gram, rng), max(1, place.memory // (64 * n))
    trace = float(np.asarray(host_array(gram.diag()), dtype=np.float64).sum())
    rank = 32
    while factor.residual_trace > EXPLAINED * trace and not factor.exhausted:
        if len(factor.pivots) >= most:
            left = factor.residual_trace / trace
            raise MemoryBudgetError(
                f"HSICTest: the kernel between all {n} points does not fit into the memory budget of "
                f"{show_bytes(place.memory)}, and {most} columns of it leave {left:.1e} of its trace; give more memory "
                "or fewer points"
            )
        factor.grow(min(rank, most))
        rank *= 2
    F = factor.factor
    return F - F.mean(0)
