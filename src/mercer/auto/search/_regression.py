"""The search for a regression: how each candidate is tuned, and what it scores on rows left out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from mercer.formula.data import Rows
from mercer.kernels import Gaussian, Kernel, Linear, Matern
from mercer.models.any_loss.regressor import KernelRegressor
from mercer.models.any_loss.regressor_cv import KernelRegressorCV
from mercer.models.neighbors import KernelNeighborsRegressor
from mercer.models.parzen import ParzenRegressor
from mercer.models.ridge import KernelRidge
from mercer.models.ridge_cv import KernelRidgeCV
from mercer.models.svm_cv import SVRCV
from mercer.models.svr import SVR

from ..report import HeldOut
from .base import FOLDS, PLENTY, SCARCE, SEARCH_ROWS, CandidateRecipe, TableSearch, Trial, name_candidate
from .encodings import EncodedRows, Folds, shuffle_folds
from .tuning import propose_scales

SKEW = 1.0  # skewness from which the logarithm of a positive target is tried
IDENTITY = {"transform": "identity"}


class RegressionSearch(TableSearch):
    """Ridge with one length scale for each column or for all, on logarithms, and support vectors; least RMSE wins."""

    task = "regression"
    metric = tie_metric = "RMSE"
    models = ("auto", "ridge", "svm", "neighbors", "parzen")
    neighbor_counts = (2, 4, 8, 16, 32)
    neighbor_model = KernelNeighborsRegressor
    parzen_model = ParzenRegressor
    loss_model, loss_search = KernelRegressor, KernelRegressorCV

    def scale_targets(self) -> np.ndarray:
        return standardize(self.y)[:, None]

    def split_folds(self) -> Folds:
        return shuffle_folds(len(self.y), min(FOLDS, len(self.y)), self.rng)

    def propose(self, model: str) -> list[CandidateRecipe]:
        free, ridge, encoder = self.given is None, model != "svm", self.encode().encoder
        share = len(self.y) / max(1, len(encoder.names("numeric")))  # rows for each length scale
        scarce = free and encoder.is_numeric and share < SCARCE
        found = []
        if ridge:
            ways = ["indicators"] * (not scarce) + ["overlap"] * (self.encodings.has_categories and free)
            found = [
                CandidateRecipe(name_candidate("ridge", way), partial(self.try_ridge, way), 1.0, way) for way in ways
            ]
        if ridge and free and encoder.is_numeric:
            simple = CandidateRecipe("ridge, linear or one length scale", self.try_simple, 0.5)
            found.insert(0 if share < PLENTY else 1, simple)
        if ridge and not scarce and is_long_tailed(self.y):
            found.append(CandidateRecipe("ridge on the logarithm of the target", self.try_logarithmic, 1.0))
        if model == "svm" or (model == "auto" and not scarce):
            found.append(CandidateRecipe("support vectors", self.try_support_vectors, 0.6, "indicators"))
        return found

    # -- candidates ---------------------------------------------------------------------------------------------------

    def try_ridge(self, categories: str) -> Trial:
        """Try ridge, with the penalty of the least leave-one-out error."""
        view, kernel, name = self.encode(categories), self.find_kernel(categories), name_candidate("ridge", categories)
        found = self._find_penalty(kernel, view.rows, self.y)
        if self.find_fold_kernels(categories)[0] is not kernel:
            return self.judge(name, self._make_ridge(found), view, kernel, categories)
        return self.make_trial(name, self._make_ridge(found), view, kernel, found.loo_predictions_, IDENTITY)

    def try_simple(self) -> Trial:
        """Try ridge with one length scale for all columns, or a linear kernel."""
        view = self.encode()
        scales = propose_scales(view.rows)
        kernels = [Linear(), *(kernel for scale in scales for kernel in (Gaussian(scale), Matern(1.5, scale)))]
        some = self.rng.permutation(len(self.y))[:SEARCH_ROWS]
        best = self._find_penalty(kernels, view.rows[some], self.y[some]).kernel_
        found = self._find_penalty(best, view.rows, self.y)
        name = "ridge, linear or one length scale"
        return self.make_trial(name, self._make_ridge(found), view, found.kernel_, found.loo_predictions_, IDENTITY)

    def try_logarithmic(self) -> Trial:
        """Try ridge on log y; predictions are the exponentials, times a factor that makes their mean right."""
        logs, view = np.log(self.y), self.encode()
        kernel = self.find_kernel("indicators", standardize(logs)[:, None])
        found = self._find_penalty(kernel, view.rows, logs)
        largest = float(logs.max() + 1.0)
        values = np.exp(np.minimum(found.loo_predictions_, largest))
        factor = float(self.y.sum() / values.sum())
        extra = {"transform": "log", "factor": factor, "smallest": float(self.y.min()), "largest": largest}
        name = "ridge on the logarithm of the target"
        return self.make_trial(name, self._make_ridge(found), view, kernel, factor * values, extra)

    def try_support_vectors(self) -> Trial:
        """Try support vectors, which large errors pull less; their zone is half of the typical error of ridge."""
        view, kernel, memory = self.encode(), self.find_kernel(), self.options["memory"]
        ridge = self._find_penalty(kernel, view.rows, self.y)
        epsilon = float(0.5 * np.median(np.abs(self.y - ridge.loo_predictions_)))
        found = SVRCV(
            kernel=kernel, epsilon=epsilon, cv=self.folds, scoring="neg_mean_squared_error", refit=False, memory=memory
        ).fit(view.rows, self.y)
        machine = SVR(C=found.C_, kernel=kernel, epsilon=epsilon, memory=memory)
        return self.judge("support vectors", machine, view, kernel, "indicators")

    def _find_penalty(self, kernel: Kernel | Sequence[Kernel], rows: Rows, y: np.ndarray) -> KernelRidgeCV:
        return KernelRidgeCV(kernel=kernel, **self.options).fit(rows, y)

    def _make_ridge(self, found: KernelRidgeCV) -> KernelRidge:
        return KernelRidge(found.alpha_, kernel=found.kernel_, fit_intercept=True, **self.options)

    # -- outputs ------------------------------------------------------------------------------------------------------

    def judge(self, name: str, model: Any, view: EncodedRows, kernel: Kernel, tuned: str = "") -> Trial:
        outputs = self.leave_out(model, view, kernel, tuned, "predict", np.empty(len(self.y)))
        return self.make_trial(name, model, view, kernel, outputs, IDENTITY)

    def choose(self, trials: list[Trial]) -> Trial:
        return min(trials, key=lambda trial: trial.score)

    def score(self, y: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        errors = y - outputs
        spread = float(np.sum((y - y.mean()) ** 2))
        return {
            "RMSE": float(np.sqrt(np.mean(errors**2))),
            "MAE": float(np.mean(np.abs(errors))),
            "R²": 1.0 - float(np.sum(errors**2)) / spread if spread > 0 else float("nan"),
        }

    def read_baseline(self, model: Any, rows: np.ndarray) -> np.ndarray:
        return np.asarray(model.predict(rows))

    def show_targets(self, y: np.ndarray, extra: dict[str, Any]) -> np.ndarray:
        # Rows that were not compared may have a target of 0 or less.
        return np.log(np.maximum(y, extra["smallest"])) if extra["transform"] == "log" else y

    def hold_out(self, y: np.ndarray, outputs: np.ndarray) -> HeldOut:
        return HeldOut(y, outputs)

    @staticmethod
    def predict(model: Any, extra: dict[str, Any], rows: Rows) -> np.ndarray:
        return restore_units(np.asarray(model.predict(rows)), extra)


def restore_units(values: np.ndarray, extra: dict[str, Any]) -> np.ndarray:
    """Return predictions in the units of the target.

    Examples
    --------
    >>> import numpy as np
    >>> restore_units(np.array([0.0, 9.0]), {"transform": "log", "factor": 2.0, "largest": 0.0})
    array([2., 2.])
    """
    if extra["transform"] == "log":
        return np.asarray(extra["factor"] * np.exp(np.minimum(values, extra["largest"])))
    return values


def is_long_tailed(y: np.ndarray) -> bool:
    """Whether a target is positive with a long tail that the logarithm takes away.

    Examples
    --------
    >>> import numpy as np
    >>> is_long_tailed(np.exp(np.linspace(0, 5, 50))), is_long_tailed(np.linspace(1, 5, 50))
    (True, False)
    """
    if not y.min() > 0:
        return False
    plain, logarithm = (float(np.mean(standardize(values) ** 3)) for values in (y, np.log(y)))
    return plain > SKEW and abs(logarithm) < 0.5 * plain


def standardize(y: np.ndarray) -> np.ndarray:
    """Return targets with mean 0 and deviation 1."""
    spread = float(y.std())
    return np.asarray((y - y.mean()) / (spread if spread > 0 else 1.0))
