"""A table on a disk: where its rows are, and which of its columns are learned from."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer.arrays.budget import parse_memory, require
from mercer.messages import did_you_mean

from .arrays import ArrayRows
from .parquet import ParquetRows

PARQUET = (".parquet", ".pq")
ARRAYS = (".npy",)
COPIES = 4  # of a table that learning from it in memory takes


class StoredTable:
    """A table whose rows stay on a disk: Parquet files, a ``.npy`` file or a memory map.

    Wherever a model takes X it takes the source itself too; this says which columns are used.

    Parameters
    ----------
    source : str, Path, pyarrow.dataset.Dataset or numpy.memmap
        A ``.parquet`` file, a folder of such files, a ``.npy`` file of shape (rows, columns), a dataset of Parquet
        files, or what is mapped already.
    columns : sequence of str, optional
        The columns that are learned from, in this order, where columns have names; if not given, all but those that are
        named as target and as weights.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.models import KernelRidge
    >>> from mercer.stored import StoredTable
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "points.npy", X)
    ...     table = StoredTable(Path(folder) / "points.npy")
    ...     model = KernelRidge(kernel=Gaussian(), n_centers=50, random_state=0).fit(table, np.sin(X[:, 0]))
    ...     bool(np.abs(model.predict(table) - np.sin(X[:, 0])).mean() < 0.05)
    True
    """

    def __init__(self, source: Any, columns: Sequence[str] | None = None) -> None:
        self.source = Path(source) if isinstance(source, str | os.PathLike) else source
        if not (isinstance(self.source, Path | np.memmap) or _is_dataset(source)):
            raise TypeError(
                "a stored table is a path, a pyarrow.dataset or a numpy.memmap; got an object of type "
                f"{type(source).__name__}"
            )
        if isinstance(columns, str):
            raise TypeError(f"columns must be a list of names, got the one text {columns!r}; write [{columns!r}]")
        self.columns = None if columns is None else list(columns)

    def __repr__(self) -> str:
        shown = "" if self.columns is None else f", columns={self.columns!r}"
        name = str(self.source) if isinstance(self.source, Path) else type(self.source).__name__
        return f"StoredTable({name!r}{shown})"

    def open(self) -> ParquetRows | ArrayRows:
        """Return the rows, of which nothing is read but how many they are."""
        if isinstance(self.source, np.memmap):
            return ArrayRows(self.source)
        if not isinstance(self.source, Path):
            return ParquetRows(self.source, "the dataset")
        path = self.source
        if not path.exists():
            raise FileNotFoundError(_tell_missing(path))
        if path.suffix.lower() in ARRAYS and path.is_file():
            return ArrayRows(path)
        if path.is_dir() or path.suffix.lower() in PARQUET:
            rows = ParquetRows.at(path)
            if path.is_dir() and not rows.n:
                raise ValueError(f"{path} has no rows; a folder is read as all Parquet files in it")
            return rows
        raise ValueError(
            f"{path}: rows are read from .parquet, from a folder of such files or from .npy; write it as one of these, "
            "for example with pandas: pandas.read_csv(…).to_parquet(…)"
        )


def is_stored(model: Any, X: Any) -> bool:
    """Whether points are given as something on a disk; a memory map is if it is large beside the model's budget.

    Examples
    --------
    >>> is_stored(None, "big.parquet"), is_stored(None, [[1.0]])
    (True, False)
    """
    if isinstance(X, np.memmap):
        return 2 * X.nbytes > parse_memory(getattr(model, "memory", None))
    return isinstance(X, str | os.PathLike | StoredTable) or _is_dataset(X)


def has_stored(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the points of a call are on a disk."""
    return is_stored(model, args[0] if args else kwargs.get("X"))


def as_table(X: Any) -> StoredTable:
    """Return what was given as points as a table."""
    return X if isinstance(X, StoredTable) else StoredTable(X)


def fits_whole(X: Any, y: Any, memory: int) -> bool:
    """Whether a stored table and its target can be learned from in memory."""
    table = as_table(X)
    rows: Any = table.open()
    return _measure_whole(rows, choose_columns(rows, table.columns, y)) <= memory


def _measure_whole(rows: Any, columns: list[str] | None) -> float:
    """Return the bytes that learning from all rows in memory takes."""
    return 8.0 * COPIES * (rows.width if columns is None else len(columns)) * float(rows.n)


def read_whole(X: Any, y: Any, memory: int, owner: str) -> tuple[Any, Any]:
    """Return a stored table and its target for a model that needs both in memory, if they fit.

    Raises
    ------
    MemoryBudgetError
        With what to do if they do not.
    """
    table = as_table(X)
    rows: Any = table.open()
    columns = choose_columns(rows, table.columns, y)
    require(
        _measure_whole(rows, columns), memory, f"{owner} looks at all {rows.n:,} rows of {rows.name} at once, which",
        "give more memory or a sample of the rows, or read the table a piece at a time with a model such as "
        "KernelRidgeCV or KernelRidgeClassifier",
    )  # fmt: skip
    rows.cut(max(1, rows.n))
    names = None if columns is None else [*columns, *([y] if isinstance(y, str) else [])]
    parts = [rows.read(piece, names) for piece in rows.pieces]
    if columns is None:
        return np.concatenate(parts), y
    import pandas as pd

    frame = pd.concat(parts, ignore_index=True)
    return frame[columns], frame[y] if isinstance(y, str) else y


def is_column(given: Any) -> bool:
    """Whether a target or weights are given by name."""
    return isinstance(given, str) or (
        isinstance(given, list | tuple) and bool(given) and all(isinstance(name, str) for name in given)
    )


def choose_columns(rows: Any, columns: list[str] | None, *others: Any) -> list[str] | None:
    """Return the columns that are learned from: those asked for, or all but target and weights."""
    if rows.names is None:
        if columns is not None:
            raise ValueError(f"the columns of {rows.name} have no names, so that columns={columns!r} cannot be chosen")
        return None
    named = [name for given in others if is_column(given) for name in ([given] if isinstance(given, str) else given)]
    check_names([*named, *(columns or [])], rows.names, rows.name)
    if columns is None:
        return [name for name in rows.names if name not in named]
    both = [name for name in columns if name in named]
    if both:
        raise ValueError(f"{rows.name}: {both[0]!r} is target or weight and cannot be learned from; leave it out")
    return columns


def check_names(wanted: Sequence[str], known: Sequence[str], name: str) -> None:
    """Raise if a table lacks columns, and name all of them."""
    missing = [column for column in wanted if column not in known]
    if not missing:
        return
    near = [f"{column!r}{did_you_mean(column, known)}" for column in missing]
    raise ValueError(
        f"{name} has no column{'s' * (len(missing) > 1)} {', '.join(near)}; it has {', '.join(map(repr, known))}"
    )


def _is_dataset(source: object) -> bool:
    """Whether this is a dataset, told without loading what nobody has loaded."""
    datasets = sys.modules.get("pyarrow.dataset")
    return datasets is not None and isinstance(source, datasets.Dataset)


def _tell_missing(path: Path) -> str:
    beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    return f"there is no file {path}{did_you_mean(path.name, beside) or '; points given as a text are the path of one'}"
