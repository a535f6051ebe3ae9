"""What a column holds, and how it becomes something kernels take.

A column is read as numbers, categories, texts or dates.  What is learned about it is a *step*: a dictionary of plain
values and arrays that says how to treat new rows, which :mod:`~mercer.auto.tables.steps` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.words import find_close

from ..report import Column, Kind
from .cells import find_numbers
from .dates import find_dates, find_parts
from .reading import ColumnValues
from .steps import MISSING, MOST_INDICATORS, check_finite, read_cells, reshape_numbers
from .words import learn_words

TYPES = ("number", "category", "date", "text")  # that a column may be said to be of
ID_NAME = re.compile(r"(^|[_\s.-])(id|uuid|guid|index)$|^unnamed: ?\d+$|(?-i:[a-z]I[Dd]$)", re.IGNORECASE)
LONG = 15  # letters on average from which distinct strings are texts
WORDS = 3  # or words on average
DISTINCT = 0.5  # share of different values from which strings are no categories
ID_SHARE = 0.9  # share of different values from which short strings only name rows
FEW = 20  # rows below which nothing is taken for an id because its values differ
FLAGGED = 0.005  # share of missing values above which that they are missing is a column of its own
SHOWN = 5  # cells that are no numbers or dates, by row and text
TEXT_COLUMNS, CATEGORY_COLUMNS = 24, 8  # that the words of a text and of a category become, at most
WORD_LETTERS, WORD_SHARE = 5, 0.6  # letters of a category on average, and their share, from which it is made of words
SKEW = 2.0  # skewness from which a logarithm is considered
EXTREME = 30.0  # deviations from which only ranks are used
KNOTS = 65  # of a map by ranks
Learned = tuple[Column, dict[str, Any]]
Describe = Callable[..., Learned]


def learn_column(name: str, values: ColumnValues, kind: str | None = None) -> Learned:
    """Decide what a column is, and return a description of that and the step that treats new rows.

    Strings of which 90 % are numbers, or dates, are such; the others are stray and count as missing.

    Parameters
    ----------
    name : str
        The column.
    values : ColumnValues
        Its values, as :func:`cast_values` returns them for its kind.
    kind : {"number", "category", "date", "text"}, optional
        What it is said to hold; it is found out if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.auto.tables.reading import read_column
    >>> column, step = learn_column("size", read_column("size", np.array([1.0, 2.0, np.nan, 4.0])))
    >>> column.kind, column.treatment
    ('numeric', 'standardised; 1 missing filled with the median, and flagged')
    >>> column, step = learn_column("price", read_column("price", [f"${i},000" for i in range(1, 20)] + ["ask us"]))
    >>> column.kind, column.stray
    ('numeric', ((19, 'ask us'),))
    """
    reading = _find_reading(name, values, kind)
    stray = np.empty(0, dtype=np.int64)
    missing, distinct = values.missing, len(values.levels)
    if reading:
        data, stray = read_cells(reading, values)
        check_finite(name, data)
        reading["lenient"] = len(stray) > 0
        missing, present = np.isnan(data), data[~np.isnan(data)]
        distinct = len(np.unique(present))
    gaps = int(missing.sum())
    shown = tuple((row, values.levels[values.data[row]]) for row in stray[:SHOWN].tolist())
    flagged = gaps > FLAGGED * len(missing)

    def describe(kind: Kind, treatment: str, **step: Any) -> Learned:
        if kind == "numeric" and gaps:
            treatment += f"; {gaps} missing filled with the median{', and flagged' * flagged}"
        column = Column(name, kind, treatment + write_stray(shown, len(stray)), gaps, distinct, shown, len(stray))
        return column, reading | {"name": name, "kind": kind, "flagged": flagged} | step

    if distinct == 0 and kind in ("number", "date") and len(stray):
        raise ValueError(
            f"column {name!r} is said to hold {kind}s, but no cell is one, such as {shown[0][1]!r} in row "
            f"{shown[0][0]}; correct its kind"
        )
    if distinct == 0:
        return describe("ignored", "ignored: no values")
    if distinct == 1 and not flagged:
        return describe("ignored", f"ignored: always the same value{' where there is one' if gaps else ''}")
    if reading:
        whole = reading["data"] == "numbers" and bool((present == np.round(present)).all())
        if distinct == len(missing) and whole and ID_NAME.search(name):
            return describe("ignored", "ignored: a number for each row, by its name an id")
        return _learn_numbers(describe, reading["data"], present, distinct)
    if kind == "text":
        return _learn_texts(describe, values, gaps)
    return _learn_strings(describe, name, values, gaps)


def check_types(types: Any, names: Sequence[str]) -> None:
    """Raise unless these are kinds of columns that there are.

    Examples
    --------
    >>> check_types({"zip": "word"}, ["zip", "size"])
    Traceback (most recent call last):
    ...
    ValueError: types['zip'] must be one of ('number', 'category', 'date', 'text'), got 'word'
    """
    if not isinstance(types, Mapping):
        raise TypeError(f"types must be a dictionary of kinds such as {{'zip': 'category'}}, got {types!r}")
    for name, kind in types.items():
        if name not in names:
            near = find_close(str(name), names)
            raise ValueError(
                f"types names column {name!r}, which is not there{f': did you mean {near!r}?' if near else ''}"
            )
        if kind not in TYPES:
            raise ValueError(f"types[{name!r}] must be one of {TYPES}, got {kind!r}")


def cast_values(values: ColumnValues, kind: str | None) -> ColumnValues:
    """Return the values of a column as those of the kind that it is said to be of.

    Examples
    --------
    >>> from mercer.auto.tables.reading import read_column
    >>> cast_values(read_column("zip", [52062, 53111, 52062]), "category")
    ColumnValues(kind='labels', data=array([0, 1, 0]), levels=['52062', '53111'])
    """
    if kind == "category":
        return replace(values.write_levels(), kind="labels")
    if kind == "text" or (kind == "date" and values.kind != "dates"):
        return replace(values.write_levels(), kind="strings")
    if kind == "number" and values.kind == "labels":
        return replace(values, kind="strings")
    return values


def _find_reading(name: str, values: ColumnValues, kind: str | None) -> dict[str, Any]:
    """Return how the cells of a column are read as numbers or dates, or nothing if they are neither."""
    plain = {"name": name, "decimal": ".", "unit": "", "day_first": False}
    if values.kind in ("numbers", "dates"):
        return plain | {"data": values.kind}
    if kind == "number":
        decimal, unit = find_numbers(values.levels, values.count_levels(), share=0.0) or (".", "")
        return plain | {"data": "numbers", "decimal": decimal, "unit": unit}
    if kind == "date":
        return plain | {"data": "dates", "day_first": bool(find_dates(values.levels, values.count_levels(), share=0.0))}
    if values.kind == "strings" and kind is None:
        counts = values.count_levels()
        if (found := find_numbers(values.levels, counts)) is not None:
            return plain | {"data": "numbers", "decimal": found[0], "unit": found[1]}
        if (day_first := find_dates(values.levels, counts)) is not None:
            return plain | {"data": "dates", "day_first": day_first}
    return {}


def write_stray(shown: tuple[tuple[int, str], ...], n: int, show_row: Callable[[int], str] = "row {}".format) -> str:
    """Return what is said of stray cells, of which some are shown; ``show_row`` tells where a row is."""
    if not n:
        return ""
    named = ", ".join(f"{text[:40]!r} in {show_row(row)}" for row, text in shown)
    return f"; {n} stray cell{'s' * (n > 1)} counted as missing: {named}{' …' * (n > len(shown))}"


def _learn_numbers(describe: Describe, data: str, present: np.ndarray, distinct: int) -> Learned:
    dates = data == "dates"
    shape, how = ("linear", "") if dates else _choose_shape(present, distinct)
    step: dict[str, Any] = {"shape": shape, "knots": [], "offset": 0.0, "parts": find_parts(present) if dates else []}
    if shape == "log":
        step["offset"] = float(np.median(present[present > 0])) * (present.min() == 0)
    if shape == "ranks":
        step["knots"] = np.quantile(present, np.linspace(0.0, 1.0, KNOTS)).tolist()
    center, scale = _find_scale(reshape_numbers(present, step))
    if dates:
        how = "a date, as days; standardised" + (f", with {' and '.join(step['parts'])}" if step["parts"] else "")
    return describe("numeric", how, center=center, scale=scale, **step)


def _learn_strings(describe: Describe, name: str, values: ColumnValues, gaps: int) -> Learned:
    levels, counts = values.levels, values.count_levels()
    rows, distinct = int(counts.sum()), len(levels)
    if values.kind == "strings":
        size = float(np.average([len(level) for level in levels], weights=counts))
        words = float(np.average([len(level.split()) for level in levels], weights=counts))
        if distinct == rows and ID_NAME.search(name):
            return describe("ignored", "ignored: different in every row, by its name an id")
        names = distinct >= ID_SHARE * rows and rows >= FEW
        codes = names and words < 2 and not _are_words(levels)
        if distinct > DISTINCT * rows and (size >= LONG or words >= WORDS) and not codes:
            return _learn_texts(describe, values, gaps)
        if names:
            return describe("ignored", "ignored: different in almost every row, so it only names rows")
    return _learn_categories(describe, levels, counts, gaps)


def _learn_texts(describe: Describe, values: ColumnValues, gaps: int) -> Learned:
    rows = values.data[values.data >= 0]
    found = learn_words([values.levels[code] for code in rows.tolist()], TEXT_COLUMNS)
    words = f"{len(found['center'])} main directions of its hashed words and runs of letters"
    return describe("text", words + (f"; {gaps} missing" if gaps else ""), data="strings", words=found)


def _learn_categories(describe: Describe, levels: list[str], counts: np.ndarray, gaps: int) -> Learned:
    rows = dict(zip(levels, counts.tolist(), strict=True))
    if gaps:
        rows[MISSING] = gaps
    categories = sorted((level for level in rows if rows[level]), key=lambda level: (-rows[level], level))
    words = f"{len(categories)} categories" + (f", one of them for {gaps} missing" if gaps else "")
    step: dict[str, Any] = {"rows": np.array([rows[level] for level in categories], dtype=np.float64), "words": {}}
    if len(categories) > MOST_INDICATORS and _are_words(levels):
        step["words"] = learn_words(categories, CATEGORY_COLUMNS)
    return describe("categorical", words, data="strings", categories=categories, **step)


def _are_words(levels: list[str]) -> bool:
    """Return whether categories are words, whose letters tell which are alike, and not codes."""
    text = "".join(levels)
    letters = sum(map(str.isalpha, text))
    return letters >= WORD_LETTERS * len(levels) and letters >= WORD_SHARE * len(text)


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


def _find_scale(values: np.ndarray) -> tuple[float, float]:
    """Return the median and a deviation: of the quartiles, or where these agree too well, of everything."""
    quartiles = np.quantile(values, [0.25, 0.75])
    with np.errstate(over="ignore"):  # infinite, and then the quartiles are used
        deviation = float(values.std())
    robust = float(quartiles[1] - quartiles[0]) / 1.349
    scale = robust if robust > 0.25 * deviation else deviation
    return float(np.median(values)), scale if scale > 0 else 1.0


def _measure_skewness(values: np.ndarray) -> float:
    deviation = values.std()
    return float(np.mean(((values - values.mean()) / deviation) ** 3)) if deviation > 0 else 0.0
