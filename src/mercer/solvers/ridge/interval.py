"""Leave-one-out predictions and the intervals made of them, without refitting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.arrays.budget import require
from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows, length, take
from mercer.gram import Gram
from mercer.kernels.custom import MatrixRows

from ..conformal.full import full_conformal
from ..conformal.jackknife import jackknife_plus
from ..plan import ITERATIVE, make_solver, plan
from ..rounding import SURE, weighted_trace
from .center_features import CenterFeatures, Features
from .fit import RidgeFit
from .spectral import NULL_SHARE, Spectral

BLOCK_BYTES = 2**26  # of leave-one-out predictions at a time


def leave_one_out(record: RidgeFit, *, random_state: Any = None, n_centers: int | None = None) -> np.ndarray:
    """Return f₋ᵢ(xᵢ) for every training point, in the shape of the targets; the options are those of the fit."""
    problem, name = record.problem, record.plan.solver
    assert problem is not None
    assert record.targets is not None
    if name in ITERATIVE:
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


def interval_of_left_out(record: RidgeFit, X: Rows, coverage: float) -> np.ndarray:
    """Return the ends of the jackknife+ intervals, shape (m, q, 2), at points as the kernel takes them."""
    out = np.empty((length(X), record.penalty.size, 2))
    for columns, jackknife in each_penalty(record):
        ends = [jackknife_plus(values, jackknife.radii, coverage) for values in jackknife.blocks(X)]
        out[:, columns] = np.concatenate(ends)
    return out


def interval_of_all(record: RidgeFit, X: Rows, coverage: float) -> np.ndarray:
    """Return the ends of the full conformal intervals, shape (m, q, 2), at points as the kernel takes them.

    Strangeness is the leave-one-out residual in the fit to all points and the new one, which is linear in the new
    target.
    """
    out = np.empty((length(X), record.penalty.size, 2))
    for columns, jackknife in each_penalty(record):
        start = 0
        for center, offsets, slopes in jackknife.lines(X):
            part = slice(start, start + len(center))
            for place, column in enumerate(columns):
                ends = full_conformal(offsets[..., place], slopes, coverage)
                out[part, column] = jackknife.unit[place] * (center[:, place, None] + ends)
            start = part.stop
    return out


def each_penalty(record: RidgeFit) -> Iterator[tuple[np.ndarray, Jackknife]]:
    """Yield the targets that share a penalty, and their models without one point each."""
    for alpha in np.unique(record.penalty):
        columns = np.flatnonzero(record.penalty == alpha)
        yield columns, Jackknife(record, columns)


class Jackknife:
    """The n models without one point each, of one that was fitted to all.

    Leaving point i out changes the coefficients by −eᵢ G_{·i} and the intercept by −eᵢ ηᵢ/1ᵀη, where eᵢ = cᵢ/Gᵢᵢ is the
    leave-one-out residual, so that f₋ᵢ(x) = f(x) − eᵢ ((G k_x)ᵢ + ηᵢ/1ᵀη); without an intercept the last term is
    missing and G is A⁻¹ itself.  On explicit features φ it is f(x) − eᵢ wᵢ φ(x)ᵀM⁻¹φ(xᵢ) with M = ΦᵀWΦ + αI, the
    intercept being one more feature without a penalty; Nyström centres, which are kept, span such features too.

    Parameters
    ----------
    record : RidgeFit
        A fit.
    columns : int array of shape (q,), optional
        Some of its targets, which have the same penalty; the first if not given.

    Attributes
    ----------
    errors : array of shape (n, q)
        yᵢ − f₋ᵢ(xᵢ).
    radii : array of shape (n, q)
        Their absolute values.
    unit : array of shape (q,)
        The unit of each target that :meth:`lines` are in.
    """

    def __init__(self, record: RidgeFit, columns: Any = (0,)) -> None:
        self.record, self.problem = record, record.problem_on_host
        if self.problem.n < 2:
            raise ValueError("predict_interval needs a model of at least two points, got one")
        self._columns = np.asarray(columns)
        self._alpha = alpha = float(record.penalty[self._columns[0]])
        # All is linear in the targets, which may be too small or too large to compute with.
        y = self.problem.y[:, self._columns]
        largest = np.abs(y).max(axis=0)
        self.unit = np.where(largest > 0, largest, 1.0)
        self._y = y / self.unit
        self._explicit: Features | None = record.expansion.explicit
        if self._explicit is None and record.plan.solver == "nystroem":
            self._explicit = CenterFeatures(record, self.problem)
        if self._explicit is None or not self._prepare_explicit(alpha, self._explicit):
            if record.plan.solver == "nystroem":
                raise ValueError(
                    f"predict_interval: with alpha={alpha:.3g} the fits without one point cannot be told from "
                    "rounding; fit with a larger alpha, or say method='cv+'"
                )
            self._explicit = None
            if not self._prepare(alpha):
                self._prepare_limit(alpha, SURE * weighted_trace(self.problem))
        self.errors = self.unit * self._relative
        self.radii = np.abs(self.errors)

    def blocks(self, X: Rows) -> Iterator[np.ndarray]:
        """Yield f₋ᵢ(x), shape (points, n, q), for blocks of new points."""
        for values, _ in self.blocks_with_kernel(X):
            yield values

    def blocks_with_kernel(self, X: Rows) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the same, and what coefficients are multiplied with: kernel values, or features, shape (points, D)."""
        for _, values, share in self._parts(X):
            whole = values @ self._coef + self._intercept
            yield self.unit * (whole[:, None] - self._relative * share[:, :, None]), values

    @property
    def inverse(self) -> np.ndarray | None:
        """G, if there is one, and not features or the limit of a penalty that is lost in rounding."""
        return self._influence if self._explicit is None and self._slack is not None else None

    @property
    def coef(self) -> np.ndarray:
        """The coefficients c of all points, shape (n, q)."""
        return self.unit * self._coef

    def lines(self, X: Rows) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield what the model predicts, and how residuals depend on a new target, for blocks of new points.

        In the fit to all points and to a new one of weight 1, whose target is t above the prediction of the old model,
        leave-one-out residuals are aᵢ + bᵢt, and that of the new point is t.  With hᵢ, the share of yᵢ in the
        prediction, gᵢ = αGᵢᵢ/wᵢ and ν = 1/(αG_xx) of the new point, they are
        (gᵢeᵢ − hᵢt/(νwᵢ)) / (gᵢ + hᵢ²/(νwᵢ)).

        Yields
        ------
        predictions : array of shape (points, q)
        offsets : array of shape (points, n, q)
            aᵢ.
        slopes : array of shape (points, n)
            bᵢ, the same for all targets.  All are in units of ``unit``.
        """
        if self._slack is None:
            raise ValueError(
                f"predict_interval: method='full' needs a penalty that can be told from rounding, and alpha is "
                f"{self._alpha:.3g}; fit with a larger alpha, or say method='jackknife+'"
            )
        weights = np.ones(self.problem.n) if self.problem.weights is None else self.problem.weights
        for points, values, share in self._parts(X):
            moved = share / (self._spread(points, values, share)[:, None] * weights)
            size = self._slack + share * moved
            offsets = (self._slack / size)[:, :, None] * self._relative
            yield values @ self._coef + self._intercept, offsets, -moved / size

    def _parts(self, X: Rows) -> Iterator[tuple[Rows, np.ndarray, np.ndarray]]:
        """Yield blocks of new points, what coefficients multiply there, and the share of each target in f(x)."""
        X = host_array(X)
        step = max(1, BLOCK_BYTES // (8 * 4 * self.problem.n * len(self._columns)))
        for start in range(0, length(X), step):
            points = take(X, start, min(start + step, length(X)))
            values = self._values(points)
            yield points, values, values @ self._influence + self._shift

    def _spread(self, X: Rows, values: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Return ν = 1 + (posterior variance of f(x))/α at new points."""
        if self._explicit is not None:
            with_constant = np.column_stack([values, np.full(len(values), float(self.problem.fit_intercept))])
            return 1.0 + np.einsum("ij,jk,ik->i", with_constant, self._inverse, with_constant, optimize=True)
        diagonal = self._diagonal(X)
        variance = diagonal - np.einsum("ij,ij->i", values, share) - values @ self._shift + self._constant
        return 1.0 + np.maximum(variance, 0.0) / self._alpha

    def _diagonal(self, X: Rows) -> np.ndarray:
        if isinstance(X, MatrixRows):
            raise ValueError(
                "predict_interval: method='full' needs k(x, x) of new points, which a precomputed matrix does not "
                "have; give a kernel, or say method='jackknife+'"
            )
        return np.asarray(self.problem.kernel.diag(X), dtype=np.float64)

    def _prepare(self, alpha: float) -> bool:
        """Prepare with the inverse of A, if it can be told from rounding."""
        problem, n = self.problem, self.problem.n
        self._require(32.0 * n * n, f"the inverse of a {n} × {n} matrix")
        A = problem.gram(dtype=np.float64).dense()
        A[np.diag_indices(n)] += alpha * problem.noise
        found = invert_with_constant(A, fit_intercept=problem.fit_intercept)
        if found is None:
            return False
        inverse, self._shift, self._constant = found
        self._influence = inverse
        self._coef = inverse @ self._y
        self._intercept = self._shift @ self._y
        self._relative = self._coef / np.diagonal(inverse)[:, None]
        self._slack = alpha * problem.noise * np.diagonal(inverse) if alpha > 0 else None
        return bool(np.isfinite(self._relative).all())

    def _prepare_limit(self, alpha: float, least: float) -> None:
        """Prepare for α → 0, where K may be singular, as it is with repeated points.

        Every k_x lies in the range of K, so that A⁻¹k_x tends to Hk_x with the inverse H on that range alone.  Where
        the constant has a part P1 outside of it, ηᵢ/1ᵀη tends to (P1)ᵢ/1ᵀP1.
        """
        problem, n = self.problem, self.problem.n
        self._require(40.0 * n * n, f"the eigendecomposition of a {n} × {n} matrix")
        prepared = Spectral().prepare(replace(problem, y=self._y))
        null = prepared.eigenvalues == 0
        alpha = 0.0 if null.any() else alpha
        kept, Q = prepared.eigenvalues[~null] + alpha, prepared.eigenvectors
        roots = np.ones(n) if problem.weights is None else np.sqrt(problem.weights)
        self._relative, self._slack = prepared.loo([alpha])[0], None
        if (np.abs(kept) < least).any() or not np.isfinite(self._relative).all():
            raise ValueError(
                f"predict_interval: with alpha={self._alpha:.3g} the fits without one point cannot "
                f"be told from rounding, because eigenvalues of the kernel matrix are that small; fit with an alpha of "
                f"at least {least:.1g}"
            )
        H = (Q[:, ~null] / kept) @ Q[:, ~null].T * roots * roots[:, None]
        self._shift = np.zeros(n)
        if problem.fit_intercept:
            outside = Q[:, null] @ (Q[:, null].T @ roots)
            eta = roots * outside if outside @ outside > NULL_SHARE * (roots @ roots) else H.sum(axis=1)
            self._shift = eta / eta.sum()
        self._intercept = self._shift @ self._y
        self._coef = H @ (self._y - self._intercept)
        self._influence = H - np.outer(H.sum(axis=1), self._shift)

    def _prepare_explicit(self, alpha: float, explicit: Features) -> bool:
        """Prepare with the inverse of M, if it can be told from rounding."""
        problem, n = self.problem, self.problem.n
        D = len(explicit.w)
        self._require(24.0 * n * (D + 1), f"{D} features of {n} points")
        phi = np.column_stack([explicit.features(problem.X), np.full(n, float(problem.fit_intercept))])
        weighted = phi if problem.weights is None else phi * problem.weights[:, None]
        M = weighted.T @ phi
        M[np.diag_indices(D)] += alpha
        M[D, D] += not problem.fit_intercept  # a feature that is always 0
        inverse = _invert(M)
        if inverse is None:
            return False
        influence = inverse @ weighted.T
        leverage = np.einsum("ij,ji->i", phi, influence)
        self._influence, self._shift = influence[:D], influence[D] * problem.fit_intercept
        self._coef = explicit.w.reshape(D, -1)[:, self._columns] / self.unit
        self._intercept = np.atleast_1d(explicit.intercept)[self._columns] / self.unit
        fitted = phi[:, :D] @ self._coef + self._intercept
        self._relative = (self._y - fitted) / (1.0 - leverage)[:, None]
        self._slack, self._inverse = 1.0 - leverage if alpha > 0 else None, inverse
        return bool((1.0 - leverage > SURE).all())

    def _values(self, X: Rows) -> np.ndarray:
        """Return what coefficients multiply: the kernel with all training points in the problem, or the features."""
        if self._explicit is not None:
            return self._explicit.features(X)
        return Gram(self.problem.kernel, X, self.problem.X, memory=self.problem.memory, dtype=np.float64).dense()

    def _require(self, needed: float, what: str) -> None:
        remedy = "give more memory, fit fewer points, or say method='cv+'"
        require(needed + BLOCK_BYTES, self.problem.memory, f"{what}, from which intervals are made,", remedy)


def invert_with_constant(A: np.ndarray, *, fit_intercept: bool) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Return G, η/1ᵀη and 1/1ᵀη, None if A is singular up to rounding; A is overwritten.

    Without an intercept G is A⁻¹, and the others are 0.

    Examples
    --------
    >>> G, share, constant = invert_with_constant(4.0 * np.eye(2), fit_intercept=True)
    >>> G.tolist(), share.tolist(), constant
    ([[0.125, -0.125], [-0.125, 0.125]], [0.5, 0.5], 2.0)
    """
    inverse = _invert(A)
    if inverse is None:
        return None
    if not fit_intercept:
        return inverse, np.zeros(len(A)), 0.0
    eta = inverse.sum(axis=1)
    share = eta / eta.sum()
    inverse -= np.outer(eta, share)
    return inverse, share, 1.0 / float(eta.sum())


def _invert(A: np.ndarray) -> np.ndarray | None:
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
