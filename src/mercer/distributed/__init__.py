"""Fits and predictions where the data lives: the same estimators on Dask collections.

Nothing here needs to be called.  An estimator that is given dask arrays, dataframes or bags runs where they are::

    model = KernelRidge(kernel=Gaussian(2.0), solver="nystroem").fit(X, y)  # X, y: dask collections
    lazy = model.predict(X)                                                 # a dask array
    local = model.predict(X_here)                                           # and an ordinary model otherwise

The client is the current one, or ``fit(X, y, client=client)``; without any, Dask's scheduler in this process does the
work.  A fitted model holds no trace of the cluster: it pickles, and predicts without Dask.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .errors import ClusterError
from .plan import ClusterPlan

__all__ = ["ClusterError", "ClusterPlan", "leave_one_out", "run"]


def run(model: Any, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a method of an estimator on Dask collections: ``fit`` at once, all others lazily.

    Parameters
    ----------
    model : estimator
        The estimator.
    method : function
        Its method, as the class defines it.
    args, kwargs
        What it was called with; ``fit`` also takes ``client``.
    """
    try:
        import dask  # noqa: F401
    except ImportError as error:
        raise ImportError("Dask collections need Dask itself: pip install mercer[dask]") from error
    from ._cluster import connected
    from ._fits import fit_model
    from ._predict import apply

    options = dict(kwargs)
    client = options.pop("client", None)
    given = inspect.signature(method).bind(model, *args, **options).arguments
    given.pop("self", None)
    if method.__name__ != "fit":
        X = given.pop("X")
        return apply(model, method.__name__, X, **given)
    from mercer.estimators.kernels import all_or_nothing
    from mercer.estimators.progress import report_progress

    def fit(cluster: Any) -> None:
        own = getattr(model, "_fit_cluster", None)  # a model that fits itself to rows in partitions
        if own is None:
            fit_model(model, cluster, **given)
        else:
            own(cluster, **given)

    if not hasattr(model, "_init_callback_context"):
        with all_or_nothing(model), connected(client) as cluster:
            fit(cluster)
        return model
    with report_progress(model) as on_step, all_or_nothing(model), connected(client, on_step) as cluster:
        fit(cluster)
    return model


def __getattr__(name: str) -> Any:
    if name == "leave_one_out":  # loaded when asked for, because a model that was fitted on a cluster needs no Dask
        from ._left_out import leave_one_out

        return leave_one_out
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
