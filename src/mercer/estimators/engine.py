"""Where an estimator's work happens: here, or where the data lives.

Estimators know nothing of clusters.  A method that is given a Dask collection hands itself over to
:mod:`mercer.distributed`, which is loaded then and not before; everything else stays as it is.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

import numpy as np

from mercer.arrays.tensors import host_array, is_tensor, load_torch
from mercer.distributed.cluster import lives_elsewhere

from .progress import report_progress
from .transaction import all_or_nothing

Method = TypeVar("Method", bound=Callable[..., Any])


def where_the_data_lives(method: Method) -> Method:
    """Let a method of an estimator run on Dask collections, and leave it alone for all other data.

    ``fit`` takes the keyword ``client`` then: the Dask client whose workers do the work, the current one if not given.

    Examples
    --------
    >>> class Mean:
    ...     @where_the_data_lives
    ...     def fit(self, X, y=None):
    ...         return sum(X) / len(X)
    >>> Mean().fit([1.0, 2.0])
    1.5
    >>> Mean().fit([1.0, 2.0], client="somewhere")
    Traceback (most recent call last):
    ...
    TypeError: Mean.fit: client='somewhere' was given, but none of the data is a Dask collection; leave client out, ...
    """

    @functools.wraps(method)
    def placed(self: Any, *args: Any, **kwargs: Any) -> Any:
        if any(map(lives_elsewhere, args)) or any(map(lives_elsewhere, kwargs.values())):
            return _run_elsewhere(self, method, args, kwargs)
        if any(map(is_tensor, args)) or any(map(is_tensor, kwargs.values())):
            return _with_tensors(self, method, args, kwargs)
        if "client" in kwargs:
            client = kwargs.pop("client")
            if client is not None:
                raise TypeError(
                    f"{type(self).__name__}.{method.__name__}: client={client!r} was given, but none of the data is a "
                    "Dask collection; leave client out, or give the data as dask arrays or dataframes"
                )
        return method(self, *args, **kwargs)

    return placed  # type: ignore[return-value]


def _run_elsewhere(model: Any, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a method of an estimator on Dask collections: ``fit`` at once, all others lazily."""
    try:
        import dask  # noqa: F401
    except ImportError as error:
        raise ImportError("Dask collections need Dask itself: pip install mercer[dask]") from error
    from mercer.distributed.adapter import find_fit
    from mercer.distributed.cluster import connect
    from mercer.distributed.predict import apply

    options = dict(kwargs)
    client = options.pop("client", None)
    given = inspect.signature(method).bind(model, *args, **options).arguments
    given.pop("self", None)
    if method.__name__ != "fit":
        X = given.pop("X")
        return apply(model, method.__name__, X, **given)
    fit = getattr(model, "_fit_cluster", None) or find_fit(model)
    if fit is None:
        models = sys.modules["mercer.models"]
        able = [name for name in models.__all__ if hasattr(getattr(models, name), "_fit_cluster")]
        raise TypeError(
            f"{type(model).__name__} cannot be fitted to Dask collections; those that can are {', '.join(able)}. Give "
            "it X.compute() if that fits into memory"
        )
    tell = report_progress(model) if hasattr(model, "_init_callback_context") else nullcontext()
    with tell as on_step, all_or_nothing(model), connect(client, on_step) as cluster:
        fit(cluster, **given)
    return model


def _with_tensors(model: Any, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a method with tensors: points stay tensors where the model computes on devices, all else becomes arrays.

    What comes back as numbers becomes a tensor beside the points.
    """
    values = (*args, *kwargs.values())
    points: Any = args[0] if args else kwargs.get("X")
    place = (points if is_tensor(points) else next(value for value in values if is_tensor(value))).device
    keeps = "device" in model.get_params(deep=False)

    def given(value: Any, is_points: bool) -> Any:
        return value if is_points and keeps else host_array(value)

    named = {name: given(value, name == "X") for name, value in kwargs.items()}
    result = method(model, *(given(value, position == 0) for position, value in enumerate(args)), **named)
    if not is_tensor(points):
        return result
    if isinstance(result, tuple | list):
        return type(result)(_placed(part, place) for part in result)
    return _placed(result, place)


def _placed(result: Any, place: Any) -> Any:
    if isinstance(result, np.ndarray) and result.dtype.kind in "biuf":
        return load_torch().from_numpy(np.ascontiguousarray(result)).to(place)
    return result
