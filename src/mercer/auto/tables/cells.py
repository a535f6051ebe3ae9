"""Cells of text that are numbers: with currencies, units, thousands and stray marks among them.

What a column says about its cells is two things: its decimal mark, and the unit that follows its numbers.  Both are
found from all cells together and then hold for new ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

ABSENT = frozenset({"", "?", "n/a", "N/A", "NA", "#N/A", "<NA>", "nan", "NaN", "null", "NULL"})  # missing anywhere
# Missing among numbers and dates; among words they may well be one of them.
MARKS = frozenset({*(mark.lower() for mark in ABSENT), "-", "--", "---", ".", "..", "none", "missing", "nat", "n.a."})
SHARE = 0.9  # of the cells that are no marks which must be numbers, or dates
FEWEST = 3  # different numbers among them, unless every cell is one
UNIT_SHARE = 0.5  # of the cells with something behind a number which must agree on it
MANY, SAMPLE, SAMPLE_SHARE = 2000, 500, 0.5  # different cells from which some rows are read first, how many, how well
CODE_LENGTH = 4  # from which digits of equal length are codes if some begin with 0

# Columns are read as one text with a line for each cell, because that takes a few calls and not one for each cell.
_GAP = r"[^\S\n]*"  # blanks within a line
_SIGN, _MONEY = "[-+−]", "(?:[$€£¥₹]|usd|eur|gbp)"
_BEFORE = rf"(?:{_SIGN}{_GAP}{_MONEY}?|{_MONEY}{_GAP}{_SIGN}?)?{_GAP}"
_BEGINNING = re.compile(rf"\s*\(?{_BEFORE}[.,]?[0-9]", re.IGNORECASE)
_UNIT = re.compile(
    rf"^{_GAP}\(?{_BEFORE}(?:[0-9][0-9.,'’ ]*|[.,][0-9]+)(?:e[-+]?[0-9]+)?{_GAP}"
    rf"([^\d\s.,()+\-−'’](?:[^\d()\n]{{0,10}}[^\d()\s])?)\)?{_GAP}$",
    re.IGNORECASE | re.MULTILINE,
)


def is_mark(cell: str) -> bool:
    """Return whether a cell says that there is no value."""
    return cell.strip().lower() in MARKS


def parse_numbers(cells: Sequence[str], decimal: str = ".", unit: str = "") -> np.ndarray:
    """Return cells as numbers, NaN for those that are none.

    Parameters
    ----------
    cells : sequence of str
        The different cells of a column.
    decimal : {".", ","}
        Its decimal mark; the other mark, blanks and apostrophes group thousands.
    unit : str
        What may follow a number.

    Examples
    --------
    >>> parse_numbers(["$1,234.5", "(12)", "5e3", "many"]).tolist()
    [1234.5, -12.0, 5000.0, nan]
    >>> parse_numbers(["1.234,5 kg", "12,5"], decimal=",", unit="kg").tolist()
    [1234.5, 12.5]
    """
    if not cells:
        return np.empty(0)
    text = _join_lines(cells)
    if decimal == "." and "_" not in text:  # which Python takes for a digit
        try:
            return _drop_infinite(list(map(float, cells)))
        except ValueError:
            pass
    other, mark, behind = "." if decimal == "," else ",", re.escape(decimal), rf"(?:{_GAP}{re.escape(unit)})?"
    plain = rf"(?:[0-9]+(?:{mark}[0-9]*)?|{mark}[0-9]+)"
    grouped = rf"[0-9]{{1,3}}(?P<g>['’{other}]|[^\S\n])[0-9]{{3}}(?:(?P=g)[0-9]{{3}})*+(?:{mark}[0-9]*)?"
    number = rf"(?:{grouped}(?![0-9])|{plain})(?:e[-+]?[0-9]+)?{behind}"
    number_again = number.replace("P<g>", "P<h>").replace("P=g", "P=h")  # names of groups occur once
    line = rf"{_GAP}(?:{_BEFORE}{number}|\({_GAP}{_MONEY}?{_GAP}{number_again}{_GAP}\)){_GAP}$"
    text = re.sub(rf"^(?!{line}).*$", "", text, flags=re.IGNORECASE | re.MULTILINE)
    text = re.sub(rf"{_MONEY}|{re.escape(unit)}(?=\)?{_GAP}$)", "", text, flags=re.IGNORECASE | re.MULTILINE)
    text = re.sub(rf"[{other}'’)]|[^\S\n]", "", text).replace("(", "-").replace("−", "-").replace(decimal, ".")
    return _drop_infinite([float(number) if number else np.nan for number in text.split("\n")])


def find_numbers(cells: Sequence[str], counts: np.ndarray, share: float = SHARE) -> tuple[str, str] | None:
    """Return the decimal mark and the unit of a column of cells that are mostly numbers, or None if they are not.

    A ``share`` of the rows that hold no mark must be numbers, and three of them different.  Codes that begin with
    zeros are none.  The decimal mark is a comma if more cells can be read with it than with a point.

    Examples
    --------
    >>> find_numbers(["12,5%", "1.000,25%", "3%", "-"], np.array([1, 1, 1, 5]))
    (',', '%')
    >>> find_numbers(["00123", "00124", "00200"], np.array([1, 1, 1])) is None
    True
    """
    if len(cells) > MANY and find_numbers(*sample_rows(cells, counts), SAMPLE_SHARE) is None:
        return None
    cells, counts = drop_marks(cells, counts)
    rows = counts.sum()
    begun = np.array([_BEGINNING.match(cell) is not None for cell in cells], dtype=bool)
    if not cells or counts[begun].sum() < share * rows or _are_codes(cells):
        return None
    if not np.isnan(parse_numbers(cells)).any():
        return ".", ""
    text = _join_lines(cells)
    units = Counter(unit.lower() for unit in _UNIT.findall(text)).most_common(1)
    unit = units[0][0] if units and units[0][1] >= UNIT_SHARE * len(cells) else ""
    decimal, values = ".", parse_numbers(cells, ".", unit)
    read = counts[~np.isnan(values)].sum()
    if read < rows or "," in text:
        others = parse_numbers(cells, ",", unit)
        if counts[~np.isnan(others)].sum() > read:
            decimal, values, read = ",", others, counts[~np.isnan(others)].sum()
    several = len(np.unique(values[~np.isnan(values)])) >= FEWEST
    return (decimal, unit) if read == rows or (several and read >= share * rows) else None


def drop_marks(cells: Sequence[str], counts: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the cells that hold something, and how many rows they have."""
    kept = [i for i, cell in enumerate(cells) if not is_mark(cell)]
    return [cells[i] for i in kept], counts[kept]


def sample_rows(cells: Sequence[str], counts: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the cells of some rows, enough to see that a column is made of something else."""
    ends = np.cumsum(counts)
    places = np.searchsorted(ends, np.linspace(0, ends[-1], SAMPLE, endpoint=False), side="right")
    return [cells[i] for i in places.tolist()], np.ones(SAMPLE)


def _join_lines(cells: Sequence[str]) -> str:
    text = "\n".join(cells)
    return text if text.count("\n") == len(cells) - 1 else "\n".join(cell.replace("\n", " ") for cell in cells)


def _drop_infinite(values: list[float]) -> np.ndarray:
    array = np.array(values, dtype=np.float64)
    return np.where(np.isfinite(array), array, np.nan)


def _are_codes(cells: Sequence[str]) -> bool:
    """Return whether cells are codes: digits that all begin with 0, or some of them and all are of the same length."""
    digits = [cell for cell in cells if cell.isdigit()]
    if not digits or len(digits) < SHARE * len(cells):
        return False
    zeros = [len(cell) > 1 and cell[0] == "0" for cell in digits]
    return all(zeros) or (any(zeros) and {len(cell) for cell in digits} == {max(CODE_LENGTH, len(digits[0]))})
