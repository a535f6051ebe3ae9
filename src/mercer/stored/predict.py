"""Predictions for tables that stay on a disk, a piece at a time: as an array, or into a Parquet file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.budget import parse_memory
from mercer.files import check_free, replacing
from mercer.needs import load_package

from .parquet import PURPOSE
from .plan import size_pieces
from .table import StoredTable, as_table, check_names, choose_columns


def read_pieces(model: Any, table: StoredTable, extra: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """Yield the points of each piece as a fitted model takes them, and other columns of its rows as an Arrow table."""
    check_is_fitted(model)
    rows: Any = table.open()
    known = getattr(model, "feature_names_in_", None)
    columns = table.columns or (None if known is None or rows.names is None else list(known))
    columns = choose_columns(rows, columns)
    if extra:
        if columns is None:
            raise ValueError(f"the columns of {rows.name} have no names, so that {list(extra)} cannot be kept")
        check_names(extra, rows.names, rows.name)
    if not rows.n:
        raise ValueError(f"{rows.name} has no rows, so that there is nothing to predict")
    width = rows.width if columns is None else len(columns) + len(extra)
    rows.cut(size_pieces(parse_memory(getattr(model, "memory", None)), width))
    for piece in rows.pieces:
        if columns is None:
            yield rows.read(piece, []), None
        else:
            found = rows.read_cells(piece, [*dict.fromkeys([*columns, *extra])])
            yield found.select(columns).to_pandas(), found.select(list(extra))


def predict_stored(model: Any, method: str, table: StoredTable, *args: Any, **kwargs: Any) -> Any:
    """Return what a method gives for all rows of a table."""
    parts = [getattr(model, method)(points, *args, **kwargs) for points, _ in read_pieces(model, table)]
    if isinstance(parts[0], tuple | list):
        return type(parts[0])(np.concatenate(each) for each in zip(*parts, strict=True))
    return np.concatenate(parts)


def write_predictions(
    model: Any,
    source: Any,
    target: str | os.PathLike[str],
    method: str = "predict",
    *,
    keep: tuple[str, ...] | list[str] = (),
    overwrite: bool = False,
) -> int:
    """Predict all rows of a table and write the predictions to a Parquet file, a piece at a time.

    The file is written beside its name and takes it at the end: it is there whole or not at all.

    Parameters
    ----------
    model : estimator
        A fitted one.
    source : str, Path, pyarrow.dataset.Dataset, numpy.memmap or StoredTable
        The rows; columns beside those the model was fitted to are passed by.
    target : str or Path
        The file to write.
    method : str, default="predict"
        What is asked of the model, such as "predict_proba".
    keep : sequence of str
        Columns of the source that are copied, in front of the predictions.
    overwrite : bool, default=False
        Whether to replace a file that exists.

    Returns
    -------
    int
        How many rows were written: as many as the source has, in its order, with a column ``prediction``, or one for
        each class if there are several.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from mercer.models import KernelRidge
    >>> from mercer.stored import write_predictions
    >>> model = KernelRidge().fit([[0.0], [1.0]], [0.0, 1.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "points.npy", np.ones((1000, 1)))
    ...     write_predictions(model, Path(folder) / "points.npy", Path(folder) / "out.parquet")
    1000
    """
    return write_pieces(
        read_pieces(model, as_table(source), tuple(keep)),
        lambda points: name_columns(model, method, getattr(model, method)(points), keep),
        Path(target), overwrite,
    )  # fmt: skip


def write_pieces(
    pieces: Iterator[tuple[Any, Any]], predict: Callable[[Any], Any], target: Path, overwrite: bool
) -> int:
    """Write what was kept of pieces, and the frames that a function makes of them, to one file: all or nothing."""
    parquet, arrow = load_package("pyarrow.parquet", PURPOSE), load_package("pyarrow", PURPOSE)
    target = target.resolve() if target.is_symlink() else target
    check_free(target, overwrite)
    count, writer = 0, None
    with replacing(target, lambda: check_free(target, overwrite)) as temporary:
        try:
            for points, others in pieces:
                found = arrow.Table.from_pandas(predict(points), preserve_index=False)
                if others is not None:
                    columns = zip([*others.column_names, *found.column_names], [*others, *found.columns], strict=True)
                    found = arrow.table(dict(columns))
                writer = writer or parquet.ParquetWriter(temporary, found.schema, write_page_checksum=True)
                writer.write_table(found.cast(writer.schema))
                count += found.num_rows
        finally:
            if writer is not None:
                writer.close()
    return count


def name_columns(model: Any, method: str, found: Any, kept: Collection[str]) -> Any:
    """Return predictions as a frame, with names that no column has that is kept."""
    import pandas as pd

    values = np.asarray(found)
    if values.ndim == 1:
        named = {"prediction": values}
    else:
        classes = getattr(model, "classes_", None)
        names = range(values.shape[1]) if classes is None or len(classes) != values.shape[1] else classes
        named = {f"{method.removeprefix('predict_')}_{name}": values[:, i] for i, name in enumerate(names)}
    both = [name for name in named if name in kept]
    if both:
        raise ValueError(f"keep={list(kept)}: predictions have a column {both[0]!r}; rename the one of the source")
    return pd.DataFrame(named)
