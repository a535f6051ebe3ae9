"""The marginal likelihood at the best size of the kernel, as a variance: how loud white noise as likely as y would be.

The covariance of the targets is s²B with B = K + αW⁻¹, and the likelihood is largest at s² = yᵀGy/ν, with ν = n and
G = B⁻¹, or with ν = n − 1 and G = B⁻¹ − ηηᵀ/1ᵀη, η = B⁻¹1, if there is an intercept.  There log p = −½ ν log 2πeE with

    E = s² (|B| · 1ᵀη)^(1/ν)   (without 1ᵀη where there is no intercept),

which has the unit of a squared error, is that of constant noise for white noise, and can be minimised in its place:

    d log E = ⟨M, dB⟩,   M = G/ν − CCᵀ/⟨Y, C⟩ with C = GY.

Functions do not change when kernel and penalty are multiplied by s²; what is known about them does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.kernels import Kernel

from ...base import Problem
from ...rounding import SURE
from ..loo_gradient import inner_gradient
from ..spectral import Spectral
from .likelihood import invert_with_determinant


@dataclass(frozen=True)
class Profile:
    """E at one kernel and one α, the best size s², and the gradient of E by logarithms, if it was asked for."""

    error: float
    size: float
    by_log_alpha: float = float("nan")
    by_log_hyperparameter: dict[str, float] = field(default_factory=dict)


def find_profile(problem: Problem, kernel: Kernel, alpha: float, *, gradient: bool = True) -> Profile:
    """Return E and s² of a problem with another kernel, in O(n³) whatever the number of hyperparameters.

    Raises ``LinAlgError`` if K + αW⁻¹ is not positive definite to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 3.0, 20).reshape(-1, 1)
    >>> found = find_profile(Problem(Gaussian(), X, 5.0 * np.sin(X)), Gaussian(), 1e-3)
    >>> found.error < 0.1, found.size > 1.0, list(found.by_log_hyperparameter)
    (True, True, ['length_scale'])
    """
    case = replace(problem, kernel=kernel, X=host_array(problem.X), device=None)
    n, q = case.y.shape
    B = np.ascontiguousarray(case.gram(dtype=np.float64).dense())
    B[np.diag_indices(n)] += alpha * case.noise
    G, determinant = invert_with_determinant(B, case, alpha)
    free = n - case.fit_intercept
    if case.fit_intercept:
        eta = G.sum(axis=1)
        determinant += math.log(eta.sum())
        G -= np.outer(eta, eta / eta.sum())
    C = G @ case.y
    explained = float(np.sum(case.y * C))
    size = explained / (free * q)
    error = size * math.exp(determinant / free)
    if not gradient or not explained > 0:
        return Profile(error, size)
    G /= free
    G -= C @ (C.T / explained)
    slopes = inner_gradient(kernel, case.X, G)
    by_alpha = alpha * float(G.diagonal() @ case.noise)
    return Profile(error, size, error * by_alpha, {name: error * slope for name, slope in slopes.items()})


def profile_path(problem: Problem) -> Callable[[np.ndarray], np.ndarray]:
    """Return E as a function of many penalties, from one eigendecomposition; infinite where α is lost in rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 3.0, 20).reshape(-1, 1)
    >>> problem = Problem(Gaussian(), X, np.sin(X))
    >>> one, two = profile_path(problem)(np.array([1e-3, 0.1]))
    >>> bool(np.isclose(one, find_profile(problem, problem.kernel, 1e-3).error)), bool(one < two)
    (True, True)
    """
    prepared = Spectral().prepare(problem)
    values, n, q = prepared.eigenvalues, problem.n, problem.y.shape[1]
    roots = np.ones(n) if problem.weights is None else np.sqrt(problem.weights)
    y, one = prepared.eigenvectors.T @ (roots[:, None] * problem.y), prepared.eigenvectors.T @ roots
    least, log_weights = SURE * float(np.abs(values).sum()), 2.0 * float(np.log(roots).sum())
    free = n - problem.fit_intercept

    def find(alpha: float) -> float:
        if alpha < least or (values + alpha <= 0).any():
            return math.inf
        inverse, left = 1.0 / (values + alpha), y
        determinant = -float(np.log(inverse).sum()) - log_weights
        if problem.fit_intercept:
            total = float(one**2 @ inverse)
            left = y - np.outer(one, (inverse * one) @ y / total)
            determinant += math.log(total)
        return float(inverse @ left**2 @ np.ones(q)) / (free * q) * math.exp(determinant / free)

    return lambda alphas: np.array([find(float(alpha)) for alpha in alphas])
