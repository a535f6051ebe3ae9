"""How the values of columns are spread: histograms of numbers and dates, shares of levels."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from mercer.formula.data import Rows

from ..figures import Distribution
from ..tables.encoder import TableEncoder
from ..tables.frames import name_columns
from ..tables.reading import read_column
from ..tables.steps import locate_categories, read_cells

MOST_COLUMNS = 40  # that are described
MOST_BINS, LEAST_BINS = 20, 5
MOST_LEVELS = 8
ENDS = (0.01, 0.99)  # quantiles between which a histogram stays if others lie farther out than these are apart


def describe_distributions(X: Rows, encoder: TableEncoder, also: Collection[str] = ()) -> tuple[Distribution, ...]:
    """Return how the first 40 columns of a table, and those named in ``also``, are spread, in their order.

    Columns that are ignored and texts have no distribution.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.column_stack([np.arange(100) % 4, np.linspace(0.0, 1.0, 100)])
    >>> found = describe_distributions(X, TableEncoder().fit(X))
    >>> found[0].edges, found[0].shares
    ((-0.5, 0.5, 1.5, 2.5, 3.5), (0.25, 0.25, 0.25, 0.25))
    """
    found = []
    for j, ((name, cells), step) in enumerate(zip(name_columns(X), encoder.steps_, strict=True)):
        if (j >= MOST_COLUMNS and name not in also) or step["kind"] not in ("numeric", "categorical"):
            continue
        values = read_column(name, cells)
        if step["kind"] == "numeric":
            found.append(describe_numbers(name, read_cells(step, values)[0], dates=step["data"] == "dates"))
        else:
            codes = np.where(values.missing, -1, locate_categories(step, values))
            found.append(describe_levels(name, codes, step["categories"]))
    return tuple(found)


def describe_numbers(name: str, values: np.ndarray, *, dates: bool = False) -> Distribution:
    """Return a histogram of numbers, with a bin for each where there are few different ones."""
    present = values[np.isfinite(values)]
    if not len(present):
        return Distribution(name, 1.0, ())
    edges = _place_edges(present)
    counts = np.histogram(np.clip(present, edges[0], edges[-1]), edges)[0]
    summary = (float(present.min()), float(np.median(present)), float(present.max()))
    return Distribution(
        name, 1 - len(present) / len(values), tuple((counts / len(present)).tolist()), tuple(edges.tolist()),
        summary=summary, dates=dates,
    )  # fmt: skip


def describe_levels(name: str, codes: np.ndarray, labels: Sequence[object] | np.ndarray) -> Distribution:
    """Return the shares of the most frequent levels; codes below 0 are missing."""
    counts = np.bincount(codes[codes >= 0], minlength=len(labels))
    total, order = int(counts.sum()), np.argsort(-counts, kind="stable")
    shown = [int(i) for i in order[:MOST_LEVELS] if counts[i]]
    shares = tuple(float(counts[i]) / total for i in shown)
    others = int(np.count_nonzero(counts)) - len(shown)
    return Distribution(
        name, 1 - total / max(1, len(codes)), shares, levels=tuple(str(labels[i]) for i in shown), others=others
    )


def describe_target(name: str, targets: np.ndarray, classes: Sequence[object] | np.ndarray) -> Distribution:
    """Return how a target is spread: values, or codes of classes."""
    return describe_levels(name, targets, classes) if len(classes) else describe_numbers(name, targets)


def _place_edges(present: np.ndarray) -> np.ndarray:
    """Return the ends of bins: around each value if they are few, and else of equal width."""
    different = np.unique(present)
    if len(different) == 1:
        return different[0] + np.array([-0.5, 0.5])
    if len(different) <= MOST_BINS and 2 * len(different) <= len(present):
        middles = (different[1:] + different[:-1]) / 2
        return np.concatenate([[2 * different[0] - middles[0]], middles, [2 * different[-1] - middles[-1]]])
    low, high = float(different[0]), float(different[-1])
    inner = np.quantile(present, ENDS)
    width = inner[1] - inner[0]
    if width > 0 and (low < inner[0] - width or high > inner[1] + width):
        low, high = inner.tolist()
    return np.linspace(low, high, int(np.clip(np.sqrt(len(present)), LEAST_BINS, MOST_BINS)) + 1)
