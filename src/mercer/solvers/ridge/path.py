"""Many penalties from one orthogonal similarity W^½KW^½ = QMQᵀ: what does not depend on what M is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mercer.arrays.budget import require
from mercer.arrays.tensors import host_array

from ..base import PreparedRidge, Problem, Solution
from ..evidence import RESIDUAL, SCALE
from ..residuals import Multiplier, judge_solutions, penalties

CORRECTIONS = 2  # of a solution by its true residual
GAIN = 0.1  # a correction that does not lower the residual to this share of it is rounding, and is left out
LOST = 8 * np.finfo(np.float64).eps  # share of the trace below which eigenvalues and penalties are rounding
REMEDY = (
    "alpha is lost in the rounding of the kernel matrix: raise alpha, lower the scale of the kernel, even out the "
    f"weights, or {SCALE}"
)


def scaled_matrix(problem: Problem, matrices: int, work: str) -> tuple[np.ndarray, np.ndarray, Multiplier]:
    """Return W^½KW^½ to be overwritten, the diagonal of W^½, and K for products, where ``matrices`` fit the budget."""
    n = problem.n
    require(
        matrices * n * n * 8,
        problem.memory,
        f"the {work} of a {n} × {n} matrix",
        "give more memory, or use the Cholesky or the conjugate gradient solver",
    )
    gram = problem.gram(dtype=np.float64)
    K = np.asarray(host_array(gram.dense()))
    # Residuals are computed from K itself, which the decomposition destroys: keep it only if it is slow to compute.
    keep = not gram.cheap and (matrices + 1) * n * n * 8 <= problem.memory
    product: Multiplier = K.copy() if keep else gram
    roots = np.ones(n) if problem.weights is None else np.sqrt(np.asarray(problem.weights, dtype=np.float64))
    if problem.weights is not None:
        K *= roots
        K *= roots[:, None]
    return K, roots, product


class Rotation(Protocol):
    """An orthogonal matrix Q."""

    def turn(self, X: np.ndarray) -> np.ndarray:
        """Return QX."""

    def turn_back(self, X: np.ndarray) -> np.ndarray:
        """Return QᵀX."""


@dataclass(frozen=True)
class DenseRotation:
    """An orthogonal matrix by its entries."""

    Q: np.ndarray

    def turn(self, X: np.ndarray) -> np.ndarray:
        """Return QX."""
        return np.asarray(self.Q @ X)

    def turn_back(self, X: np.ndarray) -> np.ndarray:
        """Return QᵀX."""
        return np.asarray(self.Q.T @ X)


class PreparedPath(PreparedRidge):
    """A decomposed problem.

    Parameters
    ----------
    problem : Problem
        The problem.
    rotation : Rotation
        Q.
    roots : array of shape (n,)
        The diagonal of W^½.
    gram : Gram or array
        The matrix K, for residuals.
    """

    def __init__(self, problem: Problem, rotation: Rotation, roots: np.ndarray, gram: Multiplier) -> None:
        self.problem = problem
        self._rotation, self._roots, self._gram = rotation, roots, gram
        self._targets = np.asarray(problem.y, dtype=np.float64)
        rotated = rotation.turn_back(roots[:, None] * np.column_stack([self._targets, np.ones(problem.n)]))
        self._y, self._one = rotated[:, :-1], rotated[:, -1]  # y and 1 in the coordinates of Q

    def attempt(self, alpha: Any, *, loo: bool = False) -> Solution:
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
        coef, b, residuals, parts = self._correct(flat, columns)
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
                    remedy=REMEDY,
                    loo=None if left_out is None else left_out[:, part].copy(),
                    parts=parts[:, part],
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

    def _correct(self, alpha: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return c, b, certificate and objective for each α and the output of its column, corrected where needed."""
        y, roots = self._targets[:, columns], self._roots[:, None]
        inner, b = self._inner(alpha, self._y[:, columns])
        coef = roots * self._rotation.turn(inner)
        residuals, parts = judge_solutions(self.problem, self._gram, y, coef, b, alpha)
        for _ in range(CORRECTIONS):
            bad = np.flatnonzero((residuals > RESIDUAL) & (alpha > 0))
            if len(bad) == 0:
                break
            left = y[:, bad] - b[bad] - host_array(self._gram @ coef[:, bad]) - alpha[bad] * coef[:, bad] / roots**2
            inner, shift = self._inner(alpha[bad], self._rotation.turn_back(roots * left))
            better, moved = coef[:, bad] + roots * self._rotation.turn(inner), b[bad] + shift
            found, judged = judge_solutions(self.problem, self._gram, y[:, bad], better, moved, alpha[bad])
            kept = found < GAIN * residuals[bad]
            chosen = bad[kept]
            coef[:, chosen], b[chosen] = better[:, kept], moved[kept]
            residuals[chosen], parts[:, chosen] = found[kept], judged[:, kept]
        return coef, b, residuals, parts

    # -- for subclasses -----------------------------------------------------------------------------------------------

    def _inner(self, alpha: np.ndarray, rotated: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (M + α)⁻¹QᵀW^½(y − b) and b for each α and its column of QᵀW^½y."""
        raise NotImplementedError

    def _leave_one_out(self, alpha: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return cᵢ/Gᵢᵢ, G the inverse of A (less ηηᵀ/1ᵀη with an intercept), a column for each α."""
        raise NotImplementedError

    def _ratio(self, coef: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
        """Return W^-½c over the diagonal of W^-½GW^-½ in the units of y, NaN where there is no such number."""
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = coef / diagonal / self._roots[:, None]
        return np.where(np.isfinite(ratio), ratio, np.nan)

    def _steps(self, alphas: Any) -> np.ndarray:
        values = np.asarray(alphas, dtype=np.float64)
        if values.ndim not in (1, 2) or values.size == 0:
            raise ValueError(f"alphas must have shape (p,) or (p, q) with p of at least 1, got shape {values.shape}")
        return np.array([penalties(row, self._y.shape[1]) for row in values])
