"""Partial dependence: what predictions are on average if all rows have the same value in a column."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.formula.data import Rows, pick

from ..figures import Dependence
from ..splitting import show_rows
from ..tables.encoder import TableEncoder
from ..tables.frames import copy_cells, iterate_columns, replace_cells
from ..tables.reading import ColumnValues, read_column
from ..tables.steps import Step, locate_categories, read_cells

MOST_COLUMNS = 6
POINTS, MOST_LEVELS = 20, 8  # of a grid, at most
MOST_PREDICTIONS = 20_000  # in all
MOST_CLASSES = 3  # of several that are shown, the most frequent
Outputs = Sequence[tuple[int, str]]  # positions and names of classes


def measure_dependence(
    predict: Callable[[Any], np.ndarray], X: Rows, encoder: TableEncoder, names: Sequence[str],
    source: Rows | None = None, outputs: Outputs = (), seconds: float = math.inf,
) -> tuple[Dependence, ...]:  # fmt: skip
    """Return the mean prediction as a function of a column, for up to six columns.

    With rows xᵢ whose other columns are xᵢ', it is f̄(v) = Σ f(v, xᵢ') / m.  Values v are cells of the table as they
    stand there: at 20 quantiles of numbers, from the 2.5th percentile to the 97.5th, or all values if they are fewer;
    or the eight most frequent levels.  At most 20,000 predictions are made, of fewer rows if need be.

    Parameters
    ----------
    predict : callable
        Returns what the model makes of a table.
    X : frame or array of shape (m, columns)
        The rows; some are drawn if they are many, always the same ones.
    encoder : TableEncoder
        What the columns are.
    names : sequence of str
        Which columns, the most important first; texts are passed over.
    source : frame or array, optional
        Where values come from; X if not given.
    outputs : sequence of (int, str)
        Positions and names of the classes that are asked for; for a regression nothing.
    seconds : float
        The time there is; columns that it is not enough for are left out.

    Returns
    -------
    tuple of Dependence

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> (found,) = measure_dependence(lambda X: 3.0 * X[:, 1], X, TableEncoder().fit(X), ["x1"])
    >>> len(found.grid), bool(np.allclose(found.values[0], 3.0 * np.array(found.grid)))
    (20, True)
    """
    begin, table = time.perf_counter(), X if source is None else source
    columns, grids = list(iterate_columns(table)), []
    places = {step["name"]: j for j, step in enumerate(encoder.steps_) if step["kind"] in ("numeric", "categorical")}
    for name in [name for name in names if name in places][:MOST_COLUMNS]:
        step = encoder.steps_[places[name]]
        grids.append((places[name], step, *_place_grid(step, read_column(name, columns[places[name]]))))
    total = sum(len(grid) for _, _, grid, _ in grids)
    rows = show_rows(X.shape[0], MOST_PREDICTIONS // max(1, total))
    found: list[Dependence] = []
    for j, step, grid, cells in grids:
        if not grid:
            continue  # of the rows that are looked at none has a value
        spent = time.perf_counter() - begin
        if found and spent * (1 + 1 / len(found)) > seconds:
            break
        means = _average(predict, X, table, [(j, cells)], rows)
        shown = means[[place for place, _ in outputs]] if outputs else means
        labels = tuple(label for _, label in outputs)
        dates = step["kind"] == "numeric" and step["data"] == "dates"
        found.append(Dependence(step["name"], grid, tuple(map(tuple, shown.tolist())), labels, len(rows), dates))
    return tuple(found)


def measure_joint_dependence(
    predict: Callable[[Any], np.ndarray], X: Rows, encoder: TableEncoder, names: tuple[str, str]
) -> tuple[Dependence, Dependence, np.ndarray]:
    """Return the mean prediction as a function of two columns, on the product of the grids of both.

    The first two values describe the grids, as :func:`measure_dependence` would have them; the last is of shape
    (outputs, first grid, second grid).  At most 20,000 predictions are made.

    Parameters
    ----------
    predict : callable
        Returns what the model makes of a table.
    X : frame or array of shape (m, columns)
        The rows; some are drawn if they are many, always the same ones.
    encoder : TableEncoder
        What the columns are.
    names : pair of str
        Which columns, of numbers, dates or levels that have values.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> first, second, means = measure_joint_dependence(
    ...     lambda X: X[:, 0] * X[:, 1], X, TableEncoder().fit(X), ("x0", "x1"))
    >>> bool(np.allclose(means[0], np.outer(first.grid, second.grid)))
    True
    """
    columns, places = list(iterate_columns(X)), [step["name"] for step in encoder.steps_]
    found, cells = [], []
    for name in names:
        j = places.index(name)
        step = encoder.steps_[j]
        grid, own = _place_grid(step, read_column(name, columns[j]))
        dates = step["kind"] == "numeric" and step["data"] == "dates"
        found.append((name, grid, dates))
        cells.append((j, own))
    rows = show_rows(X.shape[0], max(1, MOST_PREDICTIONS // max(1, len(cells[0][1]) * len(cells[1][1]))))
    means = _average(predict, X, X, cells, rows)
    first, second = (Dependence(name, grid, (), (), len(rows), dates) for name, grid, dates in found)
    return first, second, means


def _average(
    predict: Callable[[Any], np.ndarray], X: Rows, table: Rows, columns: Sequence[tuple[int, np.ndarray]],
    rows: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return mean predictions over rows whose cells in some columns come from rows of a table, for each combination."""
    sizes = [len(cells) for _, cells in columns]
    chosen = np.indices(sizes).reshape(len(sizes), -1)
    many = copy_cells(pick(X, np.tile(rows, chosen.shape[1])))
    for (j, cells), at in zip(columns, chosen, strict=True):
        many = replace_cells(many, j, table, np.repeat(cells[at], len(rows)))
    made = np.asarray(predict(many)).reshape(chosen.shape[1], len(rows), -1)
    return np.asarray(made.mean(axis=1).T.reshape(-1, *sizes))


def choose_outputs(targets: np.ndarray, classes: Sequence[object] | np.ndarray) -> Outputs:
    """Return the classes whose chances are shown: the second of two, or the most frequent of more.

    Examples
    --------
    >>> import numpy as np
    >>> choose_outputs(np.array([0, 1]), ["no", "yes"]), choose_outputs(np.array([0, 2, 2, 1]), "abc")
    ([(1, 'yes')], [(2, 'c'), (0, 'a'), (1, 'b')])
    """
    if len(classes) <= 2:
        return [(1, str(classes[1]))] if len(classes) else []
    order = np.argsort(-np.bincount(targets, minlength=len(classes)), kind="stable")
    return [(int(i), str(classes[i])) for i in order[:MOST_CLASSES]]


def _place_grid(step: Step, values: ColumnValues) -> tuple[tuple[Any, ...], np.ndarray]:
    """Return values of a column to look at, and rows that have them."""
    if step["kind"] == "categorical":
        codes = locate_categories(step, values)
        different, first, counts = np.unique(codes, return_index=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
        return tuple(step["categories"][i] for i in different[order]), first[order]
    data = read_cells(step, values)[0]
    there = np.flatnonzero(~np.isnan(data))
    different, first = np.unique(data[there], return_index=True)
    if len(different) > POINTS:
        quantiles = np.quantile(data[there], (np.arange(POINTS) + 0.5) / POINTS, method="inverted_cdf")
        kept = np.unique(np.searchsorted(different, quantiles))
        different, first = different[kept], first[kept]
    return tuple(different.tolist()), there[first]
