"""Sparse matrices and frames, taken apart into arrays and lists, and put together again."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from .errors import ModelFileError

SPARSE: dict[str, Any] = {
    kind.__name__: kind for kind in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix)
}
MASKED = {"boolean", *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)), "Float32", "Float64"}
PANDAS = {"string", "str", *MASKED}  # dtypes that are more than NumPy's and go through lists
POLARS = (
    "Boolean", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64", "String",
    "Categorical", "Null",
)  # fmt: skip

Parts = dict[str, Any]


# -- sparse matrices ------------------------------------------------------------------------------------------------


def split_sparse(matrix: Any) -> Parts:
    """Return the parts of a sparse matrix."""
    return {"shape": matrix.shape, "data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}


def join_sparse(kind: str, parts: Parts) -> Any:
    """Return the sparse matrix; compiled code trusts its indices, so they are checked."""
    data, indices, indptr = (parts[name] for name in ("data", "indices", "indptr"))
    arrays = all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (data, indices, indptr))
    whole = arrays and all(part.dtype in (np.int32, np.int64) for part in (indices, indptr))
    if not whole or data.dtype.kind not in "biuf" or data.dtype == np.float16:
        raise ModelFileError("a sparse matrix has parts of the wrong type")
    matrix = SPARSE[kind]((data, indices, indptr), shape=parts["shape"])
    matrix.check_format(full_check=True)
    return matrix


# -- frames ---------------------------------------------------------------------------------------------------------


def package_of(value: Any) -> str | None:
    """Return which library a frame or series is of, without importing any."""
    kind = type(value)
    library = kind.__module__.partition(".")[0]
    return library if library in ("pandas", "polars") and kind.__name__ in ("DataFrame", "Series") else None


def split_frame(frame: Any, library: str) -> Parts:
    """Return the parts of a frame, or of a series, which is one column without a list of names."""
    series = type(frame).__name__ == "Series"
    split = _split_pandas if library == "pandas" else _split_polars
    if series:
        columns = [frame]
    elif library == "pandas":
        columns = [frame.iloc[:, i] for i in range(frame.shape[1])]
    else:
        columns = frame.get_columns()
    return {
        "names": None if series else list(frame.columns),
        "name": frame.name if series else None,
        "columns": [split(column) for column in columns],
        "index": _split_index(frame.index) if library == "pandas" else None,
    }


def join_frame(library: str, parts: Parts) -> Any:
    """Return the frame or series."""
    columns, names = parts["columns"], parts["names"]
    if not isinstance(columns, list) or not (names is None or isinstance(names, list)):
        raise ModelFileError("a frame has no lists of columns and names")
    if len(columns) != (1 if names is None else len(names)):
        raise ModelFileError(f"a frame has {len(columns)} columns and {len(names or ())} names")
    for name in [parts["name"]] if names is None else names:
        try:
            hash(name)
        except TypeError:
            raise ModelFileError(f"{name!r} is no name of a column") from None
    return (_join_pandas if library == "pandas" else _join_polars)(columns, names, parts)


def _split_pandas(column: Any) -> tuple[Any, ...]:
    name = str(column.dtype)
    if name == "category":
        categories = column.cat.categories
        return name, np.asarray(column.cat.codes), categories.tolist(), bool(column.cat.ordered)
    if name in PANDAS:
        return name, [None if missing else value for value, missing in zip(column, column.isna(), strict=True)]
    if isinstance(column.dtype, np.dtype):
        return "numpy", column.to_numpy()
    raise ModelFileError(f"the column {column.name!r} of a frame has the dtype {name}, which files do not hold")


def _split_index(index: Any) -> Any:
    if type(index).__name__ == "RangeIndex":
        return ("range", index.start, index.stop, index.step)
    if index.nlevels > 1:
        raise ModelFileError("a frame has an index of several levels; use frame.reset_index(drop=True)")
    return _split_pandas(index.to_series())


def _join_pandas(columns: list[Any], names: list[Any] | None, parts: Parts) -> Any:
    pandas = _library("pandas")
    kind, *values = parts["index"]
    index = pandas.RangeIndex(*values) if kind == "range" else pandas.Index(_pandas_values(pandas, kind, *values))
    data = [_pandas_values(pandas, *column) for column in columns]
    if any(len(column) != len(index) for column in data):  # pandas would repeat a single one
        raise ModelFileError("the columns of a frame are not as long as its index")
    made = [pandas.Series(column, index=index, copy=False) for column in data]
    if names is None:
        return made[0].rename(parts["name"])
    frame = pandas.DataFrame(dict(enumerate(made)), index=index)
    frame.columns = names
    return frame


def _pandas_values(pandas: Any, name: str, values: Any, *categories: Any) -> Any:
    if name == "category":
        return pandas.Categorical.from_codes(values, *categories)
    if name == "numpy" and isinstance(values, np.ndarray) and values.ndim == 1:
        return values
    if name in PANDAS:
        return pandas.array(values, dtype=name)
    raise ModelFileError(f"a column of a frame has the dtype {name!r}, which is unknown")


def _split_polars(column: Any) -> tuple[Any, ...]:
    name = str(column.dtype)
    if name not in POLARS:
        raise ModelFileError(f"the column {column.name!r} of a frame has the dtype {name}, which files do not hold")
    return name, column.to_list()


def _join_polars(columns: list[Any], names: list[Any] | None, parts: Parts) -> Any:
    polars = _library("polars")
    known: dict[str, Callable[..., Any]] = {name: getattr(polars, name) for name in POLARS}
    labels = [parts["name"]] if names is None else names
    made = [
        polars.Series(label, values, dtype=known[name]) for label, (name, values) in zip(labels, columns, strict=True)
    ]
    return made[0] if names is None else polars.DataFrame(made)


def _library(name: str) -> Any:
    try:
        if name == "pandas":
            import pandas as library
        else:
            import polars as library
    except ImportError:
        raise ModelFileError(f"the model holds a {name} frame, and {name} is not installed here") from None
    return library


# -- generators of random numbers -----------------------------------------------------------------------------------


def split_random(state: np.random.RandomState) -> Parts:
    """Return the parts of a generator."""
    name, key, position, has_gauss, gauss = state.get_state(legacy=True)
    if name != "MT19937":
        raise ModelFileError(f"random_state is a generator of the kind {name}; give a whole number instead")
    return {"key": key, "position": int(position), "gauss": (int(has_gauss), float(gauss))}


def join_random(parts: Parts) -> np.random.RandomState:
    """Return the generator; compiled code trusts its position, so it is checked."""
    key, position, gauss = parts["key"], parts["position"], parts["gauss"]
    right = isinstance(key, np.ndarray) and key.dtype == np.uint32 and key.shape == (624,)
    if not right or type(position) is not int or not 0 <= position <= 624 or not _is_gauss(gauss):
        raise ModelFileError("a generator of random numbers has parts of the wrong type")
    state = np.random.RandomState(0)
    state.set_state(("MT19937", key, position, *gauss))
    return state


def _is_gauss(gauss: Any) -> bool:
    pair = isinstance(gauss, tuple) and len(gauss) == 2
    return pair and gauss[0] in (0, 1) and isinstance(gauss[1], float) and math.isfinite(gauss[1])
