"""How many bytes the copies of the data take that the statistics of a formula work on, known before any is made."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from mercer.formula.data import Columns, Rows, length
from mercer.formula.expression import Expression, Stat, nodes
from mercer.formula.statistics import VectorStatistic

WORKING = 8  # bytes of a number while it is centred and scaled, whatever it is stored as afterwards


def copied_bytes(expression: Expression, X: Rows, Z: Rows | None, itemsize: int) -> int:
    """Return the bytes that preparing the data takes at its peak: what is kept, and one copy in the making.

    Objects that are no vectors are not counted, nor is what a user's map makes of them: only their kernels know.
    """
    vectors = [node.statistic for node in nodes(expression) if isinstance(node, Stat)]
    sides = [side for side in (X, Z) if side is not None]
    kept = working = 0
    for statistic in vectors:
        if not isinstance(statistic, VectorStatistic) or statistic.native == "match":
            continue
        for side in sides:
            count, width = length(side), _columns(side)
            for step in statistic.view.steps:
                width = (len(step.columns) or width) if isinstance(step, Columns) else 0
            kept += count * statistic.width(width) * itemsize
            working = max(working, count * width * WORKING)
    return kept + working


def _columns(X: Rows) -> int:
    """Return the number of columns of a dense table; what is none has 0."""
    shape: Any = getattr(X, "shape", None)
    if shape is not None:
        return int(shape[1]) if len(shape) == 2 and not sparse.issparse(X) else 0
    first = X[0] if len(X) else ()
    return len(first) if isinstance(first, list | tuple) or hasattr(first, "shape") else 0
