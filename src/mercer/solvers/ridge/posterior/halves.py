"""A⁻¹ as a square, A⁻¹ = HᵀH, by a Cholesky factor or by eigenvalues.

Kernel values v of new points are arrays of the place where the problem is solved; what comes back is on the host.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np
from scipy.linalg import get_lapack_funcs

from mercer.arrays import Array
from mercer.arrays.tensors import host_array, load_torch
from mercer.linalg.blocked import factor

from ...base import Problem
from ..spectral import SpectralPrepared

SUM_BYTES = 2**24  # of columns squared in float64 at a time


class Inverse(ABC):
    """A⁻¹ of one penalty."""

    columns = 3  # arrays of the size of its right-hand sides that it holds
    dtype = np.dtype(np.float64)  # of the kernel values that it takes

    @abstractmethod
    def fit(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients c and intercepts b of the fits to columns of targets."""

    @abstractmethod
    def explain(self, V: Array) -> np.ndarray:
        """Return what each column of V explains of its variance; V may be overwritten."""

    @abstractmethod
    def explain_pairs(self, V: Array) -> np.ndarray:
        """Return what the columns of V explain of their covariances; V may be overwritten."""

    @property
    @abstractmethod
    def log_determinant(self) -> float:
        """log|A|, and log 1ᵀA⁻¹1 more with an intercept."""


class Halved(Inverse):
    """An inverse that is a square, A⁻¹ = HᵀH."""

    intercept: bool
    _one: Array  # H1
    _total: float  # 1ᵀA⁻¹1

    @abstractmethod
    def halve(self, V: Array) -> Array:
        """Return HV; V may be overwritten."""

    def explain(self, V: Array) -> np.ndarray:
        """Sum up the squares of each column of HV."""
        half = self.halve(V)
        found = sum_squares(half)
        return found - self._left(half) ** 2 if self.intercept else found

    def explain_pairs(self, V: Array) -> np.ndarray:
        """Multiply HV by itself."""
        half = self.halve(V)
        found = np.asarray(host_array(half.T @ half))
        if self.intercept:
            left = self._left(half)
            found -= np.outer(left, left)
        return found

    def _left(self, half: Array) -> np.ndarray:
        """Return (1 − 1ᵀA⁻¹v)/√(1ᵀA⁻¹1) of each column."""
        return (1.0 - np.asarray(host_array(self._one @ half), dtype=np.float64)) / np.sqrt(self._total)


class Factor(Protocol):
    """L with A = LLᵀ."""

    def halve(self, V: Array) -> Array:
        """Return L⁻¹V; V may be overwritten."""

    def solve(self, V: Array) -> Array:
        """Return A⁻¹V."""

    def sum_logarithms(self) -> float:
        """Return the sum of the logarithms of the diagonal of L."""


