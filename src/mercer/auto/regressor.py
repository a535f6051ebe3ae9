"""Regression on tables, with everything chosen."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.budget import MemoryBudgetError
from mercer.formula.data import Rows

from .base import AutoModel
from .search._regression import RegressionSearch, restore_units
from .tables.frames import check_table

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

    _search = RegressionSearch
    models = RegressionSearch.models

    def predict(self, X: Rows) -> np.ndarray:
        """Return the prediction for each row.

        Parameters
        ----------
        X : frame or array
            Rows with the columns of the fit, in any order if they have names.

        Returns
        -------
        array of shape (m,)
        """
        return self._predict(X)

    def predict_interval(self, X: Rows, coverage: Any = 0.9) -> np.ndarray:
        """Return an interval for each row that holds its target with a probability of about ``coverage``.

        One ridge model of up to 5,000 rows gives jackknife+ intervals, as
        :meth:`mercer.models.ridge.KernelRidge.predict_interval`.  Otherwise the interval is the prediction ± the
        quantile of the errors on rows held out (split conformal; those errors are of the fit without them), or on rows
        left out in the comparison of candidates if none were held out.

        Parameters
        ----------
        X : frame or array
            Rows, as in :meth:`predict`.
        coverage : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        array of shape (m, 2)
        """
        check_is_fitted(self)
        if not isinstance(coverage, numbers.Real) or not 0 < float(coverage) < 1:
            raise ValueError(f"predict_interval: coverage must lie between 0 and 1, for example 0.9; got {coverage!r}")
        (member, *others), plan = self.members_, getattr(self.model_, "plan_", None)
        direct = getattr(plan, "solver", "nystroem") != "nystroem" and hasattr(self.model_, "predict_interval")
        if direct and not others and self.report_.n_rows <= JACKKNIFE_ROWS:
            rows = member.encoder.transform(check_table(self, X, reset=False))
            try:
                return restore_units(self.model_.predict_interval(rows, float(coverage)), self.extra_ | {"factor": 1.0})
            except MemoryBudgetError:
                pass  # errors of rows left out take no memory
        center, errors = self._predict(X), np.sort(self._errors)
        rank = math.ceil(float(coverage) * (len(errors) + 1) - 1e-9)
        radius = errors[rank - 1] if rank <= len(errors) else np.inf
        return np.column_stack([center - radius, center + radius])

    def _code_targets(self, values: np.ndarray) -> np.ndarray:
        return values
