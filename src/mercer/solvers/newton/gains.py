"""The features of chosen points, and what one Newton step would gain from choosing another, or lose without one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from mercer.arrays.budget import require
from mercer.formula.data import Rows, pick
from mercer.gram import Gram

from ..base import Problem
from .method import State
from .rows import FeatureBlocks
from .sums import WeightedLoss

EXPLAINED = 1e-12  # of k(x, x): less of a candidate is rounding
FEW = 1000  # points whose matrix is always held
OVERLAP = 0.25  # squared cosine above which two candidates of one block say the same


class ChosenFeatures(FeatureBlocks):
    """The features of the chosen points: a Cholesky factor of K that grows by a column with each."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._room = np.empty((problem.n, 16), order="F")
        self.indices: list[int] = []

    @property
    def shape(self) -> tuple[int, int]:
        """Points and features."""
        return self._problem.n, len(self.indices)

    @property
    def matrix(self) -> np.ndarray:
        """Φ, of shape (n, m)."""
        return self._room[:, : len(self.indices)]

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield all of Φ."""
        yield slice(0, self._problem.n), self.matrix

    def add(self, positions: np.ndarray) -> int:
        """Add points, less those that others explain; return how many were added."""
        n, before = self.shape
        points = pick(self._problem.X, positions)
        gram = Gram(self._problem.kernel, self._problem.X, points, memory=self._problem.memory, dtype=np.float64)
        left = gram.dense() - self.matrix @ self.matrix[positions].T
        sizes = self._problem.kernel.diag(points)
        for j, position in enumerate(positions):
            if left[position, j] <= EXPLAINED * sizes[j]:
                continue
            if len(self.indices) == self._room.shape[1]:
                require(
                    24.0 * n * len(self.indices), self._problem.memory, f"features of {2 * len(self.indices)} vectors",
                    "set max_vectors, or give more memory",
                )  # fmt: skip
                self._room = np.concatenate([self._room, np.empty_like(self._room)], axis=1)
            column = left[:, j] / np.sqrt(left[position, j])
            column[self.indices] = 0.0
            self._room[:, len(self.indices)] = column
            self.indices.append(int(position))
            left -= np.outer(column, column[positions])
        return len(self.indices) - before

    @property
    def triangle(self) -> np.ndarray:
        """L with K = LLᵀ at the chosen points."""
        return np.tril(self.matrix[self.indices])

    def coefficients(self, weights: np.ndarray) -> np.ndarray:
        """Return L⁻ᵀw, the coefficients of the function at the chosen points."""
        return np.asarray(solve_triangular(self.triangle, weights, lower=True, trans=1, check_finite=False))


class Judge:
    """What one Newton step would gain from each candidate."""

    def __init__(self, problem: Problem, loss: WeightedLoss, alpha: float) -> None:
        self._problem, self._loss, self._alpha = problem, loss, alpha
        self._diagonal = problem.kernel.diag(problem.X)
        gram = problem.gram(dtype=np.float64)
        self._dense: np.ndarray | None = None
        # Of many points, what is computed again as quickly is not worth storing; anything else is, if it fits.
        if (not gram.cheap or problem.n <= FEW) and 8 * problem.n**2 <= problem.memory // 2:
            self._dense = gram.dense()

    def gains(self, features: ChosenFeatures, state: State, positions: np.ndarray) -> np.ndarray:
        """Return the drop of the penalised loss that a Newton step promises for each candidate."""
        Phi, alpha = features.matrix, self._alpha
        (n, m), q = Phi.shape, self._loss.outputs
        R = self._loss.residuals(state.outputs)
        curvature = self._loss.curvature(state.outputs)
        W = np.einsum("nqq->nq", curvature.blocks())
        weighted = (W[:, :, None] * Phi[:, None, :]).reshape(n, q * m)
        products, squares = self._products(positions, np.hstack([R, W, weighted]), W)
        rows = Phi[positions]  # φ of the candidates
        left = self._diagonal[positions] - np.einsum("jm,jm->j", rows, rows)
        gains = np.zeros(len(positions))
        for c in range(q):
            G = Phi.T @ (W[:, c, None] * Phi)
            coupled = products[:, 2 * q + c * m : 2 * q + (c + 1) * m]
            inside = rows @ G
            slope = products[:, c] - rows @ (Phi.T @ R[:, c])
            bend = squares[:, c] - 2 * np.einsum("jm,jm->j", coupled, rows) + np.einsum("jm,jm->j", inside, rows)
            V = coupled - inside
            H = G + 2 * alpha * np.eye(m)
            if self._problem.fit_intercept:
                sums = Phi.T @ W[:, c]
                V = np.column_stack([V, products[:, q + c] - rows @ sums])
                H = np.block([[H, sums[:, None]], [sums[None, :], W[:, c].sum()[None, None]]])
            if len(H):
                bend = bend - np.einsum("jm,jm->j", V, cho_solve(cho_factor(H, lower=True), V.T).T)
            gains += 0.5 * slope**2 / (np.maximum(bend, 0.0) + 2 * alpha * np.maximum(left, 1e-300))
        gains[left <= EXPLAINED * self._diagonal[positions]] = 0.0
        return gains

    def spread(self, features: ChosenFeatures, positions: np.ndarray, count: int) -> np.ndarray:
        """Return the first points that overlap little with those before them, in what is not explained yet."""
        rows = features.matrix[positions]
        points = pick(self._problem.X, positions)
        left = Gram(self._problem.kernel, points, memory=self._problem.memory, dtype=np.float64).dense() - rows @ rows.T
        sizes = left.diagonal()
        kept: list[int] = []
        for j in range(len(positions)):
            if all(left[i, j] ** 2 <= OVERLAP * sizes[i] * sizes[j] for i in kept):
                kept.append(j)
            if len(kept) == count:
                break
        return np.asarray(positions[kept])

    def _products(self, positions: np.ndarray, V: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return KᵀV and (K∘K)ᵀW for the columns of the candidates."""
        if self._dense is not None:
            K = self._dense if len(positions) == len(self._dense) else self._dense[positions]
            return K @ V, np.square(K) @ W
        problem = self._problem
        candidates: Rows = pick(problem.X, positions)
        kernels = (problem.kernel, V), (problem.kernel**2, W)
        KV, squares = (Gram(k, candidates, problem.X, memory=problem.memory, dtype=np.float64) @ U for k, U in kernels)
        return KV, squares


def measure_rises(
    loss: WeightedLoss, alpha: float, features: ChosenFeatures, state: State, fit_intercept: bool
) -> np.ndarray:
    """Return by how much the penalised loss would rise without each chosen point: ½cⱼ²/(H⁻¹)ⱼⱼ, summed over classes."""
    Phi, m = features.matrix, len(features.indices)
    coef = features.coefficients(state.coef)
    inverse = solve_triangular(features.triangle, np.eye(m), lower=True, check_finite=False)  # L⁻¹
    W = np.einsum("nqq->nq", loss.curvature(state.outputs).blocks())
    found = np.zeros(m)
    for c in range(loss.outputs):
        H = Phi.T @ (W[:, c, None] * Phi) + 2 * alpha * np.eye(m)
        if fit_intercept:
            sums = Phi.T @ W[:, c]
            H -= np.outer(sums, sums) / W[:, c].sum()
        variances = np.einsum("ij,ij->j", inverse, cho_solve(cho_factor(H, lower=True), inverse))
        found += 0.5 * coef[:, c] ** 2 / variances
    return found
