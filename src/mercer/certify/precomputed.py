"""Finished Gram matrices, decided by their eigenvalues, and by exact arithmetic where those are too close to zero."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from mercer.kernels.theorem import Theorem

from .clock import PROOF_SECONDS, UNHURRIED, Clock, OutOfTimeError
from .evidence import confirm_exactly
from .layout import number
from .refute import Examiner
from .values import MatrixValues
from .verdict import Proved, Unknown, Verdict

EXACT_SIZE = 64  # rows up to which elimination in whole numbers is quick
TINY = 1e-300  # an asymmetry that scaling hides
LARGEST = 2000  # rows up to which eigenvalues take about a second; of more, as many are looked at


def judge_matrix(matrix: np.ndarray, name: str) -> Verdict:
    """Decide whether a symmetric matrix is positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> judge_matrix(np.array([[0.0, 1.0], [1.0, 0.0]]), "K").coefficients
    array([ 1., -1.])
    >>> judge_matrix(np.array([[1.0, 1.0], [1.0, 1.0]]), "K")
    <Proved: K is a kernel>
    """
    clock = Clock(PROOF_SECONDS)
    late = False
    try:
        theorem = matrix_theorem(matrix, name, clock)
    except OutOfTimeError:
        theorem, late = None, True
    if theorem is not None:
        return Proved(theorem)
    rows = np.arange(len(matrix)) if len(matrix) <= LARGEST else np.arange(LARGEST) * len(matrix) // LARGEST
    K, exponent, spread = scaled(np.asarray(matrix)[np.ix_(rows, rows)])
    least, bound = least_eigenvalue(K)
    if least < -bound:
        values = MatrixValues(np.asarray(matrix), name)
        with np.errstate(all="ignore"):  # diagonals may be anything
            found = Examiner(MatrixValues(K, name)).examine(np.arange(len(rows)))
        if found is not None:
            found = confirm_exactly(values, rows[found.points], found.coefficients)
        found = found or confirm_exactly(values, rows, np.linalg.eigh(K)[1][:, 0])
        if found is not None:
            return found
    unit = Fraction(2) ** exponent
    tried = [
        f"eigenvalues: the least is {number(Fraction(least) * unit)}, which rounding (at most "
        f"{number(Fraction(bound) * unit)}) does not tell from 0"
    ]
    if len(matrix) > LARGEST:
        tried[0] = f"eigenvalues of {LARGEST} of the {len(matrix)} rows: none is negative beyond rounding"
    if len(matrix) > EXACT_SIZE:
        tried.append(f"exact elimination: not tried, because the matrix has {len(matrix)} > {EXACT_SIZE} rows")
    elif late:
        tried.append(f"exact elimination: given up after {number(PROOF_SECONDS)} s")
    elif spread > 0:
        tried.append("exact elimination: not tried, because the matrix is not exactly symmetric")
    else:
        tried.append(
            "exact elimination: as it stands the matrix is not positive semi-definite, but by so little that rounding "
            "in its computation can explain it"
        )
    return Unknown(tuple(tried), name)


def matrix_theorem(matrix: np.ndarray, name: str, clock: Clock) -> Theorem | None:
    """Return why a symmetric matrix is positive semi-definite, or None if it is not, or not provably so."""
    if len(matrix) > LARGEST:
        return None
    K, exponent, spread = scaled(matrix)
    least, bound = least_eigenvalue(K)
    bound += 2 * spread
    if least > 2 * bound and _has_factor(K, bound):
        unit = Fraction(2) ** exponent
        return Theorem(
            name,
            f"verified eigenvalues: the least is {number(Fraction(least) * unit)}, and rounding errors are at most "
            f"{number(Fraction(bound) * unit)}",
        )
    if least >= -bound and len(K) <= EXACT_SIZE and spread == 0:
        rank = exact_rank(np.asarray(matrix), clock)
        if rank is not None:
            return Theorem(
                name,
                f"exact elimination: LDLᵀ in whole numbers, without rounding, has {rank} positive "
                f"pivot{'s' * (rank != 1)} and no other than 0 after that",
            )
    return None


def scaled(matrix: np.ndarray) -> tuple[np.ndarray, int, float]:
    """Return (K + Kᵀ)/2 with entries of at most 1, the power of two that was divided by, and the asymmetry of K.

    What underflows on the way is far below the rounding errors that are granted.

    Examples
    --------
    >>> import numpy as np
    >>> scaled(np.array([[2.0**-900]]))
    (array([[0.5]]), -899, 0.0)
    """
    K = np.asarray(matrix, dtype=np.float64)
    exponent = math.frexp(float(np.abs(K).max()))[1]
    symmetric, K = np.array_equal(K, K.T), np.ldexp(K, -exponent)
    return K / 2 + K.T / 2, exponent, 0.0 if symmetric else max(float(np.linalg.norm(K - K.T)), TINY)


def least_eigenvalue(K: np.ndarray) -> tuple[float, float]:
    """Return the least eigenvalue of a scaled matrix and a bound on rounding errors, 8 n ε (‖K‖ + tr |K|)."""
    sizes = float(np.linalg.norm(K)) + float(np.abs(np.diag(K)).sum())
    return float(np.linalg.eigvalsh(K)[0]), 8 * len(K) * float(np.finfo(np.float64).eps) * sizes


def _has_factor(K: np.ndarray, bound: float) -> bool:
    """Whether K − bound·I has a Cholesky factor in floating point.

    Then K is positive definite in exact arithmetic, in whatever order the factor was computed: what is factored
    exactly differs from K − bound·I by less than (n + 1) ε tr K in every direction (Rump).
    """
    try:
        np.linalg.cholesky(K - bound * np.eye(len(K)))
    except np.linalg.LinAlgError:
        return False
    return True


def exact_rank(K: np.ndarray, clock: Clock = UNHURRIED) -> int | None:
    """Return the rank of a positive semi-definite matrix, or None if it is not one, by exact elimination.

    Floats are whole numbers times a power of two, so the matrix is scaled to whole numbers; fraction-free elimination
    (Bareiss) with a positive diagonal entry as pivot keeps them whole.

    Examples
    --------
    >>> import numpy as np
    >>> exact_rank(np.array([[1.0, 1.0], [1.0, 1.0]])), exact_rank(np.array([[0.0, 1.0], [1.0, 1.0]]))
    (1, None)
    """
    ratios = [[float(value).as_integer_ratio() for value in row] for row in K]
    common = max(below for row in ratios for _, below in row)  # all are powers of two
    A = [[above * (common // below) for above, below in row] for row in ratios]
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
