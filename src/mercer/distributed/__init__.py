"""Fits and predictions where the data lives: the same estimators on Dask collections.

Nothing here needs to be called.  An estimator that is given dask arrays, dataframes or bags runs where they are::

    model = KernelRidge(kernel=Gaussian(2.0), solver="nystroem").fit(X, y)  # X, y: dask collections
    lazy = model.predict(X)                                                 # a dask array
    local = model.predict(X_here)                                           # and an ordinary model otherwise

The client is the current one, or ``fit(X, y, client=client)``; without any, Dask's scheduler in this process does the
work.  A fitted model holds no trace of the cluster: it pickles, and predicts without Dask.
"""

from __future__ import annotations

from typing import Any

from .cluster import ClusterError, ClusterPlan

__all__ = ["ClusterError", "ClusterPlan", "leave_one_out"]


def __getattr__(name: str) -> Any:
    if name == "leave_one_out":  # loaded when asked for, because a model that was fitted on a cluster needs no Dask
        from .ridge import leave_one_out

        return leave_one_out
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
