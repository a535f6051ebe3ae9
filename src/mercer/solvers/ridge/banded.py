"""Ridge from a banded form of K: many penalties and their leave-one-out residuals without any eigenvector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays.budget import require
from mercer.arrays.tensors import host_array
from mercer.linalg.band import Rotation, band_form
from mercer.linalg.block_band import find_block_band

from ..base import Problem
from ..residuals import Multiplier
from .cholesky import Cholesky
from .diagonals import InverseDiagonals
from .loo_gradient import judge_matrix
from .path import LOST, PreparedPath, scaled_matrix
from .spectral import Spectral, SpectralPrepared

MATRICES = 2  # n × n in float64: the matrix or the rotation that it became, and its reflections, half of one
NARROW, WIDE, MANY = 32, 96, 3000  # widths of the band up to and beyond so many points: a wider one is quicker to
# reach, which counts for more the more points there are, and takes more time for each penalty
TOGETHER = 10  # factors for different penalties that are made one after the other
KEPT = 32  # of them for what is asked next
FAINT = 0.1  # a point of which the intercept leaves less than this has its diagonal in float64
SMALL = 4096  # points up to which a device inverts a matrix for each penalty, and asks for no evidence
BLOCK = 256  # columns of the blocks of a device
FEW = 7  # penalties up to which a factor and its inverse for each, of 2n³/3 operations, are there before a block band


@dataclass(frozen=True)
class Banded:
    """Solve by an orthogonal similarity W^½KW^½ = QBQᵀ with a band matrix B.

    The inverse of B + α costs O(n) for each α, the diagonal of Q(B + α)⁻¹Qᵀ, which leave-one-out needs, O(n²).  B takes
    4n³/3 operations and the entries of Q as many, all of them in products of matrices, which is much less time than all
    eigenvectors or a tridiagonal form take; what they cannot do is an α that is lost in the rounding of K, for which
    there is :class:`~mercer.solvers.Spectral`.

    Coefficients are of float64.  From 1,000 points on leave-one-out residuals divide them by diagonals that are summed
    up in float32, about 1e-6 off; see :class:`~mercer.solvers.ridge.diagonals.InverseDiagonals`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Constant, Linear
    >>> from mercer.solvers.base import Problem
    >>> from mercer.solvers.ridge.banded import Banded
    >>> X, y = np.array([[1.0], [4.0], [6.0], [9.0]]), np.array([[0.8], [4.1], [6.2], [8.5]])
    >>> prepared = Banded().prepare(Problem(Linear() + Constant(1.0), X, y))
    >>> prepared.loo([1.0, 10.0]).round(2).tolist()
    [[[-0.4], [0.23], [0.51], [-0.56]], [[-0.24], [0.47], [0.97], [0.81]]]
    """

    name = "banded"

    def prepare(self, problem: Problem) -> BandedPrepared:
        """Reduce the matrix."""
        K, roots, product = scaled_matrix(problem, MATRICES, "banded form")
        width = NARROW if problem.n <= MANY else WIDE
        band, Q = band_form(K.T, max(1, min(width, problem.n - 1)))
        return BandedPrepared(problem, band, Q, roots, product)


class BandedPrepared(PreparedPath):
    """A problem in banded form.

    Parameters
    ----------
    problem : Problem
        The problem.
    band : array of shape (w + 1, n)
        B, in LAPACK's storage of its lower half.
    rotation : Rotation
        Q.
    roots : array of shape (n,)
        The diagonal of W^½.
    gram : Gram or array
        The matrix K, for residuals.
    """

    name = "Banded"

    def __init__(
        self, problem: Problem, band: np.ndarray, rotation: Rotation, roots: np.ndarray, gram: Multiplier
    ) -> None:
        super().__init__(problem, rotation, roots, gram)
        self._band, self._diagonals = band, InverseDiagonals(rotation)
        self._factors: dict[float, np.ndarray] = {}

    def _factor(self, alpha: float) -> np.ndarray:
        """Return L of B + α = LLᵀ, in B's storage."""
        if alpha not in self._factors:
            if len(self._factors) >= KEPT:
                self._factors.clear()
            self._factors[alpha] = self._factorize(alpha)
        return self._factors[alpha]

    def _factorize(self, alpha: float) -> np.ndarray:
        from scipy.linalg import lapack

        shifted = self._band.copy(order="F")
        shifted[0] += alpha
        lost = alpha <= LOST * np.abs(self._band[0]).sum()
        if not lost:
            shifted, lost = lapack.dpbtrf(shifted, lower=1, overwrite_ab=1)
        if lost:
            raise np.linalg.LinAlgError(
                f"alpha={alpha:g} is lost in the rounding of the kernel matrix, or the matrix is not positive "
                "semi-definite; raise alpha, or use the spectral solver, which takes any"
            )
        return shifted

    def _inner(self, alpha: np.ndarray, rotated: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (B + α)⁻¹QᵀW^½(y − b) and b for each α and its column of QᵀW^½y."""
        inner, b, _ = self._solve_columns(alpha, rotated)
        return inner, b

    def _leave_one_out(self, alpha: np.ndarray, columns: np.ndarray) -> np.ndarray:
        inner, _, diagonal = self._solve_columns(alpha, self._y[:, columns], with_diagonal=True)
        return self._ratio(self._rotation.turn(inner), diagonal)

    def _solve_columns(
        self, alpha: np.ndarray, y: np.ndarray, *, with_diagonal: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (B + α)⁻¹QᵀW^½(y − b), b, and if asked the diagonal of G, a column for each α and y."""
        from scipy.linalg import lapack

        solved, eta, diagonal = np.empty_like(y), np.empty_like(y), np.zeros_like(y)
        penalties = np.unique(alpha)
        for some in np.array_split(penalties, -(-len(penalties) // TOGETHER)):
            # Threads of LAPACK go on for a while and would be in the way of the diagonals: all factors of some first.
            factors = [(alpha == one, float(one), self._factor(one)) for one in some]
            for its, _, L in factors:
                both = lapack.dpbtrs(L, np.column_stack([y[:, its], self._one]), lower=1)[0]
                solved[:, its], eta[:, its] = both[:, :-1], both[:, -1:]
            for its, one, L in factors if with_diagonal else []:
                diagonal[:, its] = self._diagonals.find(L, one)[:, None]
        if not self.problem.fit_intercept:
            return solved, np.zeros(len(alpha)), diagonal
        total = self._one @ eta
        b = (self._one @ solved) / total
        if with_diagonal:
            diagonal = self._free_intercept(diagonal, alpha, self._rotation.turn(eta) ** 2 / total)
        return solved - b * eta, b, diagonal

    def _free_intercept(self, diagonal: np.ndarray, alpha: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Return the diagonal of A⁻¹ without what the intercept explains, a column for each α."""
        left = diagonal - share
        rows = np.flatnonzero((left < FAINT * diagonal).any(axis=1))
        if len(rows):  # what is left of them is too little for digits of float32
            for j, one in enumerate(alpha):
                left[rows, j] = self._diagonals.find_rows(self._factor(float(one)), rows) - share[rows, j]
        return left


class Inverses:
    """The inverse of K + αW⁻¹ for each α, without the evidence that solvers give: quick where matrices are small."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._K = problem.gram(dtype=np.float64).dense()

    def loo(self, alphas: np.ndarray) -> np.ndarray:
        """Return the leave-one-out residuals of each α, or of each and its output, of shape (p, n, q)."""
        place, noise = self.problem.place, self.problem.noise
        y, W_inverse, ones = (place.put(values) for values in (self.problem.y, noise, np.ones((len(noise), 1))))

        def judge(alpha: float) -> np.ndarray:
            found = judge_matrix(
                self._K.clone(), y, alpha, W_inverse, ones, fit_intercept=self.problem.fit_intercept, gradient=False
            )
            return np.asarray(host_array(found.residuals))

        return _spread(alphas, self.problem.y.shape, lambda some: np.array([judge(float(alpha)) for alpha in some]))


class BlockBanded:
    """W^½KW^½ = QBQᵀ on a device, with a block tridiagonal B: the residuals of many penalties from one reduction."""

    matrices = 3  # that it holds: K, which becomes Q, its reflections, half of one, and what is computed from them

    def __init__(self, problem: Problem) -> None:
        self.problem, n, place = problem, problem.n, problem.place
        require(
            8 * self.matrices * n * n, problem.memory, f"the banded form of a {n} × {n} matrix on {place}",
            "give more memory, or fewer penalties",
        )  # fmt: skip
        roots = np.ones(n) if problem.weights is None else np.sqrt(problem.weights)
        self._roots = place.put(roots)[:, None]
        K = problem.gram(dtype=np.float64).dense() * self._roots
        K *= self._roots[:, 0]
        self._least = LOST * float(K.diagonal().abs().sum())
        self._form = find_block_band(K, max(1, min(BLOCK, n)))

    def loo(self, alphas: np.ndarray) -> np.ndarray:
        """Return the leave-one-out residuals of each α, or of each and its output, of shape (p, n, q)."""
        n = self.problem.n
        if np.min(alphas) <= self._least:
            raise np.linalg.LinAlgError(f"alpha={np.min(alphas):g} is lost in the rounding of the kernel matrix")
        together = max(1, int(self.problem.memory / 4 / (3 * 8 * BLOCK * n)))

        def judge(some: np.ndarray) -> np.ndarray:
            parts = np.array_split(some, -(-len(some) // together))
            return np.concatenate([self._judge(part) for part in parts])

        return _spread(alphas, self.problem.y.shape, judge)

    def _judge(self, alphas: np.ndarray) -> np.ndarray:
        """Return the residuals of each α for all outputs: with (K + α)⁻¹ = XᵀX, sums over rows of X."""
        q = self.problem.y.shape[1]
        right = self.problem.place.put(np.column_stack([self.problem.y, np.ones(self.problem.n)])) * self._roots
        solved = right.new_zeros((len(alphas), *right.shape))
        diagonal = right.new_zeros((len(alphas), len(right), 1))
        for X in self._form.inverse_factors(alphas):
            solved += X.transpose(1, 2) @ (X @ right)
            diagonal += X.square().sum(1)[:, :, None]
        coef, eta = solved[:, :, :q], solved[:, :, q:]
        if self.problem.fit_intercept:
            one = right[:, q:]
            total = (one * eta).sum(1, keepdim=True)
            coef = coef - (one * coef).sum(1, keepdim=True) / total * eta
            diagonal = diagonal - eta**2 / total
        ratio = np.asarray(host_array(coef / diagonal / self._roots))
        return np.where(np.isfinite(ratio), ratio, np.nan)


def _spread(alphas: np.ndarray, shape: tuple[int, ...], judge: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return residuals of shape (p, n, q) for p penalties, or p × q, from those of all outputs for each one alone."""
    q = shape[1]
    steps = np.asarray(alphas, dtype=np.float64).reshape(len(alphas), -1)
    steps = np.broadcast_to(steps, (len(steps), q))
    single, places = np.unique(steps, return_inverse=True)
    found = judge(single)  # (single, n, q)
    return found[places.reshape(steps.shape), :, np.arange(q)].swapaxes(1, 2)


def loo_path(problem: Problem) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from penalties to leave-one-out residuals of shape (p, n, q), by the quickest exact way.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0], [2.0], [4.0]])
    >>> residuals = loo_path(Problem(Linear(), X, X))
    >>> residuals(np.array([1.0])).round(3).ravel().tolist()
    [0.048, 0.111, 0.667]
    >>> bool(np.abs(residuals(np.array([0.0]))).max() < 1e-12)  # by eigenvalues
    True
    """
    prepared: Any = None

    def residuals(alphas: np.ndarray) -> np.ndarray:
        nonlocal prepared
        if (np.asarray(alphas) > 0).all() and not isinstance(prepared, SpectralPrepared):
            many = _pays_to_reduce(problem, len(np.unique(alphas)))
            try:
                if prepared is None or (many and not isinstance(prepared, BlockBanded)):
                    prepared = None  # before memory is needed again
                    prepared = BlockBanded(problem) if many else _prepare_few(problem)
                return np.asarray(prepared.loo(alphas))
            except np.linalg.LinAlgError:  # a penalty that only eigenvalues can tell from 0
                pass
        if not isinstance(prepared, SpectralPrepared):
            prepared = None
            prepared = Spectral().prepare(problem)
        return np.asarray(prepared.loo(alphas))

    return residuals


def _pays_to_reduce(problem: Problem, penalties: int) -> bool:
    """Whether a device is quicker with one reduction for all of so many penalties than with each alone."""
    return not problem.place.on_host and problem.n > SMALL and penalties > FEW


def _prepare_few(problem: Problem) -> Any:
    """Return what gives the residuals of a few penalties soonest; on the host, of any number."""
    if problem.place.on_host:
        return Banded().prepare(problem)
    return Inverses(problem) if problem.n <= SMALL else Cholesky("double").prepare(problem)
