"""The Newton step at all points: conjugate gradients with a factor of the matrix, or of a low-rank one, in front."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.gram import Gram
from mercer.gram.budget import require

from ._factor import GrowingFactor
from ._products import Products
from .base import Problem
from .logistic_loss import Curvature

RANK = 400  # of the low-rank preconditioner, at most
POINTS_PER_RANK = 10
CG_STEPS = 500  # for one Newton step
EXACT = 1e-13  # relative residual below which there is only rounding
Product = Callable[[np.ndarray], np.ndarray]


class Preconditioner(Protocol):
    """An approximate inverse of 2αI + DKD, D a diagonal matrix for each output."""

    def prepare(self, D: np.ndarray, ridge: float) -> None:
        """Factorise for a new diagonal of shape (n, Q), and ridge = 2α."""

    def solve(self, V: np.ndarray) -> np.ndarray:
        """Return the inverse times V, output by output."""


class GramSpace:
    """f_q = Σᵢ c_iq k(xᵢ, ·) at the training points, in coordinates c of shape (n, Q).

    With the curvature SΨSᵀ of the loss, the Newton step is δ = SΨv where (2αI + ΨSᵀKSΨ)v = S⁻¹r: symmetric, never worse
    conditioned than K over α, and without an inverse of K.  All outputs share the products with K.

    Parameters
    ----------
    problem : Problem
        Kernel and points; its targets do not matter but for their shape (n, Q).
    direct : bool
        Whether to factorise the n × n matrices, and not only a low-rank approximation of them.
    rng : RandomState
        Where randomness comes from.
    """

    def __init__(self, problem: Problem, direct: bool, rng: np.random.RandomState) -> None:
        self.problem, self.shape = problem, (problem.n, problem.y.shape[1])
        self.preconditioner: Preconditioner
        self._fast: Product
        self._exact: Product
        if direct:
            K = _stored(problem)
            self.preconditioner = FullPreconditioner(K)
            exact: Any = K if K.dtype == np.float64 else problem.gram(dtype=np.float64)
            self._fast, self._exact = partial(_product, K), partial(_product, exact)
        else:
            products = Products(problem)
            self._fast, self._exact = products.fast, products.exact
            self.preconditioner = LowRankPreconditioner(problem, rng)
        self.cg_steps = 0

    def values(self, coef: np.ndarray) -> np.ndarray:
        """Return Kc in float64."""
        return np.asarray(self._exact(coef))

    def residual(self, R: np.ndarray, coef: np.ndarray, values: np.ndarray, alpha: float) -> tuple[np.ndarray, float]:
        """Return r = R − 2αc, which −∇F = Σ rᵢk(xᵢ, ·) has as coefficients, and rᵀKr."""
        residual = R - 2 * alpha * coef
        return residual, float(np.vdot(residual, self.values(residual)))

    def step(
        self, residual: np.ndarray, curvature: Curvature, alpha: float, accuracy: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return δ and Kδ."""
        ridge = 2 * alpha
        self.preconditioner.prepare(curvature.root, ridge)
        inverse = _restricted(self.preconditioner, curvature)

        def apply(V: np.ndarray) -> np.ndarray:
            image = curvature.half_transposed(self._fast(curvature.half(V)))
            return ridge * V + curvature.remove_constants(image)

        rhs = curvature.remove_constants(curvature.divide(residual))
        solution, steps = conjugate_gradients(apply, inverse, rhs, accuracy, shift=ridge)
        self.cg_steps += steps
        delta = curvature.half(solution)
        return delta, self.values(delta)

    def inner(self, first: np.ndarray, second: np.ndarray, values: np.ndarray) -> float:
        """Return first · K second."""
        return float(np.vdot(first, values))


class FullPreconditioner:
    """A Cholesky factor for each output, in the precision of K: exact in float64 for two classes."""

    def __init__(self, K: np.ndarray) -> None:
        self._K = K
        self._factors: list[Any] = []

    def prepare(self, D: np.ndarray, ridge: float) -> None:
        """Factorise 2αI + DKD for each output."""
        self._factors = []  # before memory is needed again
        for d in D.T:
            matrix = self._K * d.astype(self._K.dtype) * d.astype(self._K.dtype)[:, None]
            matrix.flat[:: len(matrix) + 1] += ridge
            try:
                self._factors.append(cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False))
            except np.linalg.LinAlgError:
                raise np.linalg.LinAlgError(
                    f"no factor of the kernel matrix exists with alpha = {ridge / 2:g}: it is not positive "
                    "semi-definite to rounding. Give a larger alpha, or see k.certificate()"
                ) from None

    def solve(self, V: np.ndarray) -> np.ndarray:
        """Solve with each factor."""
        dtype = self._K.dtype
        columns = [cho_solve(f, v.astype(dtype), check_finite=False) for f, v in zip(self._factors, V.T, strict=True)]
        return np.column_stack(columns).astype(np.float64)


