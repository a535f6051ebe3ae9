"""Regression on tables, with everything chosen."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.budget import MemoryBudgetError
from mercer.estimators.ridge import SearchedRidge
from mercer.features.params import SOMETIMES
from mercer.formula.data import Rows
from mercer.models import KernelRidge
from mercer.solvers.conformal.plan import IntervalPlan, promise
from mercer.solvers.conformal.ranks import check_coverage, warn_of_few
from mercer.solvers.conformal.split import split_conformal
from mercer.stored.plan import StoredPlan
from mercer.stored.predict import predict_stored
from mercer.stored.table import as_table, is_stored

from .base import AutoModel
from .search._regression import RegressionSearch, restore_units
from .tables.frames import check_table

METHODS = ("auto", "jackknife+", "split")
REFITTED = ", for the fit that those errors are of"
JACKKNIFE_ROWS = 5000  # rows up to which intervals come from leaving each out


class AutoRegressor(RegressorMixin, AutoModel):  # type: ignore[misc]
    """Kernel regression on a table: columns are understood, kernels tuned, models compared, and the best is fitted.

    Columns are encoded by :class:`TableEncoder`.  Some rows are held out.  On the others, kernels of several families
    are learned by the gradient of the exact leave-one-out error: one that follows thresholds, smooth ones with a length
    scale for each column, ones in a metric that mixes columns, sums over categories; with average targets of
    categories where there are many; and on the logarithm of a positive target with a long tail.  Candidates are ridge
    regressions with them, judged by exact leave-one-out predictions with kernels that have not learned from the rows
    judged.  A convex combination of the best is used if it is better.  It is scored once on the rows held out, beside
    the mean and scikit-learn's gradient boosting, and then fitted to all rows.

    Parameters
    ----------
    model : {"auto", "ridge", "svm", "neighbors", "parzen"}, default="auto"
        What to try; "auto" tries several.
    kernel : Kernel or str, optional
        The kernel to use as it is, on the encoded columns by their names or on all of them, or a text of one.
    budget : float or str, optional
        Seconds, or a text such as "5m", that the fit may take: candidates are tried while it lasts, and the last fits
        take fewer centres or rows if they must.  If not given, 12 seconds and 8 more for each 1,000 rows, at most 150,
        and whatever the last fits take.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    test : float, optional, default=0.2
        The share of rows to hold out; None or 0 for none, and then nothing is compared with baselines.
    refit : bool, default=True
        Whether the chosen model is fitted to all rows in the end; the scores are of the fit without those held out.
    random_state : int, RandomState or None, default=None
        The seed of splits and subsets.
    loss : Loss or str, optional
        Fit this loss of :mod:`mercer.losses`, such as "Quantile(0.9)", instead of choosing a model.
    types : dict, optional
        What columns hold, by name: "number", "category", "date" or "text".  It is found out for all others.

    Attributes
    ----------
    report_ : Report
        Everything that was found: columns, candidates, scores, plan, advice.
    members_ : list of TableMember
        The parts of the combination, heaviest first: a fitted model, its weight, and the encoder of its rows.
    model_ : estimator
        The fitted mercer model of the first.
    kernel_ : Kernel
        Its kernel.
    encoder_ : TableEncoder
        How columns are encoded for it.
    extra_ : dict
        How values of the model become predictions: ``transform``, "identity" or "log".
    interval_plan_ : IntervalPlan
        How the last intervals were made, why so, and what they promise; after :meth:`predict_interval`.
    n_features_in_, feature_names_in_
        Number and names of the columns.

    Notes
    -----
    Candidates are compared on at most 2,500 rows; those chosen learn from more.  Columns of new tables are found by
    name, in any order.
    The fit is a tree of tasks for ``sklearn.callback``: baselines, each candidate with its steps, and the last fits.

    Examples
    --------
    >>> from mercer import AutoRegressor
    >>> from mercer.datasets import load_energy
    >>> energy = load_energy()
    >>> model = AutoRegressor("ridge", kernel="Gaussian(2.0)", random_state=0).fit(energy.data, energy.target)
    >>> [score.name for score in model.report_.scores]
    ['mercer', 'mean', 'HistGradientBoosting']
    >>> model.predict(energy.data.head(2)).shape
    (2,)
    """

    interval_plan_: Annotated[IntervalPlan, SOMETIMES]
    _search = RegressionSearch
    models = RegressionSearch.models

    def predict(self, X: Rows) -> np.ndarray:
        """Return the prediction for each row.

        Parameters
        ----------
        X : frame, array or path
            Rows with the columns of the fit, in any order if they have names; a Parquet file or folder is read a piece
            at a time.

        Returns
        -------
        array of shape (m,)
        """
        return self._predict(X)

    def predict_interval(self, X: Rows, coverage: Any = 0.9, method: str = "auto") -> np.ndarray:
        """Return an interval for each row that holds its target with a probability of about ``coverage``.

        One ridge model of up to 5,000 rows gives jackknife+ intervals, as
        :meth:`mercer.models.ridge.KernelRidge.predict_interval`.  Otherwise the interval is the prediction ± the
        quantile of the errors on rows held out (split conformal; those errors are of the fit without them), or on rows
        left out in the comparison of candidates if none were held out.  ``interval_plan_`` says which it was, and what
        it promises.

        Parameters
        ----------
        X : frame or array
            Rows, as in :meth:`predict`.
        coverage : float, default=0.9
            Between 0 and 1.
        method : {"auto", "jackknife+", "split"}, default="auto"
            The first where it can be had, else the second; or one of them.

        Returns
        -------
        array of shape (m, 2)
        """
        check_is_fitted(self)
        share = check_coverage(coverage)
        if is_stored(self, X):
            found: np.ndarray = predict_stored(self, "predict_interval", as_table(X), share, method)
            return found
        if method not in METHODS:
            raise ValueError(
                f"{type(self).__name__}.predict_interval: method must be one of {', '.join(map(repr, METHODS))}; got "
                f"{method!r}. model_.predict_interval, on encoded rows, has those of the model"
            )
        why = self._refuse_jackknife() if method != "split" else None
        if method != "split" and why is None:
            rows = self.members_[0].encoder.transform(check_table(self, X, reset=False))
            try:
                ends = self.model_.predict_interval(rows, share, "jackknife+")
            except MemoryBudgetError:
                if method == "jackknife+":
                    raise
                why = "leaving each row out needs more memory than there is"  # errors of rows left out take none
            else:
                self.interval_plan_ = self.model_.interval_plan_
                return restore_units(ends, self.extra_ | {"factor": 1.0})
        if method == "jackknife+":
            raise ValueError(f"{type(self).__name__}.predict_interval: {why}; leave method out, or say method='split'")
        self.interval_plan_ = IntervalPlan(
            "split", why or "it was asked for", promise("split", share, len(self._errors)) + REFITTED, share,
            len(self._errors),
        )  # fmt: skip
        warn_of_few(len(self._errors), share)
        return split_conformal(self._predict(X), self._errors, share)

    def _refuse_jackknife(self) -> str | None:
        """Return why the jackknife+ cannot be had, or is not worth its time; None if it is."""
        plan = getattr(self.model_, "plan_", None)
        if len(self.members_) > 1:
            return "several models are combined"
        if (
            not isinstance(self.model_, KernelRidge | SearchedRidge)
            or getattr(plan, "solver", "nystroem") == "nystroem"
            or isinstance(plan, StoredPlan)
        ):
            return "the model would have to be fitted again to leave rows out"
        if self.report_.n_rows > JACKKNIFE_ROWS:
            return f"leaving each of {self.report_.n_rows} rows out takes long"
        return None

    def _code_targets(self, values: np.ndarray) -> np.ndarray:
        return values
