"""Ridge from the eigenvalues of K: one decomposition, then every penalty in O(n²), leave-one-out residuals included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from mercer.gram.budget import require

from .base import Problem, Solution
from .residuals import Product, penalties, relative_residuals

MATRICES = 3  # n × n in float64: the matrix itself, overwritten by its eigenvectors, and LAPACK's workspace of two
BLOCK_BYTES = 2**25  # of squared eigenvectors at a time
NULL_SHARE = 1e-10  # a point with less of its unit vector than this in the null space of K has none of it there


@dataclass(frozen=True)
class Spectral:
    """Solve by the eigendecomposition W^½KW^½ = QΛQᵀ.

    c = W^½ Q (Λ + α)⁻¹ Qᵀ W^½ (y − b) for every α after one decomposition of about 9n³ operations, in float64.

    Eigenvalues of at most 8ε·tr(W^½KW^½) (ε = 2.2e-16) cannot be told from 0 and are taken to be 0.  So repeated
    points and other singular matrices are fine, and α = 0 means the limit α → 0: the pseudo-inverse, which is the
    least-squares fit of smallest norm.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Constant, Linear
    >>> from mercer.solvers.base import Problem
    >>> from mercer.solvers.spectral import Spectral
    >>> X, y = np.array([[1.0], [4.0], [6.0], [9.0]]), np.array([[0.8], [4.1], [6.2], [8.5]])
    >>> prepared = Spectral().prepare(Problem(Linear() + Constant(1.0), X, y))
    >>> solution = prepared.solve(np.array([1.0]), loo=True)
    >>> (X.T @ solution.coef).round(4)  # the slope
    array([[0.9545]])
    >>> solution.loo.round(2).ravel().tolist()
    [-0.4, 0.23, 0.51, -0.56]
    >>> round(prepared.effective_dof(1.0), 3)
    1.491
    """

    name = "spectral"

    def prepare(self, problem: Problem) -> SpectralPrepared:
        """Decompose the matrix."""
        K, roots, product = scaled_matrix(problem, MATRICES, "eigendecomposition")
        trace = float(np.abs(np.diagonal(K)).sum())
        # The transposed view of a symmetric matrix is in LAPACK's order, so that nothing is copied.
        values, Q = linalg.eigh(K.T, driver="evd", overwrite_a=True, check_finite=False)
        values[np.abs(values) <= 8 * np.finfo(np.float64).eps * trace] = 0.0
        return SpectralPrepared(problem, values, Q, roots, product)


def scaled_matrix(problem: Problem, matrices: int, work: str) -> tuple[np.ndarray, np.ndarray, Product]:
    """Return W^½KW^½ to be overwritten, the diagonal of W^½, and K for products, where ``matrices`` fit the budget."""
    n = problem.n
    require(
        matrices * n * n * 8,
        problem.memory,
        f"the {work} of a {n} × {n} matrix",
        "give more memory, or use the Cholesky or the conjugate gradient solver",
    )
    gram = problem.gram(dtype=np.float64)
    K = gram.dense()
    # Residuals are computed from K itself, which the decomposition destroys: keep it only if it is slow to compute.
    keep = gram.backend_name != "native" and (matrices + 1) * n * n * 8 <= problem.memory
    product: Product = K.copy() if keep else gram
    roots = np.ones(n) if problem.weights is None else np.sqrt(np.asarray(problem.weights, dtype=np.float64))
    if problem.weights is not None:
        K *= roots
        K *= roots[:, None]
    return K, roots, product


class SpectralPrepared:
    """A decomposed problem.

    Parameters
    ----------
    problem : Problem
        The problem.
    eigenvalues : array of shape (n,)
        Eigenvalues of W^½KW^½ in ascending order, those that are rounding set to 0.
    eigenvectors : array of shape (n, n)
        One in each column.
    roots : array of shape (n,)
        The diagonal of W^½.
    gram : Gram or array
        The matrix K, for residuals.
    """

    def __init__(
        self, problem: Problem, eigenvalues: np.ndarray, eigenvectors: np.ndarray, roots: np.ndarray, gram: Product
    ) -> None:
        self.problem = problem
        self.eigenvalues = eigenvalues
        self.eigenvectors = eigenvectors
        self._roots = roots
        self._gram = gram
        self._targets = np.asarray(problem.y, dtype=np.float64)
        self._y = eigenvectors.T @ (roots[:, None] * self._targets)  # y and 1 in the coordinates of the eigenvectors
        self._one = eigenvectors.T @ roots
        null = eigenvalues == 0
        if np.linalg.norm(self._one[null]) <= len(null) * np.finfo(np.float64).eps * np.linalg.norm(self._one):
            self._one[null] = 0.0  # a constant that the kernel can fit: a small α must not blow up its rounding

    def solve(self, alpha: Any, *, loo: bool = False) -> Solution:
        """Solve for one α per output, with leave-one-out residuals if asked."""
        return self.path([penalties(alpha, self._y.shape[1])], loo=loo)[0]

    def path(self, alphas: Any, *, loo: bool = False) -> list[Solution]:
        """Solve for many penalties at once.

        Parameters
        ----------
        alphas : array of shape (p,) or (p, q)
            Penalties, one for all outputs or one for each.
        loo : bool, default=False
            Whether to give leave-one-out residuals too.

        Returns
        -------
        list of p Solutions
        """
        steps, q = self._steps(alphas), self._y.shape[1]
        flat, columns = steps.ravel(), np.tile(np.arange(q), len(steps))
        inner, b = self._inner(flat, columns)
        coef = self._roots[:, None] * (self.eigenvectors @ inner)
        residuals = relative_residuals(self.problem, self._gram, self._targets[:, columns], coef, b, flat)
        left_out = self._leave_one_out(flat, columns) if loo else None
        solutions = []
        for i, alpha in enumerate(steps):
            part = slice(i * q, (i + 1) * q)
            solutions.append(
                Solution(
                    centers=self.problem.X,
                    coef=coef[:, part].copy(),
                    intercept=b[part],
                    alpha=alpha,
                    residual=float(residuals[part].max()),
                    loo=None if left_out is None else left_out[:, part].copy(),
                )
            )
        return solutions

    def loo(self, alphas: Any) -> np.ndarray:
        """Return the leave-one-out residuals yᵢ − f₋ᵢ(xᵢ) of many penalties, exactly.

        Parameters
        ----------
        alphas : array of shape (p,) or (p, q)
            Penalties, one for all outputs or one for each.

        Returns
        -------
        array of shape (p, n, q)
            NaN where nothing is left to fit an intercept to.
        """
        steps, q = self._steps(alphas), self._y.shape[1]
        flat = self._leave_one_out(steps.ravel(), np.tile(np.arange(q), len(steps)))
        return np.ascontiguousarray(flat.reshape(len(flat), len(steps), q).swapaxes(0, 1))

    def effective_dof(self, alpha: float) -> float:
        """Return the trace of the map from y to the fitted values: Σ λⱼ/(λⱼ + α), and the share of an intercept."""
        (value,) = penalties(alpha, 1)
        inverse, null = self._inverse(np.array([value]))
        fitted = float(self.eigenvalues @ inverse[:, 0])
        if not self.problem.fit_intercept:
            return fitted
        if value == 0:
            return fitted + float(self._has_null_intercept(null))
        scaled = self._one**2 * inverse[:, 0]
        return fitted + float(value * (scaled @ inverse[:, 0]) / scaled.sum())

    # -- in the coordinates of the eigenvectors -------------------------------------------------------------------

    def _steps(self, alphas: Any) -> np.ndarray:
        values = np.asarray(alphas, dtype=np.float64)
        if values.ndim not in (1, 2) or values.size == 0:
            raise ValueError(f"alphas must have shape (p,) or (p, q) with p of at least 1, got shape {values.shape}")
        return np.array([penalties(row, self._y.shape[1]) for row in values])

    def _inverse(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return 1/(λ + α), 0 where nothing is to be divided by, and which eigenvalues are 0."""
        shifted = self.eigenvalues[:, None] + alpha
        inverse = np.zeros_like(shifted)
        np.divide(1.0, shifted, out=inverse, where=shifted != 0)
        return inverse, self.eigenvalues == 0

    def _has_null_intercept(self, null: np.ndarray) -> bool:
        """Whether the constant is partly outside what the kernel can fit, so that it is decided there as α → 0."""
        return bool((self._one[null] ** 2).sum() > NULL_SHARE * (self._one**2).sum())

    def _inner(self, alpha: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (Λ + α)⁻¹QᵀW^½(y − b) and b, one column for each α."""
        inverse, null = self._inverse(alpha)
        y, one = self._y[:, columns], self._one[:, None]
        b = np.zeros(len(alpha))
        if self.problem.fit_intercept:
            weight = inverse * one
            if self._has_null_intercept(null):
                weight[:, alpha == 0] = one * null[:, None]
            b = (weight * y).sum(axis=0) / (weight * one).sum(axis=0)
        return inverse * (y - b * one), b

    def _leave_one_out(self, alpha: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return cᵢ/Gᵢᵢ, G the inverse of A (less ηηᵀ/1ᵀη with an intercept)."""
        inverse, null = self._inverse(alpha)
        free = (alpha == 0) & null.any()
        result = np.empty((len(inverse), len(alpha)))
        if not free.all():
            result[:, ~free] = self._ratio(*self._parts(inverse[:, ~free], alpha[~free], columns[~free]))
        if free.any():
            result[:, free] = self._limit(inverse[:, free], null, columns[free])
        return result

    def _parts(self, inverse: np.ndarray, alpha: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return W^-½c and the diagonal of W^-½GW^-½ for inverse eigenvalues, one column for each α."""
        _, first, where = np.unique(alpha, return_index=True, return_inverse=True)
        distinct = inverse[:, first]
        diagonal = self._squared_product(distinct)
        y = inverse * self._y[:, columns]
        if not self.problem.fit_intercept:
            return self.eigenvectors @ y, diagonal[:, where]
        weight = distinct * self._one[:, None]
        total = self._one @ weight
        eta = self.eigenvectors @ weight
        with np.errstate(invalid="ignore"):
            diagonal -= eta**2 / total
            b = self._one @ y / total[where]
        return self.eigenvectors @ y - b * eta[:, where], diagonal[:, where]

    def _ratio(self, coef: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = coef / diagonal / self._roots[:, None]
        return np.where(np.isfinite(ratio), ratio, np.nan)

    def _limit(self, inverse: np.ndarray, null: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the limit of cᵢ/Gᵢᵢ as α → 0 when K is singular.

        (Λ + α)⁻¹ is P/α + Λ⁺, P the projection on the null space: the ratio is that of the terms in 1/α, unless a
        point has no part in the null space; there it is the ratio of the next terms.
        """
        zeros = np.zeros(len(columns))
        P = np.repeat(null[:, None].astype(np.float64), len(columns), axis=1)
        intercept_in_null = self.problem.fit_intercept and self._has_null_intercept(null)
        if intercept_in_null or not self.problem.fit_intercept:
            first, share = self._parts(P, zeros, columns)
        else:
            first, share = self.eigenvectors @ (P * self._y[:, columns]), self._squared_product(P)
        if intercept_in_null:
            # With u = P1/1ᵀP1 the next term of G is (I − u1ᵀ)Λ⁺(I − 1uᵀ).
            u = (null * self._one / (self._one[null] ** 2).sum())[:, None]
            one, pinv = self._one[:, None], inverse[:, :1]
            y = self._y[:, columns]
            image = pinv * (y - one * (u.T @ y))
            second = self.eigenvectors @ (image - u * (one.T @ image))
            outer = self.eigenvectors @ u
            crossed = self.eigenvectors @ (pinv * one)
            rest = float((pinv * one**2).sum())
            diagonal = self._squared_product(pinv) - 2 * outer * crossed + rest * outer**2
        else:
            second, diagonal = self._parts(inverse, zeros, columns)
        return np.where(share > NULL_SHARE, self._ratio(first, share), self._ratio(second, diagonal))

    def _squared_product(self, V: np.ndarray) -> np.ndarray:
        """Return (Q∘Q) V without storing the squares."""
        return np.concatenate([self.eigenvectors[rows] ** 2 @ V for rows in self._blocks()])

    def _blocks(self) -> Iterator[slice]:
        n = len(self.eigenvectors)
        step = max(1, BLOCK_BYTES // (8 * n))
        for start in range(0, n, step):
            yield slice(start, min(start + step, n))
