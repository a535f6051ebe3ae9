"""Passes over the rows of a problem in explicit features: sums for the normal equations, errors, and residuals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows, take

from ...base import Problem
from .reduction import triangle_of

MATRICES = 4  # D × D in float64: ΦᵀWΦ, its eigenvectors, and LAPACK's workspace of two
BLOCK_BYTES = 2**22  # of features at a time, so that a block stays in the cache
BLOCK_ROWS = 1024  # at least, if there is memory: adding up D × D matrices must not cost more than they do
COPIES = 3  # of a block: while the map computes it, weighted, and as it is
COLUMNS = 6  # arrays of the size of y that a solution needs


@dataclass
class PrimalSums:
    """ΦᵀWΦ, ΦᵀWy, the sums of wφ and wy about some point, Σw and max |y|; those of two sets of rows add up."""

    normal: np.ndarray
    right: np.ndarray
    features: np.ndarray
    targets: np.ndarray
    total: float
    largest: np.ndarray

    def __iadd__(self, other: PrimalSums) -> PrimalSums:
        self.normal += other.normal
        self.right += other.right
        self.features += other.features
        self.targets += other.targets
        self.total += other.total
        self.largest = np.maximum(self.largest, other.largest)
        return self


@dataclass
class PrimalTriangle:
    """R with RᵀR = [Φ, y]ᵀW[Φ, y] about some means; those of two sets of rows make that of both."""

    triangle: np.ndarray

    def __iadd__(self, other: PrimalTriangle) -> PrimalTriangle:
        self.triangle = triangle_of(np.concatenate([self.triangle, other.triangle]))
        return self


@dataclass
class PrimalErrors:
    """Sums over the errors e of a solution: ΦᵀWe, Σwe, Σwe², Σwy² and Σ min(w, w₀)(y − ȳ)²; those of two sets add up.

    Errors and y are in the unit of the rule that they are errors of.
    """

    gradient: np.ndarray
    level: np.ndarray
    squares: np.ndarray
    size: np.ndarray
    spread: np.ndarray

    def __iadd__(self, other: PrimalErrors) -> PrimalErrors:
        self.gradient += other.gradient
        self.level += other.level
        self.squares += other.squares
        self.size += other.size
        self.spread += other.spread
        return self


@dataclass(frozen=True)
class PrimalWeights:
    """Weights w of the features (a column for each output and penalty), with what belongs to each column.

    Parameters
    ----------
    w : array of shape (D, p)
        The weights.
    intercept, alpha, residuals : array of shape (p,)
        b, α and the certificate.
    columns : int array of shape (p,)
        Of which output each column is.
    preimage : array of shape (D, p)
        u with c = WΦu, for the columns in which (y − ŷ)/α would be noise; NaN elsewhere.
    factor : Eigen or Triangular
        What inverts H = ΦᵀWΦ + αI.
    parts : array of shape (2, p)
        Loss and penalty.
    """

    w: np.ndarray
    intercept: np.ndarray
    alpha: np.ndarray
    columns: np.ndarray
    residuals: np.ndarray
    preimage: np.ndarray
    factor: Any
    parts: np.ndarray


@dataclass(frozen=True)
class ErrorRule:
    """y − ŷ of rows, from their features, in units of y that keep squares in range.

    Parameters
    ----------
    w : array of shape (D, p)
        Weights, in the unit of their column.
    columns : int array of shape (p,)
        Of which output each column is.
    unit : array of shape (p,)
        The unit.
    mean, y_mean : array of shape (D,) and (q,)
        Means of features and targets, 0 without an intercept.
    ordinary : float
        The weight up to which points say how large targets are.
    """

    w: np.ndarray
    columns: np.ndarray
    unit: np.ndarray
    mean: np.ndarray
    y_mean: np.ndarray
    ordinary: float

    def __call__(self, phi: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the errors, given features less their mean."""
        return np.asarray((y - self.y_mean)[:, self.columns] / self.unit - phi @ self.w)


