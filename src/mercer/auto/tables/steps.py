"""What was learned about columns, applied to rows: numbers, blocks of columns, categories and texts.

A *step* says what a column is and how its cells are read; :mod:`~mercer.auto.tables.columns` learns it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from .cells import is_mark, parse_numbers
from .dates import compute_parts, name_parts, parse_dates
from .reading import ColumnValues
from .words import embed_words

MISSING = "(missing)"  # the category of rows without a value
MOST_INDICATORS = 40  # of a column; rarer categories share the origin
MANY_LEVELS = 8  # categories above which a column has statistics of targets
RAREST = -3.0  # deviations: how rare a category can be
Step = dict[str, Any]


# -- cells ----------------------------------------------------------------------------------------------------------


def read_numbers(step: Step, values: ColumnValues) -> np.ndarray:
    """Return a column as the numbers a step was learned from, NaN for missing ones.

    Cells of text are read as those of the fit were.  Marks are missing, and so are stray cells if the fit had some.
    """
    data, stray = read_cells(step, values)
    check_finite(step["name"], data)
    if len(stray) and not step["lenient"]:
        raise ValueError(
            f"column {step['name']!r} held {step['data']} when the model was fitted, but row {stray[0]} is "
            f"{values.levels[values.data[stray[0]]]!r}; give {step['data']}, or fit again"
        )
    return data


def read_cells(step: Step, values: ColumnValues) -> tuple[np.ndarray, np.ndarray]:
    """Return a column as numbers, and the rows whose cells are neither that nor marks of missing ones."""
    if values.kind in ("numbers", "dates"):
        return values.data, np.empty(0, dtype=np.int64)
    levels = values.levels
    if step["data"] == "dates":
        parsed = parse_dates(levels, step["day_first"])
    else:
        parsed = parse_numbers(levels, step["decimal"], step["unit"])
    unread = np.isnan(parsed)
    unread[unread] = [not is_mark(levels[i]) for i in np.flatnonzero(unread).tolist()]
    return np.append(parsed, np.nan)[values.data], np.flatnonzero(np.append(unread, False)[values.data])


def check_finite(name: str, data: np.ndarray) -> None:
    """Raise if a number is infinite."""
    if np.isinf(data).any():
        row = int(np.flatnonzero(np.isinf(data))[0])
        raise ValueError(f"column {name!r}: row {row} is infinite (inf); replace it by a number, or by NaN")


def reshape_numbers(values: np.ndarray, step: Step) -> np.ndarray:
    """Bend numbers as a step says; NaN stays."""
    if step["shape"] == "log":
        smallest = 1e-3 * step["offset"] if step["offset"] else np.finfo(float).tiny
        return np.asarray(np.log(np.maximum(values + step["offset"], smallest)))
    if step["shape"] == "ranks":
        knots, levels = np.array(step["knots"]), np.linspace(0.0, 1.0, len(step["knots"]))
        left = np.interp(values, knots, levels)
        right = 1.0 - np.interp(-values, -knots[::-1], levels)  # ties take the middle of their ranks
        return np.asarray(np.where(np.isnan(values), np.nan, ndtri(np.clip((left + right) / 2, 1e-3, 1 - 1e-3))))
    return values


def read_categories(values: ColumnValues, missing: str = MISSING) -> np.ndarray:
    """Return a column as the texts that stand for its categories."""
    values = values.write_levels()
    return np.array([*values.levels, missing], dtype=object)[values.data]


def locate_categories(step: Step, values: ColumnValues) -> np.ndarray:
    """Return the position of each row among the categories of a step, −1 for those it does not know."""
    values = values.write_levels()
    places = {category: place for place, category in enumerate(step["categories"])}
    return np.array([places.get(level, -1) for level in [*values.levels, MISSING]], dtype=np.int64)[values.data]


def read_texts(values: ColumnValues) -> np.ndarray:
    """Return a column as texts: lower case, with blanks around, so that beginnings and ends of words count."""
    values = values.write_levels()
    levels = [f"  {' '.join(level.lower().split())}  " for level in [*values.levels, ""]]
    return np.array(levels, dtype=object)[values.data]


# -- blocks of columns ----------------------------------------------------------------------------------------------


def list_indicators(step: Step) -> list[str]:
    """Return the categories that get an indicator: all, or for two only the rarer, whose complement is the other."""
    categories = list(step["categories"])
    return categories[1:] if len(categories) == 2 else categories[:MOST_INDICATORS]


def name_block(step: Step, statistics: bool) -> list[str]:
    """Return the names of the columns that :func:`encode_block` makes of a column."""
    name = step["name"]
    flag = [f"{name} missing"] if step["flagged"] else []
    if step["kind"] == "numeric":
        return [name, *flag, *(f"{name}: {part}" for part in name_parts(step["parts"]))]
    if step["kind"] == "text":
        return [*flag, *(f"{name}: words {i + 1}" for i in range(len(step["words"]["center"])))]
    names = [f"{name}={category}" for category in list_indicators(step)]
    if len(step["categories"]) > MOST_INDICATORS:
        names.append(f"{name}: count")
        names += [f"{name}: words {i + 1}" for i in range(len(step["words"].get("center", ())))]
    if statistics and "statistics" in step:
        q = step["statistics"].shape[1]
        names += [f"{name}: mean"] if q == 1 else [f"{name}: mean {i + 1}" for i in range(q)]
    return names


def encode_block(step: Step, values: ColumnValues, statistics: bool, known: np.ndarray | None = None) -> np.ndarray:
    """Return the columns that a column of a table becomes, of shape (n, columns).

    ``known`` are statistics of targets that training rows have instead of those of their categories.
    """
    if step["kind"] == "categorical":
        return _encode_categories(step, values, statistics, known)
    if step["kind"] == "text":
        texts = values.write_levels()
        rows = embed_words(step["words"], [*texts.levels, ""])[texts.data]
        return np.column_stack([texts.missing, rows]) if step["flagged"] else rows
    data = read_numbers(step, values)
    columns = [standardize_numbers(step, data)[:, None]]
    if step["flagged"]:
        columns.append(np.isnan(data)[:, None])
    if step["parts"]:
        columns.append(compute_parts(data, step["parts"]))
    return np.hstack(columns)


def standardize_numbers(step: Step, data: np.ndarray) -> np.ndarray:
    """Return the numbers of a column standardised, missing values at the median."""
    return np.nan_to_num((reshape_numbers(data, step) - step["center"]) / step["scale"], nan=0.0)


def _encode_categories(step: Step, values: ColumnValues, statistics: bool, known: np.ndarray | None) -> np.ndarray:
    places = locate_categories(step, values)
    shown, first = len(list_indicators(step)), int(len(step["categories"]) == 2)
    out = np.zeros((len(places), len(name_block(step, statistics))))
    marked = (places >= first) & (places < first + shown)
    out[np.flatnonzero(marked), places[marked] - first] = 1.0
    used = shown
    if len(step["categories"]) > MOST_INDICATORS:
        out[:, used] = _rate_counts(step["rows"])[places]
        used += 1
        if step["words"]:
            texts = values.write_levels()
            rows = embed_words(step["words"], [*texts.levels, MISSING])[texts.data]
            out[:, used : used + rows.shape[1]] = rows
            used += rows.shape[1]
    if statistics and "statistics" in step:
        out[:, used:] = step["statistics"][places] if known is None else known
    return out


def _rate_counts(rows: np.ndarray) -> np.ndarray:
    """Return log(1 + rows) of categories, standardised over all rows, and last that of an unknown one."""
    logs = np.log1p(np.append(rows, 0.0))
    mean = np.average(logs[:-1], weights=rows)
    deviation = np.sqrt(np.average((logs[:-1] - mean) ** 2, weights=rows))
    return np.maximum((logs - mean) / (deviation if deviation > 0 else 1.0), RAREST)
