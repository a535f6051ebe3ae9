"""H = ΦᵀWΦ + αI made ready to be inverted: from its eigenvalues, or from a triangle that never squares the features.

Summing up ΦᵀWΦ rounds to ε times its trace.  That is the quick way, and as good as any as long as α is far above it.
Below, directions in which the features are small are lost, although they are there in the features: orthogonal
reflections of the rows reach R with RᵀR = ΦᵀWΦ to a rounding relative to each column of Φ.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer.linalg.decomposition import decompose, decompose_singular

EPS = float(np.finfo(np.float64).eps)
SAFE = 1e4 * EPS  # share of the trace from which on a penalty is far above what summing up rounds
SINGULAR = 1e-3  # rounding times the condition number beyond which a triangle says nothing about its inverse


def triangle_of(rows: np.ndarray) -> np.ndarray:
    """Return R with RᵀR = AᵀA and no more rows than columns, by reflections; A is overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[3.0, 1.0], [4.0, 2.0], [0.0, 5.0]])
    >>> R = triangle_of(A.copy())
    >>> R.shape, bool(np.allclose(R.T @ R, A.T @ A))
    ((2, 2), True)
    """
    factored, _, _, _ = lapack.dgeqrf(np.asfortranarray(rows), overwrite_a=1)
    return np.triu(factored[: min(rows.shape)])


class Eigen:
    """H from the eigenvalues of the sum ΦᵀWΦ, which serve every α.

    Parameters
    ----------
    normal : array of shape (D, D)
        ΦᵀWΦ.
    right : array of shape (D, q)
        ΦᵀWy.
    """

    def __init__(self, normal: np.ndarray, right: np.ndarray) -> None:
        self.values, self.vectors = decompose(normal)
        self.trace = float(np.trace(normal))
        self.values[np.abs(self.values) <= 8 * EPS * self.trace] = 0.0
        self._inner = self.vectors.T @ right

    def suits(self, alpha: np.ndarray) -> bool:
        """Whether all penalties are far above rounding."""
        return bool((alpha > SAFE * self.trace).all())

    def is_known(self, alpha: float) -> bool:
        """Whether H⁻¹ can be trusted: wherever this factor suits."""
        return alpha > SAFE * self.trace

    def weights(self, alpha: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return H⁻¹ΦᵀWy for each α and the output of its column."""
        return np.asarray(self.vectors @ (self._inner[:, columns] / (self.values[:, None] + alpha)))

    def inverse(self, alpha: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return H⁻¹V, with the α of each column."""
        return np.asarray(self.vectors @ ((self.vectors.T @ V) / (self.values[:, None] + alpha)))

    def leverages(self, alpha: np.ndarray, phi: np.ndarray) -> np.ndarray:
        """Return φᵀH⁻¹φ of each row φ (rows of the result) for each α."""
        return np.asarray((phi @ self.vectors) ** 2 @ (1.0 / (self.values[:, None] + alpha)))

    def lengths(self, V: np.ndarray) -> np.ndarray:
        """Return √(vᵀΦᵀWΦv) of each column v."""
        return np.asarray(np.sqrt(np.maximum(self.values, 0.0) @ (self.vectors.T @ V) ** 2))

    def preimage(self, V: np.ndarray) -> np.ndarray:
        """Return the smallest U with ΦᵀWΦU = V."""
        inverse = np.zeros_like(self.values)
        np.divide(1.0, self.values, out=inverse, where=self.values > 0)
        return np.asarray(self.vectors @ (inverse[:, None] * (self.vectors.T @ V)))


class Triangular:
    """H from R with RᵀR = ΦᵀWΦ, extended by a row of √α for each feature; one more triangle for each α.

    Parameters
    ----------
    triangle : array of shape (up to D + q, D + q)
        The triangle of the columns [Φ, y], each row times the root of its weight.
    width : int
        D.
    """

    def __init__(self, triangle: np.ndarray, width: int) -> None:
        self._D = width
        whole = np.zeros((width, triangle.shape[1]))
        whole[: min(width, len(triangle))] = triangle[:width]
        self._both = whole
        self._extended: dict[float, tuple[np.ndarray, np.ndarray]] = {}

    @cached_property
    def _decompose(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        left, values, right = decompose_singular(self._both[:, : self._D])
        values[values <= self._D * EPS * (values[0] if len(values) else 0.0)] = 0.0
        return left, values, right.T

    def is_known(self, alpha: float) -> bool:
        """Whether H⁻¹ can be trusted."""
        if alpha == 0:
            return True  # the smallest solution, in the directions that are there
        R, _ = self._triangle(alpha)
        return _is_regular(R)

    def weights(self, alpha: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return H⁻¹ΦᵀWy for each α and the output of its column, the smallest least-squares solution where α = 0."""
        w = np.empty((self._D, len(alpha)))
        for one in np.unique(alpha):
            its = np.flatnonzero(alpha == one)
            R, right = self._triangle(float(one))
            if one > 0 or _is_regular(R):
                w[:, its] = solve_triangular(R, right[:, columns[its]], check_finite=False)
            else:
                left, values, V = self._decompose
                w[:, its] = V @ (_invert(values)[:, None] * (left.T @ right[:, columns[its]]))
        return w

    def inverse(self, alpha: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return H⁻¹V, with the α of each column."""
        out = np.empty_like(V)
        for one in np.unique(alpha):
            its = np.flatnonzero(alpha == one)
            R, _ = self._triangle(float(one))
            if one > 0 or _is_regular(R):
                half = solve_triangular(R, V[:, its], trans="T", check_finite=False)
                out[:, its] = solve_triangular(R, half, check_finite=False)
            else:
                out[:, its] = self._pseudo_inverse(V[:, its])
        return out

    def leverages(self, alpha: np.ndarray, phi: np.ndarray) -> np.ndarray:
        """Return φᵀH⁻¹φ of each row φ (rows of the result) for each α."""
        out = np.empty((len(phi), len(alpha)))
        for place, one in enumerate(alpha):
            R, _ = self._triangle(float(one))
            if one > 0 or _is_regular(R):
                half = solve_triangular(R, phi.T, trans="T", check_finite=False)
            else:
                _, values, V = self._decompose
                half = _invert(values)[:, None] * (V.T @ phi.T)
            out[:, place] = np.einsum("ij,ij->j", half, half)
        return out

    def lengths(self, V: np.ndarray) -> np.ndarray:
        """Return √(vᵀΦᵀWΦv) of each column v."""
        return np.asarray(np.linalg.norm(self._both[:, : self._D] @ V, axis=0))

    def preimage(self, V: np.ndarray) -> np.ndarray:
        """Return the smallest U with ΦᵀWΦU = V."""
        R = self._both[:, : self._D]
        if not _is_regular(R):
            return self._pseudo_inverse(V)
        return np.asarray(
            solve_triangular(R, solve_triangular(R, V, trans="T", check_finite=False), check_finite=False)
        )

    def _pseudo_inverse(self, V: np.ndarray) -> np.ndarray:
        _, values, vectors = self._decompose
        return np.asarray(vectors @ (_invert(values)[:, None] ** 2 * (vectors.T @ V)))

    def _triangle(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Return R of H and what it makes of y."""
        if alpha not in self._extended:
            both = self._both
            if alpha > 0:
                below = np.zeros_like(both)
                np.fill_diagonal(below, np.sqrt(alpha))
                both = triangle_of(np.concatenate([both, below]))[: self._D]
            self._extended[alpha] = both[:, : self._D], both[:, self._D :]
        return self._extended[alpha]


def _is_regular(R: np.ndarray) -> bool:
    """Whether a triangle with its columns brought to length 1 is far from singular."""
    sizes = np.linalg.norm(R, axis=0)
    if not (sizes > 0).all():
        return False
    reciprocal, _ = lapack.dtrcon(np.asfortranarray(R / sizes), norm="1", uplo="U")
    return bool(reciprocal * SINGULAR > EPS)


def _invert(values: np.ndarray) -> np.ndarray:
    """Return 1/σ, 0 where σ is 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