@dataclass(frozen=True)
class SecondPass:
    """c and (y − ŷ)/(1 − h) of rows, from their features; c is W(y − ŷ)/α, or WΦu where that is nothing but rounding.

    Parameters
    ----------
    found : PrimalWeights
        The solution.
    mean, y_mean : array of shape (D,) and (q,)
        Means of features and targets, 0 without an intercept.
    constant : float
        What an intercept adds to the leverage of a row of weight 1.
    loo : bool
        Whether leave-one-out residuals are wanted.
    """

    found: PrimalWeights
    mean: np.ndarray
    y_mean: np.ndarray
    constant: float
    loo: bool

    def __call__(self, phi: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return both, given features less their mean; the second only if it was wanted."""
        found = self.found
        error = (y - self.y_mean)[:, found.columns] - phi @ found.w
        with np.errstate(divide="ignore", invalid="ignore"):
            coef = weights[:, None] * error / found.alpha
        noisy = ~np.isnan(found.preimage[0]) if len(found.preimage) else np.zeros(coef.shape[1], dtype=bool)
        if noisy.any():
            coef[:, noisy] = weights[:, None] * (phi @ found.preimage[:, noisy])
        if not self.loo:
            return coef, None
        # hᵢᵢ = wᵢ φᵢᵀH⁻¹φᵢ, and wᵢ/Σw for the mean.
        distinct, where = np.unique(found.alpha, return_inverse=True)
        h = found.factor.leverages(distinct, phi) + self.constant
        with np.errstate(invalid="ignore", divide="ignore"):
            return coef, error / (1.0 - weights[:, None] * h)[:, where]


class PrimalRows:
    """The rows of a problem in explicit features, a block at a time.

    Parameters
    ----------
    problem : Problem
        The problem.
    feature_map : FeatureMap
        φ.
    width : int
        D, the number of features.
    """

    def __init__(self, problem: Problem, feature_map: Any, width: int) -> None:
        self._problem, self.feature_map, self._width = problem, feature_map, width
        n, q = problem.y.shape
        room = problem.memory - MATRICES * width * width * 8 - COLUMNS * n * q * 8
        wanted = max(BLOCK_BYTES // (8 * width), BLOCK_ROWS)
        self._step = max(1, min(wanted, room // (COPIES * 8 * width)))
        self._y = np.asarray(problem.y, dtype=np.float64)
        self._weights = None if problem.weights is None else np.asarray(problem.weights, dtype=np.float64)

    def nothing(self) -> tuple[np.ndarray, np.ndarray]:
        """Return zeros of the shapes of the means."""
        return np.zeros(self._width), np.zeros(self._y.shape[1])

    def reference(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the means of features and targets of the first block."""
        rows, phi = next(self._blocks())
        return phi.mean(axis=0), self._y[rows].mean(axis=0)

    def sums(self, mean: np.ndarray, y_mean: np.ndarray) -> PrimalSums:
        """Sum ΦᵀWΦ and ΦᵀWy about some means."""
        D, q = self._width, self._y.shape[1]
        total = float(self._problem.n) if self._weights is None else float(self._weights.sum())
        largest = np.abs(self._y).max(axis=0, initial=0.0)
        sums = PrimalSums(np.zeros((D, D)), np.zeros((D, q)), np.zeros(D), np.zeros(q), total, largest)
        for rows, phi in self._blocks():
            phi -= mean
            target = self._y[rows] - y_mean
            if self._problem.fit_intercept:
                sums.features += self._sum(rows, phi)
                sums.targets += self._sum(rows, target)
            if self._weights is not None:
                # With the roots of the weights on both sides the product is AᵀA, of which BLAS computes one half.
                roots = np.sqrt(self._weights[rows])[:, None]
                phi *= roots
                target *= roots
            sums.normal += phi.T @ phi
            sums.right += phi.T @ target
        return sums

    def triangle(self, mean: np.ndarray, y_mean: np.ndarray) -> PrimalTriangle:
        """Reduce the features and targets about some means to a triangle, without squaring them."""
        found = np.zeros((0, self._width + self._y.shape[1]))
        for rows, phi in self._blocks():
            block = np.column_stack([phi - mean, self._y[rows] - y_mean])
            if self._weights is not None:
                block *= np.sqrt(self._weights[rows])[:, None]
            found = triangle_of(np.concatenate([found, block]))
        return PrimalTriangle(found)

    def errors(self, rule: ErrorRule) -> PrimalErrors:
        """Sum up what the errors of a solution say about it."""
        D, p = rule.w.shape
        sums = PrimalErrors(np.zeros((D, p)), np.zeros(p), np.zeros(p), np.zeros(p), np.zeros(p))
        for rows, phi in self._blocks():
            phi -= rule.mean
            error, y = rule(phi, self._y[rows]), self._y[rows][:, rule.columns] / rule.unit
            mean = rule.y_mean[rule.columns] / rule.unit
            weighted = error if self._weights is None else self._weights[rows][:, None] * error
            sums.gradient += phi.T @ weighted
            sums.level += weighted.sum(axis=0)
            sums.squares += np.einsum("ij,ij->j", weighted, error)
            sums.size += self._sum(rows, y**2)
            weights = np.ones(len(y)) if self._weights is None else self._weights[rows]
            sums.spread += np.minimum(weights, rule.ordinary) @ (y - mean) ** 2
        return sums

    def second_pass(self, rule: SecondPass) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the coefficients of all rows, and their leave-one-out residuals if the rule has them."""
        coef = np.empty((self._problem.n, len(rule.found.alpha)))
        left_out = np.empty_like(coef) if rule.loo else None
        for rows, phi in self._blocks():
            phi -= rule.mean
            weights = np.ones(len(phi)) if self._weights is None else self._weights[rows]
            coef[rows], residuals = rule(phi, self._y[rows], weights)
            if left_out is not None:
                left_out[rows] = residuals
        return coef, left_out

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of rows, with their features."""
        n = self._problem.n
        for start in range(0, n, self._step):
            rows = slice(start, min(start + self._step, n))
            yield rows, features_of(self.feature_map, take(self._problem.X, rows.start, rows.stop))

    def _sum(self, rows: slice, values: np.ndarray) -> np.ndarray:
        return np.asarray(values.sum(axis=0) if self._weights is None else self._weights[rows] @ values)


def features_of(feature_map: Any, X: Rows) -> np.ndarray:
    """Return the features in float64, in an array of their own that may be overwritten."""
    phi = feature_map.transform(host_array(X))
    if sparse.issparse(phi):
        phi = phi.toarray()
    return np.array(phi, dtype=np.float64)
