"""The leave-one-out error of ridge, and its gradient by the logarithms of α and of every hyperparameter.

With A = K + αW⁻¹ let G = A⁻¹, or G = A⁻¹ − ηηᵀ/1ᵀη, η = A⁻¹1, if there is an intercept.  Then c = Gy, the leave-one-out
residuals are eᵢ = cᵢ/Gᵢᵢ, and L = Σ wᵢeᵢ² / Σ wᵢ.  In both cases dG = −G dA G, so that with uᵢ = 2wᵢeᵢ / (GᵢᵢΣw)

    dL = Σᵢ uᵢ (dcᵢ − eᵢ dGᵢᵢ) = ⟨M, dA⟩,   M = G diag(u∘e) G − ½ (Gu cᵀ + c uᵀG).

One matrix M serves every hyperparameter θ as ⟨M, ∂K/∂log θ⟩.  Length scales of a squared distance s, one for each
feature, need no matrix of their own: with N = M ∘ ∂k/∂s and the data A divided by the length scales,

    ∂L/∂log ℓⱼ = −2 Σ N_ab (A_aj − A_bj)² = −4 Σ_a A_aj ((diag(N1) − N) A)_aj,

which is one matrix product for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from mercer.arrays.namespace import add_to_diagonal, einsum, namespace, vdot
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array, is_tensor, on_device
from mercer.formula.data import Rows
from mercer.formula.expression import Expression, Param, Stat, log_derivative, nodes, parameters
from mercer.formula.slopes import partial
from mercer.formula.statistics import SquaredDistance
from mercer.gram.backend import write_matrix
from mercer.gram.choice import choose_backend
from mercer.gram.torch.points import is_matrix, prepare_points
from mercer.kernels import Kernel
from mercer.linalg.device import invert_factor
from mercer.linalg.triangles import mirror
from mercer.linalg.unlocked import invert_definite


@dataclass(frozen=True)
class LeaveOneOut:
    """The leave-one-out error of ridge at one α and one kernel.

    Parameters
    ----------
    error : float
        L, the weighted mean of the squared leave-one-out residuals over points and outputs.
    residuals : array of shape (n, q)
        yᵢ − f₋ᵢ(xᵢ), where f₋ᵢ was fitted without point i.
    by_log_alpha : float
        ∂L/∂log α; NaN if no gradient was asked for.
    by_log_hyperparameter : dict
        ∂L/∂log θ by the names of :meth:`~mercer.kernels.Kernel.hyperparameters`; empty if no gradient was asked for.
    """

    error: float
    residuals: np.ndarray
    by_log_alpha: float = float("nan")
    by_log_hyperparameter: dict[str, float] = field(default_factory=dict)


def leave_one_out(
    kernel: Kernel,
    X: Rows,
    y: np.ndarray,
    alpha: float,
    *,
    weights: np.ndarray | None = None,
    fit_intercept: bool = True,
    gradient: bool = True,
    device: Any = None,
) -> LeaveOneOut:
    """Return the exact leave-one-out error of ridge, and its gradient, in O(n³) whatever the number of hyperparameters.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    X : collection of n objects
        The points; n × n matrices in float64 are formed, so a few thousand at most.
    y : array of shape (n,) or (n, q)
        The targets; the error is the mean over the outputs.
    alpha : float
        The penalty α > 0.
    weights : array of shape (n,), optional
        Positive weights of the points.
    fit_intercept : bool, default=True
        Whether there is an unpenalised intercept.
    gradient : bool, default=True
        Whether the gradient is wanted too.
    device : torch.device, optional
        Where to compute with a matrix of numbers; on the host if not given.

    Raises
    ------
    numpy.linalg.LinAlgError
        If K + αW⁻¹ is not positive definite to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.ridge.loo_gradient import leave_one_out
    >>> X = np.linspace(0.0, 3.0, 20).reshape(-1, 1)
    >>> found = leave_one_out(Gaussian(), X, np.sin(X).ravel(), 1e-3)
    >>> bool(found.error < 1e-4), list(found.by_log_hyperparameter)
    (True, ['length_scale'])
    """
    X = on_device(X, device, np.float64) if device is not None and is_matrix(X) else host_array(X)
    found = judge_kernel(kernel, X, y, alpha, weights=weights, fit_intercept=fit_intercept, gradient=gradient)
    residuals = np.asarray(host_array(found.residuals))
    if found.M is None:
        return LeaveOneOut(found.error, residuals)
    return LeaveOneOut(found.error, residuals, found.by_log_alpha, inner_gradient(kernel, X, found.M))


def judge_kernel(
    kernel: Kernel,
    X: Rows,
    y: np.ndarray,
    alpha: float,
    *,
    weights: np.ndarray | None = None,
    fit_intercept: bool = True,
    gradient: bool = True,
) -> MatrixError:
    """Return the leave-one-out error of the kernel's matrix, and its gradient by all entries, where the points are."""
    targets = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    n = len(targets)
    if not alpha > 0:
        raise ValueError(f"leave_one_out needs a positive alpha, got {alpha!r}")
    if n < 2:
        raise ValueError(f"leave_one_out needs at least 2 points, one to leave out and one to fit, got {n}")
    noise = np.ones(n) if weights is None else 1.0 / np.asarray(weights, dtype=np.float64)
    share = 1.0 / (noise * np.sum(1.0 / noise) * targets.shape[1])[:, None]  # of each residual in the mean
    place, K = Place.find(None, None, X), _matrix(kernel.traced(), X, repr(kernel))
    targets, noise, share = (place.put(values) for values in (targets, noise, share))
    return judge_matrix(K, targets, alpha, noise, share, fit_intercept=fit_intercept, gradient=gradient, name=kernel)


