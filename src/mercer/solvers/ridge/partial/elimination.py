"""An approximate inverse of A = K + diag(shift) from a Cholesky factor of some of the points.

With the points in two parts, A = [A₁₁ A₁₂; A₂₁ A₂₂], eliminating the first leaves S = A₂₂ − A₂₁A₁₁⁻¹A₁₂ for the others:
what the first points do not explain.  A factor of a third of the points costs a 27th of the whole, and S is so much
better conditioned than A that some dozen iterations replace the rest of the factor.  S is never formed: an iteration
reads half of A₂₂, A₁₂, and the factor twice, in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.arrays.columns import norms, units
from mercer.formula.data import pick
from mercer.gram import Gram
from mercer.linalg.blocked import factor, solve_lower
from mercer.linalg.cholesky import find_shift
from mercer.linalg.pivoting import PivotedCholesky, Random
from mercer.linalg.strips import TriangleStrips

from ...base import Problem
from .schur import SchurComplement, SchurIteration

RANK = 5.0  # √n times this many pivots tell which points are hard to explain
SAMPLE = 128  # points whose entry on the diagonal of S is computed
ACCURATE = 0.02  # of a right-hand side: what an application may leave of it, about what rounding to float32 leaves too
PRECISE, COARSE = 0.02, 0.3  # the same, at least and at most, where it is known how much is to be done
SAFE = 1e-20, 1e20  # the largest k(x, x) between which products of kernel values are numbers of float32


@dataclass(frozen=True)
class Pivots:
    """Some points, in the order in which they were found, and what they leave of the diagonal of K."""

    points: np.ndarray
    left: np.ndarray


class Elimination:
    """A⁻¹V to about two digits, in float32: the factor of A₁₁, and conjugate gradients with S for the rest.

    The first points are drawn with probabilities proportional to what a low-rank approximation leaves of them, so that
    S has a small and even diagonal.  Iterations are preconditioned by that diagonal, as a power of what was left:
    the power is fitted to some entries that are computed.

    Parameters
    ----------
    problem : Problem
        Kernel and points.
    shift : array of shape (n,)
        αW⁻¹, positive.
    pivots : Pivots
        What says how much a few points leave of the others, as :func:`find_pivots` makes it.
    count : int
        How many points are eliminated, from 1 to n − 1: the pivots first.
    rng : numpy Generator or RandomState
        Where randomness comes from.
    on_step : callable, optional
        Called as ``on_step(steps, left)`` after each iteration, with what is left of the first right-hand side.

    Attributes
    ----------
    steps : int
        Iterations so far.
    accuracy : float
        What is left of right-hand sides.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 4.0, 60).reshape(-1, 1)
    >>> problem, rng = Problem(Gaussian(), X, X), np.random.default_rng(0)
    >>> inverse = Elimination(problem, np.full(60, 0.1), find_pivots(problem, rng), 20, rng)
    >>> V = inverse.solve(np.cos(X))
    >>> bool(np.abs(Gaussian()(X) @ V + 0.1 * V - np.cos(X)).max() < 0.05)
    True
    """

    def __init__(
        self, problem: Problem, shift: np.ndarray, pivots: Pivots, count: int, rng: Random,
        on_step: Callable[[int, float], None] | None = None,
    ) -> None:  # fmt: skip
        order, left = _order_points(pivots, shift, rng), pivots.left
        self._order, self._count, self.steps, self._on_step = order, count, 0, on_step
        self.accuracy = ACCURATE
        self._begun: float | None = None  # the length of the first right-hand side
        self._gained = 0.0  # natural logarithms by which right-hand sides were shortened
        first, rest = order[:count], order[count:]
        self._roots = shift[order, None] ** -0.5  # by which errors count
        ours, others = pick(problem.X, first), pick(problem.X, rest)

        def evaluate(X: object, Z: object = None) -> Gram:
            return Gram(problem.kernel, X, Z, memory=problem.memory, dtype=np.float32)

        A = _factorize(evaluate(ours), shift[first])
        some = rng.choice(len(rest), min(SAMPLE, len(rest)), replace=False)
        explained = solve_lower(A, evaluate(ours, pick(others, some)).dense())
        known = problem.diagonal[rest[some]]
        found = _fit_power(left[rest], some, known - (explained.astype(float) ** 2).sum(0))
        triangle = TriangleStrips(A)
        del A
        self._schur = SchurComplement(
            triangle, evaluate(others, ours).dense(), evaluate(others).half(), shift[rest, None],
            1.0 / (shift[rest] + found),
        )  # fmt: skip

    def solve(self, V: np.ndarray, most: int = 1000) -> np.ndarray:
        """Return about A⁻¹V: the accuracy bounds ‖V − AX‖/‖V‖, but for rounding, unless that takes ``most`` steps."""
        count, scale = self._count, units(V)
        self._begun = float(scale.max()) if self._begun is None else self._begun
        V = V[self._order] / scale
        first = self._schur.invert(V[:count])
        state = SchurIteration(self._schur, V[count:], first)
        whole, roots = norms(self._roots * V), self._roots[count:]
        whole[whole == 0] = 1.0
        left = norms(roots * state.residual) / whole
        start, stop = float(left.max()), self.steps + max(1, most)
        live = np.flatnonzero(left > self.accuracy)
        while len(live) and self.steps < stop:
            wrong = state.step(live)
            self.steps += 1
            left[live] = norms(roots * state.residual[:, live]) / whole[live]
            if self._on_step is not None:
                self._on_step(self.steps, float((left * scale).max()) / self._begun)
            live = live[(left[live] > self.accuracy) & ~wrong]
        self._gained += math.log(start / max(float(left.max()), 1e-300)) if start > self.accuracy else 0.0
        X = np.empty_like(V)
        X[self._order[count:]], image = state.solution
        X[self._order[:count]] = first - self._schur.invert(image)
        return X * scale

    def aim(self, share: float) -> None:
        """Let a few applications, as even as they can be, leave a share of what they begin with, and not much less."""
        wanted = math.log(min(share, 0.9) if share > 1e-300 else 1e-300)
        self.accuracy = min(COARSE, max(PRECISE, math.exp(wanted / math.ceil(wanted / math.log(PRECISE)))))

    def foreseen(self, tolerance: float) -> float:
        """Return how many iterations it will take to bring a residual down to a tolerance, at the rate so far."""
        return self.steps * math.log(1.0 / tolerance) / self._gained if self._gained > 0 else 0.0


def find_pivots(problem: Problem, rng: Random) -> Pivots:
    """Return what a low-rank approximation of K tells, or raise LinAlgError where float32 has no numbers for K."""
    gram = problem.gram(dtype=np.float64)
    largest = float(np.max(gram.diag()))
    if not SAFE[0] < largest < SAFE[1]:
        raise np.linalg.LinAlgError(
            f"kernel values of up to {largest:.0e} leave the range of float32; use solver='cholesky', or scale the "
            "kernel"
        )
    pivoted = PivotedCholesky.of(gram, rng)
    pivoted.grow(min(int(RANK * math.sqrt(problem.n)), problem.n - 1))
    return Pivots(pivoted.pivots, np.asarray(pivoted.residual))


def _order_points(pivots: Pivots, shift: np.ndarray, rng: Random) -> np.ndarray:
    """Return the pivots, and after them all others in an order drawn by how much of them is left, in units of noise."""
    chosen, left = pivots.points, pivots.left / shift
    keys = np.log(rng.exponential(size=len(left))) - np.log(np.maximum(left, np.finfo(np.float64).tiny))
    keys[chosen] = -np.inf
    return np.concatenate([chosen, np.argsort(keys)[len(chosen) :]])


def _factorize(gram: Gram, shift: np.ndarray) -> np.ndarray:
    """Return a matrix with L in its lower triangle, LLᵀ = K + diag(shift), shifted further where rounding asks it."""
    held: list[np.ndarray] = []

    def attempt(more: float) -> bool:
        held.clear()
        held.append(np.asarray(gram.dense()).T)
        held[0][np.diag_indices(len(shift))] += (shift + more).astype(np.float32)
        return factor(held[0])

    find_shift(attempt, float(np.finfo(np.float32).eps * np.sum(gram.diag()) / math.sqrt(len(shift))), 2.0)
    return held[0]


def _fit_power(left: np.ndarray, some: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Return e^a·left^p for all points, a and p fitted to the logarithms of what was found of some."""
    floor = 1e-6 * max(float(np.mean(found)), np.finfo(np.float64).tiny)
    x, y = np.log(np.maximum(left, floor)), np.log(np.maximum(found, floor))
    here = x[some] - x[some].mean()
    power = float(np.clip((here @ y) / max(here @ here, 1e-300), 0.0, 2.0))
    return np.exp(y.mean() + power * (x - x[some].mean()))
