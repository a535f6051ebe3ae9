"""Where an estimator's work happens: here, or where the data lives.

Estimators know nothing of clusters and disks.  A method that is given data that lives elsewhere hands itself over to
the runner that was given to :func:`hand_over` for it, that of :mod:`mercer.distributed` for Dask collections and that
of :mod:`mercer.stored` for tables on a disk; everything else stays as it is.
"""

from __future__ import annotations

import functools
import inspect
import numbers
from collections.abc import Callable
from typing import Any, TypeVar

from sklearn import config_context, get_config

from mercer.arrays.standard import ABROAD, ArrayKind, bring_home, is_foreign, model_here, send_attributes
from mercer.arrays.tensors import is_tensor

ENGINES = frozenset({"dask", "dask_expr", "distributed"})  # packages whose collections live elsewhere
PLACES = {  # options of fits to data elsewhere: what is not so where nothing is, and what would be
    "client": ("none of the data is a Dask collection", "the data as dask arrays or dataframes"),
    "checkpoint": ("X is no table on a disk, and this fit has no long iteration", "X as the path of one"),
}
FITS = frozenset({"fit", "partial_fit", "fit_transform"})  # methods that change a model
Method = TypeVar("Method", bound=Callable[..., Any])
Runner = Callable[[Any, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]  # of model, method and arguments
Question = Callable[[Any, tuple[Any, ...], dict[str, Any]], bool]  # of model and arguments
_RUNNERS: dict[Runner, Question] = {}


def hand_over(runner: Runner, has_to: Question) -> None:
    """Let a runner have all calls whose data lives where it runs, which ``has_to`` tells."""
    _RUNNERS[runner] = has_to


def is_collection(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether any argument is a Dask collection."""
    return any(map(lives_elsewhere, args)) or any(map(lives_elsewhere, kwargs.values()))


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
    """Let a method of an estimator run on Dask collections and tables on a disk, and leave it alone for all other data.

    ``fit`` takes the keyword ``client`` for collections: the Dask client whose workers do the work, the current one if
    not given; and ``checkpoint`` for a table: the folder where sums are saved, that of the table if not given.  A
    method that has a parameter of such a name is given it with data that is here, too.

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
    own = frozenset(inspect.signature(method).parameters)

    @functools.wraps(method)
    def placed(self: Any, *args: Any, **kwargs: Any) -> Any:
        for runner, has_to in _RUNNERS.items():
            if has_to(self, args, kwargs):
                return runner(self, method, args, kwargs)
        for option, (lack, remedy) in PLACES.items():
            if option in own:
                continue
            given = kwargs.pop(option, None)
            if given is not None:
                raise TypeError(
                    f"{type(self).__name__}.{method.__name__}: {option}={given!r} was given, but {lack}; leave "
                    f"{option} out, or give {remedy}"
                )
        return _call_with_arrays(self, method, args, kwargs)

    return placed  # type: ignore[return-value]


def in_the_kind_given(method: Method) -> Method:
    """Let a method or property answer in arrays of the kind it was given, if scikit-learn is set to dispatch by kind.

    With ``array_api_dispatch`` arrays of any library of the array API standard are taken, and fitted attributes are of
    their kind too.  Inside there are NumPy arrays, and tensors where the model computes on devices.

    Examples
    --------
    >>> import numpy as np
    >>> class Mean:
    ...     @in_the_kind_given
    ...     def predict(self, X):
    ...         return X.mean(axis=1)
    >>> Mean().predict(np.ones((2, 3)))
    array([1., 1.])
    """

    @functools.wraps(method)
    def answered(self: Any, *args: Any, **kwargs: Any) -> Any:
        if ABROAD not in vars(self) and not get_config()["array_api_dispatch"]:
            return method(self, *args, **kwargs)
        return _call_with_arrays(self, method, args, kwargs)

    return answered  # type: ignore[return-value]


def _call_with_arrays(model: Any, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a method with points as they are, if they are tensors and the model has a device, and all else as arrays."""
    abroad = vars(model).get(ABROAD)
    values = (*args, *kwargs.values())
    dispatched = bool(get_config()["array_api_dispatch"])
    foreign = any(map(is_tensor, values)) or (dispatched and any(map(is_foreign, values)))
    if abroad is None and not foreign:
        return method(model, *args, **kwargs)
    points, fits = args[0] if args else kwargs.get("X"), method.__name__ in FITS
    if points is None or isinstance(points, numbers.Number):  # a method without points, or a property
        kind = None if abroad is None else abroad.kind
    else:  # without dispatch other libraries' arrays are read as NumPy's, as scikit-learn has it
        kind = ArrayKind.of(points) if dispatched or is_tensor(points) else None
    if dispatched and abroad is not None and not fits and kind != abroad.kind:
        raise ValueError(
            f"Inputs passed to {type(model).__name__}.{method.__name__}() must use the same namespace and the same "
            f"device as those passed to fit(): that was {abroad.kind}, this is {kind or 'numpy'}. Move X there, or fit "
            "the model to arrays of this kind"
        )
    keeps = "device" in model.get_params(deep=False)

    def read(value: Any, is_points: bool) -> Any:
        return value if is_points and keeps and is_tensor(value) else bring_home(value)

    here = model_here(model)
    with config_context(array_api_dispatch=False):  # inside there are no other arrays
        named = {name: read(value, name == "X") for name, value in kwargs.items()}
        result = method(here, *(read(value, position == 0) for position, value in enumerate(args)), **named)
    if fits:
        if here is not model:
            vars(model).clear()
            vars(model).update(vars(here))
        if dispatched and kind is not None:
            send_attributes(model, kind)
    elif here is not model:  # what was made on the way is kept
        made = {name: value for name, value in vars(here).items() if vars(model).get(name) is not value}
        vars(model).update({name: value for name, value in made.items() if name not in abroad.here})
    if result is here:
        return model
    return result if kind is None else kind.give(result)
