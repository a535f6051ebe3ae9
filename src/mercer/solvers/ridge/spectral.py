"""Ridge from the eigenvalues of K: one decomposition, then every penalty in O(n²), leave-one-out residuals included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mercer.arrays.tensors import host_array, load_torch
from mercer.linalg.decomposition import decompose

from ..base import Problem
from ..costs import Cost, PlannedSolver, Sizes
from ..residuals import Multiplier, penalties
from .path import LOST, DenseRotation, PreparedPath, scaled_matrix

MATRICES = 3  # n × n in float64: the matrix itself, overwritten by its eigenvectors, and LAPACK's workspace of two
BLOCK_BYTES = 2**25  # of squared eigenvectors at a time
NULL_SHARE = 1e-10  # a point with less of its unit vector than this in the null space of K has none of it there


@dataclass(frozen=True)
class Spectral(PlannedSolver):
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
    >>> from mercer.solvers.ridge.spectral import Spectral
    >>> X, y = np.array([[1.0], [4.0], [6.0], [9.0]]), np.array([[0.8], [4.1], [6.2], [8.5]])
    >>> prepared = Spectral().prepare(Problem(Linear() + Constant(1.0), X, y))
    >>> solution = prepared.solve(np.array([1.0]), loo=True)
    >>> (X.T @ solution.coef).round(4)  # the slope
    array([[0.9545]])
    >>> solution.loo.round(3).ravel().tolist()
    [-0.403, 0.225, 0.51, -0.558]
    >>> round(prepared.effective_dof(1.0), 3)
    1.491
    """

    name = "spectral"

    def cost(self, sizes: Sizes) -> Cost:
        """Return what a fit would take."""
        n, q, speed = float(sizes.n), sizes.columns, sizes.speed
        work = (sizes.entry * n * n / 2, speed.entries), (9 * n**3 + q * (4 + 2 * sizes.loo) * n * n, speed.eigen)
        return Cost(8.0 * MATRICES * n * n + sizes.vectors, work, speed)

    def explain(self, sizes: Sizes) -> str:
        """Return why this is the quickest."""
        wish = f"{sizes.alphas} penalties" if sizes.alphas > 1 else "leave-one-out residuals"
        return f"{wish} of {sizes.n} points come from one eigendecomposition"

    def prepare(self, problem: Problem) -> SpectralPrepared:
        """Decompose the matrix."""
        K, roots, product = scaled_matrix(problem, MATRICES, "eigendecomposition")
        trace = float(np.abs(np.diagonal(K)).sum())
        if not problem.place.on_host:
            values, Q = map(host_array, load_torch().linalg.eigh(problem.place.put(K)))
        else:
            # The transposed view of a symmetric matrix is in LAPACK's order, so that nothing is copied.
            values, Q = decompose(K.T, overwrite=True)
        values[np.abs(values) <= LOST * trace] = 0.0
        return SpectralPrepared(problem, values, Q, roots, product)


class SpectralPrepared(PreparedPath):
    """A decomposed problem.

    A penalty of at most 8ε·tr(W^½KW^½) is lost beside eigenvalues that cannot be told from 0: in their directions it is
    taken as the limit α → 0, like 0 itself, because 1/α times what is rounding there would be nothing but noise.

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

    name = "Spectral"

    def __init__(
        self, problem: Problem, eigenvalues: np.ndarray, eigenvectors: np.ndarray, roots: np.ndarray, gram: Multiplier
    ) -> None:
        super().__init__(problem, DenseRotation(eigenvectors), roots, gram)
        self.eigenvalues = eigenvalues
        self.eigenvectors = eigenvectors
        self._lost = LOST * float(np.abs(eigenvalues).sum())
        null = eigenvalues == 0
        if np.linalg.norm(self._one[null]) <= len(null) * np.finfo(np.float64).eps * np.linalg.norm(self._one):
            self._one[null] = 0.0  # a constant that the kernel can fit: a small α must not blow up its rounding

    def effective_dof(self, alpha: float) -> float:
        """Return the trace of the map from y to the fitted values: Σ λⱼ/(λⱼ + α), and the share of an intercept."""
        (value,) = penalties(alpha, 1)
        inverse, null = self._inverse(np.array([value]))
        fitted = float(self.eigenvalues @ inverse[:, 0])
        if not self.problem.fit_intercept:
            return fitted
        if value <= self._lost:
            return fitted + float(self._has_null_intercept(null))
        scaled = self._one**2 * inverse[:, 0]
        return fitted + float(value * (scaled @ inverse[:, 0]) / scaled.sum())

    def inverse(self, alpha: float) -> np.ndarray:
        """Return 1/(λ + α) of each eigenvalue, 0 where there is nothing but rounding to divide by."""
        return self._inverse(np.array([alpha]))[0][:, 0]

    def frees_intercept(self, alpha: float) -> bool:
        """Whether the intercept is decided outside of what the kernel can fit, as it is without noise."""
        return bool(alpha <= self._lost) and self._has_null_intercept(self.eigenvalues == 0)

    def fit_targets(self, V: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and intercepts of other targets, one column each, with the same penalty."""
        inner, b = self._inner(np.full(V.shape[1], alpha), self._rotation.turn_back(self._roots[:, None] * V))
        return self._roots[:, None] * self._rotation.turn(inner), b

    # -- in the coordinates of the eigenvectors -------------------------------------------------------------------

    def _inverse(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return 1/(λ + α), 0 where there is nothing but rounding to divide by, and which eigenvalues are 0."""
        null = self.eigenvalues == 0
        shifted = self.eigenvalues[:, None] + alpha
        inverse = np.zeros_like(shifted)
        lost = null[:, None] & (alpha <= self._lost)
        np.divide(1.0, shifted, out=inverse, where=~lost & (shifted != 0))
        return inverse, null

    def _has_null_intercept(self, null: np.ndarray) -> bool:
        """Whether the constant is partly outside what the kernel can fit, so that it is decided there as α → 0."""
        return bool((self._one[null] ** 2).sum() > NULL_SHARE * (self._one**2).sum())

    def _inner(self, alpha: np.ndarray, rotated: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (Λ + α)⁻¹QᵀW^½(y − b) and b, one column for each α."""
        inverse, null = self._inverse(alpha)
        y, one = rotated, self._one[:, None]
        b = np.zeros(len(alpha))
        if self.problem.fit_intercept:
            weight = inverse * one
            if self._has_null_intercept(null):
                weight[:, alpha <= self._lost] = one * null[:, None]
            b = (weight * y).sum(axis=0) / (weight * one).sum(axis=0)
        return inverse * (y - b * one), b

    def _leave_one_out(self, alpha: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return cᵢ/Gᵢᵢ, G the inverse of A (less ηηᵀ/1ᵀη with an intercept)."""
        inverse, null = self._inverse(alpha)
        free = (alpha <= self._lost) & null.any()
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
