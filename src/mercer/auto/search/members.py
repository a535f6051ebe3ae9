"""The last fits: candidates that were chosen, fitted to many rows in the time there is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from threadpoolctl import threadpool_limits

from mercer.arrays.threads import default_threads
from mercer.kernels import Kernel
from mercer.solvers.base import Problem
from mercer.solvers.costs import HOST
from mercer.solvers.newton.plan import plan_newton
from mercer.solvers.plan import plan

from ..tables.encoder import TableEncoder
from .encodings import EncodedRows
from .trials import Trial

PATIENCE = 40.0  # seconds of a last fit from which centres stand for all rows
EXACT_ROWS = 2000  # rows up to which a ridge fit takes no time worth saving
MOST_CENTERS, LEAST_CENTERS = 2500, 200
PRODUCTS = {"ridge": 3.0, "logistic regression": 14.0}  # of the features with themselves, that a fit takes
SMALL = 2000  # rows up to which several threads do not meet before a fit is done


@dataclass(frozen=True)
class TableMember:
    """A fitted part of a combination.

    Parameters
    ----------
    name : str
        What it is.
    weight : float
        Its share.
    estimator : estimator
        The fitted mercer model.
    encoder : TableEncoder
        How rows are encoded for it.
    extra : dict
        How its values become predictions, as plain values.
    """

    name: str
    weight: float
    estimator: BaseEstimator
    encoder: TableEncoder
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def is_approximate(self) -> bool:
        """Whether some points stand for all."""
        return getattr(getattr(self.estimator, "plan_", None), "solver", "") == "nystroem"


@dataclass(frozen=True)
class LastFit:
    """How a candidate is fitted to many rows: all pairs or how many centres, how many rows, and why not exactly."""

    centers: int | None
    rows: int
    why: str = ""


def plan_last_fit(
    kernel: Kernel, kind: str, n: int, columns: int, functions: int, memory: int, seconds: float
) -> LastFit:
    """Return the most exact fit that time allows: all pairs, centres, or centres for some of the rows.

    Parameters
    ----------
    kernel : Kernel
        k.
    kind : {"ridge", "logistic regression"}
        What is fitted.
    n, columns : int
        Rows, and encoded columns.
    functions : int
        Outputs of the model.
    memory : int
        Bytes.
    seconds : float
        The time there is.
    """
    allowed = min(PATIENCE, seconds)
    if n <= LEAST_CENTERS or (kind == "ridge" and n <= EXACT_ROWS and allowed >= 1.0):
        return LastFit(None, n)
    if kind == "ridge":
        exact = plan(kernel, n, columns, memory=memory)
    else:
        exact = plan_newton(Problem(kernel, np.zeros((n, columns)), np.zeros((n, functions)), memory=memory))
    if exact.seconds <= allowed and exact.solver != "nystroem":
        return LastFit(None, n)
    rate = HOST.double * default_threads()
    each = PRODUCTS[kind] + (2.0 * functions if kind != "ridge" else 0.0)
    affordable = math.sqrt(max(allowed, 1e-3) * rate / (each * n))
    centers = int(min(n, MOST_CENTERS, max(LEAST_CENTERS, affordable)))
    rows = n
    if affordable < LEAST_CENTERS:
        rows = int(max(min(n, 2 * LEAST_CENTERS), n * (affordable / LEAST_CENTERS) ** 2))
        centers = min(centers, rows)
    return LastFit(centers, rows, f"a fit of all pairs of {n:,} rows takes too long")


def fit_member(trial: Trial, weight: float, how: LastFit, view: EncodedRows, targets: np.ndarray) -> TableMember:
    """Fit a candidate to encoded rows."""
    estimator = clone(trial.estimator)
    if how.centers is not None and "n_centers" in estimator.get_params():
        estimator.set_params(n_centers=how.centers)
    with threadpool_limits(1 if len(targets) <= SMALL else None, user_api="blas"):
        estimator.fit(view.rows, targets)
    return TableMember(trial.name, weight, estimator, view.encoder, trial.extra)
