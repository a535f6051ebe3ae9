"""Models that keep all training rows by definition: the rows are fetched if they fit, and the fit is the ordinary one.

Queries are what is large then, and predictions run over their partitions.
"""

from __future__ import annotations

from typing import Any

from mercer.arrays.budget import parse_memory, show_bytes
from mercer.estimators.kernel_argument import kernel_argument
from mercer.solvers.plan import Plan

from .cluster import Cluster
from .table import RowTable, read_table


def fit_gathered(
    model: Any, cluster: Cluster, X: Any, y: Any = None, sample_weight: Any = None, *, argument: Any = None
) -> None:
    """Fetch all rows, in their order, call ``model._fit`` with them, and say in its plan what ran where.

    ``argument`` is the kernel as data is checked for it; the model's own if not given.
    """
    if argument is None:
        argument = model._argument() if hasattr(model, "_argument") else model.kernel
    table = read_table(
        cluster, kernel_argument(model, argument), "raw", X, y, sample_weight, keep_all=True, matrix=True
    )
    name, memory = type(model).__name__, parse_memory(model.memory)
    names = vars(model).get("feature_names_in_")
    rows = table.gather("X", name, memory)
    values = None if y is None else table.gather("y", name, memory)
    model._fit(rows, values, None if sample_weight is None else table.gather("weights", name, memory))
    if names is not None:
        model.feature_names_in_ = names
    own = getattr(model, "plan_", None)
    if not isinstance(own, Plan):
        own = Plan("gathered", "the model keeps all rows by definition", 2 * int(table.survey.nbytes), 0.0, 0.0)
    model.plan_ = cluster.plan(own, len(table.blocks), "nothing but reading the rows", "the whole fit, to all rows")


def tell(model: Any, table: RowTable, workers: str, client: str) -> None:
    """Set ``plan_``, or add to it what ran where."""
    cluster = table.cluster
    moved = ", ".join(f"{show_bytes(size)} of {what}" for what, size in cluster.moved.items())
    text = (
        f"On the workers, over {len(table.blocks)} partitions in {cluster.steps} passes: {workers}. On the client: "
        f"{client}. What moves: {moved}. Predictions for Dask collections run on the workers."
    )
    before = getattr(model, "plan_", None)
    model.plan_ = text if before is None else f"{before}. {text}"
