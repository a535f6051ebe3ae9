"""The Newton step at all points: conjugate gradients with a factor of the matrix, or of a low-rank one, in front."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np

from mercer.arrays.budget import require
from mercer.arrays.columns import zeros
from mercer.arrays.namespace import add_to_diagonal, cast, einsum, factorised, inverted, solved, stack, vdot
from mercer.gram import Gram
from mercer.linalg.pivoting import PivotedCholesky
from mercer.losses.logistic import Curvature

from ..base import Problem
from ..products import Products

RANK, DEVICE_RANK = 400, 1500  # of the low-rank preconditioner, at most: on the host, and on a device
POINTS_PER_RANK = 10
CG_STEPS = 500  # for one Newton step
EXACT = 1e-13  # relative residual below which there is only rounding
Product = Callable[[Any], Any]  # of arrays, or of tensors on a device


class Preconditioner(Protocol):
    """An approximate inverse of 2αI + DKD, D a diagonal matrix for each output."""

    def prepare(self, D: Any, ridge: float) -> None:
        """Factorise for a new diagonal of shape (n, Q), and ridge = 2α."""

    def solve(self, V: Any) -> Any:
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
            exact: Any = K if K.dtype.itemsize == 8 else problem.gram(dtype=np.float64)
            self._fast, self._exact = partial(_product, K), exact.__matmul__
        else:
            products = Products(problem)
            self._fast, self._exact = products.fast, products.exact
            self.preconditioner = LowRankPreconditioner(problem, rng)
        self.cg_steps = 0

    def values(self, coef: Any) -> Any:
        """Return Kc in float64."""
        return self._exact(coef)

    def residual(self, R: Any, coef: Any, values: Any, alpha: float) -> tuple[Any, float]:
        """Return r = R − 2αc, which −∇F = Σ rᵢk(xᵢ, ·) has as coefficients, and rᵀKr."""
        residual = R - 2 * alpha * coef
        return residual, vdot(residual, self.values(residual))

    def step(self, residual: Any, curvature: Curvature, alpha: float, accuracy: float) -> tuple[Any, Any]:
        """Return δ and Kδ."""
        ridge = 2 * alpha
        self.preconditioner.prepare(curvature.root, ridge)
        inverse = _restricted(self.preconditioner, curvature)

        def apply(V: Any) -> Any:
            image = curvature.half_transposed(self._fast(curvature.half(V)))
            return ridge * V + curvature.remove_constants(image)

        rhs = curvature.remove_constants(curvature.divide(residual))
        solution, steps = conjugate_gradients(apply, inverse, rhs, accuracy, shift=ridge)
        self.cg_steps += steps
        delta = curvature.half(solution)
        return delta, self.values(delta)

    def inner(self, first: Any, second: Any, values: Any) -> float:
        """Return first · K second."""
        return vdot(first, values)


class FullPreconditioner:
    """A Cholesky factor for each output, in the precision of K: exact in float64 for two classes."""

    def __init__(self, K: Any) -> None:
        self._K = K
        self._factors: list[Any] = []

    def prepare(self, D: Any, ridge: float) -> None:
        """Factorise 2αI + DKD for each output."""
        self._factors = []  # before memory is needed again
        for d in cast(D, self._K).T:
            matrix = self._K * d
            matrix *= d[:, None]
            add_to_diagonal(matrix, ridge)
            try:
                self._factors.append(factorised(matrix))
            except np.linalg.LinAlgError:
                raise np.linalg.LinAlgError(
                    f"no factor of the kernel matrix exists with alpha = {ridge / 2:g}: it is not positive "
                    "semi-definite to rounding. Give a larger alpha, or see k.certificate()"
                ) from None

    def solve(self, V: Any) -> Any:
        """Solve with each factor."""
        columns = [solved(f, v) for f, v in zip(self._factors, cast(V, self._K).T, strict=True)]
        return cast(stack(columns, 1), V)


class LowRankPreconditioner:
    """2αI + DFFᵀD with a randomly pivoted Cholesky factor F of K, inverted in as few dimensions as F has columns."""

    def __init__(self, problem: Problem, rng: np.random.RandomState) -> None:
        self._F = _low_rank(problem, rng)
        self._parts: list[Any] = []
        self._D, self._ridge = self._F, 1.0

    def prepare(self, D: Any, ridge: float) -> None:
        """Factorise 2αI + FᵀD²F for each output."""
        self._parts, self._D, self._ridge = [], D, ridge
        for d in cast(D, self._F).T:
            scaled = self._F * d[:, None]
            small = cast(scaled.T @ scaled, D)
            # Rounding in float32 grows with the trace, and must not make the matrix indefinite.
            add_to_diagonal(small, ridge + 1e-6 * float(small.trace()) / max(len(small), 1))
            self._parts.append(factorised(small))

    def solve(self, V: Any) -> Any:
        """Apply Woodbury's identity to each output."""
        inner = cast(self._F.T @ cast(self._D * V, self._F), V)
        middle = stack([solved(factor, inner[:, j]) for j, factor in enumerate(self._parts)], 1)
        return (V - self._D * (self._F @ cast(middle, self._F))) / self._ridge


