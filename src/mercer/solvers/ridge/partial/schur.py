"""What eliminated points leave of a matrix, S = A₂₂ − A₂₁A₁₁⁻¹A₁₂, for conjugate gradients that read A₁₂ once a step.

The two products with A₁₂ in Sp = A₂₂p − A₂₁A₁₁⁻¹A₁₂p wait for each other: one begins where all rows of the other are
known.  But directions are sums of residuals, divided by a diagonal D.  So each row of A₂₁ that a residual r was just
found from is added up to A₁₂D⁻¹r while it is in the cache, and A₁₂p is the sum of these as p is one of D⁻¹r.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays.columns import units
from mercer.gram.half import StoredHalf
from mercer.linalg.iteration import Columns, ConjugateGradients
from mercer.linalg.long_rows import reduce_rows
from mercer.linalg.strips import TriangleStrips


@dataclass(frozen=True)
class SchurComplement:
    """S of m points that are left, in float32, and what preconditions it.

    Parameters
    ----------
    triangle : TriangleStrips
        The Cholesky factor of A₁₁.
    side : array of shape (m, count), float32
        A₂₁.
    rest : StoredHalf
        K of the points that are left.
    shift : array of shape (m, 1)
        What A₂₂ has on its diagonal beside K.
    scale : array of shape (m,)
        D⁻¹.
    """

    triangle: TriangleStrips
    side: np.ndarray
    rest: StoredHalf
    shift: np.ndarray
    scale: np.ndarray

    def invert(self, V: np.ndarray) -> np.ndarray:
        """Return A₁₁⁻¹V."""
        return self.triangle.solve_upper(self.triangle.solve_lower(V))

    def reduce(self, V: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return R = V − A₂₁W and A₁₂D⁻¹R."""
        unit = units(W)  # a tiny shift makes numbers that leave the range of float32
        left, image = reduce_rows(self.side, W / unit, V / unit, self.scale)
        return left * unit, image * unit


class SchurIteration:
    """Conjugate gradients for Sx = b, where b is V₂ − A₂₁W, and several columns at once.

    Directions have A₁₂p below them and x has A₁₂x, so that pᵀSp = pᵀA₂₂p − (A₁₂p)ᵀA₁₁⁻¹A₁₂p is known before A₂₁ is
    read.  Residuals have 0 below them, which leaves inner products what they are.
    """

    def __init__(self, matrix: SchurComplement, V: np.ndarray, W: np.ndarray) -> None:
        self._matrix, self._left = matrix, slice(0, len(V))
        residual, self._carried = matrix.reduce(V, W)  # A₁₂D⁻¹r beside r
        self._state = ConjugateGradients(np.concatenate([residual, np.zeros_like(W)]))

    @property
    def residual(self) -> np.ndarray:
        """What is left of b."""
        return self._state.residual[self._left]

    @property
    def solution(self) -> tuple[np.ndarray, np.ndarray]:
        """What is found, x, and A₁₂x."""
        return self._state.x[self._left], self._state.x[self._left.stop :]

    def step(self, columns: Columns) -> np.ndarray:
        """Do one iteration of some columns, and return which of them have no minimum along their direction."""
        self._state.turn(self._divide, columns)
        return self._state.advance(self._multiply, columns, self._update)

    def _multiply(self, P: np.ndarray, _: Columns) -> np.ndarray:
        """Return A₂₂p, and −A₁₁⁻¹A₁₂p below it."""
        unit = units(P)
        P = P / unit
        upper = self._matrix.rest @ P[self._left] + self._matrix.shift * P[self._left]
        return unit * np.concatenate([upper, -self._matrix.invert(P[self._left.stop :])])

    def _divide(self, R: np.ndarray, columns: Columns) -> np.ndarray:
        return np.concatenate([self._matrix.scale[:, None] * R[self._left], self._carried[:, columns]])

    def _update(self, R: np.ndarray, image: np.ndarray, lengths: np.ndarray, columns: Columns) -> np.ndarray:
        upper, lower = R[self._left] - lengths * image[self._left], lengths * image[self._left.stop :]
        residual, self._carried[:, columns] = self._matrix.reduce(upper, lower)
        return np.concatenate([residual, np.zeros_like(lower)])
