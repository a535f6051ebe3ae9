"""Leave-one-out predictions of a ridge model for the rows it was fitted to, where they live."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.budget import parse_memory
from mercer.formula.data import pick
from mercer.gram import Gram
from mercer.linalg.cholesky import pick_independent
from mercer.models.ridge import KernelRidge
from mercer.solvers.base import Problem
from mercer.solvers.ridge.primal import PrimalPrepared
from mercer.solvers.ridge.restricted import RestrictedRidge

from ._block import Block, Intake
from ._cluster import connected
from ._graph import mapped
from ._predict import assembled
from ._problem import DistributedPrimalRows, DistributedRestrictedRows, primal_rows_of, problem_of, rows_of
from ._table import make_table


def leave_one_out(model: KernelRidge, X: Any, y: Any, sample_weight: Any = None, *, client: Any = None) -> Any:
    """Return what a model would predict at each row it was fitted to, had it been fitted without that row.

    The sums over all rows are computed now, as in the fit; the predictions are lazy.

    Parameters
    ----------
    model : KernelRidge
        Fitted to these very rows in explicit or Nyström features; the centres stay as they are.
    X, y, sample_weight
        The data of the fit.
    client : distributed.Client, optional
        The current one if not given.

    Returns
    -------
    dask array of shape (n,) or (n, targets)
        Of the rows that have a weight.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from mercer import distributed
    >>> from mercer.kernels import Constant, Linear
    >>> from mercer.models import KernelRidge
    >>> X = da.from_array(np.array([[1.0], [4.0], [6.0], [9.0]]), chunks=(2, 1))
    >>> y = da.from_array(np.array([0.8, 4.1, 6.2, 8.5]), chunks=2)
    >>> model = KernelRidge(alpha=1.0, kernel=Linear() + Constant(1.0)).fit(X, y)
    >>> distributed.leave_one_out(model, X, y).compute().round(3)
    array([1.203, 3.875, 5.69 , 9.058])
    """
    check_is_fitted(model)
    if model._problem is not None:
        raise ValueError(
            f"this model was solved by {model.plan_.solver} and has its rows with it: model.leave_one_out() is what "
            "you want"
        )
    kernel, alpha = model.kernel_, model._penalty
    with connected(client) as cluster:
        table = make_table(clone(model), cluster, Intake(model, model.kernel, "targets"), X, y, sample_weight)
        explicit = model.expansion_.explicit
        if explicit is not None:
            problem = problem_of(table, kernel, bool(model.fit_intercept), parse_memory(model.memory))
            rows: Any = DistributedPrimalRows(table, problem, explicit.feature_map, len(explicit.w))
            prepared = PrimalPrepared(problem, rows)
            rule: Any = prepared.second_pass(prepared.weights([alpha]), True)
            tasks = mapped("leave-one-out", _primal, table.blocks, rows.shared, rule)
        else:
            kept, triangle = pick_independent(Gram(kernel, model.X_fit_, memory=model.memory, dtype=np.float64).dense())
            nothing: Any = np.empty((0, len(alpha)))
            centers = pick(model.X_fit_, kept)
            problem = Problem(kernel, centers, nothing, None, bool(model.fit_intercept), parse_memory(model.memory))
            rows = partial(DistributedRestrictedRows, table, device=model.device)
            ridge = RestrictedRidge(problem, np.arange(len(kept)), triangle, rows)
            rule = ridge.left_out(alpha, ridge.solve(alpha).beta)
            shared = kernel, centers, problem.fit_intercept, table.survey.outputs, model.device
            tasks = mapped("leave-one-out", _restricted, table.blocks, shared, rule)
    example = np.empty((0,) if table.survey.flat else (0, table.survey.outputs))
    return assembled(tasks, table.counts.tolist(), example)


def _primal(block: Block, shared: Any, rule: Any) -> np.ndarray:
    _, residuals = primal_rows_of(block, shared).second_pass(rule)
    return block.y - np.asarray(residuals).reshape(block.y.shape)


def _restricted(block: Block, shared: Any, rule: Any) -> np.ndarray:
    out = np.empty((len(block), len(rule.alpha)))
    for part, values, y, weights in rows_of(block, shared).pieces():
        out[part] = y - rule(values, y, weights)
    return out.reshape(block.y.shape)
