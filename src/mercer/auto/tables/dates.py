"""Cells of text that are dates, in the usual spellings, and what a calendar says about them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from .cells import MANY, SAMPLE_SHARE, SHARE, count_filled, sample_rows

DAY = 86400.0
CENTURY = 30  # two digits above it are years of 19xx, others of 20xx
LONGEST = 50  # letters of a date
HALF_YEAR = 183.0  # days of dates from which the season can be told from the trend
FEWEST = 8  # different dates from which parts of the calendar are more than other names of them

_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR = r"(?P<year>\d{4}|'?\d{2})"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+)?"
_TIME = (
    r"(?:[T\s,]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d+)?))?\s*(?P<half>[ap]\.?m\.?)?"
    r"\s*(?P<zone>z|utc|gmt|[-+]\d{2}:?\d{2})?)?"
)
_SPELLINGS = [
    re.compile(rf"\s*{_WEEKDAY}{spelling}{_TIME}\s*", re.IGNORECASE)
    for spelling in (
        r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})",  # 1998-06-12
        r"(?P<first>\d{1,2})(?P<mark>[-/.])(?P<second_part>\d{1,2})(?P=mark)(?P<year>\d{4}|\d{2})",  # 12/06/1998
        rf"{_DAY}[\s-]*(?:of\s+)?{_MONTH},?[\s-]*{_YEAR}",  # 12 June 1998, 12-Jun-98
        rf"{_MONTH}\s*{_DAY}(?:,\s*|\s+)(?P<year>\d{{4}})",  # June 12, 1998
        rf"{_MONTH}[\s-]*{_YEAR}",  # Aug-62
        rf"(?P<year>\d{{4}})(?:,\s*|[\s-]+){_MONTH}(?:[\s-]+{_DAY})?",  # 1998, June
        r"(?P<year>\d{4})[-/](?P<month>\d{1,2})",  # 1998-06
        r"(?P<year>(?:1[5-9]|2[01])\d\d)",  # 1998, among others: a column of years is one of numbers
    )
]
_NUMERIC = _SPELLINGS[1]
_ISO = re.compile(r"(?:\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?(?:\n|$))++", re.ASCII)
_BEGINNING = re.compile(r"\s*(?:\d|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)", re.I)


def parse_dates(cells: Sequence[str], day_first: bool = False) -> np.ndarray:
    """Return cells as days since 1970 in Greenwich, NaN for those that are no dates.

    Read are 1998-06-12, 1998/06/12, 12.06.1998, 12/06/1998, 12 June 1998, 12-Jun-98, June 12 1998, Jun 98, 1998 June
    and 1998-06, with a time of day and a zone behind them or without.  Two digits above 30 are a year of the last
    century.  Months and years stand for their first days.

    Parameters
    ----------
    cells : sequence of str
        The different cells of a column.
    day_first : bool
        Whether 12/06/1998 is in June and not in December.

    Examples
    --------
    >>> parse_dates(["1970-01-02", "Jan 3 1970", "02/01/1970 12:00", "Aug-62", "soon"], day_first=True).tolist()
    [1.0, 2.0, 1.5, -2710.0, nan]
    """
    if _ISO.fullmatch("\n".join(cells)):
        try:
            precise = np.array(cells, dtype="datetime64[us]")
        except ValueError:  # a day that the calendar does not have
            pass
        else:
            return count_days(precise)
    rows = [i for i, cell in enumerate(cells) if len(cell) <= LONGEST and _BEGINNING.match(cell)]
    parts = np.array([_split_cell(cells[i], day_first) for i in rows], dtype=np.float64).reshape(-1, 4)
    found = np.full(len(cells), np.nan)
    known = ~np.isnan(parts).any(axis=1)
    found[np.array(rows, dtype=np.int64)[known]] = _count_days(*parts[known].T)
    return found


def find_dates(cells: Sequence[str], counts: np.ndarray, share: float = SHARE) -> bool | None:
    """Return whether days come first in a column of cells that are mostly dates, or None if they are not.

    A ``share`` of the rows that hold no mark must be dates.  A part above 12 is no month, and the majority of such rows
    decides which part is; without any, days come first between points (12.06.1998) and months between others.

    Examples
    --------
    >>> find_dates(["12/06/1998", "31/07/1998"], np.array([1, 1])), find_dates(["red", "1998-06-12"], np.array([1, 1]))
    (True, None)
    """
    if len(cells) > MANY and find_dates(*sample_rows(cells, counts), SAMPLE_SHARE) is None:
        return None
    votes = points = 0
    for cell, count in zip(cells, counts.tolist(), strict=True):
        if parts := _NUMERIC.fullmatch(cell):
            votes += count * ((int(parts["first"]) > 12) - (int(parts["second_part"]) > 12))
            points += count * (1 if parts["mark"] == "." else -1)
    day_first = votes > 0 or (votes == 0 and points > 0)
    days = parse_dates(cells, day_first)
    rows, read = count_filled(cells, counts, days)[0], counts[~np.isnan(days)].sum()
    return day_first if rows and read >= share * rows else None


def _split_cell(cell: str, day_first: bool) -> tuple[float, float, float, float]:
    """Return year, month, day and seconds of a cell."""
    for spelling in _SPELLINGS:
        if found := spelling.fullmatch(cell):
            break
    else:
        return (np.nan,) * 4
    parts = found.groupdict()
    year = int(parts["year"].lstrip("'"))
    if len(parts["year"].lstrip("'")) == 2:
        year += 1900 if year > CENTURY else 2000
    if spelling is _NUMERIC:
        first, second = int(parts["first"]), int(parts["second_part"])
        month, day = (second, first) if day_first else (first, second)
    else:
        text = parts.get("month") or "1"
        month = int(text) if text.isdigit() else _NAMES.index(text[:3].lower()) + 1
        day = int(parts.get("day") or 1)
    return year, month, day, _count_seconds(parts) if parts["hour"] else 0.0


def _count_seconds(parts: dict[str, str | None]) -> float:
    """Return a time of day in seconds, in Greenwich; NaN if there is no such time."""
    hour, minute, second = int(parts["hour"] or 0), int(parts["minute"] or 0), float(parts["second"] or 0)
    half, zone = (parts["half"] or "").lower(), parts["zone"] or ""
    if minute > 59 or second >= 61 or hour > (12 if half else 23) or (half and hour == 0):
        return np.nan
    if half:
        hour = hour % 12 + 12 * half.startswith("p")
    seconds = 3600 * hour + 60 * minute + second
    if zone[:1] in ("+", "-"):
        seconds -= (1 if zone[0] == "+" else -1) * (3600 * int(zone[1:3]) + 60 * int(zone[-2:]))
    return seconds


def _count_days(year: np.ndarray, month: np.ndarray, day: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Return days since 1970, NaN where the calendar has no such day."""
    months = ((year - 1970) * 12 + month - 1).astype(np.int64)
    first, after = (m.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) for m in (months, months + 1))
    valid = (month >= 1) & (month <= 12) & (day >= 1) & (day <= after - first)
    return np.where(valid, ((first + day - 1) * DAY + seconds) / DAY, np.nan)


