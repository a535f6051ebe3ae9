"""Which leave-one-out residuals are more than the rounding of the kernel matrix.

Arithmetic on A = K + αW⁻¹ gives the residuals eᵢ = cᵢ/Gᵢᵢ of a matrix that differs from A by a rounding E.  To first
order dG = −GEG, so that in the coordinates in which W is the identity

    |deᵢ| ≤ ‖E‖ (‖Gᵢ‖ ‖c‖ + |eᵢ| ‖Gᵢ‖²) / Gᵢᵢ,

Gᵢ being a row of G.  As ‖Gᵢ‖² ≤ Gᵢᵢ/α, nothing is in doubt while α is well above ‖E‖.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.linalg.decomposition import decompose

from .base import Problem

UNIT = 8 * np.finfo(np.float64).eps  # of the largest eigenvalue, by which a decomposition rounds a matrix
SURE = 64 * np.finfo(np.float64).eps  # of the trace: a penalty from which nothing is in doubt
DOUBT = 0.5  # of the residuals: an error that may be as large as that


def weighted_trace(problem: Problem) -> float:
    """Return Σ wᵢ|k(xᵢ, xᵢ)|, by which penalties of weighted and of repeated points can be compared.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.rounding import weighted_trace
    >>> weighted_trace(Problem(Linear(), np.array([[1.0], [2.0]]), np.zeros((2, 1)), np.array([2.0, 0.5])))
    4.0
    """
    diagonal = abs(problem.diagonal)
    return float(diagonal.sum() if problem.weights is None else diagonal @ problem.weights)


def outweighs_rounding(problem: Problem, alphas: np.ndarray, residuals: np.ndarray) -> np.ndarray:
    """Whether the leave-one-out residuals of each penalty are larger than the bound of their own rounding error.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.rounding import outweighs_rounding
    >>> from mercer.solvers.ridge.banded import loo_path
    >>> X, alphas = np.linspace(0.0, 1.0, 30).reshape(-1, 1), np.array([1e-16, 1e-6])
    >>> problem = Problem(Gaussian(), X, np.sin(X))
    >>> outweighs_rounding(problem, alphas, loo_path(problem)(alphas))
    array([False,  True])
    """
    doubtful = np.flatnonzero(~(np.asarray(alphas) >= SURE * weighted_trace(problem)))
    result = np.ones(len(alphas), dtype=bool)
    if len(doubtful):
        inverse = _Inverse(problem)
        result[doubtful] = [inverse.outweighs(float(alphas[i]), np.asarray(residuals[i])) for i in doubtful]
    return result


class _Inverse:
    """Rows of G for one penalty after another, in the coordinates of the eigenvectors of W^½KW^½."""

    def __init__(self, problem: Problem) -> None:
        weights = np.ones(problem.n) if problem.weights is None else np.asarray(problem.weights, dtype=np.float64)
        self._roots = np.sqrt(weights)
        K = np.array(host_array(problem.gram(dtype=np.float64).dense()))
        K *= self._roots
        K *= self._roots[:, None]
        self._values, self._vectors = decompose(K.T, overwrite=True)
        self._one = self._vectors.T @ self._roots if problem.fit_intercept else None

    def outweighs(self, alpha: float, residuals: np.ndarray) -> bool:
        rounding = UNIT * float(np.abs(self._values).max())
        # An eigenvalue is known up to the rounding only, so that a sum may be no larger than that either.
        shifted = np.maximum(np.abs(self._values + alpha), np.finfo(np.float64).tiny)
        inverse = 1.0 / shifted
        squares = self._vectors**2
        diagonal, norms = squares @ inverse, squares @ inverse**2
        if self._one is not None:
            total = float(self._one**2 @ inverse)
            share = self._vectors @ (inverse * self._one) / total
            norms = (
                norms - 2 * share * (self._vectors @ (inverse**2 * self._one)) + share**2 * (self._one**2 @ inverse**2)
            )
            diagonal = diagonal - share**2 * total
        left = self._roots[:, None] * residuals
        with np.errstate(all="ignore"):
            norms, diagonal = np.maximum(norms, 0.0)[:, None], diagonal[:, None]
            coefficients = np.linalg.norm(diagonal * left, axis=0)
            bound = rounding * (np.sqrt(norms) * coefficients + np.abs(left) * norms) / diagonal
            return bool((np.linalg.norm(bound, axis=0) <= DOUBT * np.linalg.norm(left, axis=0)).all())
