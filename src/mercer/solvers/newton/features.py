"""Newton's method in Nyström features: the features of all points, held or computed again, and the step in them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.arrays import Array
from mercer.arrays.budget import require
from mercer.arrays.namespace import add_to_diagonal, factorised, namespace, solved, vdot
from mercer.arrays.tensors import host_array, is_tensor
from mercer.features.nystroem import independent
from mercer.formula.data import Rows, pick, take
from mercer.gram import Gram

from ..base import Problem
from ..sampling import some_rows
from .gram import conjugate_gradients, pivot
from .labels import LossSums
from .method import State
from .rows import LabelledRows

BLOCK, DEVICE_BLOCK = 2**24, 2**26  # entries of features in work at a time
SHARE = 3  # one part in so many of the budget is for features that are kept
DOUBLE = 2**28  # bytes of features up to which the host keeps them in float64
POINTS_PER_CENTRE = 8  # among which pivoting looks for centres
JOINT = 3000  # unknowns up to which the classes' equations are solved together


class Features:
    """φ(x) = L⁻¹(k(z₁, x), …, k(z_m, x)) with K_zz = LLᵀ, of all points, where the problem is.

    Parameters
    ----------
    problem : Problem
        Kernel, points and memory.
    centers : collection of m objects
        The centres z, linearly independent to rounding.
    triangle : array of shape (m, m)
        L.
    keep : bool
        Whether to keep features if there is room: in float64, or in float32.
    """

    def __init__(self, problem: Problem, centers: Rows, triangle: Array, *, keep: bool = True) -> None:
        self._problem, self._centers, place = problem, centers, problem.place
        self.triangle = place.put(triangle)
        n, m = self.shape
        self._step = max(1, min(n, (BLOCK if place.on_host else DEVICE_BLOCK) // m, problem.memory // (64 * m)))
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
        """Rows and features."""
        return self._problem.n, len(self.triangle)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield rows of the features, with their places."""
        problem, n = self._problem, self.shape[0]
        for start in range(0, n, self._step):
            rows = slice(start, min(start + self._step, n))
            if self.stored is not None:
                yield rows, self.stored[rows]
                continue
            values = _gram(problem, self._centers, take(problem.X, rows.start, rows.stop)).dense()
            yield rows, solve_triangle(self.triangle, values).T

    def coefficients(self, weights: Array) -> np.ndarray:
        """Return L⁻ᵀw, the coefficients of the function at the centres, as an array."""
        return np.asarray(host_array(solve_triangle(self.triangle.T, self._problem.place.put(weights), lower=False)))


class FeatureSpace:
    """f_q = w_qᵀφ in coordinates w of shape (m, Q), with Newton equations that are summed over rows.

    Parameters
    ----------
    rows : LabelledRows
        Labelled rows in features, wherever they are.
    fit_intercept : bool
        Whether there is an intercept.
    """

    def __init__(self, rows: LabelledRows, fit_intercept: bool) -> None:
        self.rows, self.fit_intercept = rows, fit_intercept

    @property
    def loss(self) -> LossSums:
        """The loss of all rows."""
        return self.rows.loss

    def start(self) -> State:
        """Return f = 0."""
        return State(*self.rows.start(), np.zeros(self.loss.outputs), 0.0)

    def residual(self, state: State, alpha: float) -> tuple[Array, float]:
        """Return ΦᵀR − 2αw and its squared norm."""
        residual = self.rows.gradient(state.outputs) - 2 * alpha * state.coef
        return residual, vdot(residual, residual)

    def step(self, residual: Array, outputs: Array, alpha: float, accuracy: float) -> tuple[Array, Array]:
        """Solve the Newton equations: by a factor while they are few, by conjugate gradients otherwise."""
        m, q = self.rows.shape
        joint = q == 1 or m * q <= JOINT
        H, B, G = self.rows.hessian(outputs, joint)
        free = 0 if not self.fit_intercept else max(q - 1, 1)  # constants of all classes together change nothing
        xp = namespace(H)
        # What intercepts take away of the curvature is BG⁻¹Bᵀ.
        taken = xp.linalg.solve(xp.linalg.cholesky(G[:free, :free]), B[:, :free].T).T if free else B[:, :0]
        if joint:
            factor = _factorize(H - taken @ taken.T, alpha, float(H.trace()))
            step = solved(factor, residual.reshape(m * q)).reshape(m, q)
        else:
            step = self._iterate(residual, outputs, alpha, accuracy, H, taken)
        return step, self.rows.values(step)

    def inner(self, first: Array, second: Array, values: Array) -> float:
        """Return the sum of products of the coordinates."""
        return vdot(first, second)

    def _iterate(self, residual: Array, outputs: Array, alpha: float, accuracy: float, H: Array, taken: Array) -> Array:
        factors, xp = [_factorize(part, alpha) for part in H], namespace(H)

        def invert(V: Array) -> Array:
            return xp.stack([solved(f, v) for f, v in zip(factors, V.T, strict=True)], axis=1)

        def apply(V: Array) -> Array:
            away = (taken @ (taken.T @ V.reshape(len(taken)))).reshape(V.shape)
            return 2 * alpha * V + self.rows.curve(outputs, V) - away

        return conjugate_gradients(apply, invert, residual, accuracy)[0]


def choose_centers(problem: Problem, n_centers: int, rng: np.random.RandomState) -> tuple[np.ndarray, Array]:
    """Return which points are centres, found by randomly pivoted Cholesky among 8 random points for each, and L."""
    count, place = min(n_centers, problem.n), problem.place
    require(
        40.0 * count**2,
        problem.memory // 2,
        f"a model of {count} centres" + ("" if place.on_host else f" on {place}"),
        f"ask for at most {int((problem.memory / 80) ** 0.5)} centres, or give more memory",
    )
    affordable = int(problem.memory / 4 / (8 * count))
    some = some_rows(rng, problem.n, max(count, min(max(POINTS_PER_CENTRE * count, 1000), affordable)))
    points = pick(problem.X, some)
    indices = some[pivot(_gram(problem, points), points, count, rng)[0]]
    if len(indices) == 0:
        raise ValueError(f"{problem.kernel!r} is 0 on all of the data, so that no centre explains anything")
    K = _gram(problem, pick(problem.X, indices)).dense()
    if is_tensor(K):
        from ..ridge.device.nystroem import JITTER, _factor

        return indices, _factor(K, JITTER * float(K.trace()))
    kept, triangle = independent(K)
    return indices[kept], triangle


def solve_triangle(A: Array, V: Array, lower: bool = True) -> Array:
    """Return A⁻¹V of a triangular matrix."""
    if is_tensor(A):
        from torch.linalg import solve_triangular as solve_tensor

        return solve_tensor(A, V, upper=not lower)
    from scipy.linalg import solve_triangular

    return solve_triangular(A, V, lower=lower, check_finite=False)


def _gram(problem: Problem, X: Rows, Z: Rows | None = None) -> Gram:
    return Gram(problem.kernel, X, Z, memory=problem.memory, dtype=np.float64, device=problem.device)


def _factorize(H: Array, alpha: float, size: float | None = None) -> Array:
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