class LowRankPreconditioner:
    """2αI + DFFᵀD with a randomly pivoted Cholesky factor F of K, inverted in as few dimensions as F has columns."""

    def __init__(self, problem: Problem, rng: np.random.RandomState) -> None:
        rank = max(1, min(RANK, problem.n // POINTS_PER_RANK, problem.memory // (64 * problem.n)))
        factor = GrowingFactor(problem.gram(dtype=np.float64), problem.X, rng)
        self._F = np.ascontiguousarray(factor.grow(rank).astype(np.float32))
        self._parts: list[Any] = []
        self._D, self._ridge = np.empty((0, 0)), 1.0

    def prepare(self, D: np.ndarray, ridge: float) -> None:
        """Factorise 2αI + FᵀD²F for each output."""
        self._parts, self._D, self._ridge = [], D, ridge
        for d in D.T:
            scaled = self._F * d.astype(np.float32)[:, None]
            small = (scaled.T @ scaled).astype(np.float64)
            # Rounding in float32 grows with the trace, and must not make the matrix indefinite.
            small.flat[:: len(small) + 1] += ridge + 1e-6 * np.trace(small) / max(len(small), 1)
            self._parts.append(cho_factor(small, lower=True, overwrite_a=True, check_finite=False))

    def solve(self, V: np.ndarray) -> np.ndarray:
        """Apply Woodbury's identity to each output."""
        out = np.empty_like(V)
        for j, factor in enumerate(self._parts):
            inner = self._F.T @ (self._D[:, j] * V[:, j]).astype(np.float32)
            back = self._F @ cho_solve(factor, inner, check_finite=False).astype(np.float32)
            out[:, j] = (V[:, j] - self._D[:, j] * back) / self._ridge
        return out


def _restricted(preconditioner: Preconditioner, curvature: Curvature) -> Any:
    """Return the preconditioner on what S does not forget and constants do not take up."""
    U = curvature.constants

    def inside(V: np.ndarray) -> np.ndarray:
        return curvature.project(preconditioner.solve(curvature.project(V)))

    if U.shape[2] == 0:
        return inside
    images = np.stack([inside(U[:, :, j]) for j in range(U.shape[2])], axis=2)
    corner = np.linalg.inv(np.einsum("nqr,nqs->rs", U, images))

    def outside_constants(V: np.ndarray) -> np.ndarray:
        solved = inside(V)
        return np.asarray(solved - images @ (corner @ np.einsum("nqr,nq->r", U, solved)))

    return outside_constants


def conjugate_gradients(
    apply: Product, inverse: Product, rhs: np.ndarray, accuracy: float, shift: float = 0.0
) -> tuple[np.ndarray, int]:
    """Solve (A + shift·I)x = b to a relative accuracy, in the norm of the preconditioner.

    With a shift the model −bᵀAx + ½xᵀA(A + shift·I)x, which the Newton step in the space of the kernel minimises, must
    have settled too: a small residual alone does not make a step of descent, as it may hide in directions where A is
    large.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> x, steps = conjugate_gradients(lambda v: A @ v, lambda v: v, np.array([[3.0], [4.0]]), 1e-12)
    >>> x.round(6).tolist(), steps
    ([[1.0], [1.0]], 2)
    """
    x, residual = np.zeros_like(rhs), rhs.copy()
    z = inverse(residual)
    direction, energy = z, float(np.vdot(residual, z))
    first, model, settled = energy, 0.0, shift == 0.0
    for step in range(CG_STEPS):
        if (settled and not energy > accuracy**2 * first) or not energy > EXACT**2 * first:
            return x, step
        image = apply(direction)
        curved = float(np.vdot(direction, image))
        if not curved > 0:  # not positive definite along this direction
            return (x if step else z), step
        x = x + energy / curved * direction
        residual = residual - energy / curved * image
        if shift:
            Ax = rhs - residual - shift * x
            before, model = model, -float(np.vdot(rhs, Ax)) + 0.5 * float(np.vdot(Ax, rhs - residual))
            settled = model < 0 and abs(model - before) <= accuracy**2 * abs(model)
        z = inverse(residual)
        last, energy = energy, float(np.vdot(residual, z))
        direction = z + energy / last * direction
    return x, CG_STEPS


def _product(K: Any, V: np.ndarray) -> np.ndarray:
    return np.asarray(K @ V.astype(K.dtype, copy=False), dtype=np.float64)


def _stored(problem: Problem) -> np.ndarray:
    """Return K in float64 if it and its factors fit into half of the budget, and otherwise in float32."""
    n, q = problem.n, problem.y.shape[1]
    copies = q + 2
    double = 8 * copies * n * n <= problem.memory
    if not double:
        require(
            4 * copies * n * n,
            problem.memory,
            f"solver='newton' for {n} points and {q} function{'s' * (q > 1)}",
            "use solver='newton-cg' or 'nystroem', which need less",
        )
    gram: Gram = problem.gram(dtype=np.float64 if double else np.float32)
    return gram.dense()
