"""A⁻¹ of A = K + αW⁻¹ for many right-hand sides, in the way a fit was found: a factor, eigenvalues, iterations.

The values k(xᵢ, x) of a point x with all training points, a column v, explain vᵀA⁻¹v of its prior variance k(x, x).  An
intercept under a flat prior takes (1 − 1ᵀA⁻¹v)²/1ᵀA⁻¹1 of that back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np
from scipy.linalg import lapack

from mercer.arrays.budget import require
from mercer.arrays.tensors import host_array
from mercer.linalg.blocked import LARGE, factor

from ...base import Problem
from ...evidence import SCALE, warn_not_converged
from ..cg import ConjugateGradient
from ..spectral import MATRICES, Spectral, SpectralPrepared

FACTOR_BYTES = 8 * 1.5  # for each pair of points, of a factor and of tiles
SEED = 0  # of the pivots of a preconditioner, which change nothing but the number of iterations


class Inverse(ABC):
    """A⁻¹ of one penalty."""

    columns = 3  # arrays of the size of its right-hand sides that it holds

    @abstractmethod
    def fit(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients c and intercepts b of the fits to columns of targets."""

    @abstractmethod
    def explain(self, V: np.ndarray) -> np.ndarray:
        """Return what each column of V explains of its variance; V may be overwritten."""

    @abstractmethod
    def explain_pairs(self, V: np.ndarray) -> np.ndarray:
        """Return what the columns of V explain of their covariances; V may be overwritten."""

    @property
    @abstractmethod
    def log_determinant(self) -> float:
        """log|A|, and log 1ᵀA⁻¹1 more with an intercept."""


class Halved(Inverse):
    """An inverse that is a square, A⁻¹ = HᵀH."""

    intercept: bool
    _one: np.ndarray  # H1
    _total: float  # 1ᵀA⁻¹1

    @abstractmethod
    def halve(self, V: np.ndarray) -> np.ndarray:
        """Return HV; V may be overwritten."""

    def explain(self, V: np.ndarray) -> np.ndarray:
        """Sum up the squares of each column of HV."""
        half = self.halve(V)
        found = np.einsum("ij,ij->j", half, half)
        return found - self._left(half) ** 2 if self.intercept else found

    def explain_pairs(self, V: np.ndarray) -> np.ndarray:
        """Multiply HV by itself."""
        half = self.halve(V)
        found = half.T @ half
        if self.intercept:
            left = self._left(half)
            found -= np.outer(left, left)
        return np.asarray(found)

    def _left(self, half: np.ndarray) -> np.ndarray:
        """Return (1 − 1ᵀA⁻¹v)/√(1ᵀA⁻¹1) of each column."""
        return np.asarray((1.0 - self._one @ half) / np.sqrt(self._total))


