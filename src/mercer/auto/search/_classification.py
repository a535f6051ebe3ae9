"""The search for a classifier: logistic regression with learned kernels, combined by chances of rows left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from mercer.formula.data import Rows
from mercer.kernels import Kernel
from mercer.models.any_loss.classifier import KernelClassifier
from mercer.models.any_loss.classifier_cv import KernelClassifierCV
from mercer.models.import_vector import ImportVectorMachine
from mercer.models.logistic import KernelLogisticRegression
from mercer.models.neighbors import KernelNeighborsClassifier
from mercer.models.parzen import ParzenClassifier
from mercer.models.ridge_classifier import KernelRidgeClassifier
from mercer.models.svm import SVC
from mercer.models.svm_cv import SVCCV
from mercer.solvers.newton.sums import choose_logistic

from ..chances import measure_briers, measure_log_losses
from ..report import HeldOut
from .base import FOLDS, SEARCH_ROWS, TableSearch
from .combination import find_temperature, weigh_chances
from .encodings import EncodedRows, Folds, shuffle_folds
from .learned import LearnedKernel
from .leaving import TOLERANCE, leave_out_logistic
from .members import TableMember
from .trials import CandidateRecipe, Trial

SAMPLED = 3  # rows of a class among those that a penalty is chosen on, for as many folds


class ClassificationSearch(TableSearch):
    """Logistic regression with kernels of several families and statistics of categories; least log-loss wins."""

    task = "classification"
    metric = "log-loss"
    noun = "logistic regression"
    models = ("auto", "ridge", "svm", "logistic", "import_vector", "neighbors", "parzen")
    neighbor_counts = (1, 3, 7, 15, 31)
    neighbor_model = KernelNeighborsClassifier
    parzen_model = ParzenClassifier
    loss_model, loss_search = KernelClassifier, KernelClassifierCV

    def scale_targets(self, y: np.ndarray) -> np.ndarray:
        columns = np.arange(1, 2) if len(self.classes) == 2 else np.arange(len(self.classes))
        signs = 2.0 * (y[:, None] == columns) - 1.0
        return np.asarray(signs - signs.mean(axis=0))

    def make_goals(self, y: np.ndarray) -> np.ndarray:
        return (y[:, None] == np.arange(len(self.classes))).astype(np.float64)

    @property
    def functions(self) -> int:
        return 1 if len(self.classes) == 2 else len(self.classes)

    def split_folds(self) -> Folds:
        counts = np.bincount(self.y)
        k = int(max(2, min(FOLDS, counts[counts > 1].min(initial=2))))
        return shuffle_folds(len(self.y), k, np.random.RandomState(0), self.y)

    def propose(self, model: str) -> list[CandidateRecipe]:
        if model in ("ridge", "svm", "import_vector"):
            name, make = {
                "ridge": ("ridge", self.try_ridge),
                "svm": ("support vectors", self.try_support_vectors),
                "import_vector": ("import vectors", self.try_import_vectors),
            }[model]
            return [CandidateRecipe(name, make)]
        return self.propose_learned()

    # -- candidates ---------------------------------------------------------------------------------------------------

    def try_support_vectors(self) -> Trial:
        """Try a support vector machine."""
        view, kernel, memory = self.encode(), self.learn("thresholds").kernel, self.options["memory"]
        folds, C = self.split_folds(), 1.0
        if folds:  # otherwise every row is the only one of its class
            C = SVCCV(kernel=kernel, cv=folds, refit=False, memory=memory).fit(view.rows, self.y).C_
        machine = SVC(C=float(f"{C:.4g}"), kernel=kernel, memory=memory)
        return self._judge_decisions("support vectors", machine, view, kernel)

    def try_ridge(self) -> Trial:
        """Try least squares on the labels."""
        view, kernel = self.encode(), self.learn("thresholds").kernel
        found = KernelRidgeClassifier(kernel=kernel, **self.options).fit(view.rows, self.y)
        model = KernelRidgeClassifier(found.alpha_, kernel=kernel, **self.options)
        return self._judge_decisions("ridge", model, view, kernel)

    def try_import_vectors(self) -> Trial:
        """Try logistic regression on few points, with the penalty of the one on all."""
        dense: Any = self.try_family("thresholds")
        model = ImportVectorMachine(dense.estimator.alpha, kernel=dense.kernel, **self.options)
        return self.judge("import vectors", model, self.encode(), dense.kernel)

    def judge_learned(self, name: str, learned: LearnedKernel, way: str) -> Trial:
        view = self.encode(way)
        found = leave_out_logistic(
            learned.fair, view.rows, self.y, len(self.classes), self.parts, self.memory, self.step
        )
        model = KernelLogisticRegression(found.alpha, kernel=learned.kernel, tol=TOLERANCE, **self.options)
        return self.make_trial(name, model, view, learned.kernel, found.outputs, {})

    def sample_rows(self) -> np.ndarray:
        """Return rows enough to choose a penalty on: some at random, and of every class as many as folds need."""
        order = self.rng.permutation(len(self.y))
        first = [order[np.flatnonzero(self.y[order] == code)[:SAMPLED]] for code in range(len(self.classes))]
        enough = [rows for rows in first if len(rows) == SAMPLED]  # rarer classes have no say in it
        some = np.unique(np.concatenate([*enough, order[:SEARCH_ROWS]]))
        common = np.isin(self.y[some], [self.y[rows[0]] for rows in enough])
        return np.asarray(some[common] if len(enough) > 1 else some)

    def _judge_decisions(self, name: str, model: Any, view: EncodedRows, kernel: Kernel) -> Trial:
        """Score a model without probabilities, by those that its decision values on rows left out are worth."""
        out = np.zeros((len(self.y),) if len(self.classes) == 2 else (len(self.y), len(self.classes)))
        values = self.leave_out(model, view, "decision_function", out)
        extra = fit_calibration(values, self.y[self.judged], len(self.classes))
        return self.make_trial(name, model, view, kernel, calibrate(values, extra), extra)

    # -- outputs ------------------------------------------------------------------------------------------------------

    def judge(self, name: str, model: Any, view: EncodedRows, kernel: Kernel) -> Trial:
        if not hasattr(model, "predict_proba"):
            return self._judge_decisions(name, model, view, kernel)
        out = np.full((len(self.y), len(self.classes)), 1.0 / len(self.classes))
        return self.make_trial(name, model, view, kernel, self.leave_out(model, view, "predict_proba", out), {})

    def weigh(self, outputs: Sequence[np.ndarray], y: np.ndarray) -> np.ndarray:
        return weigh_chances(outputs, y)

    def score(self, y: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        loss, right = measure_log_losses(y, outputs), outputs.argmax(axis=1) == y
        brier = float(measure_briers(y, outputs).mean())
        return {"log-loss": float(loss.mean()), "Brier score": brier, "accuracy": float(right.mean())}

    def find_temperature(self, trials: Sequence[Trial], weights: np.ndarray) -> float:
        """Return how much less sure the combination should be, by the rows that are judged."""
        return find_temperature(self.mix(trials, weights), self.y[self.judged])

    def read_baseline(self, model: Any, rows: np.ndarray) -> np.ndarray:
        outputs = np.zeros((len(rows), len(self.classes)))
        outputs[:, model.classes_] = model.predict_proba(rows)
        return outputs

    def show_targets(self, y: np.ndarray, extra: dict[str, Any]) -> np.ndarray:
        return np.asarray(self.classes[y])

    def hold_out(self, y: np.ndarray, outputs: np.ndarray) -> HeldOut:
        return HeldOut(self.classes[y], self.classes[outputs.argmax(axis=1)], outputs)

    @staticmethod
    def predict_member(member: TableMember, rows: Rows) -> np.ndarray:
        if member.extra:
            return calibrate(np.asarray(member.estimator.decision_function(rows)), member.extra)
        return np.asarray(member.estimator.predict_proba(rows))


def fit_calibration(values: np.ndarray, codes: np.ndarray, classes: int) -> dict[str, Any]:
    """Return the logistic regression from decision values of rows left out to classes, as plain numbers."""
    if len(np.unique(codes)) < classes:
        # Classes that no row judged belongs to have the chance that their own value gives them.
        outputs = 1 if values.ndim == 1 else classes
        return {"slopes": np.eye(outputs).tolist(), "offsets": np.zeros(outputs).tolist()}
    found = LogisticRegression(C=10.0, max_iter=1000).fit(values.reshape(len(values), -1), codes)
    return {"slopes": found.coef_.tolist(), "offsets": found.intercept_.tolist()}


def calibrate(values: np.ndarray, extra: dict[str, Any]) -> np.ndarray:
    """Return probabilities from decision values."""
    odds = values.reshape(len(values), -1) @ np.array(extra["slopes"]).T + np.array(extra["offsets"])
    return np.asarray(choose_logistic(max(2, odds.shape[1])).predict_proba(odds))
