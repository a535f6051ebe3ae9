"""Two models that every other should beat: a constant, and gradient boosting with scikit-learn's defaults."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from .encoder import TableEncoder
from .report import Score

BOOSTING = "HistGradientBoosting"
SMALL = 5000  # rows up to which boosting is done before several threads have met
Values = Callable[[Any, np.ndarray], dict[str, float]]  # scores of a fitted model on rows held out


def baselines(
    task: str, encoder: TableEncoder, X: Any, y: np.ndarray, held: Any, values: Values, seed: int
) -> list[Score]:
    """Return the scores of both baselines, fitted to some rows and evaluated at those held out.

    Boosting gets numbers as they are, categories as categories and missing values as missing; it takes no texts.
    """
    rows, choices = encoder.plain(X)
    new, _ = encoder.plain(held)
    if task == "regression":
        models = [("mean", DummyRegressor()), (BOOSTING, HistGradientBoostingRegressor)]
    else:
        models = [("majority", DummyClassifier()), (BOOSTING, HistGradientBoostingClassifier)]
    found = []
    for name, model in models:
        if name == BOOSTING:
            model = model(categorical_features=choices if choices.any() else None, random_state=seed)
        begin = time.perf_counter()
        with threadpool_limits(1, user_api="openmp") if len(rows) <= SMALL else nullcontext():
            model.fit(rows, y)
            seconds = time.perf_counter() - begin
            found.append(Score(name, values(model, new), seconds))
    return found
