"""The search for a classifier: how each candidate is tuned, and what it scores on rows left out."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from mercer.formula.data import Rows, pick
from mercer.kernels import Gaussian, Kernel, Linear
from mercer.models.any_loss.classifier import KernelClassifier
from mercer.models.any_loss.classifier_cv import KernelClassifierCV
from mercer.models.import_vector import ImportVectorMachine
from mercer.models.logistic import KernelLogisticRegression
from mercer.models.logistic_cv import KernelLogisticRegressionCV
from mercer.models.neighbors import KernelNeighborsClassifier
from mercer.models.parzen import ParzenClassifier
from mercer.models.ridge_classifier import KernelRidgeClassifier
from mercer.models.svm import SVC
from mercer.models.svm_cv import SVCCV

from ..report import HeldOut
from .base import FOLDS, PLENTY, SCARCE, SEARCH_ROWS, STRETCHES, CandidateRecipe, TableSearch, Trial, name_candidate
from .encodings import EncodedRows, Folds, shuffle_folds
from .tuning import propose_scales, round_scales, stretch

ALPHAS = np.logspace(-3.0, 1.0, 7)  # of logistic regression
SEARCH_FOLDS = 3  # of the rows that the penalty of logistic regression is chosen on
TIES = 0.5  # standard errors of an accuracy within which the log-loss decides


class ClassificationSearch(TableSearch):
    """Logistic regression and support vectors, with one length scale for each column or for all; accuracy decides."""

    task = "classification"
    metric, tie_metric = "accuracy", "log-loss"
    models = ("auto", "ridge", "svm", "logistic", "import_vector", "neighbors", "parzen")
    neighbor_counts = (1, 3, 7, 15, 31)
    neighbor_model = KernelNeighborsClassifier
    parzen_model = ParzenClassifier
    loss_model, loss_search = KernelClassifier, KernelClassifierCV

    def scale_targets(self) -> np.ndarray:
        columns = np.arange(1, 2) if len(self.classes) == 2 else np.arange(len(self.classes))
        signs = 2.0 * (self.y[:, None] == columns) - 1.0
        return np.asarray(signs - signs.mean(axis=0))

    def split_folds(self) -> Folds:
        counts = np.bincount(self.y)
        k = int(max(2, min(FOLDS, counts[counts > 1].min(initial=2))))
        return shuffle_folds(len(self.y), k, self.rng, self.y)

    def propose(self, model: str) -> list[CandidateRecipe]:
        """Return what is to be tried, in order of promise: the fewer rows for each length scale, the later."""
        if model == "ridge":
            return [CandidateRecipe("ridge", self.try_ridge, 1.0, "indicators")]
        if model == "import_vector":
            return [CandidateRecipe("import vectors", self.try_import_vectors, 1.0, "indicators")]
        logistic, machines = model in ("auto", "logistic"), model in ("auto", "svm")
        ways = ["indicators"] + ["overlap"] * (self.encodings.has_categories and self.given is None)
        tuned = {way: self._propose_tuned(way, logistic, machines) for way in ways}
        encoder = self.encode().encoder
        if self.given is not None or not encoder.is_numeric:
            return [recipe for way in ways for recipe in tuned[way]]
        plain = []
        if logistic:
            plain.append(CandidateRecipe("logistic regression, one length scale", self.try_isotropic_logistic, 0.5))
        if machines:
            plain.append(CandidateRecipe("support vectors, one length scale", self.try_isotropic, 0.5))
        if logistic:
            plain.append(CandidateRecipe("logistic regression, linear", self.try_linear, 0.3))
        share = len(self.y) / len(encoder.names("numeric"))  # rows for each length scale
        order = [plain, tuned.get("overlap", []), tuned["indicators"] if share >= SCARCE else []]
        return [recipe for part in (order if share < PLENTY else order[::-1]) for recipe in part]

    def _propose_tuned(self, way: str, logistic: bool, machines: bool) -> list[CandidateRecipe]:
        made = [("logistic regression", self.try_logistic, 1.0)] * logistic
        made += [("support vectors", self.try_support_vectors, 0.5)] * machines
        return [CandidateRecipe(name_candidate(name, way), partial(make, way), cost, way) for name, make, cost in made]

    # -- candidates ---------------------------------------------------------------------------------------------------

    def try_logistic(self, categories: str) -> Trial:
        """Try logistic regression, with penalty and stretch of least log-loss."""
        view, kernels = self.encode(categories), self._stretch_kernel(categories)
        return self._judge_logistic(name_candidate("logistic regression", categories), view, kernels, categories)

    def try_isotropic_logistic(self) -> Trial:
        """Try logistic regression with one length scale for all columns."""
        kernels: list[Kernel] = [Gaussian(scale) for scale in propose_scales(self.encode().rows)]
        return self._judge_logistic("logistic regression, one length scale", self.encode(), kernels)

    def try_linear(self) -> Trial:
        """Try logistic regression with a linear kernel."""
        return self._judge_logistic("logistic regression, linear", self.encode(), [Linear()])

    def try_support_vectors(self, categories: str) -> Trial:
        """Try a support vector machine, with C and stretch of best accuracy."""
        view = self.encode(categories)
        searches = (self._find_machine(view, kernel) for kernel in self._stretch_kernel(categories))
        found = max(searches, key=lambda svm: float(svm.best_score_))
        return self._judge_machine(name_candidate("support vectors", categories), view, found, categories)

    def try_isotropic(self) -> Trial:
        """Try a support vector machine with one length scale for all columns."""
        found = self._find_machine(self.encode(), None)
        return self._judge_machine("support vectors, one length scale", self.encode(), found)

    def try_ridge(self) -> Trial:
        """Try least squares on the labels."""
        view, kernel = self.encode(), self.find_kernel()
        found = KernelRidgeClassifier(kernel=kernel, **self.options).fit(view.rows, self.y)
        model = KernelRidgeClassifier(found.alpha_, kernel=kernel, **self.options)
        return self._judge_decisions("ridge", model, view, kernel, "indicators")

    def try_import_vectors(self) -> Trial:
        """Try logistic regression on few points, with the penalty of the one on all."""
        dense = self.try_logistic("indicators")
        model = ImportVectorMachine(dense.estimator.alpha, kernel=dense.kernel, **self.options)
        return self.judge("import vectors", model, self.encode(), dense.kernel, "indicators")

    # -- pieces -------------------------------------------------------------------------------------------------------

    def _stretch_kernel(self, categories: str) -> list[Kernel]:
        kernel = self.find_kernel(categories)
        if self.given is not None:
            return [kernel]
        kernels = [stretch(kernel, factor) for factor in STRETCHES]
        return [k for i, k in enumerate(kernels) if k not in kernels[:i]]

    def _judge_logistic(self, name: str, view: EncodedRows, kernels: list[Kernel], tuned: str = "") -> Trial:
        level = float(np.mean(kernels[0].diag(view.rows))) or 1.0
        some = self.sample_rows()
        found = KernelLogisticRegressionCV(ALPHAS * level, kernels, cv=SEARCH_FOLDS, tol=1e-4, **self.options)
        found.fit(pick(view.rows, some), self.y[some])
        model = KernelLogisticRegression(found.alpha_, kernel=found.kernel_, tol=1e-6, **self.options)
        return self.judge(name, model, view, found.kernel_, tuned)

    def sample_rows(self) -> np.ndarray:
        """Return rows enough to choose a penalty on: some at random, and of every class as many as folds need."""
        order = self.rng.permutation(len(self.y))
        first = [order[np.flatnonzero(self.y[order] == code)[:SEARCH_FOLDS]] for code in range(len(self.classes))]
        enough = [rows for rows in first if len(rows) == SEARCH_FOLDS]  # rarer classes have no say in it
        some = np.unique(np.concatenate([*enough, order[:SEARCH_ROWS]]))
        common = np.isin(self.y[some], [self.y[rows[0]] for rows in enough])
        return np.asarray(some[common] if len(enough) > 1 else some)

    def _find_machine(self, view: EncodedRows, kernel: Kernel | None) -> SVCCV:
        found = SVCCV(kernel=kernel, cv=self.folds, refit=False, memory=self.options["memory"])
        return found.fit(view.rows, self.y)

    def _judge_machine(self, name: str, view: EncodedRows, found: SVCCV, tuned: str = "") -> Trial:
        kernel = round_scales(found.kernel_)
        machine = SVC(C=float(f"{found.C_:.4g}"), kernel=kernel, memory=self.options["memory"])
        return self._judge_decisions(name, machine, view, kernel, tuned)

    def _judge_decisions(self, name: str, model: Any, view: EncodedRows, kernel: Kernel, tuned: str = "") -> Trial:
        """Score a model without probabilities, by those that its decision values on rows left out are worth."""
        out = np.zeros((len(self.y),) if len(self.classes) == 2 else (len(self.y), len(self.classes)))
        values = self.leave_out(model, view, kernel, tuned, "decision_function", out)
        extra = fit_calibration(values, self.y)
        return self.make_trial(name, model, view, kernel, calibrate(values, extra), extra)

    # -- outputs ------------------------------------------------------------------------------------------------------

    def judge(self, name: str, model: Any, view: EncodedRows, kernel: Kernel, tuned: str = "") -> Trial:
        if not hasattr(model, "predict_proba"):
            return self._judge_decisions(name, model, view, kernel, tuned)
        out = np.full((len(self.y), len(self.classes)), 1.0 / len(self.classes))
        outputs = self.leave_out(model, view, kernel, tuned, "predict_proba", out)
        return self.make_trial(name, model, view, kernel, outputs, {})

    def choose(self, trials: list[Trial]) -> Trial:
        return choose_trial(trials, len(self.y))

    def score(self, y: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        clipped = np.clip(outputs, 1e-6, 1.0)  # the log-loss wants none that are 0
        chances = clipped / clipped.sum(axis=1, keepdims=True)
        loss = float(log_loss(y, chances, labels=np.arange(len(self.classes))))
        return {"accuracy": float(np.mean(outputs.argmax(axis=1) == y)), "log-loss": loss}

    def read_baseline(self, model: Any, rows: np.ndarray) -> np.ndarray:
        outputs = np.zeros((len(rows), len(self.classes)))
        outputs[:, model.classes_] = model.predict_proba(rows)
        return outputs

    def show_targets(self, y: np.ndarray, extra: dict[str, Any]) -> np.ndarray:
        return np.asarray(self.classes[y])

    def hold_out(self, y: np.ndarray, outputs: np.ndarray) -> HeldOut:
        return HeldOut(self.classes[y], self.classes[outputs.argmax(axis=1)], outputs)

    @staticmethod
    def predict(model: Any, extra: dict[str, Any], rows: Rows) -> np.ndarray:
        if extra:
            return calibrate(np.asarray(model.decision_function(rows)), extra)
        return np.asarray(model.predict_proba(rows))


def choose_trial(trials: list[Trial], n: int) -> Trial:
    """Return the trial of best accuracy; among those that chance could make as good, the one of least log-loss."""
    best = max(trial.score for trial in trials)
    error = np.sqrt(max(best * (1 - best), 1e-12) / n)
    return min((trial for trial in trials if trial.score >= best - TIES * error), key=lambda trial: trial.tie)


def fit_calibration(values: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    """Return the logistic regression from decision values of rows left out to classes, as plain numbers."""
    found = LogisticRegression(C=10.0, max_iter=1000).fit(values.reshape(len(values), -1), codes)
    return {"slopes": found.coef_.tolist(), "offsets": found.intercept_.tolist()}


def calibrate(values: np.ndarray, extra: dict[str, Any]) -> np.ndarray:
    """Return probabilities from decision values."""
    odds = values.reshape(len(values), -1) @ np.array(extra["slopes"]).T + np.array(extra["offsets"])
    return np.column_stack([expit(-odds), expit(odds)]) if odds.shape[1] == 1 else np.asarray(softmax(odds, axis=1))
