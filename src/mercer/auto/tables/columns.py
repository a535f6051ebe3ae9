"""What a column holds, and how it becomes something kernels take.

A column is read as numbers, categories, texts or dates.  What is learned about it is a *step*: a dictionary of plain
values that says how to treat new rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..report import Column, Kind
from .reading import ColumnValues, write_label

MISSING = "(missing)"  # the category of rows without a value
ID_NAME = re.compile(r"(^|[_\s.-])(id|uuid|guid|index)$|^unnamed: ?\d+$|(?-i:[a-z]I[Dd]$)", re.IGNORECASE)
LONG = 15  # letters on average from which distinct strings are texts
WORDS = 3  # or words on average
DISTINCT = 0.5  # share of different values from which strings are no categories
ID_SHARE = 0.9  # share of different values from which short strings only name rows
FEW = 20  # rows below which nothing is taken for an id because its values differ
SKEW = 2.0  # skewness from which a logarithm is considered
EXTREME = 30.0  # deviations from which only ranks are used
KNOTS = 65  # of a map by ranks
Learned = tuple[Column, dict[str, Any]]
Describe = Callable[..., Learned]


def learn_column(name: str, values: ColumnValues) -> Learned:
    """Decide what a column is, and return a description of that and the step that treats new rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.auto.tables.reading import read_column
    >>> column, step = learn_column("size", read_column("size", np.array([1.0, 2.0, np.nan, 4.0])))
    >>> column.kind, column.treatment
    ('numeric', 'standardised; 1 missing filled with the median, and flagged')
    """
    missing = values.missing
    gaps = int(missing.sum())
    present = values.data[~missing]
    distinct = len(set(present.tolist()))

    def describe(kind: Kind, treatment: str, **step: Any) -> Learned:
        return Column(name, kind, treatment, gaps, distinct), {"name": name, "kind": kind, **step}

    if values.kind in ("numbers", "dates"):
        check_finite(name, values.data)
    if distinct == 0:
        return describe("ignored", "ignored: no values")
    if distinct == 1 and not gaps:
        return describe("ignored", "ignored: always the same value")
    if values.kind in ("numbers", "dates"):
        whole = values.kind == "numbers" and bool((values.data == np.round(values.data)).all())
        if distinct == len(present) and gaps == 0 and whole and ID_NAME.search(name):
            return describe("ignored", "ignored: a number for each row, by its name an id")
        return _learn_numbers(describe, values, present, gaps, distinct)
    if values.kind == "strings":
        size, words = (float(np.mean([count(v) for v in present])) for count in (len, lambda v: len(v.split())))
        varied = distinct > DISTINCT * len(present)
        if distinct == len(present) and ID_NAME.search(name):
            return describe("ignored", "ignored: different in every row, by its name an id")
        if varied and (size >= LONG or words >= WORDS):
            return describe("text", "compared by common runs of three letters (Spectrum)", data="strings")
        if distinct >= ID_SHARE * len(present) and len(present) >= FEW:
            return describe("ignored", "ignored: different in almost every row, so it only names rows")
    return _learn_categories(describe, present, gaps)


def _learn_numbers(describe: Describe, values: ColumnValues, present: np.ndarray, gaps: int, distinct: int) -> Learned:
    shape, how = _choose_shape(present, distinct)
    step = {"shape": shape, "knots": [], "offset": 0.0}
    if shape == "log":
        step["offset"] = float(np.median(present[present > 0])) * (present.min() == 0)
    if shape == "ranks":
        step["knots"] = np.quantile(present, np.linspace(0.0, 1.0, KNOTS)).tolist()
    shaped = reshape_numbers(present, step)
    center, scale = _find_scale(shaped)
    words = "a date, as days; standardised" if values.kind == "dates" else how
    if gaps:
        words += f"; {gaps} missing filled with the median, and flagged"
    return describe("numeric", words, data=values.kind, center=center, scale=scale, flagged=gaps > 0, **step)


def _learn_categories(describe: Describe, present: np.ndarray, gaps: int) -> Learned:
    counts: dict[str, int] = {}
    for value in present:
        counts[value] = counts.get(value, 0) + 1
    if gaps:
        counts[MISSING] = gaps
    categories = sorted(counts, key=lambda value: (-counts[value], value))
    words = f"{len(categories)} categories" + (f", one of them for {gaps} missing" if gaps else "")
    return describe("categorical", words, data="strings", categories=categories)


def _choose_shape(present: np.ndarray, distinct: int) -> tuple[str, str]:
    """Return how numbers are bent before they are standardised, and that in words."""
    if distinct <= 2:
        return "linear", "standardised"
    if present.min() >= 0 and distinct > 10:
        positive = present[present > 0]
        bent = np.log(present + np.median(positive) * (present.min() == 0))
        if _measure_skewness(present) > SKEW and abs(_measure_skewness(bent)) < 0.5 * _measure_skewness(present):
            return "log", "logarithm (a long tail), then standardised"
    low, center, high = np.quantile(present, [0.25, 0.5, 0.75])
    if distinct > 10 and np.abs(present - center).max() * 1.349 > EXTREME * (high - low) > 0:
        return "ranks", "by ranks (extreme values), to a normal distribution"
    return "linear", "standardised"


def reshape_numbers(values: np.ndarray, step: dict[str, Any]) -> np.ndarray:
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


def _find_scale(values: np.ndarray) -> tuple[float, float]:
    """Return the median and a deviation: of the quartiles, or where these agree too well, of everything."""
    quartiles = np.quantile(values, [0.25, 0.75])
    deviation = float(values.std())
    robust = float(quartiles[1] - quartiles[0]) / 1.349
    scale = robust if robust > 0.25 * deviation else deviation
    return float(np.median(values)), scale if scale > 0 else 1.0


def _measure_skewness(values: np.ndarray) -> float:
    deviation = values.std()
    return float(np.mean(((values - values.mean()) / deviation) ** 3)) if deviation > 0 else 0.0


# -- new rows -----------------------------------------------------------------------------------------------------


def read_numbers(step: dict[str, Any], values: ColumnValues) -> np.ndarray:
    """Return a column as the numbers a step was learned from, NaN for missing ones."""
    name = step["name"]
    if values.kind not in ("numbers", "dates") and not values.missing.all():
        row = int(np.flatnonzero(~values.missing)[0])
        bad = next((i for i, value in enumerate(values.data) if value is not None and not _is_number(value)), row)
        raise ValueError(
            f"column {name!r} held {step['data']} when the model was fitted, but row {bad} is {values.data[bad]!r}; "
            f"give {step['data']}, or fit again"
        )
    data = np.full(len(values.data), np.nan) if values.data.dtype == object else values.data
    check_finite(name, data)
    return data


def check_finite(name: str, data: np.ndarray) -> None:
    """Raise if a number is infinite."""
    if np.isinf(data).any():
        row = int(np.flatnonzero(np.isinf(data))[0])
        raise ValueError(f"column {name!r}: row {row} is infinite (inf); replace it by a number, or by NaN")


def standardize_numbers(step: dict[str, Any], values: ColumnValues) -> np.ndarray:
    """Return a numeric column standardised, missing values at the median."""
    bent = reshape_numbers(read_numbers(step, values), step)
    return np.nan_to_num((bent - step["center"]) / step["scale"], nan=0.0)


def read_categories(step: dict[str, Any], values: ColumnValues, missing: str = MISSING) -> np.ndarray:
    """Return a column as the texts that stand for its categories."""
    out = np.empty(len(values.data), dtype=object)
    pairs = zip(values.data.tolist(), values.missing, strict=True)
    out[:] = [missing if gap else write_label(step["name"], value) for value, gap in pairs]
    return out


def read_texts(step: dict[str, Any], values: ColumnValues) -> np.ndarray:
    """Return a column as texts: lower case, with blanks around, so that beginnings and ends of words count."""
    out = read_categories(step, values, missing="")
    out[:] = [f"  {' '.join(text.lower().split())}  " for text in out]
    return out


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
