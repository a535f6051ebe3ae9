"""The Newton step at all points: conjugate gradients with a factor of the matrix, or of a low-rank one, in front."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.arrays.budget import require
from mercer.arrays.namespace import add_to_diagonal, cast, einsum, namespace, put_beside, vdot
from mercer.linalg.cholesky import factorize, solve_factorized
from mercer.linalg.iteration import ConjugateGradients
from mercer.linalg.long_rows import combine_rows, multiply_rows
from mercer.linalg.pivoting import PivotedCholesky

from ..base import Problem
from ..evidence import SCALE
from ..products import Products
from .curvature import Curvature
from .method import State
from .rows import weigh_features
from .sums import WeightedLoss

RANK, DEVICE_RANK = 400, 1500  # of the low-rank preconditioner, at most: on the host, and on a device
POINTS_PER_RANK = 10
CG_STEPS = 500  # for one Newton step
BESIDE = 1e-2  # of the accuracy of a step, beside coefficients that are known at once and may be large
EXACT = 1e-13  # relative residual below which there is only rounding
Product = Callable[[Array], Array]


class GramSpace:
    """f_q = Σᵢ c_iq k(xᵢ, ·) at the training points, in coordinates c of shape (n, Q).

    With the curvature SΨSᵀ of the loss, the Newton step is δ = SΨv where (2αI + ΨSᵀKSΨ)v = S⁻¹r: symmetric, never worse
    conditioned than K over α, and without an inverse of K.  All outputs share the products with K.  Where points have
    no curvature something of r is left, ρ = r − SΨS⁻¹r: then δ = ρ/2α + SΨv, and −ΨSᵀKρ/2α is added on the right.
    """

    def __init__(self, problem: Problem, loss: WeightedLoss, direct: bool, rng: np.random.RandomState) -> None:
        self.loss, self.fit_intercept = loss, problem.fit_intercept
        self._shape = problem.n, loss.outputs
        self.preconditioner: FullPreconditioner | LowRankPreconditioner
        self._fast: Product
        self._exact: Product
        if direct:
            K = _store(problem)
            self.preconditioner = FullPreconditioner(K)
            exact = K if K.dtype.itemsize == 8 else problem.gram(dtype=np.float64)
            self._exact = exact.__matmul__
            self._fast = self._exact if exact is K else partial(_multiply, K)
        else:
            products = Products(problem)
            self._fast, self._exact = products.fast, products.exact
            self.preconditioner = LowRankPreconditioner(problem, rng)
        self._precise = self._fast == self._exact
        self.cg_steps = 0

    def judge_by(self, loss: WeightedLoss) -> GramSpace:
        """Return the space with another loss of the same points."""
        other = copy(self)
        other.loss = loss
        return other

    def hurry(self) -> bool:
        """Let products be those of single precision, where these are quicker."""
        self._precise = self._fast == self._exact
        return not self._precise

    def settle(self, state: State) -> State | None:
        """Return the function with values of exact products, which all products are from now on; None if they were."""
        if self._precise:
            return None
        self._precise = True
        values = self._exact(state.coef)
        return State(state.coef, values, state.intercept, max(vdot(state.coef, values), 0.0))

    def _multiply(self, V: Array) -> Array:
        return self._exact(V) if self._precise else self._fast(V)

    def start(self) -> State:
        """Return f = 0."""
        return State(self.loss.zeros(*self._shape), self.loss.zeros(*self._shape), np.zeros(self.loss.outputs), 0.0)

    def begin(self, coef: np.ndarray, intercept: np.ndarray) -> State:
        """Return the function of coefficients, of shape (n, Q), to start from.

        With an intercept they sum to 0 at the minimum, as residuals do, and no step changes their sum: it is taken off.
        """
        coef = coef - coef.mean(axis=0) if self.fit_intercept else coef
        placed = put_beside(self.loss.zeros(1, 1), coef)
        values = self._exact(placed)
        return State(placed, values, intercept, max(vdot(placed, values), 0.0))

    def residual(self, state: State, alpha: float) -> tuple[Array, float]:
        """Return r = R − 2αc, which −∇F = Σ rᵢk(xᵢ, ·) has as coefficients, and rᵀKr."""
        residual = self.loss.residuals(state.outputs) - 2 * alpha * state.coef
        return residual, vdot(residual, self._multiply(residual))

    def step(
        self, residual: Array, state: State, alpha: float, accuracy: float, *, above: bool = False
    ) -> tuple[Array, Array]:
        """Return δ and Kδ."""
        ridge, curvature = 2 * alpha, self.loss.curvature(state.outputs, self.fit_intercept, above=above)
        self.preconditioner.prepare(curvature.root, ridge)
        invert = _restrict(self.preconditioner, curvature)

        def apply(V: Array) -> Array:
            image = curvature.half_transposed(self._fast(curvature.half(V)))
            return ridge * V + curvature.remove_constants(image)

        rhs, left = curvature.split(residual)
        if left is not None:  # of points without curvature, whose coefficients are known at once
            image = curvature.half_transposed(self._fast(left))
            rhs = rhs - curvature.remove_constants(image) / ridge
            accuracy = accuracy * BESIDE
        solution, steps = solve_iteratively(apply, invert, rhs, accuracy, shift=ridge)
        self.cg_steps += steps
        delta = curvature.half(solution)
        if left is not None:
            delta = delta + left / ridge
        return delta, self._multiply(delta)

    def inner(self, first: Array, second: Array, values: Array) -> float:
        """Return first · K second."""
        return vdot(first, values)


class FullPreconditioner:
    """The inverse of 2αI + DKD, D a diagonal matrix for each output, by Cholesky factors in the precision of K.

    It is exact in float64 for two classes.
    """

    def __init__(self, K: Array) -> None:
        self._K = K
        self._factors: list[Array] = []

    def prepare(self, D: Array, ridge: float) -> None:
        """Factorise 2αI + DKD for each output."""
        self._factors = []  # before memory is needed again
        for d in cast(D, self._K).T:
            matrix = self._K * d
            matrix *= d[:, None]
            add_to_diagonal(matrix, ridge)
            try:
                self._factors.append(factorize(matrix))
            except np.linalg.LinAlgError:
                raise np.linalg.LinAlgError(
                    f"no factor of the kernel matrix exists with alpha = {ridge / 2:g}: it is not positive "
                    f"semi-definite to rounding. Give a larger alpha, or {SCALE}; see k.certificate()"
                ) from None

    def solve(self, V: Array) -> Array:
        """Solve with each factor."""
        columns = [solve_factorized(f, v) for f, v in zip(self._factors, cast(V, self._K).T, strict=True)]
        return cast(namespace(columns[0]).stack(columns, axis=1), V)


class LowRankPreconditioner:
    """2αI + DFFᵀD with a randomly pivoted Cholesky factor F of K, inverted in as few dimensions as F has columns."""

    def __init__(self, problem: Problem, rng: np.random.RandomState) -> None:
        self._rows = _approximate(problem, rng)  # Fᵀ
        self._parts: list[Array] = []
        self._D, self._ridge = self._rows, 1.0

    def prepare(self, D: Array, ridge: float) -> None:
        """Factorise 2αI + FᵀD²F for each output."""
        self._parts, self._D, self._ridge = [], D, ridge
        for d in D.T:
            small = cast(weigh_features(self._rows.T, d * d), D)
            # Rounding in float32 grows with the trace, and must not make the matrix indefinite.
            add_to_diagonal(small, ridge + 1e-6 * float(small.trace()) / max(len(small), 1))
            self._parts.append(factorize(small))

    def solve(self, V: Array) -> Array:
        """Apply Woodbury's identity to each output."""
        inner = cast(multiply_rows(self._rows, self._D * V), V)
        columns = [solve_factorized(factor, inner[:, j]) for j, factor in enumerate(self._parts)]
        middle = namespace(inner).stack(columns, axis=1)
        return (V - self._D * cast(combine_rows(self._rows, middle), V)) / self._ridge


