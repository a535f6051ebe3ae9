"""A table of one's own as points."""

from __future__ import annotations

import csv
import io
import math

import numpy as np

from .limits import LARGEST, LONGEST_NAME, MOST_CLASSES, MOST_POINTS, PlayError, pick_some
from .state import State, find_view

MOST_BYTES = 5_000_000
MOST_COLUMNS = 200
LONGEST_CELL = 1000  # characters
SEPARATORS = ",;\t"
SCALE = 5  # a kernel to begin with has a length scale of the range of the first input over this
Row = tuple[int, list[str]]  # its number in the table, counted from 1 as editors do, and its cells
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})


def read_table(text: str | bytes, name: str) -> State:
    r"""Return the points of a table of text, in the units it has.

    Two columns of numbers are an input and its target.  With more columns the first two of numbers are inputs, and the
    last column is the class if it has at most six values; a table without such a column is read as an input and a
    target.  Columns are separated by commas, semicolons or tabs; the first line may name them; rows with a missing
    value are left out; of more than 5,000 rows some are taken at equal distances.

    Parameters
    ----------
    text : str or bytes
        The table.
    name : str
        Its name, for messages.

    Returns
    -------
    State

    Raises
    ------
    PlayError
        If it is no such table; it names the row and the column.

    Examples
    --------
    >>> from mercer.playground.tables import read_table
    >>> state = read_table("age;weight;kind\n1;2.5;cat\n3;30;dog\n2;3;cat\n", "pets.csv")
    >>> state.task, state.names, state.y.tolist()
    ('classification', ('age', 'weight'), [0, 1, 0])
    """
    called = str(name)[:LONGEST_NAME] or "the table"
    header, rows = _read_rows(_read_text(text, called), called)
    width = len(header)
    numeric = [column for column in range(width) if _is_numeric(rows, column)]
    classes = sorted({cells[-1] for _, cells in rows if not _is_missing(cells[-1])})
    inputs = [column for column in numeric if column != width - 1][:2]
    if width >= 3 and 2 <= len(classes) <= MOST_CLASSES and len(inputs) == 2:
        kept = _drop_missing(rows, [*inputs, width - 1])
        codes = np.array([classes.index(cells[-1]) for _, cells in kept], dtype=np.int64)
        x, y = _thin(_read_columns(kept, inputs, header, called), codes)
        return State("classification", x, y, _choose_kernel(x), "svm", view=find_view(x), names=_name(header, inputs))
    if len(numeric) < 2:
        column = next((c for c in range(width) if c not in numeric), 0)
        row, cells = next((i, cells) for i, cells in rows if not _is_number(cells[column]))
        raise PlayError(
            f"{called} needs two columns of numbers, but row {row}, column {column + 1} ({header[column][:40]}) is "
            f"{cells[column][:40]!r}. Give numbers there, or a third column with at most {MOST_CLASSES} classes."
        )
    chosen = numeric[:2] if width == 2 else [numeric[0], numeric[-1]]
    values = _read_columns(_drop_missing(rows, chosen), chosen, header, called)
    x, y = _thin(values[:, :1], values[:, 1])
    return State("regression", x, y, _choose_kernel(x), "ridge", view=find_view(x, y), names=_name(header, chosen))


def _read_text(text: str | bytes, called: str) -> str:
    if len(text) > MOST_BYTES:
        raise PlayError(f"{called} has more than {MOST_BYTES:,} bytes. Take a part of it.")
    if isinstance(text, bytes):
        try:
            return text.decode("utf-8-sig")
        except UnicodeDecodeError:
            return text.decode("latin-1")  # which every byte is a letter of
    return text.removeprefix("\ufeff")


def _read_rows(text: str, called: str) -> tuple[list[str], list[Row]]:
    """Return the names of the columns and the rows, all of the same length."""
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), "")
    separator = max(SEPARATORS, key=first.count)
    if first.count(separator) == 0:
        raise PlayError(f"{called} has one column only. Separate columns by commas, semicolons or tabs.")
    if first.count(separator) >= MOST_COLUMNS:
        raise PlayError(f"{called} has more than {MOST_COLUMNS} columns. Keep the two or three to look at.")
    rows: list[Row] = []
    try:
        for i, row in enumerate(csv.reader(io.StringIO(text), delimiter=separator, strict=True), 1):
            if any(cell.strip() for cell in row):
                rows.append((i, [_clean(cell, separator) for cell in row]))
    except csv.Error as error:
        raise PlayError(f"{called} cannot be read after row {len(rows)}: {error}. Save it as plain CSV.") from None
    width = len(rows[0][1])
    for i, cells in rows:
        if len(cells) != width:
            raise PlayError(f"{called}: row {i} has {len(cells)} columns, and the first has {width}. Make them agree.")
    named = not any(map(_is_number, rows[0][1]))
    header = rows[0][1] if named else [f"column {i + 1}" for i in range(width)]
    if len(rows) == named:
        raise PlayError(f"{called} has no rows. Give at least two points.")
    return header, rows[named:]


def _clean(cell: str, separator: str) -> str:
    """Return a cell without blanks around it; where semicolons separate, a comma may stand for a point."""
    cell = cell.strip()[:LONGEST_CELL]
    swapped = cell.replace(",", ".")
    return swapped if separator == ";" and cell.count(",") == 1 and _is_number(swapped) else cell


def _is_missing(cell: str) -> bool:
    return cell.lower() in MISSING


def _drop_missing(rows: list[Row], columns: list[int]) -> list[Row]:
    return [(i, cells) for i, cells in rows if not any(_is_missing(cells[column]) for column in columns)]


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell)) and "_" not in cell
    except ValueError:
        return False


def _is_numeric(rows: list[Row], column: int) -> bool:
    """Whether a column has numbers, and nothing else but missing values."""
    found = [cells[column] for _, cells in _drop_missing(rows, [column])]
    return bool(found) and all(map(_is_number, found))


def _read_columns(rows: list[Row], columns: list[int], header: list[str], called: str) -> np.ndarray:
    values = np.array([[float(cells[column]) for column in columns] for _, cells in rows]).reshape(-1, len(columns))
    if values.size and np.abs(values).max() > LARGEST:
        row, column = np.argwhere(np.abs(values) > LARGEST)[0]
        raise PlayError(
            f"{called}: {values[row, column]:g} in row {rows[row][0]}, column {columns[column] + 1} "
            f"({header[columns[column]][:40]}) is more than {LARGEST:g}. Measure it in a larger unit."
        )
    return values


def _thin(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all points, or as many as there can be."""
    rows = pick_some(len(y), MOST_POINTS)
    return x[rows], y[rows]


def _choose_kernel(x: np.ndarray) -> str:
    """Return a Gaussian in the units of the inputs."""
    spans = np.ptp(x, axis=0) if len(x) else np.ones(x.shape[1])
    scales = [float(f"{span / SCALE:.2g}") or 1.0 for span in spans.tolist()]
    shown = scales[0] if len(scales) == 1 or 0.5 < scales[0] / scales[1] < 2 else scales
    return f"Gaussian({shown})"


def _name(header: list[str], columns: list[int]) -> tuple[str, str]:
    return header[columns[0]][:LONGEST_NAME], header[columns[1]][:LONGEST_NAME]
