"""Minima over rows in partitions, found from those over fewer and fewer of them."""

from __future__ import annotations

from mercer.solvers.newton.features import FeatureSpace
from mercer.solvers.newton.method import NewtonMinimum, minimise
from mercer.solvers.newton.proximal import minimise_corners

from ..table import RowTable
from .rows import BlockRows, PartitionedRows

THIN = 8  # rows of which one is in the sample that is solved first
LEAST, PER_CENTER = 10_000, 40  # rows of a sample: at least, and for each centre
SEEN = 100  # of them are of the rarest class
ROUGH = 1e-3  # relative duality gap on a sample, whose minimum is another one anyway


def minimise_rows(
    table: RowTable, view: BlockRows, fit_intercept: bool, alpha: float, *, tol: float, max_iter: int,
    most: int | None = None,
) -> NewtonMinimum:  # fmt: skip
    """Minimise the loss of all rows plus α‖f‖², from the minimum over some of them if there are enough for that.

    ``max_iter`` bounds the Newton steps of one round of a loss with corners, ``most`` those of all of its rounds.
    """
    least = _count_sampled(table, view)

    def minimise_some(table: RowTable, alpha: float, tol: float) -> NewtonMinimum:
        space, start, rough = FeatureSpace(PartitionedRows(table, view), fit_intercept), None, None
        if table.n >= THIN * least:
            few = table.thin(THIN)
            rough = minimise_some(few, alpha * few.n / table.n, max(tol, ROUGH))
            start = space.begin(rough.state.coef, rough.state.intercept)
        if view.loss.smooth:
            return minimise(space, alpha, tol=tol, max_iter=max_iter, start=start)
        return minimise_corners(space, alpha, tol=tol, max_iter=max_iter, most=most, start=start, rough=rough)

    return minimise_some(table, alpha, tol)


def _count_sampled(table: RowTable, view: BlockRows) -> int:
    """Return the rows that a sample has at least: enough for the centres, and for the rarest class."""
    counts = [count for count, weight in table.survey.labels.values() if weight > 0]
    return max(LEAST, PER_CENTER * len(view.centers), *(-(-SEEN * table.n // count) for count in counts))
