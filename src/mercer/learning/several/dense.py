"""Weighted sums of stacked kernel matrices, and support vector machines on a matrix that is there."""

from __future__ import annotations

import numpy as np

from mercer.arrays.threads import default_threads
from mercer.solvers.machines.dual import DualProblem, DualSolution
from mercer.solvers.machines.rounds import Run
from mercer.solvers.machines.rows import DenseRows
from mercer.solvers.machines.smo import SMO


def combine(weights: np.ndarray, stack: np.ndarray) -> np.ndarray:
    """Return Σₖ wₖKₖ in the precision of the matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learning.several.dense import combine
    >>> combine(np.array([2.0, 1.0]), np.array([[[1.0]], [[3.0]]]))
    array([[5.]])
    """
    m, n, _ = stack.shape
    return np.asarray(weights.astype(stack.dtype) @ stack.reshape(m, n * n)).reshape(n, n)


def square_norms(stack: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return βᵀKₖβ of every matrix, which is ‖Σ βᵢkₖ(xᵢ, ·)‖².

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learning.several.dense import square_norms
    >>> square_norms(np.array([np.eye(2), np.ones((2, 2))]), np.array([1.0, 2.0]))
    array([5., 9.])
    """
    return multiply(stack, beta) @ beta


def multiply(stack: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return Kₖβ of every matrix, shape (m, n), from the rows of coefficients that are not 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learning.several.dense import multiply
    >>> multiply(np.array([np.eye(2), np.ones((2, 2))]), np.array([1.0, 2.0]))
    array([[1., 2.],
           [3., 3.]])
    """
    out, support = np.zeros(stack.shape[:2]), np.flatnonzero(beta)
    for matrix, row in zip(stack, out, strict=True):
        DenseRows(matrix, default_threads()).add(support, beta[support], row)
    return out


def dense_solution(solver: SMO, K: np.ndarray, problem: DualProblem, values: np.ndarray | None = None) -> DualSolution:
    """Solve the problem of a machine on a matrix, from its start; ``values`` are Kβ there, if they are known.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learning.several.dense import dense_solution
    >>> from mercer.solvers.machines.dual import DualProblem
    >>> from mercer.solvers.machines.smo import SMO
    >>> y = np.array([-1.0, 1.0])
    >>> problem = DualProblem(y, np.minimum(y, 0.0), np.maximum(y, 0.0), np.zeros(2))
    >>> dense_solution(SMO(), np.eye(2), problem).beta
    array([-1.,  1.])
    """
    # A copy in the other precision, if it is asked for, is made once: the solver goes from float32 to float64.
    largest = float(np.abs(K.diagonal()).max(initial=0.0))
    return Run(
        solver, lambda dtype: DenseRows(K.astype(dtype, copy=False), default_threads()), largest, problem, None, values
    ).solution()