# -- the calendar -------------------------------------------------------------------------------------------------


def find_parts(days: np.ndarray) -> list[str]:
    """Return the parts of the calendar that vary among dates: of "season", "weekday" and "hour".

    The season counts if the dates span more than half a year and are not all on the same day of it; the day of the
    week if they differ in it and are not all the first of a month, which says that only months were written down; the
    hour if there are times of day.

    Examples
    --------
    >>> find_parts(np.arange(10.0)), find_parts(365.0 * np.arange(10)), find_parts(np.arange(20) / 2)
    (['weekday'], ['season', 'weekday'], ['weekday', 'hour'])
    """
    if len(np.unique(days)) < FEWEST:
        return []
    dates = np.floor(days).astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    found = []
    if np.ptp(days) > HALF_YEAR and len(np.unique((dates - dates.astype("datetime64[Y]")).astype(np.int64))) > 1:
        found.append("season")
    if (dates != months.astype("datetime64[D]")).any() and len(np.unique(np.floor(days) % 7)) > 1:
        found.append("weekday")
    return [*found, "hour"] if len(np.unique(days % 1.0)) > 1 else found


def name_parts(parts: Sequence[str]) -> list[str]:
    """Return the names of the columns that :func:`compute_parts` returns."""
    names = {part: [f"{part} sin", f"{part} cos"] for part in ("season", "weekday", "hour")}
    names["weekday"] += ["weekend"]
    return [name for part in parts for name in names[part]]


def compute_parts(days: np.ndarray, parts: Sequence[str]) -> np.ndarray:
    """Return parts of the calendar as points on circles, and weekends as 1; rows without a date are zero.

    A year of 365.25 days, a week that begins on Monday, and a day are each once around:
    sin 2πt and cos 2πt with t from 0 to 1.

    Examples
    --------
    >>> compute_parts(np.array([0.0, 2.0]), ["weekday"]).round(2).tolist()  # a Thursday and a Saturday
    [[0.43, -0.9, 0.0], [-0.97, -0.22, 1.0]]
    """
    gaps = np.isnan(days)
    safe = np.where(gaps, 0.0, days)
    whole = np.floor(safe)
    columns: list[np.ndarray] = []
    for part in parts:
        if part == "season":
            dates = whole.astype("datetime64[D]")
            turn = (safe - dates.astype("datetime64[Y]").astype("datetime64[D]").astype(np.float64)) / 365.25
        else:
            turn = (whole + 3) % 7 / 7 if part == "weekday" else safe - whole
        columns += [np.sin(2 * np.pi * turn), np.cos(2 * np.pi * turn)]
        if part == "weekday":
            columns.append(((whole + 3) % 7 >= 5).astype(np.float64))
    return np.where(gaps[:, None], 0.0, np.column_stack(columns)) if columns else np.empty((len(days), 0))


def count_days(times: np.ndarray) -> np.ndarray:
    """Return dates or durations of NumPy as days, NaN for missing ones.

    Examples
    --------
    >>> count_days(np.array(["1970-01-02T12", "NaT"], dtype="datetime64[us]")).tolist()
    [1.5, nan]
    """
    unit = "timedelta64[us]" if times.dtype.kind == "m" else "datetime64[us]"
    precise = times.astype(unit)
    return np.where(np.isnat(precise), np.nan, precise.astype(np.int64) / 1e6 / DAY)