def _restricted(preconditioner: Preconditioner, curvature: Curvature) -> Any:
    """Return the preconditioner on what S does not forget and constants do not take up."""
    U = curvature.constants

    def inside(V: Any) -> Any:
        return curvature.project(preconditioner.solve(curvature.project(V)))

    if U.shape[2] == 0:
        return inside
    images = stack([inside(U[:, :, j]) for j in range(U.shape[2])], 2)
    corner = inverted(einsum("nqr,nqs->rs", U, images))

    def outside_constants(V: Any) -> Any:
        within = inside(V)
        return within - images @ (corner @ einsum("nqr,nq->r", U, within))

    return outside_constants


def conjugate_gradients(
    apply: Product, inverse: Product, rhs: Any, accuracy: float, shift: float = 0.0
) -> tuple[Any, int]:
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
    x, residual = zeros(rhs), rhs
    z = inverse(residual)
    direction, energy = z, vdot(residual, z)
    first, model, settled = energy, 0.0, shift == 0.0
    for step in range(CG_STEPS):
        if (settled and not energy > accuracy**2 * first) or not energy > EXACT**2 * first:
            return x, step
        image = apply(direction)
        curved = vdot(direction, image)
        if not curved > 0:  # not positive definite along this direction
            return (x if step else z), step
        x = x + energy / curved * direction
        residual = residual - energy / curved * image
        if shift:
            Ax = rhs - residual - shift * x
            before, model = model, vdot(Ax, 0.5 * (rhs - residual) - rhs)
            settled = model < 0 and abs(model - before) <= accuracy**2 * abs(model)
        z = inverse(residual)
        last, energy = energy, vdot(residual, z)
        direction = z + energy / last * direction
    return x, CG_STEPS


def _product(K: Any, V: Any) -> Any:
    return cast(K @ cast(V, K), V)


def _low_rank(problem: Problem, rng: np.random.RandomState) -> Any:
    """Return F with FFᵀ ≈ K: in float32, or in float64 on a device, which has room and time for more columns."""
    found = PivotedCholesky.of(problem.gram(dtype=np.float64), rng)
    found.grow(low_rank_of(problem))
    factor = found.factor if len(found.pivots) else 0.0 * found.residual[:, None]
    return np.ascontiguousarray(factor.astype(np.float32)) if problem.place.on_host else factor


def low_rank_of(problem: Problem) -> int:
    """Return how many columns the low-rank preconditioner of a problem may have."""
    most = RANK if problem.place.on_host else DEVICE_RANK
    return max(1, min(most, problem.n // POINTS_PER_RANK, problem.memory // (64 * problem.n)))


def _stored(problem: Problem) -> Any:
    """Return K in float64 if it and its factors fit into the budget, and otherwise in float32."""
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
