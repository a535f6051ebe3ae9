"""Predictions of fitted models over partitions: the ordinary method on each, lazily."""

from __future__ import annotations

import copy
import uuid
import warnings
from typing import Any

import numpy as np

from mercer.formula.data import length, pick

from ._graph import map_blocks
from ._intake import cut_pieces, list_rows

HOLDERS = ("ridge_", "regressor_")  # attributes that hold a model inside another


def apply(model: Any, method: str, X: Any, *args: Any, **kwargs: Any) -> Any:
    """Return what a method gives for all rows of a Dask collection, as dask arrays with a chunk for each partition.

    Nothing is computed, but what a single row gives, for the shape and type of the result.
    """
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    pieces = cut_pieces(X, "X")
    example = _try_example(model, method, args, kwargs)
    tasks = map_blocks(method.replace("_", "-"), _call, pieces.tasks, model, method, example, args, kwargs)
    if isinstance(example, tuple | list):
        return type(example)(
            assemble([task[i] for task in tasks], pieces.counts, part) for i, part in enumerate(example)
        )
    return assemble(tasks, pieces.counts, example)


def assemble(tasks: list[Any], counts: list[int] | None, example: np.ndarray) -> Any:
    """Return tasks as one dask array, with a chunk for each; the example has no rows and the right shape and type."""
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    tail = (0,) * (example.ndim - 1)
    token = f"mercer-array-{uuid.uuid4().hex}"
    # One entry for each partition, empty ones too, which da.concatenate would drop.
    layer = {(token, i, *tail): (_return_it, task.key) for i, task in enumerate(tasks)}
    graph = HighLevelGraph.from_collections(token, layer, dependencies=tasks)
    sizes = (np.nan,) * len(tasks) if counts is None else tuple(counts)
    chunks = (sizes, *((width,) for width in example.shape[1:]))
    return da.Array(graph, token, chunks, dtype=example.dtype, meta=example)


def _return_it(value: Any) -> Any:
    return value


def _call(X: Any, model: Any, method: str, example: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    X = list_rows(X)
    if length(X) == 0:
        return type(example)(part[:0] for part in example) if isinstance(example, tuple | list) else example[:0]
    return getattr(model, method)(X, *args, **kwargs)


def _try_example(model: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what the method gives for one point that the model knows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a row without the names of its columns, for example
        found = getattr(_put_on_host(model), method)(_pick_known(model), *args, **kwargs)
    if isinstance(found, tuple | list):
        return type(found)(np.asarray(part)[:0] for part in found)
    return np.asarray(found)[:0]


def _put_on_host(model: Any) -> Any:
    """Return a fitted model that computes on the host, because a device may be there on the workers only."""
    twin = copy.copy(model)
    if getattr(twin, "device", None) is not None:
        twin.device = None
    for holder in HOLDERS:
        if hasattr(twin, holder):
            setattr(twin, holder, _put_on_host(getattr(twin, holder)))
    return twin


def _pick_known(model: Any) -> Any:
    """Return one of the points that a fitted model keeps, as a collection."""
    for holder in HOLDERS:
        if hasattr(model, holder):
            return _pick_known(getattr(model, holder))
    for name in ("X_fit_", "support_vectors_"):
        kept = getattr(model, name, None)
        if kept is not None and length(kept) > 0:
            return pick(kept, [0])
    function = getattr(model, "_function", None) or model.expansion_
    return pick(function.centers, [0])
