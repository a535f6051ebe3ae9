"""The Newton step in explicit features: Nyström features of all points, held or computed a block at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np
from scipy.linalg import solve_triangular

from mercer.arrays.namespace import add_to_diagonal, cast, empty, factorised, solved, stack, vdot
from mercer.formula.data import Rows, pick, take
from mercer.gram import Gram
from mercer.losses.logistic import Curvature

from ..base import Problem
from ..centers import choose_centers
from .gram import conjugate_gradients

BLOCK = 2**24  # entries of features in work at a time
JOINT = 3000  # unknowns up to which the classes' equations are solved together


class FeatureBlocks(Protocol):
    """Features of all points, a block of rows at a time."""

    @property
    def shape(self) -> tuple[int, int]:
        """Points and features."""

    def blocks(self) -> Iterable[tuple[slice, Any]]:
        """Yield rows of the features, with their places."""


class Features:
    """φ(x) = L⁻¹(k(z₁, x), …, k(z_m, x)) with K_zz = LLᵀ, of all points.

    Parameters
    ----------
    problem : Problem
        Kernel, points and memory.
    indices : array of shape (m,)
        Which points the centres z are, linearly independent to rounding.
    triangle : array of shape (m, m)
        L.
    """

    def __init__(self, problem: Problem, indices: np.ndarray, triangle: np.ndarray) -> None:
        self.problem, self.indices, self.triangle = problem, indices, triangle
        self.centers: Rows = pick(problem.X, indices)
        n, m = problem.n, len(indices)
        self._step = max(1, min(n, BLOCK // m, problem.memory // (64 * m)))
        self.stored: np.ndarray | None = None
        if 4 * n * m <= problem.memory // 3:
            double = 8 * n * m <= min(problem.memory // 3, 2**28)
            stored = np.empty((n, m), dtype=np.float64 if double else np.float32)
            for rows, block in self._computed():
                stored[rows] = block
            self.stored = stored

    @property
    def shape(self) -> tuple[int, int]:
        """Points and features."""
        return self.problem.n, len(self.indices)

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield rows of the features, with their places."""
        if self.stored is None:
            yield from self._computed()
            return
        for start in range(0, len(self.stored), self._step):
            rows = slice(start, min(start + self._step, len(self.stored)))
            yield rows, self.stored[rows]

    def coefficients(self, weights: np.ndarray) -> np.ndarray:
        """Return L⁻ᵀw, the coefficients of the function at the centres."""
        return np.asarray(solve_triangular(self.triangle, weights, lower=True, trans=1, check_finite=False))

    def _computed(self) -> Iterator[tuple[slice, np.ndarray]]:
        problem = self.problem
        for start in range(0, problem.n, self._step):
            rows = slice(start, min(start + self._step, problem.n))
            part = take(problem.X, rows.start, rows.stop)
            values = Gram(problem.kernel, self.centers, part, memory=problem.memory, dtype=np.float64).dense()
            yield rows, solve_triangular(self.triangle, values, lower=True, check_finite=False).T


class FeatureSpace:
    """f_q = w_qᵀφ in coordinates w of shape (m, Q), with Newton equations that are summed over blocks of points.

    Parameters
    ----------
    features : FeatureBlocks
        φ at all points.
    outputs : int
        Q.
    """

    def __init__(self, features: FeatureBlocks, outputs: int) -> None:
        self.features, self.shape = features, (features.shape[1], outputs)

    def values(self, weights: Any) -> Any:
        """Return Φw."""
        out = empty(weights, (self.features.shape[0], weights.shape[1]))
        for rows, block in self.features.blocks():
            out[rows] = block @ weights  # in float64, as a gradient must be
        return out

    def adjoint(self, R: Any) -> Any:
        """Return ΦᵀR."""
        total = empty(R, (self.shape[0], R.shape[1]))
        total[:] = 0.0
        for rows, block in self.features.blocks():
            total += block.T @ R[rows]
        return total

    def residual(self, R: Any, coef: Any, values: Any, alpha: float) -> tuple[Any, float]:
        """Return ΦᵀR − 2αw and its squared norm."""
        residual = self.adjoint(R) - 2 * alpha * coef
        return residual, vdot(residual, residual)

    def step(self, residual: Any, curvature: Curvature, alpha: float, accuracy: float) -> tuple[Any, Any]:
        """Solve the Newton equations: by a factor while they are few, by conjugate gradients otherwise."""
        m, q = self.shape
        if q == 1 or m * q <= JOINT:
            step = self._joint_step(residual, curvature, alpha)
        else:
            step = self._iterated_step(residual, curvature, alpha, accuracy)
        return step, self.values(step)

    def inner(self, first: Any, second: Any, values: Any) -> float:
        """Return the sum of products of the coordinates."""
        return vdot(first, second)

    def hessian(self, W: Any) -> Any:
        """Return ΦᵀWΦ for curvatures of shape (n,)."""
        total = empty(W, (self.shape[0], self.shape[0]))
        total[:] = 0.0
        for rows, block in self.features.blocks():
            total += block.T @ (block * cast(W[rows, None], block))
        return total

    def _joint_step(self, residual: Any, curvature: Curvature, alpha: float) -> Any:
        m, q = self.shape
        W = curvature.blocks()
        H = empty(W, (m * q, m * q))
        for i in range(q):
            for j in range(i + 1):
                part = self.hessian(W[:, i, j])
                H[i::q, j::q] = part
                if j < i:
                    H[j::q, i::q] = part.T
        U, size = curvature.constants, float(H.trace())
        if U.shape[2]:
            images = [self.adjoint(curvature.half(U[:, :, j])).ravel() for j in range(U.shape[2])]
            taken = stack(images, 1)
            H -= taken @ taken.T
        return solved(_factor(H, alpha, size), residual.ravel()).reshape(m, q)

    def _iterated_step(self, residual: Any, curvature: Curvature, alpha: float, accuracy: float) -> Any:
        factors = [_factor(self.hessian(curvature.root[:, j] ** 2), alpha) for j in range(self.shape[1])]

        def inverse(V: Any) -> Any:
            return stack([solved(f, v) for f, v in zip(factors, V.T, strict=True)], 1)

        def apply(V: Any) -> Any:
            bent = curvature.remove_constants(curvature.half_transposed(self.values(V)))
            return 2 * alpha * V + self.adjoint(curvature.half(bent))

        return conjugate_gradients(apply, inverse, residual, accuracy)[0]


def _factor(H: Any, alpha: float, size: float | None = None) -> Any:
    """Factorise H + 2αI; sums of float32 products may need a shift of their rounding to stay positive definite.

    ``size`` is the trace of what H is a difference of, whose rounding it has; its own if not given.
    """
    shift, size = 0.0, float(H.trace()) if size is None else size
    for _ in range(8):
        matrix = 1.0 * H
        add_to_diagonal(matrix, 2 * alpha + shift)
        try:
            return factorised(matrix)
        except np.linalg.LinAlgError:
            shift = max(10 * shift, float(np.finfo(np.float32).eps) * size / len(H))
    raise np.linalg.LinAlgError(
        f"the Newton equations are not positive definite with alpha = {alpha:g}; give a larger alpha"
    )


def choose_features(problem: Problem, n_centers: int, rng: np.random.RandomState) -> Any:
    """Return Nyström features of centres found by randomly pivoted Cholesky among 8 random points for each."""
    indices, triangle = choose_centers(problem, n_centers, rng)
    if not problem.place.on_host:
        from .device import DeviceFeatures

        return DeviceFeatures(problem, indices, triangle)
    return Features(problem, indices, triangle)
