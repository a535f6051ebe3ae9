"""The data as a kernel's program reads it, and how many bytes that takes, known before any copy is made."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from mercer.arrays import Array
from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows, length
from mercer.formula.evaluation import Evaluation
from mercer.formula.expression import Expression, Stat, nodes
from mercer.formula.program import decline_outside, lower
from mercer.formula.statistics import PREPARED, VectorStatistic

WORKING = 8  # bytes of a number in a column that was chosen or made
Pair = tuple[Array, Array | None]  # points of both sides of a statistic; the second is None if it is the first again


class PreparedProgram:
    """The program of an expression, with the arrays it reads.

    ``prepare`` gives the points of both sides of a statistic, and ``put`` takes a vector to where they are.  Raises
    UnsupportedError if there is no such program, or its numbers may leave the range of ``dtype`` on the way.
    """

    def __init__(
        self,
        expression: Expression,
        X: Rows,
        Z: Rows | None,
        owner: str,
        dtype: DTypeLike,
        prepare: Callable[[VectorStatistic], Pair],
        put: Callable[[Array], Array],
    ) -> None:
        self.program = program = lower(expression)
        self.pairs = [prepare(statistic) for statistic in program.statistics]
        decline_outside(expression, program, self.pairs, dtype)
        self.left: list[Array] = []
        self.right: list[Array] = []
        if program.left or program.right:
            # The reference evaluation computes the vectors that depend on one point only.
            reference = Evaluation(expression, host_array(X), None if Z is None else host_array(Z), owner)
            for statistic, (A, B) in zip(program.statistics, self.pairs, strict=True):
                if isinstance(A, np.ndarray) and A.dtype == np.float64:  # as it would prepare them again
                    reference.adopt(statistic, A, A if B is None else B)
            self.left = [put(reference.one_sided(node, 0)) for node in program.left]
            self.right = [put(reference.one_sided(node, 1)) for node in program.right]


def copied_bytes(expression: Expression, X: Rows, Z: Rows | None, itemsize: int) -> int:
    """Return the bytes that preparing the data takes at its peak: what is kept, and what is in the making.

    Objects that are no vectors are not counted, nor is what a user's map makes of them: only their kernels know.
    """
    vectors = [node.statistic for node in nodes(expression) if isinstance(node, Stat)]
    sides = [side for side in (X, Z) if side is not None]
    kept = working = 0
    for statistic in vectors:
        if not isinstance(statistic, VectorStatistic) or statistic.native == "match":
            continue
        for side in sides:
            count, width = length(side), _count_columns(side)
            for step in statistic.view.steps:
                width = step.width(width)
            kept += count * statistic.width(width) * itemsize
            made = count * width * WORKING
            working = max(working, made if statistic.view.steps else min(made, PREPARED))
    return kept + working


def _count_columns(X: Rows) -> int:
    """Return the number of columns of a dense table; what is none has 0."""
    shape: tuple[int, ...] | None = getattr(X, "shape", None)
    if shape is not None:
        return int(shape[1]) if len(shape) == 2 and not sparse.issparse(X) else 0
    first = X[0] if len(X) else ()
    return len(first) if isinstance(first, list | tuple) or hasattr(first, "shape") else 0
