"""Ridge by Cholesky: a factor in float32, refined to the accuracy of float64 by a few conjugate gradient steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Array
from mercer.arrays.budget import require, show_bytes
from mercer.arrays.namespace import namespace
from mercer.arrays.tensors import host_array
from mercer.gram import Gram
from mercer.linalg.cholesky import find_shift
from mercer.linalg.device import TensorTriangles
from mercer.linalg.triangles import SharedTriangles
from mercer.messages import warn_caller

from ..base import Prepared, PreparedRidge, Problem, Solution
from ..costs import Cost, PlannedSolver, Sizes
from ..evidence import RESIDUAL, SCALE, is_converged
from ..residuals import penalties
from .refinement import Refined, System, refine

SMALL = 1500  # points; below, float64 takes no time worth saving
QUICK: dict[str, Any] = {
    "patience": 8,
    "max_iter": 60,
}  # of refinement, when a factor in float64 is there as the better way
PATIENT: dict[str, Any] = {"patience": 30, "max_iter": 300}  # when there is no other way
PROBES = 8  # points whose leave-one-out residual is checked after a factor in float32
ROUGH = 16384  # points from which a factor in float32 beside a matrix in float64 pays on a device
LOO_ACCURACY = 1e-2  # relative; a larger difference there is warned about
COLUMNS = 8  # arrays of the size of y that refinement holds


@dataclass(frozen=True)
class Cholesky(PlannedSolver):
    """Solve by the Cholesky factor of A = K + αW⁻¹, in the memory of one matrix.

    The factor is computed in float32 (n³/3 operations at twice the speed and half the memory of float64) and serves as
    the preconditioner of conjugate gradients on the true matrix, which is evaluated in float64 tile by tile and never
    stored.  A handful of steps brings ‖y − b − Ac‖ under ``tolerance``·‖αW⁻¹c‖.  Where the factor in float32 fails, a
    shift relative to the trace is added to the factor, never to the problem; where refinement stalls, the factor is
    computed in float64.

    Parameters
    ----------
    precision : {"auto", "single", "double"}, default="auto"
        The precision of the factor.  "auto" takes double for up to 1,500 points, for leave-one-out residuals, and for
        kernels without a native form, whose entries are not to be evaluated again and again, as long as that fits into
        memory, and single otherwise.  On a device it keeps the matrix in float64 where that fits, and from 16,384
        points on the factor alone is in single, on tensor cores.
    tolerance : float, default=1e-8
        The relative residual ‖y − b − Ac‖ / ‖αW⁻¹c‖ to aim at.  Where rounding in float64 does not allow it, a solution
        counts as found up to a certificate of 1e-5, and not beyond.

    Notes
    -----
    Leave-one-out residuals cᵢ/Gᵢᵢ take the diagonal of A⁻¹ from the inverse of the factor, n³/3 operations more.  In
    double they are as exact as the coefficients.  In single Gᵢᵢ, unlike the coefficients, is only as exact as the
    factor: for kernels with k(x, x) = 1 about 1e-6/α, which is 1e-6 at α = 1 and 1e-3 at α = 1e-3.  Eight of them are
    computed accurately for comparison, and a difference of more than 1 % is warned about.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.base import Problem
    >>> from mercer.solvers.ridge.cholesky import Cholesky
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [3.0], [2.0]])
    >>> solution = Cholesky().prepare(Problem(Gaussian(), X, y, fit_intercept=True)).solve(0.5, loo=True)
    >>> solution.coef.round(3).ravel().tolist(), solution.intercept.round(3).tolist()
    ([-1.045, 1.358, -0.313], [1.787])
    >>> solution.loo.round(3).ravel().tolist()
    [-1.764, 1.5, -0.527]
    """

    precision: Literal["auto", "single", "double"] = "auto"
    tolerance: float = 1e-8

    name = "cholesky"

    def cost(self, sizes: Sizes) -> Cost:
        """Return what a fit would take."""
        n, speed = float(sizes.n), sizes.speed
        if sizes.on_host:
            double = sizes.loo or not sizes.native or n <= SMALL
            memory, rough = 4.0 * n * n + min(8.0 * n * n, sizes.tile) + 4 * sizes.vectors, not double
        else:
            double = 8 * TensorTriangles.matrices * n * n <= sizes.budget
            memory = (8.0 if double else 4.0) * TensorTriangles.matrices * n * n + 4 * sizes.vectors
            rough = double and n >= ROUGH and not sizes.loo
        cubes = sizes.alphas * n**3 / 3 * (3 if sizes.loo else 1)
        solving = cubes + 4 * n * n * sizes.columns, speed.factor if rough else speed.double
        return Cost(memory, ((sizes.entry * n * n / 2, speed.entries), solving), speed)

    def explain(self, sizes: Sizes) -> str:
        """Return why this is the quickest."""
        n, limit = sizes.n, show_bytes(sizes.budget)
        kind = "float64" if n <= SMALL or not (sizes.on_host and sizes.native) else "float32"
        return f"the {n} × {n} matrix in {kind} fits into the budget of {limit}, and nothing is quicker"

    def prepare(self, problem: Problem) -> Prepared:
        """Evaluate the matrix."""
        if self.precision not in ("auto", "single", "double"):
            raise ValueError(f"precision must be 'auto', 'single' or 'double', got {self.precision!r}")
        if not self.tolerance > 0:
            raise ValueError(f"tolerance must be positive, got {self.tolerance!r}")
        return CholeskyPrepared(problem, self)


class CholeskyPrepared(PreparedRidge):
    """A problem with its matrix in memory.

    Parameters
    ----------
    problem : Problem
        The problem.
    options : Cholesky
        Precision and tolerance.
    """

    name = "Cholesky"

    def __init__(self, problem: Problem, options: Cholesky) -> None:
        self.problem = problem
        self.options = options
        place = problem.place
        self._y, self._noise = place.put(problem.y), place.put(problem.noise)[:, None]
        self._store: type[SharedTriangles | TensorTriangles] = SharedTriangles if place.on_host else TensorTriangles
        require(
            self._bytes(np.float32 if options.precision != "double" else np.float64),
            problem.memory,
            f"the Cholesky factor of a {problem.n} × {problem.n} matrix{'' if place.on_host else f' on {place}'}",
            "give more memory, or use the conjugate gradient or the Nyström solver",
        )
        self._gram = problem.gram(dtype=np.float64)
        double = options.precision == "double" or (
            options.precision == "auto"
            and (problem.n <= SMALL or not self._gram.cheap or not place.on_host)
            and self._fits_double
        )
        try:
            self._matrix = self._evaluate(np.float64 if double else np.float32)
        except OverflowError:
            if double or options.precision == "single" or not self._fits_double:
                raise
            self._matrix = self._evaluate(np.float64)  # values beyond 3e38
        self._factored: tuple[float, bool] | None = None  # the α whose factor is there, and whether it is inverted

    def attempt(self, alpha: Any, *, loo: bool = False) -> Solution:
        """Solve for one α per output, with leave-one-out residuals if asked; equal penalties share a factor."""
        alpha = penalties(alpha, self._y.shape[1])
        if (alpha == 0).any():
            raise ValueError(
                "Cholesky needs alpha > 0, got 0: the kernel matrix alone may be singular. Give a positive alpha, or "
                "use the spectral solver, which takes the limit of alpha to 0"
            )
        if loo and self.options.precision == "auto" and self._fits_double:
            self._to_double()
        xp = namespace(self._y)
        coef, intercept = xp.empty_like(self._y), np.empty(len(alpha))
        left_out = xp.empty_like(self._y) if loo else None
        residual, n_iter, parts = 0.0, 0, np.empty((2, len(alpha)))
        for value in np.unique(alpha):
            columns = np.flatnonzero(alpha == value)
            found = self._solve_one(float(value), self._y[:, columns], invert=loo)
            coef[:, columns], intercept[columns] = found.coef, found.intercept
            with np.errstate(over="ignore"):
                parts[:, columns] = value * found.parts
            residual, n_iter = np.maximum(residual, found.residuals.max()), max(n_iter, found.n_iter)
            if left_out is not None:
                left_out[:, columns] = self._leave_one_out(float(value), found)
        # A factor in float64 is a direct solution: what follows it is one check.
        n_iter = 0 if self._matrix.dtype == np.float64 and n_iter == 1 else n_iter
        tolerance = max(self.options.tolerance, RESIDUAL)
        found_coef, errors = (
            np.asarray(host_array(coef)),
            None if left_out is None else np.asarray(host_array(left_out)),
        )
        return Solution(
            self.problem.X, found_coef, intercept, alpha, float(residual), tolerance, n_iter, errors, self._remedy(),
            parts,
        )  # fmt: skip

    def loo(self, alphas: Any) -> np.ndarray:
        """Return the leave-one-out residuals of many penalties, one for all outputs or one for each: (p, n, q)."""
        return np.array([self.attempt(alpha, loo=True).loo for alpha in alphas])

    # -- one penalty ----------------------------------------------------------------------------------------------

    def _solve_one(self, alpha: float, y: Array, constant: bool | None = None, invert: bool = False) -> Refined:
        constant = self.problem.fit_intercept if constant is None else constant
        self._factor(alpha, invert)
        double = self.double
        system = System(self._matrix if double else self._gram, alpha * self._noise, constant, self._matrix.diagonal)
        last = (double and not self._rough) or not self._fits_double or self.options.precision == "single"
        limits = PATIENT if last and not double else QUICK
        found = refine(system, y, self._matrix.solve, self.options.tolerance, **limits)
        if last or is_converged(found.residuals.max(), self.options.tolerance):
            return found
        if self._rough:
            self._be_precise()
        else:
            self._to_double()
        return self._solve_one(alpha, y, constant, invert)

    def _factor(self, alpha: float, invert: bool = False) -> None:
        if self._factored == (alpha, invert):
            return
        self._factored = None
        diagonal = alpha * self._noise[:, 0]

        def attempt(shift: float) -> bool:
            return self._matrix.factor(diagonal + shift, invert=invert)

        if not self.double:
            least = float(np.finfo(np.float32).eps) * self._matrix.trace / np.sqrt(self.problem.n)
            try:
                find_shift(attempt, least, 2.0)
            except np.linalg.LinAlgError:
                raise np.linalg.LinAlgError(
                    f"no factor of the kernel matrix exists for alpha = {alpha:g}: {self.problem.kernel!r} is far from "
                    "positive semi-definite on this data. See k.certificate(), or use the spectral solver"
                ) from None
        elif not attempt(0.0) and not (self._be_precise() and attempt(0.0)):
            raise np.linalg.LinAlgError(
                f"K + αW⁻¹ is not positive definite in float64 for alpha = {alpha:g}: the kernel matrix is singular or "
                "not positive semi-definite. Give a larger alpha, use the spectral solver, which takes singular ones, "
                f"or {SCALE}"
            )
        self._factored = alpha, invert

    def _leave_one_out(self, alpha: float, found: Refined) -> Array:
        coef, eta = found.coef, found.eta
        xp = namespace(coef)
        if eta is not None and not self.double:  # only as exact as the factor
            eta = self._solve_one(alpha, xp.ones_like(coef[:, :1]), constant=False, invert=True).coef
        probes = np.unique(np.linspace(0, len(coef) - 1, PROBES).astype(int))
        checked = None
        if self._matrix.dtype == np.float32:
            units = xp.zeros((len(coef), len(probes)), dtype=xp.float64, device=coef.device)
            units[probes, np.arange(len(probes))] = 1.0
            solved = self._solve_one(alpha, units, constant=False, invert=True).coef
            checked = host_array(solved[probes, np.arange(len(probes))])
        self._factor(alpha, invert=True)
        diagonal = self._matrix.inverse_diagonal()[:, None]
        self._factored = None
        if checked is not None:
            worst = float(np.abs(host_array(diagonal[probes, 0]) / checked - 1.0).max())
            if worst > LOO_ACCURACY:
                memory = show_bytes(self._bytes(np.float64))
                warn_caller(
                    f"Cholesky: with a factor in float32 and alpha = {alpha:g} leave-one-out residuals are off by "
                    f"{worst:.0%}; use precision='double' ({memory} of memory), the spectral solver, or a larger alpha",
                    ConvergenceWarning,
                )
        if eta is not None:
            diagonal = diagonal - eta**2 / eta.sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = coef / diagonal
        ratio[~xp.isfinite(ratio)] = np.nan
        return ratio

    # -- precision and memory -------------------------------------------------------------------------------------

    def _bytes(self, dtype: Any) -> int:
        n, q = self._y.shape
        data = 4 * getattr(self.problem.X, "nbytes", 0)  # copies that Gram matrices hold, in float64
        return self._store.matrices * n * n * np.dtype(dtype).itemsize + COLUMNS * n * (q + 1) * 8 + int(data)

    @property
    def double(self) -> bool:
        """Whether the factor is in float64."""
        return self._matrix.dtype == np.float64

    @property
    def _fits_double(self) -> bool:
        return self._bytes(np.float64) <= self.problem.memory

    def _evaluate(self, dtype: Any) -> SharedTriangles | TensorTriangles:
        gram: Gram = self._gram if dtype == np.float64 else self.problem.gram(dtype=dtype)
        if self.problem.place.on_host:
            return SharedTriangles(gram.dense())
        rough = dtype == np.float64 and self.options.precision == "auto" and self.problem.n >= ROUGH
        return TensorTriangles(gram.dense(), rough=rough)

    @property
    def _rough(self) -> bool:
        """Whether factors are in less than the precision of the matrix."""
        return isinstance(self._matrix, TensorTriangles) and self._matrix.rough

    def _be_precise(self) -> bool:
        """Make factors as precise as the matrix from now on, and say whether they were not."""
        if not (isinstance(self._matrix, TensorTriangles) and self._matrix.rough):
            return False
        self._matrix.rough, self._factored = False, None
        return True

    def _to_double(self) -> None:
        if self._matrix.dtype == np.float64:
            return
        del self._matrix  # before the larger one is there
        self._factored = None
        self._matrix = self._evaluate(np.float64)

    def _remedy(self) -> str:
        if self._matrix.dtype == np.float64:
            return (
                "alpha is too small for this kernel matrix: raise alpha, lower the scale of the kernel, use the "
                f"spectral solver, or {SCALE}"
            )
        if self.options.precision == "single":
            return "use precision='auto' or 'double', or raise alpha"
        needed = show_bytes(self._bytes(np.float64))
        return f"a factor in float64 would do but needs {needed} of memory; give that, or raise alpha"
