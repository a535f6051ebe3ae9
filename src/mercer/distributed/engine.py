"""What runs the methods of estimators on Dask collections."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from mercer.estimators.progress import report_progress
from mercer.estimators.transaction import all_or_nothing
from mercer.needs import load_package


def run_elsewhere(model: Any, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a method of an estimator on Dask collections: ``fit`` at once, all others lazily."""
    load_package("dask", "work on Dask collections")
    from .cluster import connect
    from .predict import apply

    options = dict(kwargs)
    client, checkpoint = options.pop("client", None), options.pop("checkpoint", None)
    if checkpoint is not None:
        raise TypeError(
            f"{type(model).__name__}.{method.__name__}: checkpoint={checkpoint!r} was given, but the data is a Dask "
            "collection, whose workers keep what they have computed; leave it out"
        )
    given = inspect.signature(method).bind(model, *args, **options).arguments
    given.pop("self", None)
    if method.__name__ != "fit":
        X = given.pop("X")
        return apply(model, method.__name__, X, **given)
    fit = getattr(model, "_fit_cluster", None)
    if fit is None:
        raise TypeError(
            f"{type(model).__name__} cannot be fitted to Dask collections; those that can are KernelRidge, "
            "KernelRidgeCV, KernelRidgeClassifier, KernelLogisticRegression, KernelRegressor, KernelClassifier, "
            "KernelQuantileRegressor, support vector machines, neighbours and Parzen windows. Give it X.compute() if "
            "that fits into memory"
        )
    tell = report_progress(model) if hasattr(model, "_init_callback_context") else nullcontext()
    with tell as on_step, all_or_nothing(model), connect(client, on_step) as cluster:
        fit(cluster, **given)
    return model
