"""Where in a file something is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distributed.executor import PieceNotes
from mercer.formula.data import is_frame


class StoredNotes(PieceNotes):
    """Says where something was wrong: in which row of which file."""

    def __init__(self, rows: Any, target: Any) -> None:
        self._rows, self._target = rows, target

    def __getstate__(self) -> Any:
        return self._target

    def explain(self, error: Exception, index: int, rows: Any, y: Any) -> Exception:
        """Name the first value that is missing or infinite, if that is what was wrong, and the piece if not."""
        piece = self._rows.pieces[index]
        for name, values in (*_list_columns(rows), *_list_columns(y, self._target)):
            bad = _find_bad(values)
            if len(bad):
                more = f" and {len(bad) - 1} more of this piece" if len(bad) > 1 else ""
                value = "missing" if values[bad[0]] != values[bad[0]] else values[bad[0]]
                return ValueError(
                    f"{name} is {value} in {self._rows.locate(piece, int(bad[0]))}{more}; leave such rows out or fill "
                    "them in where the file is written, or give sample_weight a column that is 0 there and a value here"
                )
        error.add_note(f"This was found in rows from {self._rows.locate(piece, 0)}.")
        return error


def _list_columns(values: Any, name: Any = None) -> list[tuple[str, np.ndarray]]:
    """Return the columns of a frame or an array with their names."""
    if values is None:
        return []
    if is_frame(values):
        return [(f"column {column!r}", values[column].to_numpy()) for column in values.columns]
    array = np.asarray(values)
    if array.ndim == 1:
        return [(f"column {name!r}" if isinstance(name, str) else "y", array)]
    return [(f"column {column}", array[:, column]) for column in range(array.shape[1])]


def _find_bad(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        return np.flatnonzero(~np.isfinite(values))
    if values.dtype.kind == "O":
        return np.flatnonzero([value is None or value != value for value in values])
    return np.empty(0, dtype=np.intp)
