"""Numbers, times and names as people write them: for reports, the command and messages."""

from __future__ import annotations

import difflib
import math
import numbers
import re
from collections.abc import Iterable

MOST_VALUES = 3  # of a list in a formula that is shortened
GAP = r"[\s│]+"  # between words, also where a proof goes on below
CLOSE = 0.75  # likeness from which a name may be a misspelling of another
CLEAR = 0.03  # by how much more alike than the next one it must be
UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def parse_seconds(budget: object) -> float:
    """Return a time in seconds, from a number or a text such as "90s", "5m" or "1h"; infinity for None.

    Examples
    --------
    >>> parse_seconds("5m"), parse_seconds(1.5), parse_seconds(None)
    (300.0, 1.5, inf)
    """
    if budget is None:
        return math.inf
    seconds = math.nan
    if isinstance(budget, str):
        found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]*)\s*", budget.lower())
        if found and found.group(2) in UNITS:
            seconds = float(found.group(1)) * UNITS[found.group(2)]
    elif isinstance(budget, numbers.Real):
        seconds = float(budget)
    if not seconds > 0:
        raise ValueError(
            f"budget must be a positive number of seconds or a text such as '90s', '5m' or '1h'; got {budget!r}"
        )
    return seconds


def show_budget(seconds: float) -> str:
    """Return a time that :func:`parse_seconds` reads, in one unit.

    Examples
    --------
    >>> show_budget(0.42), show_budget(75), show_budget(7200)
    ('0.42 s', '75 s', '120 min')
    """
    if seconds < 10:
        return f"{seconds:.2g} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def show_duration(seconds: float) -> str:
    """Return a time as people say it.

    Examples
    --------
    >>> show_duration(0.25), show_duration(75.0), show_duration(4000.0)
    ('0.25 s', '1 min 15 s', '1 h 7 min')
    """
    if not math.isfinite(seconds):
        return "–"
    if seconds < 60:
        return show_budget(seconds)
    if seconds < 3600:
        return "{} min {} s".format(*divmod(int(seconds), 60))
    return "{} h {} min".format(*divmod(round(seconds / 60), 60))


def show_seconds(value: float) -> str:
    """Return a time with its unit, from microseconds to days.

    Examples
    --------
    >>> show_seconds(0.0123), show_seconds(5.25), show_seconds(135), show_seconds(8000), show_seconds(1e8)
    ('12 ms', '5.2 s', '2 min 15 s', '2 h 13 min', '1,157 days')
    """
    if value < 0.00095:
        return f"{1e6 * value:.0f} µs"
    if value < 0.9995:
        return f"{1000 * value:.0f} ms"
    if value < 99.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{value / 86400:,.0f} days"


def show_estimate(seconds: float) -> str:
    """Return a time that is known roughly.

    Examples
    --------
    >>> show_estimate(0.2), show_estimate(100.0), show_estimate(90000.0)
    ('under a second', 'about 2 minutes', 'about 1 day')
    """
    if seconds < 1:
        return "under a second"
    for unit, size in (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= size:
            return f"about {seconds / size:.0f} {unit}{'s' * (round(seconds / size) != 1)}"
    return f"about {seconds:.0f} second{'s' * (round(seconds) != 1)}"


def show_number(value: float) -> str:
    """Return a number with four significant digits, whole ones with all.

    Examples
    --------
    >>> show_number(1234567.0), show_number(0.051234), show_number(3.0), show_number(1.2e-9), show_number(12.5)
    ('1,234,567', '0.05123', '3', '1.2e-09', '12.5')
    """
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "−∞"}.get(value, "–")
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if 1e3 <= abs(value) < 1e15:
        return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:,.1f}"
    return f"{value:.4g}"


def round_number(value: float) -> str:
    """Return a number with three digits that matter, large ones whole.

    Examples
    --------
    >>> round_number(0.41234), round_number(12345.6), round_number(float("nan"))
    ('0.412', '12,346', '–')
    """
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.3g}"


def count_things(n: int, thing: str) -> str:
    """Return how many of something there are.

    Examples
    --------
    >>> count_things(1, "row"), count_things(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def find_close(name: str, known: Iterable[str], cutoff: float = CLOSE) -> str | None:
    """Return the known name that somebody may have meant, or None if none is close, or two are equally so.

    Letters of either case and blanks around count as the same, before anything else is compared.

    Parameters
    ----------
    name : str
        What was written.
    known : iterable of str
        What could have been.
    cutoff : float
        The least likeness, 2 × letters in common / letters of both.

    Examples
    --------
    >>> find_close("Gausian", ["Gaussian", "Laplacian"]), find_close(" AGE", ["age", "wage"])
    ('Gaussian', 'age')
    >>> find_close("cat", ["dog"]), find_close("colum", ["column1", "column2"])
    (None, None)
    """
    plain, names = name.strip().casefold(), list(dict.fromkeys(known))
    same = [other for other in names if other.strip().casefold() == plain]
    if same:
        return same[0] if len(same) == 1 else None
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(plain)
    found: list[tuple[float, str]] = []
    for other in names:
        matcher.set_seq1(other.strip().casefold())
        if matcher.quick_ratio() >= cutoff and (ratio := matcher.ratio()) >= cutoff:
            found.append((ratio, other))
    found.sort(key=lambda pair: -pair[0])
    unique = found and (len(found) == 1 or found[0][0] - found[1][0] >= CLEAR)
    return found[0][1] if unique else None


def shorten(text: str, width: int = 44) -> str:
    """Return a text cut where it gets too long for a label.

    Examples
    --------
    >>> shorten("Gaussian(length_scale=1.0)", 12)
    'Gaussian(le…'
    """
    return text if len(text) <= width else text[: width - 1] + "…"


def shorten_formula(formula: str) -> str:
    """Return a formula, or a proof about it, for people: long lists of numbers and matrices are only counted.

    Length scales lose their name, and those that are 1 are not shown.

    Examples
    --------
    >>> shorten_formula("2.0 * Gaussian(length_scale=[1.0, 2.0, 3.0, 4.0]).on([0, 1, 2, 3])")
    '2.0 * Gaussian([4 values]).on(4 columns)'
    >>> shorten_formula("Matern(nu=1.5, length_scale=1.0).after(LinearMap([[1.0, 0.0], [0.0, 2.0]]))")
    'Matern(nu=1.5).after(LinearMap(2 × 2))'
    """

    def count_cells(found: re.Match[str]) -> str:
        rows = re.findall(r"\[([^\[\]]+)\]", found[0])
        return f"{len(rows)} × {rows[0].count(',') + 1}"

    def count_values(found: re.Match[str]) -> str:
        values = found[1].count(",") + 1
        return f"[{values} values]" if values > MOST_VALUES else found[0]

    text = re.sub(rf"(?:,{GAP})?\blength_scale=1\.0(?=\))", "", formula).replace("length_scale=", "")
    text = re.sub(rf"<array{GAP}of{GAP}shape{GAP}\((\d+),{GAP}(\d+)\)>", r"\1 × \2", text)
    text = re.sub(r"\[(?:\[[^\[\]]+\][,\s│]*)+\]", count_cells, text)
    text = re.sub(r"\[([^\[\]]*)\]", count_values, text)
    return re.sub(rf"\.on\(\[(\d+) values\]\)|\bcolumns{GAP}\[(\d+) values\]", _name_columns, text)


def _name_columns(found: re.Match[str]) -> str:
    return f".on({found[1]} columns)" if found[1] else f"{found[2]} columns"
