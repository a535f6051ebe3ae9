"""What gives every regressor intervals, by the method that suits it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.budget import MemoryBudgetError
from mercer.features.params import SOMETIMES
from mercer.formula.data import Rows
from mercer.messages import did_you_mean
from mercer.solvers.conformal.jackknife import cv_plus
from mercer.solvers.conformal.plan import IntervalPlan, promise
from mercer.solvers.conformal.ranks import check_coverage, warn_of_few

from ..engine import in_the_kind_given
from .folds import FoldModels, Score, absolute_error, fit_folds
from .rows import TrainingRows

FOLDS = 10  # at least
MORE_FOLDS = 30  # where points are few: models without fewer points differ less, and intervals are less too wide
FITTED = 100_000  # points of all folds together
METHODS = ("auto", "jackknife+", "cv+", "full", "quantile", "local")
WANTED = "it was asked for"


def count_folds(n: int) -> int:
    """Return how many models CV+ fits again to n points: 30 up to some thousand of them, and 10 from 10,000 on.

    New targets are compared with the models of all folds together, errors with one of them, and their mean is better
    than each: the fewer the folds, the more of the targets beyond the coverage are held.

    Examples
    --------
    >>> [count_folds(n) for n in (7, 500, 5000, 100_000)]
    [7, 30, 20, 10]
    """
    return min(n, MORE_FOLDS, max(FOLDS, FITTED // n))


class IntervalRegressor:
    """A mixin of regressors: ``predict_interval``, by models that are fitted again without some points.

    Subclasses say where their training rows are, which other methods they know, and which suits them.
    """

    interval_plan_: Annotated[IntervalPlan, SOMETIMES]
    _fold_models: Annotated[dict[str, FoldModels], SOMETIMES]

    @property
    def interval_methods(self) -> tuple[str, ...]:
        """The methods that :meth:`predict_interval` has for this model, the one that "auto" takes first."""
        return "cv+", "local", "jackknife+"

    @in_the_kind_given
    def predict_interval(self, X: Rows, coverage: float = 0.9, method: str = "auto") -> np.ndarray:
        """Return intervals that hold new targets with a probability of about ``coverage``, whatever their distribution.

        Nothing is assumed of the noise: ends are ranks of errors at points that a model has not seen.  Afterwards
        ``interval_plan_`` says which method was used, why, and what it promises.  Ends are infinite, with a warning,
        where there are too few points for the coverage.

        Parameters
        ----------
        X : collection of m objects
            The points, as in :meth:`predict`.
        coverage : float, default=0.9
            Between 0 and 1.
        method : {"auto", "jackknife+", "cv+", "full", "quantile", "local"}, default="auto"
            How: "cv+" fits 10 to 30 models again, each without some of the points, at the first call, and keeps them;
            "jackknife+" leaves out one point at a time, which ridge regression can do without fitting again; "full"
            tries every target, which ridge regression can do exactly; "quantile" widens the band between two quantiles,
            those of :class:`~mercer.models.any_loss.quantile.KernelQuantileRegressor`; "local" divides errors by their
            scale, so that intervals are wide where targets are noisy: it is the "jackknife+" of ridge regression with
            up to 5,000 points, and "cv+" elsewhere.  ``interval_methods`` are those that a model has, and "auto" takes
            the first of them.

        Returns
        -------
        array of shape (m, 2), or (m, targets, 2) if there are several targets

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRidge, SVR
        >>> from mercer.kernels import Gaussian
        >>> X = np.linspace(0.0, 6.0, 40).reshape(-1, 1)
        >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(37.0 * X[:, 0])
        >>> KernelRidge(alpha=0.1, kernel=Gaussian()).fit(X, y).predict_interval([[1.5]]).round(2)
        array([[0.91, 1.11]])
        >>> model = SVR(C=10.0).fit(X, y)
        >>> model.predict_interval([[1.5]]).shape, model.interval_plan_.method, model.interval_plan_.folds
        ((1, 2), 'cv+', 30)
        """
        check_is_fitted(self)
        share = check_coverage(coverage)
        if method != "auto":
            return self._give_interval(self._check_method(method), WANTED, X, share)
        *first, last = self._rank_methods()
        for chosen, reason in first:
            try:
                return self._give_interval(chosen, reason, X, share)
            except MemoryBudgetError:
                continue
        return self._give_interval(*last, X, share)

    # -- what subclasses know better --------------------------------------------------------------------------------

    def _rank_methods(self) -> list[tuple[str, str]]:
        """Return what to try, with the reason for it; what comes next is for want of memory."""
        return [("cv+", f"{type(self).__name__} has to be fitted again to leave points out")]

    def _make_interval(self, method: str, X: Rows, coverage: float) -> tuple[np.ndarray, IntervalPlan]:
        """Return the ends, and how they were made, without a reason."""
        folds, checked = self._find_folds(method), self._check_new(X)
        ends = cv_plus(folds.predict(checked), folds.fold_of, folds.errors, coverage, folds.scale(checked))
        plan = self._describe(method, coverage, len(folds.fold_of), len(folds.models))
        return ends[:, 0] if folds.flat else ends, plan

    def _training_rows(self) -> TrainingRows | None:
        """Return what the model was fitted to, None if it is not here."""
        return vars(self).get("_rows")

    def _find_left_out(self) -> Callable[[Any], np.ndarray] | None:
        """Return what gives leave-one-out predictions of a model of this kind, None if it has to be fitted again."""
        return None

    def _check_new(self, X: Rows) -> Rows:
        """Return new points in the form that the training rows have."""
        owner: Any = self
        return owner._kernel_argument().check(X, reset=False)

    # -- what they share --------------------------------------------------------------------------------------------

    def _check_method(self, method: str) -> str:
        if method in self.interval_methods:
            return method
        name, known = type(self).__name__, ", ".join(map(repr, ("auto", *self.interval_methods)))
        if method not in METHODS:
            hint = did_you_mean(method, METHODS) if isinstance(method, str) else ""
            raise ValueError(f"{name}.predict_interval: method must be one of {known}; got {method!r}{hint}")
        who = {
            "full": "ridge regression, such as KernelRidge",
            "quantile": "KernelQuantileRegressor",
        }.get(method, "models of one prediction for each target, such as KernelRidge")
        raise ValueError(f"{name}.predict_interval: method={method!r} is one of {who}; this model has {known}")

    def _give_interval(self, method: str, reason: str, X: Rows, coverage: float) -> np.ndarray:
        ends, plan = self._make_interval(method, X, coverage)
        warn_of_few(plan.points, coverage)
        self.interval_plan_ = replace(plan, reason=reason)
        return ends

    def _describe(self, method: str, coverage: float, points: int, folds: int = 0) -> IntervalPlan:
        return IntervalPlan(method, "", promise(method, coverage, points, folds), coverage, points, folds)

    def _find_rows(self) -> TrainingRows:
        """Return the training rows, or raise if they are not here."""
        rows = self._training_rows()
        name = type(self).__name__
        if rows is None:
            raise ValueError(
                f"{name}.predict_interval needs the training rows to fit models without some of them, and they are not "
                "here: the model was loaded from a file, or fitted on a cluster. Call predict_interval before saving, "
                "and the file keeps what it needs; or fit again, to X.compute() if it fits into memory"
            )
        if len(rows.kept) < 2:
            raise ValueError("predict_interval needs a model of at least two points, got one")
        return rows

    def _find_folds(self, key: str, model: Any = None, score: Score = absolute_error) -> FoldModels:
        """Return models without each fold, of another kind if a model is given; made when they are first asked for."""
        if key not in (made := vars(self).get("_fold_models", {})):
            rows = self._find_rows()
            n = len(rows.kept)
            found = fit_folds(
                self if model is None else model, rows, self._count_folds(key, n),
                getattr(self, "random_state", None), score, self._find_left_out(), scaled=key == "local",
            )  # fmt: skip
            self._fold_models = made | {key: found}
        return self._fold_models[key]

    def _count_folds(self, key: str, n: int) -> int:
        """Return how many models a method fits again; a model that searches does so again in each, which is dear."""
        if key == "jackknife+":
            return n
        return min(n, FOLDS) if hasattr(self, "best_score_") else count_folds(n)

    def _remember(self, X: Rows, y: Any, sample_weight: Any = None) -> None:
        """Keep the rows of a fit, checked, from which intervals are made."""
        targets = np.asarray(y, dtype=np.float64)
        weights = (
            None
            if sample_weight is None
            else np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), (len(targets),))
        )
        self._forget()
        vars(self)["_rows"] = TrainingRows(X, targets, None if weights is None else np.maximum(weights, 0.0))

    def _drop_rows(self) -> None:
        """Do without the rows, in a model that only predicts."""
        vars(self).pop("_rows", None)

    def _forget(self) -> None:
        """Drop what belongs to an earlier fit."""
        for name in ("_rows", "_fold_models", "interval_plan_"):
            vars(self).pop(name, None)
