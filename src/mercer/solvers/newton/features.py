"""Newton's method in Nyström features: the features of all points, held or computed again, and the step in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace, vdot
from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows, length, pick, take
from mercer.gram import Gram
from mercer.linalg.cholesky import Factor, factorize_shifted, solve_factorized, solve_triangle

from ..base import Problem
from .gram import solve_iteratively
from .method import State
from .rows import FeatureBlocks, WeightedRows
from .secants import Secants
from .sums import LossSums

BLOCK, DEVICE_BLOCK = 2**24, 2**26  # entries of features in work at a time
SHARE = 3  # one part in so many of the budget is for features that are kept
DOUBLE = 2**28  # bytes of features up to which the host keeps them in float64
JOINT = 600  # unknowns up to which the classes' equations are solved together


class CenterValues(FeatureBlocks):
    """(k(z₁, x), …, k(z_m, x)) of all points, where the problem is, computed each time they are asked for.

    Functions of the features below are functions of these, wᵀφ = (L⁻ᵀw)ᵀk, without a triangle to solve for each point:
    a product with all points takes O(nm) operations beside the kernel, and not O(nm²).
    """

    def __init__(self, problem: Problem, centers: Rows) -> None:
        self._problem, self._centers, place = problem, centers, problem.place
        n, m = self.shape
        self._step = max(1, min(n, (BLOCK if place.on_host else DEVICE_BLOCK) // m, problem.memory // (64 * m)))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and centres."""
        return self._problem.n, length(self._centers)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield rows of the values, with their places."""
        for rows in self.parts(self._problem.n):
            part = take(self._problem.X, rows.start, rows.stop)
            yield rows, self._gram(self._centers, part).dense().T

    def parts(self, count: int) -> Iterator[slice]:
        """Yield the places of as many points at a time, of so many, as there is room for."""
        for start in range(0, count, self._step):
            yield slice(start, min(start + self._step, count))

    def some(self, positions: np.ndarray) -> Iterator[tuple[slice, Array]]:
        """Yield the values of some points, and evaluate no others."""
        for part in self.parts(len(positions)):
            yield part, self._gram(pick(self._problem.X, positions[part]), self._centers).dense()

    def apply(self, weights: Array) -> Array:
        """Return Kw, without storing K."""
        return self._gram(self._problem.X, self._centers) @ weights

    def pull(self, values: Array) -> Array:
        """Return KᵀV, without storing K."""
        return self._gram(self._centers, self._problem.X) @ values

    def _gram(self, X: Rows, Z: Rows) -> Gram:
        problem = self._problem
        return Gram(problem.kernel, X, Z, memory=problem.memory, dtype=np.float64, device=problem.device)


class NystroemFeatures(FeatureBlocks):
    """φ(x) = L⁻¹(k(z₁, x), …, k(z_m, x)) with K_zz = LLᵀ, of all points, where the problem is."""

    def __init__(self, problem: Problem, centers: Rows, triangle: Array, *, keep: bool = True) -> None:
        self._place, self._values = problem.place, CenterValues(problem, centers)
        place, (n, m) = problem.place, self.shape
        self.triangle = place.put(triangle)
        self.stored: Array | None = None
        room = problem.memory // SHARE
        if keep and 4 * n * m <= room:
            xp = namespace(self.triangle)
            double = 8 * n * m <= (min(room, DOUBLE) if place.on_host else room)
            stored = xp.empty((n, m), dtype=xp.float64 if double else xp.float32, device=self.triangle.device)
            for rows, block in self.blocks():
                stored[rows] = block
            self.stored = stored

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and centres."""
        return self._values.shape

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield rows of the features, with their places."""
        if self.stored is not None:
            for rows in self._values.parts(len(self.stored)):
                yield rows, self.stored[rows]
            return
        for rows, values in self._values.blocks():
            yield rows, solve_triangle(self.triangle, values.T, overwrite=True).T

    def coefficients(self, weights: Array) -> np.ndarray:
        """Return L⁻ᵀw, the coefficients of the function at the centres, as an array."""
        found = solve_triangle(self.triangle, self._place.put(weights), transposed=True)
        return np.asarray(host_array(found))


class FeatureSpace:
    """f_q = w_qᵀφ in coordinates w of shape (m, Q), with Newton equations that are summed over rows."""

    def __init__(self, rows: WeightedRows, fit_intercept: bool) -> None:
        self.rows, self.fit_intercept = rows, fit_intercept
        self._secants: Secants | None = None

    @property
    def loss(self) -> LossSums:
        """The loss of all rows."""
        return self.rows.loss

    def judge_by(self, loss: LossSums) -> FeatureSpace:
        """Return the space with another loss of the same rows."""
        return FeatureSpace(self.rows.judge_by(loss), self.fit_intercept)

    def hurry(self) -> bool:
        """Return False: values are exact.  A factor of steps before is of another problem."""
        self._secants = None
        return False

    def settle(self, state: State) -> State | None:
        """Return None: values are exact."""
        return None

    def start(self) -> State:
        """Return f = 0."""
        return State(*self.rows.start(), np.zeros(self.loss.outputs), 0.0)

    def residual(self, state: State, alpha: float) -> tuple[Array, float]:
        """Return ΦᵀR − 2αw and its squared norm."""
        residual = self.rows.gradient(state.outputs) - 2 * alpha * state.coef
        return residual, vdot(residual, residual)

    def begin(self, coef: Array, intercept: np.ndarray) -> State:
        """Return a function to start from."""
        return State(coef, self.rows.values(coef), intercept, vdot(coef, coef))

    def step(
        self, residual: Array, state: State, alpha: float, accuracy: float, *, above: bool = False
    ) -> tuple[Array, Array]:
        """Solve the Newton equations: by a factor while they are few, by conjugate gradients otherwise.

        A factor is kept for as long as its steps lead far.
        """
        if self.loss.joint and not self._is_joint:
            step = self._iterate(residual, state.outputs, alpha, accuracy, above)
            return step, self.rows.values(step)
        good = self._secants is not None and self._secants.follow(state.coef, residual)
        if self._secants is None or above or not good:
            self._secants = Secants(self._factorize(state.outputs, alpha, above))
            self._secants.follow(state.coef, residual)
        step = self._secants.solve(residual)
        return step, self.rows.values(step)

    def inner(self, first: Array, second: Array, values: Array) -> float:
        """Return the sum of products of the coordinates."""
        return vdot(first, second)

    @property
    def _is_joint(self) -> bool:
        """Whether functions that are judged together have few enough unknowns for one factor."""
        m, q = self.rows.shape
        return self.loss.joint and m * q <= JOINT

    def _factorize(self, outputs: Array, alpha: float, above: bool) -> Callable[[Array], Array]:
        """Return what solves the equations at some outputs."""
        (m, q), joint = self.rows.shape, self._is_joint
        H, B, G = self.rows.hessian(outputs, joint, above)
        xp = namespace(H)
        if joint:
            taken = self._take(B, G)
            factor = factorize_curvature(H - taken @ taken.T, alpha, float(H.trace()))
            return lambda V: solve_factorized(factor, V.reshape(m * q)).reshape(m, q)
        factors = [self._factorize_alone(H[i], B.reshape(m, q, q)[:, i, i], G[i, i], alpha) for i in range(q)]
        return lambda V: xp.stack([solve_factorized(factor, V[:, i]) for i, factor in enumerate(factors)], axis=1)

    def _factorize_alone(self, H: Array, sums: Array, total: Array, alpha: float) -> Factor:
        """Factorise the equations of one function that is judged alone."""
        matrix = H
        if self.fit_intercept and float(total) > 0:
            matrix = H - sums[:, None] * (sums / total)[None, :]
        return factorize_curvature(matrix, alpha, float(H.trace()))

    def _take(self, B: Array, G: Array) -> Array:
        """Return the T of what intercepts take away of the curvature, TTᵀ = BG⁻¹Bᵀ."""
        free = self.rows.shape[1] - 1 if self.fit_intercept else 0  # constants of all classes together change nothing
        if not free:
            return B[:, :0]
        xp = namespace(B)
        return xp.linalg.solve(xp.linalg.cholesky(G[:free, :free]), B[:, :free].T).T

    def _iterate(self, residual: Array, outputs: Array, alpha: float, accuracy: float, above: bool) -> Array:
        H, B, G = self.rows.hessian(outputs, False, above)
        factor, taken = factorize_curvature(H[0], alpha), self._take(B, G)

        def invert(V: Array) -> Array:
            return solve_factorized(factor, V)

        def apply(V: Array) -> Array:
            away = (taken @ (taken.T @ V.reshape(len(taken)))).reshape(V.shape)
            return 2 * alpha * V + self.rows.curve(outputs, V) - away

        return solve_iteratively(apply, invert, residual, accuracy)[0]


def factorize_curvature(H: Array, alpha: float, size: float | None = None) -> Factor:
    """Factorise H + 2αI; sums of float32 products may need a shift of their rounding to stay positive definite.

    ``size`` is the trace of what H is a difference of, whose rounding it has; its own if not given.
    """
    rounding = float(np.finfo(np.float32).eps) * (float(H.trace()) if size is None else size) / max(len(H), 1)
    try:
        return factorize_shifted(H, 2 * alpha, rounding)[0]
    except np.linalg.LinAlgError:
        raise np.linalg.LinAlgError(
            f"the Newton equations are not positive definite with alpha = {alpha:g}; give a larger alpha"
        ) from None
