"""Models that keep all training rows by definition: the rows are fetched if they fit, and the fit is the ordinary one.

Queries are what is large then, and predictions run over their partitions.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from mercer.arrays.budget import parse_memory, show_bytes
from mercer.estimators.kernel_argument import kernel_argument
from mercer.estimators.windows import ParzenEstimator
from mercer.solvers.plan import Plan
from mercer.solvers.windows.shapes import resolve_window

from .cluster import Cluster
from .table import RowTable, read_table


def fit_gathered(model: Any, cluster: Cluster, X: Any, y: Any = None, sample_weight: Any = None) -> None:
    """Fetch all rows, in their order, and fit to them here."""
    table = read_table(
        cluster, kernel_argument(model, _argument(model)), "raw", X, y, sample_weight, keep_all=True, matrix=True
    )
    names = vars(model).get("feature_names_in_")
    memory = parse_memory(model.memory)
    rows = table.gather("X", type(model).__name__, memory)
    given = {}
    if y is not None:
        given["y"] = table.gather("y", type(model).__name__, memory)
    if sample_weight is not None:
        given["sample_weight"] = table.gather("weights", type(model).__name__, memory)
    _ordinary_fit(model)(rows, **given)
    if names is not None:
        model.feature_names_in_ = names
    tell(model, table, "nothing but reading the rows", "the whole fit, because the model keeps all rows by definition")


def tell(model: Any, table: RowTable, workers: str, client: str) -> None:
    """Set ``plan_``, or add to it what ran where."""
    cluster = table.cluster
    moved = ", ".join(f"{show_bytes(size)} of {what}" for what, size in cluster.moved.items())
    text = (
        f"On the workers, over {len(table.blocks)} partitions in {cluster.steps} passes: {workers}. On the client: "
        f"{client}. What moves: {moved}. Predictions for Dask collections run on the workers."
    )
    before = getattr(model, "plan_", None)
    if isinstance(before, Plan):
        model.plan_ = cluster.plan(before, len(table.blocks), workers, client)
        return
    model.plan_ = text if before is None else f"{before}. {text}"


def _argument(model: Any) -> Any:
    if isinstance(model, ParzenEstimator):
        return resolve_window(model, model.kernel, model.length_scale)[0]
    return model._argument() if hasattr(model, "_argument") else model.kernel


def _ordinary_fit(model: Any) -> Any:
    """Return the fit of the estimator itself, below what tells callbacks and what looks where data lives."""
    inner = inspect.unwrap(type(model).fit)
    if hasattr(model, "_init_callback_context"):
        return functools.partial(_fit_of_steps, model)
    return functools.partial(inner, model)


def _fit_of_steps(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> None:
    model._fit(X, y, sample_weight)
