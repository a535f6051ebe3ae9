"""Columns that give the target away: they know more than anybody will when the model is used."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from mercer.arrays.threads import silence_warnings
from mercer.formula.data import Rows, pick

from ..report import Importance, Task
from ..tables.frames import name_columns
from .cells import rank_values

MOST_ROWS = 3000
FEWEST = 20  # rows from which there is something to say
STRONG = 0.99  # share of the variance of the target that one column may explain at most
GAPS = 0.9  # share of missing values up to which the others are also judged alone
AGREE = 0.9  # share of rows beside one of the same class from which a column is looked at closely
BALANCED, LITTLE = 0.98, 0.05  # balanced accuracy, and log-loss in that of the shares of classes
COMMON = 5  # rows of a class that counts
PERFECT = {"RMSE": 0.03, "log-loss": 0.02, "accuracy": 0.005}  # share of what the constant lacks


def find_leaks(
    X: Rows, y: np.ndarray, task: Task, rng: np.random.RandomState | np.random.Generator, seconds: float = math.inf
) -> tuple[str, ...]:
    """Return the columns each of which nearly determines the target alone.

    Rows are sorted by a column, and neighbours compared: if Δ are the differences of targets of neighbours, then
    ΣΔ² / (2 n var y) is the share of the variance that no function of the column explains.  A column is named if that
    is below 1 %, for the target or for its ranks, or if the column has the order of the target.  For classes, a column
    whose neighbours mostly agree is named if a decision tree of that column alone is right for 98 % of the rows of a
    class that it was not fitted to, on average, with a twentieth of the log-loss of the shares.  Strings are sorted by
    the alphabet, and missing values last; rows that have a value are also judged without the others.

    The only column that varies is never named, and neither is any if most columns would be: then the target is simple.

    Parameters
    ----------
    X : frame or array of shape (n, columns)
        The table; of more than 3,000 rows some are drawn.
    y : array of shape (n,)
        Values, or codes of classes.
    task : {"regression", "classification"}
        Which of both.
    rng : numpy random state or generator
        Where the draw comes from.
    seconds : float
        The time there is; columns that it is not enough for are not looked at.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=100)
    >>> X = np.column_stack([rng.normal(size=100), np.exp(y), y + rng.normal(size=100)])
    >>> find_leaks(X, y, "regression", rng)
    ('x1',)
    """
    begin = time.perf_counter()
    n = len(y)
    if n < FEWEST:
        return ()
    some = rng.permutation(n)[:MOST_ROWS]  # in no order, so that neighbours of equal value are any of them
    X, y = pick(X, some), np.asarray(y)[some]
    judge = _determines_values if task == "regression" else _determines_classes
    leaks, varying = [], 0
    for name, column in name_columns(X):
        if time.perf_counter() - begin > seconds:
            break
        places, missing = rank_values(column)
        if places.max() == 0:
            continue
        varying += 1
        there = ~missing if 0 < missing.sum() < GAPS * len(y) else slice(0)
        if judge(places, y) or judge(places[there], y[there]):
            leaks.append(name)
    return () if varying < 2 or (len(leaks) > 2 and 2 * len(leaks) > varying) else tuple(leaks)


def warn_of_leaks(names: Sequence[str], target: str) -> tuple[str, ...]:
    """Return a sentence for each column that gives the target away."""
    return tuple(
        f"Column {name!r} alone gives {target!r} away. Is it known before {target!r} is? If not, leave it out: the "
        "scores below would not hold for new rows."
        for name in names
    )


def judge_perfection(
    metric: str, ours: float, constant: float, rows: int, importances: Sequence[Importance], target: str
) -> str | None:
    """Return a sentence if a score on rows held out is too good to be true, None otherwise.

    ``ours`` and ``constant`` are the scores of the model and of a constant, and ``rows`` how many were held out.
    """
    if rows < FEWEST or metric not in PERFECT:
        return None
    ours, constant = (1 - ours, 1 - constant) if metric == "accuracy" else (ours, constant)
    if not 0 <= ours <= PERFECT[metric] * constant or constant == 0:
        return None
    top = [repr(each.name) for each in importances if each.value > 2 * each.error][:3]
    names = f" What matters most is {', '.join(top)}." if top else ""
    return (
        f"The {rows:,} rows held out are predicted almost perfectly, which is rare. Does a column know {target!r} "
        f"already, or are rows in the table more than once?{names}"
    )


def _determines_values(places: np.ndarray, y: np.ndarray) -> bool:
    if len(y) < FEWEST:
        return False
    order = np.argsort(places, kind="stable")
    for goals in (y, rankdata(y)):
        steps, total = np.diff(goals[order]), 2 * float(np.sum((goals - goals.mean()) ** 2))
        if total > 0 and float(np.sum(steps**2)) < (1 - STRONG) * total:
            return True
    return bool(places.max() == len(y) - 1 and (np.all(steps >= 0) or np.all(steps <= 0)))  # few rows, all in order


def _determines_classes(places: np.ndarray, y: np.ndarray) -> bool:
    n = len(y)
    counts = np.bincount(y)
    known, common = counts > 0, counts[y] >= COMMON
    if n < FEWEST or known.sum() < 2 or not common.any():
        return False
    order = np.argsort(places, kind="stable")
    same = np.concatenate([[False], y[order][1:] == y[order][:-1], [False]])
    beside = np.empty(n)
    beside[order] = same[1:] | same[:-1]  # whether one of both neighbours is of the same class
    if np.mean([beside[y == code].mean() for code in np.flatnonzero(counts >= COMMON)]) < AGREE:
        return False
    tree = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)
    labels = np.cumsum(known)[y] - 1
    with silence_warnings():  # that a fold lacks a class, whose chance is then 0, or that one is too rare
        folds = KFold(5, shuffle=True, random_state=0)
        found = cross_val_predict(tree, places[:, None], labels, cv=folds, method="predict_proba")
        right = balanced_accuracy_score(labels[common], found.argmax(axis=1)[common])
    chances = np.clip(found, 1 / n, 1.0)
    loss = log_loss(labels, chances / chances.sum(axis=1, keepdims=True), labels=np.arange(known.sum()))
    shares = counts[known] / n
    return bool(right > BALANCED and loss < LITTLE * -np.sum(shares * np.log(shares)))
