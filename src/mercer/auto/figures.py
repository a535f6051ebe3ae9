"""What the pictures of a report show, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Distribution:
    """How the values of a column, or of the target, are spread: a histogram, or the shares of levels.

    Parameters
    ----------
    name : str
        The column.
    missing : float
        The share of rows without a value.
    shares : tuple of float
        Of the rows with a value, those in each bin, or those of each level.
    edges : tuple of float
        The ends of the bins, one more than there are bins; empty for levels.  What lies far outside is counted in the
        first or the last.
    levels : tuple of str
        The most frequent levels, most first; empty for numbers.
    others : int
        How many levels are left out.
    summary : tuple of float
        Least, median and largest number; empty for levels.
    dates : bool
        Whether numbers are dates, as days since 1970.
    """

    name: str
    missing: float
    shares: tuple[float, ...]
    edges: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()
    others: int = 0
    summary: tuple[float, ...] = ()
    dates: bool = False


@dataclass(frozen=True)
class Dependence:
    """How predictions depend on a column: their mean over rows that all are given the same value of it.

    Parameters
    ----------
    name : str
        The column.
    grid : tuple of float or of str
        Values that the rows are given: numbers from low to high, or levels, the most frequent first.
    values : tuple of tuple of float
        The mean predictions at these: one tuple for a regression, one of chances for each class of ``outputs``.
    outputs : tuple of str
        Which classes those are; empty for a regression.
    rows : int
        How many rows the mean is over.
    dates : bool
        Whether numbers are dates, as days since 1970.
    """

    name: str
    grid: tuple[float, ...] | tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    outputs: tuple[str, ...] = ()
    rows: int = 0
    dates: bool = False


@dataclass(frozen=True)
class Calibration:
    """Whether chances are what they say: rows held out in groups of similar chances.

    Parameters
    ----------
    label : str
        The class whose chance it is, for two classes; empty for the chance of the predicted class, for more.
    rows : int
        How many rows there are.
    said : tuple of float
        The mean chance in each group.
    seen : tuple of float
        The share of rows in each that are of the class, or predicted right.
    low, high : tuples of float
        Between these the true share lies in 90 of 100 cases, by Wilson's interval.
    counts : tuple of int
        How many rows each group has.
    error : float
        The mean of ``|said - seen|`` over all rows, which is called the expected calibration error.
    by_chance : float
        How large that becomes by chance alone, in 95 of 100 cases, where every chance is right.
    """

    label: str
    rows: int
    said: tuple[float, ...]
    seen: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    counts: tuple[int, ...]
    error: float
    by_chance: float
