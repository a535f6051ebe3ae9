"""Fits of estimators that have no ``_fit_cluster`` of their own yet; goes away with the last of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any


def find_fit(model: Any) -> Callable[..., None] | None:
    """Return the function that fits an estimator to rows in partitions, None if there is none."""
    names = {kind.__name__ for kind in type(model).__mro__}
    if "SupportVectorMachine" in names:
        from .svm import fit_svm

        return partial(fit_svm, model)
    return None
