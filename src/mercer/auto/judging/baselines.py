"""Two models that every other should beat: a constant, and gradient boosting with scikit-learn's defaults."""

from __future__ import annotations

import time
from contextlib import nullcontext

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from mercer.formula.data import Rows

from ..report import Score
from ..search.base import TableSearch
from ..splitting import find_common
from ..tables.encoder import TableEncoder

BOOSTING = "HistGradientBoosting"
SMALL = 5000  # rows up to which boosting is done before several threads have met


def run_baselines(
    search: TableSearch, encoder: TableEncoder, X: Rows, y: np.ndarray, held: Rows, truth: np.ndarray, seed: int
) -> list[tuple[Score, np.ndarray]]:
    """Return the scores of both baselines, the constant first, with what they make of the rows held out.

    Boosting gets numbers as they are, categories as categories and missing values as missing; it takes no texts.
    """
    (rows, choices), (new, _) = encoder.plain(X), encoder.plain(held)
    options = {"categorical_features": choices if choices.any() else None, "random_state": seed}
    if not find_common(y, search.task).all():
        options["early_stopping"] = False  # which holds out rows of each class
    if search.task == "regression":
        models = {"mean": DummyRegressor(), BOOSTING: HistGradientBoostingRegressor(**options)}
    else:
        models = {"majority": DummyClassifier(), BOOSTING: HistGradientBoostingClassifier(**options)}
    found = []
    for name, model in models.items():
        begin = time.perf_counter()
        with threadpool_limits(1, user_api="openmp") if len(rows) <= SMALL else nullcontext():
            model.fit(rows, y)
            seconds = time.perf_counter() - begin
            outputs = search.read_baseline(model, new)
        found.append((Score(name, search.score(truth, outputs), seconds), outputs))
    return found
