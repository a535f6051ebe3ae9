"""A⁻¹ of A = K + αW⁻¹ for many right-hand sides, in the way a fit was found: a factor, eigenvalues, iterations.

The values k(xᵢ, x) of a point x with all training points, a column v, explain vᵀA⁻¹v of its prior variance k(x, x).  An
intercept under a flat prior takes (1 − 1ᵀA⁻¹v)²/1ᵀA⁻¹1 of that back.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.arrays import Array
from mercer.arrays.budget import require
from mercer.arrays.tensors import host_array

from ...base import Problem
from ...evidence import SCALE, warn_not_converged
from ...plan import ITERATIVE
from ..cg import ConjugateGradient
from ..cholesky import SMALL
from ..spectral import MATRICES, Spectral, SpectralPrepared
from .halves import CholeskyInverse, Inverse, SpectralInverse, join

SEED = 0  # of the pivots of a preconditioner, which change nothing but the number of iterations
FACTOR_BYTES = 8 * 1.5  # for each pair of points, of a factor and of tiles
DEVICE_BYTES = 8 * 3.0  # the same on a device, where a factor is made beside its matrix
STEPS = 100  # products with A that a solution by iterations is taken to need


class IterativeInverse(Inverse):
    """By preconditioned conjugate gradients, where no matrix fits.

    With S ≈ A⁻¹V and the residual R = V − AS, computed in float64, the sum of S∘(V + R) over a column is vᵀA⁻¹v less
    rᵀA⁻¹r: errors count squared, and never make a variance smaller than it is.
    """

    columns = 48

    def __init__(self, problem: Problem, alpha: float) -> None:
        problem = replace(problem, memory=problem.memory // 2)  # blocks of new points take the other half
        self.intercept, self._problem, self._alpha = problem.fit_intercept, problem, alpha
        self._prepared = ConjugateGradient(random_state=SEED).prepare(problem)
        self._gram, self._noise = problem.gram(dtype=np.float64), alpha * problem.noise[:, None]
        if self.intercept:
            self._eta = self._solve(np.ones((problem.n, 1)))[:, 0]
            self._total = float(self._eta.sum())

    def fit(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Iterate for all targets at once."""
        return self._iterate(V, self.intercept)

    def explain(self, V: Array) -> np.ndarray:
        """Sum up S∘(V + R)."""
        S, V, R = self._solve_twice(V)
        found = np.einsum("ij,ij->j", S, V + R)
        return found - self._left(V) ** 2 if self.intercept else found

    def explain_pairs(self, V: Array) -> np.ndarray:
        """Multiply S by V + R."""
        S, V, R = self._solve_twice(V)
        found = join(S, V, R)
        if self.intercept:
            left = self._left(V)
            found -= np.outer(left, left)
        return found

    @property
    def log_determinant(self) -> float:
        """Not known: iterations give no determinant."""
        raise NotImplementedError("conjugate gradients give no determinant")

    def _left(self, V: np.ndarray) -> np.ndarray:
        return np.asarray((1.0 - self._eta @ V) / np.sqrt(self._total))

    def _solve_twice(self, V: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return S, V and the residual R."""
        V = np.asarray(host_array(V))
        S = self._solve(V)
        product = host_array(self._gram @ self._problem.place.put(S))
        return S, V, V - product - self._noise * S

    def _solve(self, V: np.ndarray) -> np.ndarray:
        return self._iterate(V, False)[0]

    def _iterate(self, V: np.ndarray, intercept: bool) -> tuple[np.ndarray, np.ndarray]:
        found = self._prepared.solve_targets(V, np.full(V.shape[1], self._alpha), fit_intercept=intercept)
        if not found.converged:
            warn_not_converged("the posterior (cg)", found.residual, found.tolerance, found.remedy)
        return found.coef, found.intercept


class Inverses:
    """The inverses of one problem: that of the last penalty is kept, and all share what they can.

    Parameters
    ----------
    problem : Problem
        What was fitted, and where.
    solver : str
        By which solver.
    several : bool
        Whether there are several penalties, which eigenvalues serve all at once.

    Attributes
    ----------
    trusts_single : bool
        Whether a factor in float32 may be asked for.
    """

    def __init__(self, problem: Problem, solver: str, *, several: bool = False) -> None:
        self.problem, self.solver, self._several = problem, solver, several
        self.trusts_single = problem.place.on_host and problem.n > SMALL
        self._spectral: SpectralPrepared | None = None
        self._last: tuple[float, Inverse] | None = None

    @property
    def _factor_bytes(self) -> float:
        """What a factor takes where it is made."""
        return (FACTOR_BYTES if self.problem.place.on_host else DEVICE_BYTES) * self.problem.n**2

    def iterates(self, columns: int) -> bool:
        """Whether so many columns are solved for by iterations: where no factor fits, or would cost more."""
        if self.solver == "spectral" or (self._last is not None and not isinstance(self._last[1], IterativeInverse)):
            return False
        # A factor takes n³/3 operations, and a product with A two for each of its n² entries.
        return self._factor_bytes > self.problem.memory or (
            self.solver in ITERATIVE and self.problem.n > 6 * STEPS * columns
        )

    def find(self, alpha: float, *, columns: int | None = None, single: bool = False) -> Inverse:
        """Return the inverse for a penalty.

        Parameters
        ----------
        alpha : float
            The penalty.
        columns : int, optional
            How many columns will be solved for; if not given, a determinant is wanted too, which iterations do not
            give: where no factor fits that is an error.
        single : bool
            Whether float32 will do, if it is trusted.
        """
        iterates = columns is not None and self.iterates(columns)
        single = single and self.trusts_single
        if self._last is None or self._last[0] != alpha or not self._serves(self._last[1], iterates, single):
            self._last = None  # before there is another
            self._last = alpha, self._make(alpha, iterates, single)
        return self._last[1]

    @staticmethod
    def _serves(kept: Inverse, iterates: bool, single: bool) -> bool:
        """Whether the inverse that is there does what is asked."""
        return (iterates or not isinstance(kept, IterativeInverse)) and (single or kept.dtype == np.float64)

    def _make(self, alpha: float, iterates: bool, single: bool) -> Inverse:
        problem, n = self.problem, self.problem.n
        room, held = problem.memory, 8.0 * MATRICES * n * n
        if self._spectral is not None or self.solver == "spectral" or alpha == 0:
            return self._decompose(alpha)
        if iterates:
            return IterativeInverse(problem, alpha)
        if self._several and held <= room and self.solver not in ITERATIVE and problem.place.on_host:
            return self._decompose(alpha)
        require(
            self._factor_bytes, room, f"the Cholesky factor of a {n} × {n} matrix, which a likelihood needs,",
            "give more memory, fit fewer points, or take Nyström centres",
        )  # fmt: skip
        try:
            if single:
                try:
                    return CholeskyInverse(problem, alpha, np.float32)
                except (np.linalg.LinAlgError, OverflowError):
                    self.trusts_single = False
            return CholeskyInverse(problem, alpha)
        except np.linalg.LinAlgError:
            if held > room:
                raise np.linalg.LinAlgError(
                    f"K + αW⁻¹ of {problem.kernel!r} is not positive definite to rounding with alpha={alpha:.3g}, so "
                    f"that there is no variance: raise alpha, look at k.certificate(), or {SCALE}"
                ) from None
            return self._decompose(alpha)

    def _decompose(self, alpha: float) -> Inverse:
        if self._spectral is None:
            few = replace(self.problem.on_host, y=np.zeros((self.problem.n, 1)))
            self._spectral = Spectral().prepare(few)
        return SpectralInverse(self._spectral, alpha)