class CholeskyInverse(Halved):
    """By the factor of A = LLᵀ, with H = L⁻¹.

    Parameters
    ----------
    problem : Problem
        What was fitted, and where.
    alpha : float
        The penalty.
    dtype : dtype
        The precision of the factor; in float32 it takes half the time, and :meth:`explain_closely` tells what it lost.
    """

    def __init__(self, problem: Problem, alpha: float, dtype: Any = np.float64) -> None:
        self.intercept, self.dtype = problem.fit_intercept, np.dtype(dtype)
        self._problem, self._shift = problem, alpha * problem.noise
        place = self._place = problem.place
        A = problem.gram(dtype=self.dtype).dense()
        shift = place.put(self._shift, self.dtype)
        if place.on_host:
            A = np.ascontiguousarray(A)
            A[np.diag_indices(problem.n)] += shift
            self._factor: Factor = HostFactor(A, repr(problem.kernel))
        else:
            A.diagonal().add_(shift)
            self._factor = TensorFactor(A, repr(problem.kernel))
        self._one = self.halve(place.put(np.ones((problem.n, 1)), self.dtype))[:, 0]
        self._total = float(sum_squares(self._one[:, None])[0])

    def halve(self, V: Array) -> Array:
        """Return L⁻¹V."""
        return self._factor.halve(V)

    def solve(self, V: np.ndarray) -> np.ndarray:
        """Return A⁻¹V in float64, as precise as the factor is."""
        return np.asarray(host_array(self._factor.solve(self._place.put(V, self.dtype))), dtype=np.float64)

    def fit(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solve for all targets, and for the intercept."""
        coef, b = self.solve(V), np.zeros(V.shape[1])
        if self.intercept:
            eta = self.solve(np.ones((len(V), 1)))
            b = coef.sum(axis=0) / self._total
            coef -= eta * b
        return coef, b

    def explain_closely(self, V: np.ndarray) -> np.ndarray:
        """Return what each of a few columns in float64 explains, without the rounding of the factor."""
        sides = np.column_stack([V, np.ones(len(V))])
        gram, put = self._problem.gram(dtype=np.float64), self._place.put
        solved = self.solve(sides)
        product = np.asarray(host_array(gram @ put(solved))) + self._shift[:, None] * solved
        pairs = join(solved, sides, sides - product)
        found = pairs.diagonal()[:-1]
        return found - (1.0 - pairs[:-1, -1]) ** 2 / pairs[-1, -1] if self.intercept else found

    @property
    def log_determinant(self) -> float:
        """Twice the logarithms of the diagonal of L."""
        found = 2.0 * self._factor.sum_logarithms()
        return found + float(np.log(self._total)) if self.intercept else found


class HostFactor:
    """A factor by LAPACK, in place of the matrix, of which one triangle is read."""

    def __init__(self, A: np.ndarray, name: str) -> None:
        self._L = A.T  # the same matrix, in the order that LAPACK works on in place
        self._trtrs, self._potrs = get_lapack_funcs(("trtrs", "potrs"), (A,))
        if not factor(self._L):
            raise np.linalg.LinAlgError(f"K + αW⁻¹ of {name} is not positive definite to rounding")

    def halve(self, V: np.ndarray) -> np.ndarray:
        """Return L⁻¹V."""
        return np.asarray(self._trtrs(self._L, np.asfortranarray(V), lower=1, overwrite_b=1)[0])

    def solve(self, V: np.ndarray) -> np.ndarray:
        """Return A⁻¹V."""
        return np.asarray(self._potrs(self._L, np.asfortranarray(V), lower=1)[0])

    def sum_logarithms(self) -> float:
        """Return the sum of the logarithms of the diagonal of L."""
        return float(np.log(self._L.diagonal(), dtype=np.float64).sum())


class TensorFactor:
    """A factor on a device, beside the matrix for as long as it is made."""

    def __init__(self, A: Array, name: str) -> None:
        self._L, info = load_torch().linalg.cholesky_ex(A)
        if int(info):
            raise np.linalg.LinAlgError(f"K + αW⁻¹ of {name} is not positive definite to rounding")

    def halve(self, V: Array) -> Array:
        """Return L⁻¹V."""
        return load_torch().linalg.solve_triangular(self._L, V, upper=False)

    def solve(self, V: Array) -> Array:
        """Return A⁻¹V."""
        return load_torch().cholesky_solve(V, self._L)

    def sum_logarithms(self) -> float:
        """Return the sum of the logarithms of the diagonal of L."""
        return float(self._L.diagonal().double().log().sum())


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

    def halve(self, V: Array) -> Array:
        """Return (Λ + α)^-½QᵀW^½V."""
        return np.asarray(self._roots * (self._prepared.eigenvectors.T @ (self._weights[:, None] * host_array(V))))

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


def sum_squares(V: Array) -> np.ndarray:
    """Return the sum of squares of each column in float64, on the host.

    Examples
    --------
    >>> import numpy as np
    >>> sum_squares(np.array([[3.0, 1.0], [4.0, 1.0]], dtype=np.float32))
    array([25.,  2.])
    """
    if isinstance(V, np.ndarray):
        step = max(1, SUM_BYTES // (8 * len(V)))
        parts = [V[:, i : i + step].astype(np.float64, copy=False) for i in range(0, V.shape[1], step)]
        return np.concatenate([np.einsum("ij,ij->j", part, part) for part in parts])
    return np.asarray(host_array(load_torch().linalg.vector_norm(V, dim=0, dtype=load_torch().float64))) ** 2


def join(S: np.ndarray, V: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return VᵀA⁻¹V of approximate solutions S of AS = V and their residuals R = V − AS.

    Sᵀ(V + R) is that less RᵀA⁻¹R: errors of S count squared, and never explain more than there is.
    """
    found = S.T @ (V + R)
    return np.asarray(0.5 * (found + found.T))
