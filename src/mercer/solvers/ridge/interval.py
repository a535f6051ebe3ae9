"""Leave-one-out predictions and the intervals made of them, without refitting."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.arrays.budget import require
from mercer.arrays.tensors import host_array
from mercer.expansion import ExplicitFunction
from mercer.formula.data import Rows, length, take
from mercer.gram import Gram

from ..plan import make_solver, plan
from ..rounding import SURE, weighted_trace
from .fit import RidgeFit
from .spectral import NULL_SHARE, Spectral

BLOCK_BYTES = 2**26  # of leave-one-out predictions at a time


def leave_one_out(record: RidgeFit, *, random_state: Any = None, n_centers: int | None = None) -> np.ndarray:
    """Return f₋ᵢ(xᵢ) for every training point, in the shape of the targets; the options are those of the fit."""
    problem, name = record.problem, record.plan.solver
    assert problem is not None
    assert record.targets is not None
    if name == "cg":
        # Iterations give no diagonal of the inverse: a factor of the matrix has to fit.
        name = "cholesky"
        plan(problem.kernel, problem.n, None, loo=True, memory=problem.memory, solver=name)
    residuals = make_solver(name, random_state, n_centers).prepare(problem).solve(record.penalty, loo=True).loo
    assert residuals is not None  # it was asked for
    predictions = problem.y - residuals
    if record.kept is not None:
        assert record.points is not None
        fitted = host_array(record.expansion(record.points, memory=problem.memory, device=problem.device))
        everywhere = np.array(fitted).reshape(len(record.targets), -1)
        everywhere[record.kept] = predictions
        predictions = everywhere
    return predictions.reshape(record.targets.shape)


def jackknife_plus(record: RidgeFit, X: Rows, coverage: Any) -> np.ndarray:
    """Return the ends of the jackknife+ intervals, shape (m, 2), at points as the kernel takes them."""
    if not isinstance(coverage, numbers.Real) or not 0 < float(coverage) < 1:
        raise ValueError(f"predict_interval: coverage must lie between 0 and 1, for example 0.9; got {coverage!r}")
    share = float(coverage)
    jackknife = Jackknife(record)
    n = len(jackknife.errors)
    # A whisker keeps (1 − 0.9)·10 = 0.999… from being rounded down.
    below, above = math.floor((1 - share) * (n + 1) + 1e-9), math.ceil(share * (n + 1) - 1e-9)
    ends = []
    for values in jackknife.blocks(X):
        lower, upper = values - jackknife.radii, values + jackknife.radii
        ends.append(np.column_stack([_smallest(lower, below), _smallest(upper, above)]))
    return np.concatenate(ends)


def _smallest(values: np.ndarray, rank: int) -> np.ndarray:
    """Return the rank-th smallest of each row; beyond either end it is infinite."""
    if not 1 <= rank <= values.shape[1]:
        return np.full(len(values), -np.inf if rank < 1 else np.inf)
    return np.asarray(np.partition(values, rank - 1, axis=1)[:, rank - 1])


class Jackknife:
    """The n models without one point each, of one that was fitted to all.

    Leaving point i out changes the coefficients by −eᵢ G_{·i} and the intercept by −eᵢ ηᵢ/1ᵀη, where eᵢ = cᵢ/Gᵢᵢ is the
    leave-one-out residual, so that f₋ᵢ(x) = f(x) − eᵢ ((G k_x)ᵢ + ηᵢ/1ᵀη); without an intercept the last term is
    missing and G is A⁻¹ itself.  On explicit features φ it is f(x) − eᵢ wᵢ φ(x)ᵀM⁻¹φ(xᵢ) with M = ΦᵀWΦ + αI, the
    intercept being one more feature without a penalty.

    Parameters
    ----------
    record : RidgeFit
        A fit of one target.

    Attributes
    ----------
    errors : array of shape (n,)
        yᵢ − f₋ᵢ(xᵢ).
    radii : array of shape (n,)
        Their absolute values.
    """

    def __init__(self, record: RidgeFit) -> None:
        self.record, self.problem = record, record.problem_on_host
        self._check()
        alpha = float(record.penalty[0])
        # All is linear in the targets, which may be too small or too large to compute with.
        self._unit = float(np.abs(self.problem.y).max()) or 1.0
        self._y = self.problem.y[:, 0] / self._unit
        self._explicit = record.expansion.explicit
        if self._explicit is None or not self._prepare_explicit(alpha, self._explicit):
            self._explicit = None
            if not self._prepare(alpha):
                self._prepare_limit(alpha, SURE * weighted_trace(self.problem))
        self.errors = self._unit * self._relative
        self.radii = np.abs(self.errors)

    def blocks(self, X: Rows) -> Iterator[np.ndarray]:
        """Yield f₋ᵢ(x), shape (points, n), for blocks of new points."""
        X = host_array(X)
        step = max(1, BLOCK_BYTES // (8 * 4 * self.problem.n))
        for start in range(0, length(X), step):
            values = self._values(take(X, start, min(start + step, length(X))))
            whole = values @ self._coef + self._intercept
            yield self._unit * (whole[:, None] - self._relative * (values @ self._influence + self._shift))

    def _check(self) -> None:
        targets = self.problem.y.shape[1]
        if targets != 1:
            raise ValueError(
                f"predict_interval works for one target, but the model has {targets}; fit one model for each"
            )
        if self.problem.n < 2:
            raise ValueError("predict_interval needs a model of at least two points, got one")
        if self.record.plan.solver == "nystroem":
            raise ValueError(
                "predict_interval needs coefficients for every training point, but the model has Nyström centres; "
                "use another solver, or fit fewer points"
            )

    def _prepare(self, alpha: float) -> bool:
        """Prepare with the inverse of A, if it can be told from rounding."""
        problem, n = self.problem, self.problem.n
        self._require(32.0 * n * n, f"the inverse of a {n} × {n} matrix")
        A = problem.gram(dtype=np.float64).dense()
        A[np.diag_indices(n)] += alpha * problem.noise
        inverse = _inverse(A)
        if inverse is None:
            return False
        self._shift = np.zeros(n)
        if problem.fit_intercept:
            eta = inverse.sum(axis=1)
            self._shift = eta / eta.sum()
            inverse -= np.outer(eta, self._shift)
        self._influence = inverse
        self._coef = inverse @ self._y
        self._intercept = float(self._shift @ self._y)
        self._relative = self._coef / np.diagonal(inverse)
        return bool(np.isfinite(self._relative).all())

    def _prepare_limit(self, alpha: float, least: float) -> None:
        """Prepare for α → 0, where K may be singular, as it is with repeated points.

        Every k_x lies in the range of K, so that A⁻¹k_x tends to Hk_x with the inverse H on that range alone.  Where
        the constant has a part P1 outside of it, ηᵢ/1ᵀη tends to (P1)ᵢ/1ᵀP1.
        """
        problem, n = self.problem, self.problem.n
        self._require(40.0 * n * n, f"the eigendecomposition of a {n} × {n} matrix")
        prepared = Spectral().prepare(replace(problem, y=self._y[:, None]))
        null = prepared.eigenvalues == 0
        alpha = 0.0 if null.any() else alpha
        kept, Q = prepared.eigenvalues[~null] + alpha, prepared.eigenvectors
        roots = np.ones(n) if problem.weights is None else np.sqrt(problem.weights)
        self._relative = prepared.loo([alpha])[0][:, 0]
        if (np.abs(kept) < least).any() or not np.isfinite(self._relative).all():
            raise ValueError(
                f"predict_interval: with alpha={self.record.penalty[0]:.3g} the fits without one point cannot "
                f"be told from rounding, because eigenvalues of the kernel matrix are that small; fit with an alpha of "
                f"at least {least:.1g}"
            )
        H = (Q[:, ~null] / kept) @ Q[:, ~null].T * roots * roots[:, None]
        self._shift = np.zeros(n)
        if problem.fit_intercept:
            outside = Q[:, null] @ (Q[:, null].T @ roots)
            eta = roots * outside if outside @ outside > NULL_SHARE * (roots @ roots) else H.sum(axis=1)
            self._shift = eta / eta.sum()
        self._intercept = float(self._shift @ self._y)
        self._coef = H @ (self._y - self._intercept)
        self._influence = H - np.outer(H.sum(axis=1), self._shift)

    def _prepare_explicit(self, alpha: float, explicit: ExplicitFunction) -> bool:
        """Prepare with the inverse of M, if it can be told from rounding."""
        problem, n = self.problem, self.problem.n
        D = len(explicit.w)
        self._require(24.0 * n * (D + 1), f"{D} features of {n} points")
        phi = np.column_stack([explicit.features(problem.X), np.full(n, float(problem.fit_intercept))])
        weighted = phi if problem.weights is None else phi * problem.weights[:, None]
        M = weighted.T @ phi
        M[np.diag_indices(D)] += alpha
        M[D, D] += not problem.fit_intercept  # a feature that is always 0
        inverse = _inverse(M)
        if inverse is None:
            return False
        influence = inverse @ weighted.T
        leverage = np.einsum("ij,ji->i", phi, influence)
        self._influence, self._shift = influence[:D], influence[D] * problem.fit_intercept
        self._coef = explicit.w.reshape(D) / self._unit
        self._intercept = float(np.ravel(explicit.intercept)[0]) / self._unit
        fitted = phi[:, :D] @ self._coef + self._intercept
        self._relative = (self._y - fitted) / (1.0 - leverage)
        return bool((1.0 - leverage > SURE).all())

    def _values(self, X: Rows) -> np.ndarray:
        """Return what coefficients multiply: the kernel with all training points in the problem, or the features."""
        if self._explicit is not None:
            return self._explicit.features(X)
        return Gram(self.problem.kernel, X, self.problem.X, memory=self.problem.memory, dtype=np.float64).dense()

    def _require(self, needed: float, what: str) -> None:
        remedy = "give more memory, or fit fewer points"
        require(needed + BLOCK_BYTES, self.problem.memory, f"{what}, from which intervals are made,", remedy)


def _inverse(A: np.ndarray) -> np.ndarray | None:
    """Return the inverse of a symmetric matrix, None if it is singular up to rounding; A is overwritten.

    With a diagonal of ones first, so that the units and weights of single points do not count.
    """
    size = np.sqrt(np.abs(np.diagonal(A)))
    size = np.where(size > 0, size, 1.0)
    A /= size
    A /= size[:, None]
    try:
        # LU takes indefinite matrices too, and starts no threads for small ones as the symmetric inverse does.
        inverse = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        return None
    if not np.linalg.norm(A, 1) * np.linalg.norm(inverse, 1) * SURE < 1.0:
        return None
    inverse /= size
    inverse /= size[:, None]
    return np.asarray(inverse)