@dataclass(frozen=True)
class MatrixError:
    """The leave-one-out error L of a matrix: the residuals (n, q), and ∂L/∂K = M if it was asked for."""

    error: float
    residuals: Any
    M: Any = None
    by_log_alpha: float = float("nan")


def judge_matrix(
    K: Any,
    targets: Any,
    alpha: float,
    noise: Any,
    share: Any,
    *,
    fit_intercept: bool = True,
    gradient: bool = True,
    name: object = "the kernel",
) -> MatrixError:
    """Return the leave-one-out error of a kernel matrix, which is overwritten, and its gradient M by the matrix.

    Parameters
    ----------
    K : array of shape (n, n)
        The matrix, in float64; a tensor if all others are.
    targets : array of shape (n, q)
        The targets.
    alpha : float
        The penalty α > 0.
    noise : array of shape (n,)
        The diagonal of W⁻¹.
    share : array of shape (n, 1)
        The share of each squared residual in the error.
    fit_intercept, gradient : bool, default=True
        As in :func:`leave_one_out`.
    name : object
        What the matrix is of, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> found = judge_matrix(np.eye(2), np.array([[1.0], [3.0]]), 1.0, np.ones(2), np.full((2, 1), 0.5))
    >>> round(found.error, 12), found.residuals.ravel().round(12).tolist()  # each is predicted by the other
    (4.0, [-2.0, 2.0])
    """
    add_to_diagonal(K, alpha * noise)
    G = _inverse(K, alpha, name)
    if fit_intercept:
        eta = G.sum(axis=1)
        G -= eta[:, None] * (eta / eta.sum())
    leverage = G.diagonal()[:, None]
    coef = G @ targets
    residuals = coef / leverage
    error = float((share * residuals**2).sum())
    if not gradient:
        return MatrixError(error, residuals)
    u = 2.0 * share * residuals / leverage
    xp, pulled = namespace(G), 0.5 * (G @ u)
    G *= (u * residuals).sum(axis=1) ** 0.5
    M = G @ G.T
    M -= xp.concat([pulled, coef], axis=1) @ xp.concat([coef, pulled], axis=1).T
    return MatrixError(error, residuals, M, alpha * float(M.diagonal() @ noise))


def inner_gradient(kernel: Kernel, X: Rows, M: Any) -> dict[str, float]:
    """Return ⟨M, ∂K/∂log θ⟩ for a symmetric matrix M and every hyperparameter θ of the kernel, by name.

    X and M are arrays, or tensors on one device.  Length scales of squared distances are computed all at once; any
    other hyperparameter needs its own matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.ridge.loo_gradient import inner_gradient
    >>> inner_gradient(2.0 * Gaussian(), [[0.0], [1.0]], np.eye(2))
    {'weight': 4.0, 'kernel__length_scale': 0.0}
    """
    expression = kernel.traced()
    found = dict.fromkeys(parameters(expression), np.nan)
    for statistic in _free_distances(expression):
        A: Any = (
            prepare_points(statistic, X, None, np.float64, X.device)[0]
            if is_tensor(X)
            else statistic.prepare(X, X, np.float64)[0]
        )
        if sparse.issparse(A):
            continue
        N = _matrix(partial(expression, statistic), X, repr(kernel))
        N *= M
        shares = host_array(-4.0 * einsum("aj,aj->j", A, N.sum(axis=1)[:, None] * A - N @ A))
        found |= {param.name: float(share) for param, share in zip(statistic.scale, shares, strict=True)}
    for name, value in found.items():
        if np.isnan(value):
            found[name] = vdot(M, _matrix(log_derivative(expression, name), X, repr(kernel)))
    return found


def _free_distances(expression: Expression) -> list[SquaredDistance]:
    """Squared distances with one length scale for each feature, which appear nowhere but there."""
    found = [node.statistic for node in nodes(expression) if isinstance(node, Stat)]
    free = [s for s in found if isinstance(s, SquaredDistance) and s.scale and s.column is None]
    elsewhere = {node.name for node in nodes(expression) if isinstance(node, Param)}
    elsewhere |= {param.name for s in found if s not in free for param in s.parameters()}
    return [s for s in free if elsewhere.isdisjoint(param.name for param in s.scale)]


def _matrix(expression: Expression, X: Rows, name: str) -> Any:
    """Values of an expression for all pairs of points, in float64, by the fastest backend; a tensor if X is one."""
    place = Place.find(None, None, X)
    backend, xp = choose_backend(expression, X, None, name, "auto", np.float64, place), place.namespace
    return write_matrix(backend, xp.empty(backend.shape, dtype=xp.float64, device=place.device))


def _inverse(A: Any, alpha: float, name: object) -> Any:
    """Inverse of a symmetric positive definite matrix, which is overwritten."""
    refusal = np.linalg.LinAlgError(
        f"K + αI of {name!s} is not positive definite to rounding with alpha={alpha:.3g}; take a larger alpha"
    )
    if is_tensor(A):
        half = invert_factor(A)
        if half is None:
            raise refusal
        return half.T @ half
    if not invert_definite(A):
        raise refusal
    return mirror(A)
