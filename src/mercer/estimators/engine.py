"""Where an estimator's work happens: here, or where the data lives.

Estimators know nothing of clusters.  A method that is given a Dask collection hands itself over to the runner that was
given to :func:`hand_over`, that of :mod:`mercer.distributed`; everything else stays as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from mercer.arrays.tensors import host_array, is_tensor, load_torch

ENGINES = frozenset({"dask", "dask_expr", "distributed"})  # packages whose collections live elsewhere
Method = TypeVar("Method", bound=Callable[..., Any])
Runner = Callable[[Any, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]  # of model, method and arguments
_RUNNERS: list[Runner] = []


def hand_over(runner: Runner) -> None:
    """Let a runner have all calls whose data lives elsewhere."""
    _RUNNERS[:] = [runner]


def lives_elsewhere(data: object) -> bool:
    """Whether data is a Dask collection, told from its type alone, so that Dask need not be there.

    Examples
    --------
    >>> import numpy as np
    >>> lives_elsewhere(np.zeros(3)), lives_elsewhere(None)
    (False, False)
    """
    return type(data).__module__.partition(".")[0] in ENGINES


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
            return _RUNNERS[0](self, method, args, kwargs)
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
        return type(result)(_put_beside(part, place) for part in result)
    return _put_beside(result, place)


def _put_beside(result: Any, place: Any) -> Any:
    if isinstance(result, np.ndarray) and result.dtype.kind in "biuf":
        return load_torch().from_numpy(np.ascontiguousarray(result)).to(place)
    return result
