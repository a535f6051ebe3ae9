"""Finished Gram matrices, decided by their eigenvalues, and by exact arithmetic where those are too close to zero."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from mercer.kernels.custom import describe_asymmetry, find_asymmetry, read_square
from mercer.kernels.theorem import Definiteness, Theorem, strictly

from .clock import PROOF_SECONDS, UNHURRIED, OutOfTimeError, ProofClock
from .evidence import confirm_exactly
from .exact import to_whole_numbers
from .layout import format_number, to_float
from .refute import Examiner, has_cholesky
from .values import MatrixValues
from .verdict import Proved, Refuted, Unknown, Verdict

EXACT_SIZE = 64  # rows up to which elimination in whole numbers is quick
TINY = 1e-300  # an asymmetry that scaling hides
LARGEST = 2000  # rows up to which eigenvalues take about a second; of more, as many are looked at


def judge_square(matrix: Any, name: str = "the matrix") -> Verdict:
    """Decide whether a square matrix is symmetric and positive semi-definite.

    Examples
    --------
    >>> print(judge_square([[1.0, 2.0], [0.0, 1.0]]).reason)
    It is not symmetric: entry (0, 1) is 2.0 but (1, 0) is 0.0; use (K + K.T) / 2 if the difference is noise.
    """
    K = read_square(matrix, "certify")
    worst = find_asymmetry(K)
    if worst is None:
        return judge_matrix(K, name)
    rows = np.sort(worst)
    gap = abs(Fraction(float(K[worst])) - Fraction(float(K[worst[::-1]])))
    check = f"The entries are compared as they are: they differ by {format_number(gap)}, with no rounding error at all."
    return Refuted(
        rows, np.ones(2), -to_float(gap), 0.0, f"It is not symmetric: {describe_asymmetry(K, worst)}.", check,
        np.asarray(K[np.ix_(rows, rows)], dtype=float), name, symmetric=False,
    )  # fmt: skip


def judge_matrix(matrix: np.ndarray, name: str) -> Verdict:
    """Decide whether a symmetric matrix is positive semi-definite."""
    scaled, late = ScaledMatrix.of(matrix), False
    try:
        found = scaled.prove(name, ProofClock(PROOF_SECONDS))
    except OutOfTimeError:
        found, late = None, True
    if found is not None:
        return Proved(found[0], definiteness=found[1])
    if scaled.least < -scaled.bound:
        values = MatrixValues(matrix, name)
        with np.errstate(all="ignore"):  # diagonals may be anything
            suspect = Examiner(MatrixValues(scaled.K, name)).examine(np.arange(len(scaled.K)))
        if suspect is not None:
            suspect = confirm_exactly(values, scaled.rows[suspect.points], suspect.coefficients)
        suspect = suspect or confirm_exactly(values, scaled.rows, np.linalg.eigh(scaled.K)[1][:, 0])
        if suspect is not None:
            return suspect
    n = len(matrix)
    if n > LARGEST:
        eigenvalues = f"eigenvalues of {LARGEST} of the {n} rows: none is negative beyond rounding"
    else:
        least, bound = scaled.format(scaled.least), scaled.format(scaled.bound)
        eigenvalues = f"eigenvalues: the least is {least}, which rounding (at most {bound}) does not tell from 0"
    if n > EXACT_SIZE:
        elimination = f"not tried, because the matrix has {n} > {EXACT_SIZE} rows"
    elif late:
        elimination = f"given up after {format_number(PROOF_SECONDS)} s"
    elif scaled.spread > 0:
        elimination = "not tried, because the matrix is not exactly symmetric"
    else:
        elimination = (
            "as it stands the matrix is not positive semi-definite, but by so little that rounding in its computation "
            "can explain it"
        )
    return Unknown((eigenvalues, f"exact elimination: {elimination}"), name)


@dataclass(frozen=True)
class ScaledMatrix:
    """(K + Kᵀ)/2 of a matrix K, or of some of its rows, divided by a power of two so that no entry is above 1.

    What underflows on the way is far below the rounding errors that are granted.
    """

    matrix: np.ndarray
    rows: np.ndarray
    K: np.ndarray
    exponent: int
    spread: float  # the asymmetry

    @classmethod
    def of(cls, matrix: np.ndarray) -> ScaledMatrix:
        """Scale a matrix; of a large one, rows all over it."""
        rows = np.arange(len(matrix)) if len(matrix) <= LARGEST else np.arange(LARGEST) * len(matrix) // LARGEST
        K = np.asarray(matrix[np.ix_(rows, rows)], dtype=np.float64)
        exponent = math.frexp(float(np.abs(K).max()))[1]
        symmetric, K = np.array_equal(K, K.T), np.ldexp(K, -exponent)
        spread = 0.0 if symmetric else max(float(np.linalg.norm(K - K.T)), TINY)
        return cls(matrix, rows, K / 2 + K.T / 2, exponent, spread)

    @cached_property
    def least(self) -> float:
        """The least eigenvalue."""
        return float(np.linalg.eigvalsh(self.K)[0])

    @cached_property
    def bound(self) -> float:
        """A bound on its rounding error, 8 n ε (‖K‖ + tr |K|)."""
        sizes = float(np.linalg.norm(self.K)) + float(np.abs(np.diag(self.K)).sum())
        return 8 * len(self.K) * float(np.finfo(np.float64).eps) * sizes

    def prove(self, name: str, clock: ProofClock) -> tuple[Theorem, Definiteness] | None:
        """Return why the matrix is positive semi-definite, and if strictly; None if it is not, or not provably so."""
        if len(self.rows) < len(self.matrix):
            return None
        bound = self.bound + 2 * self.spread
        # With a Cholesky factor of K − bound·I in floating point K is positive definite in exact arithmetic, in
        # whatever order the factor was computed: what is factored exactly differs from K − bound·I by less than
        # (n + 1) ε tr K in every direction (Rump).
        if self.least > 2 * bound and has_cholesky(self.K - bound * np.eye(len(self.K))):
            least, errors = self.format(self.least), self.format(bound)
            because = f"verified eigenvalues: the least is {least}, and rounding errors are at most {errors}"
            return Theorem(name, because), strictly(f"the least eigenvalue is {least}")
        if self.least >= -bound and len(self.K) <= EXACT_SIZE and self.spread == 0:
            rank = find_exact_rank(self.matrix, clock)
            if rank is not None:
                because = (
                    f"exact elimination: LDLᵀ in whole numbers, without rounding, has {rank} positive "
                    f"pivot{'s' * (rank != 1)} and no other than 0 after that"
                )
                known = f"the rank of the {len(self.K)} × {len(self.K)} matrix is {rank}"
                full = rank == len(self.K)
                return Theorem(name, because), strictly(known) if full else Definiteness(False, known)
        return None

    def format(self, value: float) -> str:
        """Return a value of the scaled matrix as one of the matrix that was given."""
        return format_number(Fraction(value) * Fraction(2) ** self.exponent)


def find_exact_rank(K: np.ndarray, clock: ProofClock = UNHURRIED) -> int | None:
    """Return the rank of a positive semi-definite matrix, or None if it is not one, by exact elimination.

    Floats are whole numbers times a power of two, so the matrix is scaled to whole numbers; fraction-free elimination
    (Bareiss) with a positive diagonal entry as pivot keeps them whole.
    """
    A, _ = to_whole_numbers(np.asarray(K, dtype=np.float64), clock)
    previous = 1
    rank = 0
    while A:
        n = len(A)
        diagonal = [A[i][i] for i in range(n)]
        if min(diagonal) < 0:
            return None
        p = diagonal.index(max(diagonal))
        if diagonal[p] == 0:
            return rank if not any(any(row) for row in A) else None
        pivot, row = A[p][p], A[p]
        rest = [i for i in range(n) if i != p]
        clock.check()
        A = [[(pivot * A[i][j] - A[i][p] * row[j]) // previous for j in rest] for i in rest]
        previous = pivot
        rank += 1
    return rank
