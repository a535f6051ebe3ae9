"""Regression on tables, with everything chosen."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from mercer.arrays.budget import MemoryBudgetError
from mercer.formula.data import Rows

from .base import AutoModel
from .search._regression import RegressionSearch, restore_units

JACKKNIFE_ROWS = 5000  # rows up to which intervals come from leaving each out


class AutoRegressor(RegressorMixin, AutoModel):  # type: ignore[misc]
    """Kernel regression on a table: columns are understood, kernels tuned, models compared, and the best is fitted.

    Columns are encoded by :class:`TableEncoder`.  Some rows are held out.  On the others, candidates are tuned and
    compared by the squared error of rows left out: ridge with one length scale for each column, tuned by the gradient
    of the exact leave-one-out error; the same with kernels for numbers, categories and texts added up; ridge on the
    logarithm of a positive target with a long tail; and support vectors.  The best is scored once on the rows held
    out, beside the mean and scikit-learn's gradient boosting, and then fitted to all rows.

    Parameters
    ----------
    model : {"auto", "ridge", "svm", "neighbors", "parzen"}, default="auto"
        What to try; "auto" tries several.
    kernel : Kernel or str, optional
        The kernel to use as it is, on the encoded columns by their names or on all of them, or a text of one.
    budget : float or str, optional
        Seconds, or a text such as "5m": candidates are tried while it lasts, at least one.  No limit if not given.
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

    Attributes
    ----------
    report_ : Report
        Everything that was found: columns, candidates, scores, plan, advice.
    model_ : estimator
        The fitted mercer model.
    kernel_ : Kernel
        Its kernel.
    encoder_ : TableEncoder
        How columns are encoded.
    extra_ : dict
        How values of the model become predictions: ``transform``, "identity" or "log".
    n_features_in_, feature_names_in_
        Number and names of the columns.

    Notes
    -----
    More than 3,000 rows are compared on 3,000 of them.  Columns of new tables are found by name, in any order.
    The fit is a tree of tasks for ``sklearn.callback``: baselines, each candidate with its steps, and the last fits.

    Examples
    --------
    >>> from mercer import AutoRegressor
    >>> from mercer.datasets import load_energy
    >>> energy = load_energy()
    >>> model = AutoRegressor("ridge", kernel="Gaussian(2.0)", random_state=0).fit(energy.data, energy.target)
    >>> [score.name for score in model.report_.scores]
    ['mercer KernelRidge', 'mean', 'HistGradientBoosting']
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

        Ridge up to 5,000 rows gives jackknife+ intervals, as
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
        rows = self._encode(X)
        if not isinstance(coverage, numbers.Real) or not 0 < float(coverage) < 1:
            raise ValueError(f"predict_interval: coverage must lie between 0 and 1, for example 0.9; got {coverage!r}")
        plan = getattr(self.model_, "plan_", None)
        direct = getattr(plan, "solver", "nystroem") != "nystroem" and hasattr(self.model_, "predict_interval")
        if direct and self.report_.n_rows <= JACKKNIFE_ROWS:
            try:
                return restore_units(self.model_.predict_interval(rows, float(coverage)), self.extra_ | {"factor": 1.0})
            except MemoryBudgetError:
                pass  # errors of rows left out take no memory
        center, errors = self._search.predict(self.model_, self.extra_, rows), np.sort(self._errors)
        rank = math.ceil(float(coverage) * (len(errors) + 1) - 1e-9)
        radius = errors[rank - 1] if rank <= len(errors) else np.inf
        return np.column_stack([center - radius, center + radius])

    def _check_targets(self, y: ArrayLike, n: int) -> np.ndarray:
        values = y.to_numpy() if hasattr(y, "to_numpy") else y
        values = check_array(values, ensure_2d=False, dtype=np.float64, input_name="y", allow_nd=True)
        values = np.asarray(column_or_1d(values, warn=True))
        check_consistent_length(np.empty(n), values)
        return values
