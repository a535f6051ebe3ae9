"""Intervals of ridge regression, which knows what it would be without any of its points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.formula.data import Rows
from mercer.solvers.conformal.plan import IntervalPlan
from mercer.solvers.ridge.fit import RidgeFit
from mercer.solvers.ridge.interval import interval_of_all, interval_of_left_out

from .local import interval_of_scaled
from .regressor import FOLDS, IntervalRegressor
from .rows import TrainingRows

MOST_POINTS = 10_000  # of which an n × n inverse takes less time than ten more fits
EXACT = "leaving points out of a ridge fit is exact, without fitting again"
CENTERS = ", counting the centres as given"
SCALE = ", counting the penalty of the scale as given"
GIVEN = ", counting the kernel and the penalty as given, although they were chosen with the same points"


class RidgeIntervals(IntervalRegressor):
    """A mixin of an estimator that has the record of a ridge fit."""

    X_fit_: Rows
    _record: RidgeFit

    @property
    def interval_methods(self) -> tuple[str, ...]:
        """The methods that :meth:`predict_interval` has for this model, the one that "auto" takes first."""
        check_is_fitted(self)
        there = self._record.problem is not None  # if not, they are refused with the reason
        cheap = not there or self._rank_methods()[0][0] == "jackknife+"
        return ("jackknife+", "full", "cv+", "local") if cheap else ("cv+", "jackknife+", "full", "local")

    def _rank_methods(self) -> list[tuple[str, str]]:
        record = self._rows_are_here("predict_interval")
        assert record.problem is not None
        n, dense = record.problem.n, record.expansion.explicit is None and record.plan.solver != "nystroem"
        again = [("cv+", f"the jackknife+ of {n} points needs more memory than there is")]
        if dense and n > MOST_POINTS:
            return [("cv+", f"the inverse of a {n} × {n} matrix would take longer than ten more fits")]
        kept = ", with the centres kept" if record.plan.solver == "nystroem" else ""
        return [("jackknife+", EXACT + kept), *again]

    def _make_interval(self, method: str, X: Rows, coverage: float) -> tuple[np.ndarray, IntervalPlan]:
        record, owner = self._rows_are_here("predict_interval"), cast(Any, self)
        assert record.problem is not None
        assert record.targets is not None
        make = {"jackknife+": interval_of_left_out, "full": interval_of_all, "local": self._make_local}.get(method)
        ends = None if make is None else make(record, owner._kernel_argument().new_points(X), coverage)
        if ends is None:
            return super()._make_interval(method, X, coverage)
        plan = self._describe(method, coverage, record.problem.n)
        if record.plan.solver == "nystroem":
            plan = replace(plan, guarantee=plan.guarantee + CENTERS)
        if method == "local":
            plan = replace(plan, guarantee=plan.guarantee + SCALE)
        return ends[:, 0] if record.targets.ndim == 1 else ends, plan

    def _make_local(self, record: RidgeFit, X: Rows, coverage: float) -> np.ndarray | None:
        return interval_of_scaled(record, X, coverage, getattr(self, "random_state", None))

    def _training_rows(self) -> TrainingRows | None:
        record = self._rows_are_here("predict_interval")
        assert record.problem is not None
        assert record.targets is not None
        weights = record.problem.weights
        if weights is not None and record.kept is not None:
            every = np.zeros(len(record.targets))
            every[record.kept] = weights
            weights = every
        return TrainingRows(self.X_fit_, record.targets, weights)

    def _find_left_out(self) -> Callable[[Any], np.ndarray] | None:
        return lambda model: model.leave_one_out()

    def _rows_are_here(self, method: str) -> RidgeFit:
        """Return the record of the fit, or raise if the rows stayed on a cluster."""
        check_is_fitted(self)
        if self._record.problem is None:
            raise ValueError(
                f"{type(self).__name__}.{method} needs the training rows, which stayed on the cluster this model was "
                "fitted on; mercer.distributed.leave_one_out(model, X, y) gives leave-one-out predictions there, and "
                "a fit to X.compute() has everything if it fits into memory"
            )
        return self._record


class SearchedIntervals(IntervalRegressor):
    """A mixin of an estimator that has found kernel and penalty, and keeps the ridge model fitted with them."""

    ridge_: Any

    @property
    def interval_methods(self) -> tuple[str, ...]:
        """The methods that :meth:`predict_interval` has for this model, the one that "auto" takes first."""
        check_is_fitted(self)
        return self.ridge_.interval_methods if "ridge_" in vars(self) else super().interval_methods

    def _rank_methods(self) -> list[tuple[str, str]]:
        return self.ridge_._rank_methods() if "ridge_" in vars(self) else super()._rank_methods()

    def _make_interval(self, method: str, X: Rows, coverage: float) -> tuple[np.ndarray, IntervalPlan]:
        if method not in ("jackknife+", "full", "local") or "ridge_" not in vars(self):
            return super()._make_interval(method, X, coverage)
        ends, plan = self.ridge_._make_interval(method, self._check_new(X), coverage)
        return ends, replace(plan, guarantee=plan.guarantee + GIVEN)

    def _training_rows(self) -> TrainingRows | None:
        return self.ridge_._training_rows() if "ridge_" in vars(self) else super()._training_rows()

    def _count_folds(self, key: str, n: int) -> int:
        return n if key == "jackknife+" else min(n, FOLDS)  # each of which searches again

    def _find_left_out(self) -> Callable[[Any], np.ndarray] | None:
        return (lambda model: model.loo_predictions_) if "ridge_" in vars(self) else None