class CholeskyInverse(Halved):
    """By the factor of A in float64, A = LLᵀ and H = L⁻¹."""

    def __init__(self, problem: Problem, alpha: float) -> None:
        n, self.intercept = problem.n, problem.fit_intercept
        A = np.ascontiguousarray(problem.gram(dtype=np.float64).dense())
        A[np.diag_indices(n)] += alpha * problem.noise
        self._L = A.T  # the same matrix, in the order that LAPACK works on in place
        definite = factor(self._L) if n > LARGE else lapack.dpotrf(self._L, lower=1, clean=0, overwrite_a=1)[1] == 0
        if not definite:
            raise np.linalg.LinAlgError(f"K + αW⁻¹ of {problem.kernel!r} is not positive definite to rounding")
        self._one = self.halve(np.ones((n, 1)))[:, 0]
        self._total = float(self._one @ self._one)

    def halve(self, V: np.ndarray) -> np.ndarray:
        """Return L⁻¹V."""
        return np.asarray(lapack.dtrtrs(self._L, np.asfortranarray(V), lower=1, overwrite_b=1)[0])

    def solve(self, V: np.ndarray) -> np.ndarray:
        """Return A⁻¹V."""
        return np.asarray(lapack.dpotrs(self._L, np.asfortranarray(V), lower=1)[0])

    def fit(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solve for all targets, and for the intercept."""
        coef, b = self.solve(V), np.zeros(V.shape[1])
        if self.intercept:
            eta = self.solve(np.ones((len(V), 1)))
            b = coef.sum(axis=0) / self._total
            coef -= eta * b
        return coef, b

    @property
    def log_determinant(self) -> float:
        """Twice the logarithms of the diagonal of L."""
        found = 2.0 * float(np.log(self._L.diagonal()).sum())
        return found + float(np.log(self._total)) if self.intercept else found


class SpectralInverse(Halved):
    """By the eigenvalues of W^½KW^½ = QΛQᵀ, H = (Λ + α)^-½QᵀW^½; also in the limit α → 0, where K may be singular."""

    def __init__(self, prepared: SpectralPrepared, alpha: float) -> None:
        problem = prepared.problem
        self.intercept, self._prepared, self._alpha = problem.fit_intercept, prepared, alpha
        inverse = prepared.inverse(alpha)
        if (inverse < 0).any():
            raise ValueError(
                f"{problem.kernel!r} is no kernel of a Gaussian process: K + αW⁻¹ has the negative eigenvalue "
                f"{1.0 / inverse.min():.2g} with alpha={alpha:.3g}; look at k.certificate(), or raise alpha above it"
            )
        self._roots, self._inverse = np.sqrt(inverse)[:, None], inverse
        self._weights = np.ones(problem.n) if problem.weights is None else np.sqrt(problem.weights)
        self._log_weights = 2.0 * float(np.log(self._weights).sum())
        self._one = self.halve(np.ones((problem.n, 1)))[:, 0]
        # A constant that the kernel cannot fit is known exactly where there is no noise.
        self._total = np.inf if prepared.frees_intercept(alpha) else float(self._one @ self._one)

    def halve(self, V: np.ndarray) -> np.ndarray:
        """Return (Λ + α)^-½QᵀW^½V."""
        return np.asarray(self._roots * (self._prepared.eigenvectors.T @ (self._weights[:, None] * V)))

    def fit(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solve in the coordinates of the eigenvectors."""
        return self._prepared.fit_targets(V, self._alpha)

    @property
    def log_determinant(self) -> float:
        """The logarithms of eigenvalues, less those of weights."""
        if not self._inverse.all():
            raise ValueError(
                f"alpha={self._alpha:.3g} is lost in the rounding of the kernel matrix, which is singular, so that no "
                "density of the targets can be told; raise alpha"
            )
        found = -float(np.log(self._inverse).sum()) - self._log_weights
        return found + float(np.log(self._total)) if self.intercept else found


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

    def explain(self, V: np.ndarray) -> np.ndarray:
        """Sum up S∘(V + R)."""
        S, right = self._both(V)
        found = np.einsum("ij,ij->j", S, right)
        return found - self._left(V) ** 2 if self.intercept else found

    def explain_pairs(self, V: np.ndarray) -> np.ndarray:
        """Multiply S by V + R."""
        S, right = self._both(V)
        found = S.T @ right
        found = 0.5 * (found + found.T)
        if self.intercept:
            left = self._left(V)
            found -= np.outer(left, left)
        return np.asarray(found)

    @property
    def log_determinant(self) -> float:
        """Not known: iterations give no determinant."""
        raise NotImplementedError("conjugate gradients give no determinant")

    def _left(self, V: np.ndarray) -> np.ndarray:
        return np.asarray((1.0 - self._eta @ V) / np.sqrt(self._total))

    def _both(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        S = self._solve(V)
        return S, 2.0 * V - host_array(self._gram @ S) - self._noise * S

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
        What was fitted, on the host.
    solver : str
        By which solver.
    several : bool
        Whether there are several penalties, which eigenvalues serve all at once.
    """

    def __init__(self, problem: Problem, solver: str, *, several: bool = False) -> None:
        self.problem, self._several = problem, several
        self.solver = solver
        self._spectral: SpectralPrepared | None = None
        self._last: tuple[float, bool, Inverse] | None = None

    @property
    def iterates(self) -> bool:
        """Whether no factor is made unless a determinant is asked for."""
        if self.solver == "spectral":
            return False
        return self.solver == "cg" or FACTOR_BYTES * self.problem.n**2 > self.problem.memory

    def find(self, alpha: float, *, direct: bool = False) -> Inverse:
        """Return the inverse for a penalty; a direct one has a determinant, and raises where it does not fit."""
        if self._last is None or self._last[0] != alpha or (direct and not self._last[1]):
            self._last = None  # before there is another
            made = self._make(alpha, direct)
            self._last = alpha, not isinstance(made, IterativeInverse), made
        return self._last[2]

    def _make(self, alpha: float, direct: bool) -> Inverse:
        problem, n = self.problem, self.problem.n
        room = problem.memory
        if self._spectral is not None or self.solver == "spectral" or alpha == 0:
            return self._decompose(alpha)
        if self._several and 8.0 * MATRICES * n * n <= room and self.solver != "cg":
            return self._decompose(alpha)
        needed = FACTOR_BYTES * n * n
        if not direct and self.iterates:
            return IterativeInverse(problem, alpha)
        require(
            needed, room, f"the Cholesky factor of a {n} × {n} matrix, which a likelihood needs,",
            "give more memory, fit fewer points, or take Nyström centres",
        )  # fmt: skip
        try:
            return CholeskyInverse(problem, alpha)
        except np.linalg.LinAlgError:
            if 8.0 * MATRICES * n * n > room:
                raise np.linalg.LinAlgError(
                    f"K + αW⁻¹ of {problem.kernel!r} is not positive definite to rounding with alpha={alpha:.3g}, so "
                    f"that there is no variance: raise alpha, look at k.certificate(), or {SCALE}"
                ) from None
            return self._decompose(alpha)

    def _decompose(self, alpha: float) -> Inverse:
        if self._spectral is None:
            few = replace(self.problem, y=np.zeros((self.problem.n, 1)))
            self._spectral = Spectral().prepare(few)
        return SpectralInverse(self._spectral, alpha)
