"""Cells of text that are numbers: with currencies, units, thousands and stray marks among them.

What a column says about its cells is two things: its decimal mark, and the unit that follows its numbers.  Both are
found from all cells together and then hold for new ones.
"""

from __future__ import annotations

import functools
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
_GAP = r"[^\S\n]*+"  # blanks within a line
_SIGN, _SYMBOLS, _CURRENCIES = "[-+−]", "$€£¥₹", ("usd", "eur", "gbp")
_MONEY = f"(?:[{_SYMBOLS}]|{'|'.join(_CURRENCIES)})"
_BEFORE = rf"(?:{_SIGN}{_GAP}{_MONEY}?|{_MONEY}{_GAP}{_SIGN}?)?{_GAP}"
_UNIT = re.compile(
    rf"^{_GAP}\(?{_BEFORE}(?:[0-9][0-9.,'’ ]*|[.,][0-9]+)(?:e[-+]?[0-9]+)?{_GAP}"
    rf"([^\d\s.,()+\-−'’](?:[^\d()\n]{{0,10}}[^\d()\s])?)\)?{_GAP}$",
    re.MULTILINE,
)
_BLANKS = "".join(chr(i) for i in range(0x3001) if chr(i).isspace() and chr(i) != "\n")
_DROPPED = str.maketrans("(−", "--", _BLANKS + _SYMBOLS + "'’)")


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
        What may follow a number, in small letters.

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
    text = _compile_other(decimal, unit).sub("", text)
    for word in (*_CURRENCIES, unit):
        text = text.replace(word, "") if word else text
    text = text.translate(_DROPPED).replace("." if decimal == "," else ",", "").replace(decimal, ".")
    return _drop_infinite([float(number) if number else np.nan for number in text.split("\n")])


@functools.cache
def _compile_other(decimal: str, unit: str) -> re.Pattern[str]:
    """Return a pattern of the lines that are no numbers."""
    other, mark = "." if decimal == "," else ",", re.escape(decimal)
    plain = rf"(?:[0-9]++(?:{mark}[0-9]*+)?|{mark}[0-9]++)"
    grouped = rf"[0-9]{{1,3}}(['’{other}]|[^\S\n])[0-9]{{3}}(?:\2[0-9]{{3}})*+(?:{mark}[0-9]*+)?(?![0-9])"
    number = rf"(?:{grouped}|{plain})(?:e[-+]?[0-9]+)?(?:{_GAP}{re.escape(unit)})?{_GAP}"
    line = rf"{_GAP}(?:(\(){_GAP}{_MONEY}?{_GAP}|{_BEFORE}){number}(?(1)\)){_GAP}$"
    return re.compile(rf"^(?!{line}).+$", re.MULTILINE)


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
    decimal, unit = ".", ""
    if len(cells) > MANY:
        found = find_numbers(*sample_rows(cells, counts), SAMPLE_SHARE)
        if found is None:
            return None
        decimal, unit = found
    values = parse_numbers(cells, decimal, unit)
    rows, unread = count_filled(cells, counts, values)
    if unread:
        units = Counter(unit for unit in _UNIT.findall(_join_lines(unread)) if unit != "e").most_common(1)
        if units and units[0][1] >= UNIT_SHARE * len(cells):
            unit = units[0][0]
            values = parse_numbers(cells, decimal, unit)
        other = "," if decimal == "." else "."
        if not np.isnan(parse_numbers(unread, other, unit)).all():  # or it could not be better
            others = parse_numbers(cells, other, unit)
            if counts[~np.isnan(others)].sum() > counts[~np.isnan(values)].sum():
                decimal, values = other, others
    read, several = counts[~np.isnan(values)].sum(), len(np.unique(values[~np.isnan(values)])) >= FEWEST
    enough = 0 < read == rows or (several and read >= share * rows)
    return (decimal, unit) if enough and not _are_codes(cells) else None


def count_filled(cells: Sequence[str], counts: np.ndarray, values: np.ndarray) -> tuple[float, list[str]]:
    """Return how many rows hold something, and the cells that do and that are not among the values, which are NaN."""
    unread = np.flatnonzero(np.isnan(values))
    marks = np.array([is_mark(cells[i]) for i in unread.tolist()], dtype=bool)
    return float(counts.sum() - counts[unread[marks]].sum()), [cells[i] for i in unread[~marks].tolist()]


def sample_rows(cells: Sequence[str], counts: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the cells of some rows, enough to see that a column is made of something else."""
    ends = np.cumsum(counts)
    places = np.searchsorted(ends, np.linspace(0, ends[-1], SAMPLE, endpoint=False), side="right")
    return [cells[i] for i in places.tolist()], np.ones(SAMPLE)


def _join_lines(cells: Sequence[str]) -> str:
    """Return cells as lines of small letters."""
    text = "\n".join(cells)
    if text.count("\n") >= len(cells):
        text = "\n".join(cell.replace("\n", " ") for cell in cells)
    return text.lower()


def _drop_infinite(values: list[float]) -> np.ndarray:
    array = np.array(values, dtype=np.float64)
    return np.where(np.isfinite(array), array, np.nan)


def _are_codes(cells: Sequence[str]) -> bool:
    """Return whether cells are codes: digits that all begin with 0, or some of them and all are of the same length."""
    if not any(cell[:1] == "0" and cell[1:].isdigit() for cell in cells):
        return False
    digits = [cell for cell in cells if cell.isdigit()]
    alike = {len(cell) for cell in digits} == {max(CODE_LENGTH, len(digits[0]))}
    codes = [len(cell) > 1 and (alike or cell[0] == "0") for cell in digits]
    return all(codes) and len(digits) >= SHARE * sum(not is_mark(cell) for cell in cells)