def _restrict(preconditioner: FullPreconditioner | LowRankPreconditioner, curvature: Curvature) -> Product:
    """Return the preconditioner on what S does not forget and constants do not take up."""
    U, xp = curvature.constants, namespace(curvature.constants)

    def inside(V: Array) -> Array:
        return curvature.project(preconditioner.solve(curvature.project(V)))

    if U.shape[2] == 0:
        return inside
    images = xp.stack([inside(U[:, :, j]) for j in range(U.shape[2])], axis=2)
    corner = xp.linalg.inv(einsum("nqr,nqs->rs", U, images))

    def outside_constants(V: Array) -> Array:
        within = inside(V)
        return within - images @ (corner @ einsum("nqr,nq->r", U, within))

    return outside_constants


def solve_iteratively(
    apply: Product, invert: Product, rhs: Array, accuracy: float, shift: float = 0.0
) -> tuple[Array, int]:
    """Solve (A + shift·I)x = b to a relative accuracy, in the norm of the preconditioner.

    With a shift the model −bᵀAx + ½xᵀA(A + shift·I)x, which the Newton step in the space of the kernel minimises, must
    have settled too: a small residual alone does not make a step of descent, as it may hide in directions where A is
    large.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> x, steps = solve_iteratively(lambda v: A @ v, lambda v: v, np.array([[3.0], [4.0]]), 1e-12)
    >>> x.round(6).tolist(), steps
    ([[1.0], [1.0]], 2)
    """

    def flatten(function: Product) -> Callable[[Array, Any], Array]:
        return lambda V, _: function(V.reshape(rhs.shape)).reshape(-1, 1)

    state = ConjugateGradients(1.0 * rhs.reshape(-1, 1))
    first, model, settled = 0.0, 0.0, shift == 0.0
    for step in range(CG_STEPS):
        energy = float(state.turn(flatten(invert))[0])
        first = first if step else energy
        if (settled and not energy > accuracy**2 * first) or not energy > EXACT**2 * first:
            return state.x.reshape(rhs.shape), step
        if state.advance(flatten(apply))[0]:  # not positive definite along this direction
            return (state.x.reshape(rhs.shape) if step else invert(rhs)), step
        if shift:
            b, left = rhs.reshape(-1, 1), state.residual
            before, model = model, vdot(b - left - shift * state.x, 0.5 * (b - left) - b)
            settled = model < 0 and abs(model - before) <= accuracy**2 * abs(model)
    return state.x.reshape(rhs.shape), CG_STEPS


def _multiply(K: Array, V: Array) -> Array:
    return cast(K @ cast(V, K), V)


def _approximate(problem: Problem, rng: np.random.RandomState) -> Array:
    """Return Fᵀ with FFᵀ ≈ K: in float32, or in float64 on a device, which has room and time for more columns."""
    found = PivotedCholesky.of(problem.gram(dtype=np.float64), rng)
    found.grow(limit_rank(problem))
    factor = found.factor if len(found.pivots) else 0.0 * found.residual[:, None]
    return np.ascontiguousarray(factor.T, dtype=np.float32) if problem.place.on_host else factor.T


def limit_rank(problem: Problem) -> int:
    """Return how many columns the low-rank preconditioner of a problem may have."""
    most = RANK if problem.place.on_host else DEVICE_RANK
    return max(1, min(most, problem.n // POINTS_PER_RANK, problem.memory // (64 * problem.n)))


def _store(problem: Problem) -> Array:
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
    return problem.gram(dtype=np.float64 if double else np.float32).dense()
