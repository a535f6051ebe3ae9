"""The grid of a search: which penalties and length scales there are, and the table of what they scored."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.ma import MaskedArray
from scipy.stats import rankdata
from sklearn.metrics.pairwise import euclidean_distances

from mercer.formula.data import Rows, length, pick
from mercer.kernels import Kernel

PENALTIES = np.logspace(-1.0, 2.5, 8)  # in units of the targets, divided by the mean of k(x, x)
SCALES = np.geomspace(0.125, 4.0, 8)  # in units of the median distance
SAMPLE = 1000  # points whose distances are looked at


def checked_penalties(owner: Any, given: Any, kernel: Kernel, points: Rows, unit: float) -> np.ndarray:
    """Return the penalties to try: those given, or a default in the unit of the targets and for the kernel's size."""
    if given is None:
        some = pick(points, spread_out(length(points)))
        level = float(np.mean(kernel.diag(some)))
        return PENALTIES * (unit if unit > 0 else 1.0) / (level if level > 0 else 1.0)
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or values.size == 0 or not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(
            f"{type(owner).__name__}: Cs must be a list of positive penalties such as [0.1, 1.0, 10.0]; got {given!r}"
        )
    return values


def checked_scales(owner: Any, given: Any, X: Any) -> list[Any]:
    """Return the length scales to try: those given, or for "auto" a default around the median distance of rows."""
    name = type(owner).__name__
    if isinstance(given, str) and given == "auto":
        return (SCALES * median_distance(owner, X)).tolist()
    if isinstance(given, str | numbers.Number) or not hasattr(given, "__len__") or len(given) == 0:
        example = "'auto', or a list of length scales to try such as [0.5, 1.0, 2.0]"
        raise ValueError(f"{name}: length_scales must be {example}; got {given!r}")
    return [value.item() if isinstance(value, np.generic) else value for value in given]


def median_distance(owner: Any, X: Any) -> float:
    """Return the median Euclidean distance between different rows, of some of them if there are many; 1 without any.

    Examples
    --------
    >>> import numpy as np
    >>> median_distance(None, np.array([[0.0], [1.0], [3.0]]))
    2.0
    """
    try:
        some = pick(X, spread_out(length(X)))
        distances = euclidean_distances(some)
    except (TypeError, ValueError):
        raise ValueError(
            f"{type(owner).__name__}: length_scales='auto' measures distances between rows of numbers, and these "
            "points are not; give length_scales as a list such as [0.5, 1.0, 2.0]"
        ) from None
    positive = distances[np.triu_indices(len(distances), 1)]
    positive = positive[positive > 0]
    return float(np.median(positive)) if len(positive) else 1.0


def spread_out(n: int) -> np.ndarray:
    """Return positions of points all over a collection, all of a small one."""
    return np.unique(np.arange(min(n, SAMPLE)) * n // min(n, SAMPLE))


def grid_of(penalties: np.ndarray, scales: Sequence[Any] | None) -> list[dict[str, Any]]:
    """Return the parameters of all cells in the order of scikit-learn's ParameterGrid: length scales run fastest.

    Examples
    --------
    >>> import numpy as np
    >>> grid_of(np.array([1.0, 10.0]), None)
    [{'C': 1.0}, {'C': 10.0}]
    """
    if scales is None:
        return [{"C": float(C)} for C in penalties]
    return [{"C": float(C), "length_scale": scale} for C in penalties for scale in scales]


def results_table(
    params: list[dict[str, Any]], scores: np.ndarray, fit_time: np.ndarray, score_time: np.ndarray
) -> dict[str, Any]:
    """Return ``cv_results_`` with the keys of scikit-learn's GridSearchCV.

    Parameters
    ----------
    params : list of dict
        The parameters of each cell.
    scores, fit_time, score_time : arrays of shape (cells, folds)
        Scores and seconds.
    """
    table: dict[str, Any] = {}
    for name, seconds in (("fit_time", fit_time), ("score_time", score_time)):
        table[f"mean_{name}"], table[f"std_{name}"] = seconds.mean(axis=1), seconds.std(axis=1)
    for name in params[0]:
        column = np.empty(len(params), dtype=object)
        column[:] = [cell[name] for cell in params]
        plain = all(isinstance(value, numbers.Real) for value in column)
        table[f"param_{name}"] = MaskedArray(column.astype(np.float64) if plain else column, mask=False)
    table["params"] = params
    for fold, column in enumerate(scores.T):
        table[f"split{fold}_test_score"] = column
    with np.errstate(invalid="ignore"):
        mean = table["mean_test_score"] = scores.mean(axis=1)
        table["std_test_score"] = scores.std(axis=1)
    table["rank_test_score"] = rankdata(-np.nan_to_num(mean, nan=-np.inf), method="min").astype(np.int32)
    return table
