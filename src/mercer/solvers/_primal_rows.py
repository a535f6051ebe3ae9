"""Passes over the rows of a problem in explicit features: sums for the normal equations, and residuals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer.gram.device.tensors import host_array
from mercer.kernels.data import Rows, take

from .base import Problem

MATRICES = 4  # D × D in float64: ΦᵀWΦ kept for residuals, its eigenvectors, and LAPACK's workspace of two
BLOCK_BYTES = 2**22  # of features at a time, so that a block stays in the cache
BLOCK_ROWS = 1024  # at least, if there is memory: adding up D × D matrices must not cost more than they do
COPIES = 3  # of a block: while the map computes it, weighted, and as it is
COLUMNS = 6  # arrays of the size of y that a solution needs


@dataclass
class PrimalSums:
    """ΦᵀWΦ, ΦᵀWy, the sums of wφ and wy about some point, and Σw; those of two sets of rows add up."""

    normal: np.ndarray
    right: np.ndarray
    features: np.ndarray
    targets: np.ndarray
    total: float

    def __iadd__(self, other: PrimalSums) -> PrimalSums:
        self.normal += other.normal
        self.right += other.right
        self.features += other.features
        self.targets += other.targets
        self.total += other.total
        return self


@dataclass(frozen=True)
class PrimalWeights:
    """Weights w of the features (a column for each output and penalty), with what belongs to each column.

    Parameters
    ----------
    w : array of shape (D, p)
        The weights.
    intercept, alpha, residuals : array of shape (p,)
        b, α and the relative residual.
    columns : int array of shape (p,)
        Of which output each column is.
    """

    w: np.ndarray
    intercept: np.ndarray
    alpha: np.ndarray
    columns: np.ndarray
    residuals: np.ndarray


@dataclass(frozen=True)
class SecondPass:
    """c = W(y − ŷ)/α and (y − ŷ)/(1 − h) of rows, from their features.

    Parameters
    ----------
    found : PrimalWeights
        The solution.
    mean, y_mean : array of shape (D,) and (q,)
        Means of features and targets, 0 without an intercept.
    eigenvalues, eigenvectors : array of shape (D,) and (D, D)
        Of the normal equations.
    constant : float
        What an intercept adds to the leverage of a row of weight 1.
    loo : bool
        Whether leave-one-out residuals are wanted.
    """

    found: PrimalWeights
    mean: np.ndarray
    y_mean: np.ndarray
    eigenvalues: np.ndarray
    eigenvectors: np.ndarray
    constant: float
    loo: bool

    def __call__(self, phi: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return both, given features less their mean; the second only if it was wanted."""
        found = self.found
        error = (y - self.y_mean)[:, found.columns] - phi @ found.w
        coef = weights[:, None] * error / found.alpha
        if not self.loo:
            return coef, None
        # hᵢᵢ = wᵢ Σⱼ (φᵢᵀqⱼ)²/(λⱼ + α), and wᵢ/Σw for the mean.
        distinct, where = np.unique(found.alpha, return_inverse=True)
        h = (phi @ self.eigenvectors) ** 2 @ (1.0 / (self.eigenvalues[:, None] + distinct)) + self.constant
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
        sums = PrimalSums(np.zeros((D, D)), np.zeros((D, q)), np.zeros(D), np.zeros(q), total)
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
