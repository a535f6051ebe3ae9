"""A fit to rows that were fetched from a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.formula.data import Rows
from mercer.solvers.plan import Plan


@dataclass(frozen=True)
class GatheredRows:
    """All rows of a fit, in their order."""

    X: Rows
    y: np.ndarray | None
    weights: np.ndarray | None
    names: np.ndarray | None  # of the columns, if they have names
    plan: Callable[[Plan | None], Plan]  # adds what ran where to the plan of a fit, if it has one


def fit_gathered(model: Any, rows: GatheredRows) -> None:
    """Fit a model to rows as if they had been here, and keep the names of their columns and what ran where."""
    model._fit(rows.X, rows.y, rows.weights)
    if rows.names is not None:
        model.feature_names_in_ = rows.names
    model.plan_ = rows.plan(vars(model).get("plan_"))
