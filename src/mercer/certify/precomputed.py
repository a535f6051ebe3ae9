"""Finished Gram matrices, decided by their eigenvalues, and by exact arithmetic where those are too close to zero."""

from __future__ import annotations

import numpy as np

from mercer.kernels.theorem import Theorem

from .evidence import confirm_exactly
from .layout import number
from .refute import Examiner
from .values import MatrixValues
from .verdict import Proved, Unknown, Verdict

EXACT_SIZE = 64  # rows up to which elimination in whole numbers is quick


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
    theorem = matrix_theorem(matrix, name)
    if theorem is not None:
        return Proved(theorem)
    K = symmetric_part(matrix)
    least, bound = least_eigenvalue(K)
    if least < -bound:
        values = MatrixValues(K, name)
        found = Examiner(values).examine(np.arange(len(K))) or confirm_exactly(values, np.linalg.eigh(K)[1][:, 0])
        if found is not None:
            return found
    tried = [
        f"eigenvalues: the least is {number(least)}, which rounding (at most {number(bound)}) does not tell from 0"
    ]
    if len(K) <= EXACT_SIZE:
        tried.append(
            "exact elimination: as it stands the matrix is not positive semi-definite, but by so little that rounding "
            "in its computation can explain it"
        )
    else:
        tried.append(f"exact elimination: not tried, because the matrix has {len(K)} > {EXACT_SIZE} rows")
    return Unknown(tuple(tried), name)


def matrix_theorem(matrix: np.ndarray, name: str) -> Theorem | None:
    """Return why a symmetric matrix is positive semi-definite, or None if it is not, or not provably so."""
    K = symmetric_part(matrix)
    least, bound = least_eigenvalue(K)
    if least > bound:
        return Theorem(
            name,
            f"verified eigenvalues: the least is {number(least)}, and rounding errors are at most {number(bound)}",
        )
    if least >= -bound and len(K) <= EXACT_SIZE:
        rank = exact_rank(K)
        if rank is not None:
            return Theorem(
                name,
                f"exact elimination: LDLᵀ in whole numbers, without rounding, has {rank} positive "
                f"pivot{'s' * (rank != 1)} and no other than 0 after that",
            )
    return None


def symmetric_part(matrix: np.ndarray) -> np.ndarray:
    """Return (K + Kᵀ)/2, which has the same quadratic form."""
    K = np.asarray(matrix, dtype=np.float64)
    return K if np.array_equal(K, K.T) else K / 2 + K.T / 2


def least_eigenvalue(K: np.ndarray) -> tuple[float, float]:
    """Return the least eigenvalue and a bound on its rounding error, 8 n ε ‖K‖."""
    eigenvalues = np.linalg.eigvalsh(K)
    bound = 8 * len(K) * float(np.finfo(np.float64).eps) * float(np.linalg.norm(K))
    return float(eigenvalues[0]), bound


def exact_rank(K: np.ndarray) -> int | None:
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
        A = [[(pivot * A[i][j] - A[i][p] * row[j]) // previous for j in rest] for i in rest]
        previous = pivot
        rank += 1
    return rank
