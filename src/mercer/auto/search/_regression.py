"""The search for a regression: ridge with learned kernels, combined by the values of rows left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.formula.data import Rows
from mercer.kernels import Kernel
from mercer.models.any_loss.regressor import KernelRegressor
from mercer.models.any_loss.regressor_cv import KernelRegressorCV
from mercer.models.neighbors import KernelNeighborsRegressor
from mercer.models.parzen import ParzenRegressor
from mercer.models.ridge import KernelRidge
from mercer.models.svm_cv import SVRCV
from mercer.models.svr import SVR

from ..report import HeldOut
from .base import FOLDS, TableSearch
from .combination import weigh_values
from .encodings import EncodedRows, Folds, shuffle_folds
from .learned import LearnedKernel
from .leaving import leave_out_ridge
from .members import TableMember
from .trials import CandidateRecipe, Trial

SKEW = 1.0  # skewness from which the logarithm of a positive target is tried
IDENTITY = {"transform": "identity"}


class RegressionSearch(TableSearch):
    """Ridge with kernels of several families, with statistics of categories and on logarithms; least RMSE wins."""

    task = "regression"
    metric = "RMSE"
    noun = "ridge"
    models = ("auto", "ridge", "svm", "neighbors", "parzen")
    neighbor_counts = (2, 4, 8, 16, 32)
    neighbor_model = KernelNeighborsRegressor
    parzen_model = ParzenRegressor
    loss_model, loss_search = KernelRegressor, KernelRegressorCV

    def scale_targets(self, y: np.ndarray) -> np.ndarray:
        return standardize(y)[:, None]

    def make_goals(self, y: np.ndarray) -> np.ndarray:
        return y[:, None]

    @property
    def functions(self) -> int:
        return 1

    def split_folds(self) -> Folds:
        return shuffle_folds(len(self.y), min(FOLDS, len(self.y)), np.random.RandomState(0))

    def propose(self, model: str) -> list[CandidateRecipe]:
        if model == "svm":
            return [CandidateRecipe("support vectors", self.try_support_vectors)]
        found = self.propose_learned()
        if self.given is None and is_long_tailed(self.y):
            found.insert(2, CandidateRecipe("ridge on logarithms", self.try_logarithms))
        return found

    # -- candidates ---------------------------------------------------------------------------------------------------

    def try_logarithms(self) -> Trial:
        """Try ridge on log y; predictions are the exponentials, times a factor that makes their mean right."""
        logs, view = np.log(self.y), self.encode(self.way)
        learned = self.learn("thresholds", self.way, standardize(logs)[:, None])
        found = leave_out_ridge(learned.fair, view.rows, logs[:, None], self.parts, self.memory)
        largest = float(logs.max() + 1.0)
        values = np.exp(np.minimum(found.outputs[:, 0], largest))
        factor = float(self.y[self.judged].sum() / values.sum())
        extra = {"transform": "log", "factor": factor, "smallest": float(self.y.min()), "largest": largest}
        model = self._make_ridge(learned.kernel, found.alpha)
        trial = self.make_trial("ridge on logarithms", model, view, learned.kernel, factor * values, extra)
        return replace(trial, family="thresholds")

    def try_support_vectors(self) -> Trial:
        """Try support vectors, which large errors pull less; their zone is half of the typical error of ridge."""
        view, learned, memory = self.encode(), self.learn("thresholds"), self.options["memory"]
        ridge = leave_out_ridge(learned.fair, view.rows, self.y[:, None], self.parts, self.memory)
        epsilon = float(0.5 * np.median(np.abs(self.y[self.judged] - ridge.outputs[:, 0])))
        found = SVRCV(
            kernel=learned.kernel, epsilon=epsilon, cv=self.split_folds(), scoring="neg_mean_squared_error",
            refit=False, memory=memory,
        ).fit(view.rows, self.y)  # fmt: skip
        machine = SVR(C=found.C_, kernel=learned.kernel, epsilon=epsilon, memory=memory)
        return self.judge("support vectors", machine, view, learned.kernel)

    def judge_learned(self, name: str, learned: LearnedKernel, way: str) -> Trial:
        view = self.encode(way)
        found = leave_out_ridge(learned.fair, view.rows, self.y[:, None], self.parts, self.memory)
        model = self._make_ridge(learned.kernel, found.alpha)
        return self.make_trial(name, model, view, learned.kernel, found.outputs[:, 0], IDENTITY)

    def _make_ridge(self, kernel: Kernel, alpha: float) -> KernelRidge:
        return KernelRidge(alpha, kernel=kernel, fit_intercept=True, **self.options)

    # -- outputs ------------------------------------------------------------------------------------------------------

    def judge(self, name: str, model: Any, view: EncodedRows, kernel: Kernel) -> Trial:
        outputs = self.leave_out(model, view, "predict", np.empty(len(self.y)))
        return self.make_trial(name, model, view, kernel, outputs, IDENTITY)

    def weigh(self, outputs: Sequence[np.ndarray], y: np.ndarray) -> np.ndarray:
        return weigh_values(outputs, y)

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
    def predict_member(member: TableMember, rows: Rows) -> np.ndarray:
        return restore_units(np.asarray(member.estimator.predict(rows)), member.extra)


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
