"""Candidates for classification: how each is tuned, and what it scores on rows left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from mercer.formula.data import pick
from mercer.kernels import Gaussian, Kernel, Linear
from mercer.models.import_vector import ImportVectorMachine
from mercer.models.logistic import KernelLogisticRegression
from mercer.models.logistic_cv import KernelLogisticRegressionCV
from mercer.models.neighbors import KernelNeighborsClassifier
from mercer.models.parzen import ParzenClassifier
from mercer.models.ridge_classifier import KernelRidgeClassifier
from mercer.models.svm import SVC
from mercer.models.svm_cv import SVCCV

from ._search import FOLDS, PLENTY, SCARCE, SEARCH_ROWS, Recipe, Search, Trial
from ._tables import View, left_out, shuffled_folds
from ._tuning import rounded, scales_of, stretched

MODELS = ("auto", "ridge", "svm", "logistic", "import_vector", "neighbors", "parzen")
STRETCHES = (0.5, 1.0, 2.0)  # of the kernel tuned for least squares
ALPHAS = np.logspace(-3.0, 1.0, 7)  # of logistic regression
SEARCH_FOLDS = 3  # of the rows that the penalty of logistic regression is chosen on
NEIGHBORS = (1, 3, 7, 15, 31)
TIES = 0.5  # standard errors of an accuracy within which the log-loss decides


class ClassificationCandidates:
    """Recipes for the tuning rows of a search.

    Parameters
    ----------
    search : Search
        Rows, kernels and time.
    codes : int array of shape (n,)
        Classes of the tuning rows, as numbers from 0.
    classes : int
        How many there are.
    options : dict
        ``memory`` and ``random_state`` of the estimators.
    """

    def __init__(self, search: Search, codes: np.ndarray, classes: int, options: dict[str, Any]) -> None:
        self.search, self.codes, self.classes, self.options = search, codes, classes, options
        counts = np.bincount(codes)
        self.folds = shuffled_folds(
            len(codes), int(max(2, min(FOLDS, counts[counts > 1].min(initial=2)))), search.rng, codes
        )

    def recipes(self, model: str) -> list[Recipe]:
        """Return what is to be tried, in order of promise: the fewer rows for each length scale, the later."""
        single = {
            "ridge": ("ridge", self.ridge), "import_vector": ("import vectors", self.import_vectors),
            "neighbors": ("nearest neighbours", self.neighbors), "parzen": ("Parzen windows", self.parzen),
        }  # fmt: skip
        if model in single:
            name, make = single[model]
            return [Recipe(name, make, 1.0, "" if model == "parzen" else "indicators")]
        logistic, machines = model in ("auto", "logistic"), model in ("auto", "svm")
        ways = ["indicators"] + ["overlap"] * (self.search.tables.mixed and self.search.given is None)
        tuned = {way: self._tuned(way, logistic, machines) for way in ways}
        encoder = self.search.view("indicators").encoder
        if self.search.given is not None or not encoder.is_numeric:
            return [recipe for way in ways for recipe in tuned[way]]
        plain = []
        if logistic:
            plain.append(Recipe("logistic regression, one length scale", self.isotropic_logistic, 0.5))
        if machines:
            plain.append(Recipe("support vectors, one length scale", self.isotropic, 0.5))
        if logistic:
            plain.append(Recipe("logistic regression, linear", self.linear, 0.3))
        share = len(self.codes) / len(encoder.names("numeric"))  # rows for each length scale
        order = [plain, tuned.get("overlap", []), tuned["indicators"] if share >= SCARCE else []]
        return [recipe for part in (order if share < PLENTY else order[::-1]) for recipe in part]

    def _tuned(self, way: str, logistic: bool, machines: bool) -> list[Recipe]:
        found = []
        if logistic:
            found.append(Recipe(_named("logistic regression", way), lambda: self.logistic(way), 1.0, way))
        if machines:
            found.append(Recipe(_named("support vectors", way), lambda: self.support_vectors(way), 0.5, way))
        return found

    def logistic(self, categories: str) -> Trial:
        """Logistic regression, with penalty and stretch of least log-loss."""
        view, kernel = self.search.view(categories), self.search.kernel(categories)
        return self._logistic(_named("logistic regression", categories), view, self._stretched(kernel), categories)

    def isotropic_logistic(self) -> Trial:
        """Logistic regression with one length scale for all columns."""
        view = self.search.view("indicators")
        kernels: list[Kernel] = [Gaussian(scale) for scale in scales_of(view.rows)]
        return self._logistic("logistic regression, one length scale", view, kernels)

    def linear(self) -> Trial:
        """Logistic regression with a linear kernel."""
        return self._logistic("logistic regression, linear", self.search.view("indicators"), [Linear()])

    def support_vectors(self, categories: str) -> Trial:
        """A support vector machine, with C and stretch of best accuracy."""
        view, kernel = self.search.view(categories), self.search.kernel(categories)
        found = max((self._svm(view, stretch) for stretch in self._stretched(kernel)), key=lambda svm: svm.best_score_)
        return self._machine(_named("support vectors", categories), view, found, categories)

    def isotropic(self) -> Trial:
        """A support vector machine with one length scale for all columns."""
        view = self.search.view("indicators")
        return self._machine("support vectors, one length scale", view, self._svm(view, None))

    def ridge(self) -> Trial:
        """Least squares on the labels."""
        view, kernel = self.search.view("indicators"), self.search.kernel("indicators")
        found = KernelRidgeClassifier(kernel=kernel, **self.options).fit(view.rows, self.codes)
        model = KernelRidgeClassifier(found.alpha_, kernel=kernel, **self.options)
        return self._calibrated("ridge", model, view, kernel, "indicators")

    def import_vectors(self) -> Trial:
        """Logistic regression on few points, with the penalty of the one on all."""
        dense = self.logistic("indicators")
        model = ImportVectorMachine(dense.estimator.alpha, kernel=dense.kernel, **self.options)
        return self._with_probabilities(
            "import vectors", model, self.search.view("indicators"), dense.kernel, "indicators"
        )

    def neighbors(self) -> Trial:
        """A vote of the nearest rows, as many as are best."""
        view, kernel = self.search.view("indicators"), self.search.kernel("indicators")
        trials = []
        for k in [k for k in NEIGHBORS if k < 0.8 * len(self.codes)] or [1]:
            model = KernelNeighborsClassifier(k, kernel=kernel, weights="distance", memory=self.options["memory"])
            trials.append(self._with_probabilities(f"{k} nearest neighbours", model, view, kernel, "indicators"))
        return max(trials, key=lambda trial: (trial.score, -trial.tie))

    def parzen(self) -> Trial:
        """The densities of the classes, by windows."""
        view = self.search.view("indicators")
        model = ParzenClassifier(**self.options)
        kernel = model.fit(view.rows, self.codes).kernel_
        return self._with_probabilities("Parzen windows", model, view, kernel)

    # -- pieces -------------------------------------------------------------------------------------------------------

    def _stretched(self, kernel: Kernel) -> list[Kernel]:
        if self.search.given is not None:
            return [kernel]
        kernels = [stretched(kernel, factor) for factor in STRETCHES]
        return [k for i, k in enumerate(kernels) if k not in kernels[:i]]

    def _logistic(self, name: str, view: View, kernels: list[Kernel], tuned: str = "") -> Trial:
        level = float(np.mean(kernels[0].diag(view.rows))) or 1.0
        some = self._some()
        found = KernelLogisticRegressionCV(ALPHAS * level, kernels, cv=SEARCH_FOLDS, tol=1e-4, **self.options)
        found.fit(pick(view.rows, some), self.codes[some])
        model = KernelLogisticRegression(found.alpha_, kernel=found.kernel_, tol=1e-6, **self.options)
        return self._with_probabilities(name, model, view, found.kernel_, tuned)

    def _some(self) -> np.ndarray:
        """Return rows enough to choose a penalty on: some at random, and of every class as many as folds need."""
        order = self.search.rng.permutation(len(self.codes))
        first = [order[np.flatnonzero(self.codes[order] == code)[:SEARCH_FOLDS]] for code in range(self.classes)]
        enough = [rows for rows in first if len(rows) == SEARCH_FOLDS]  # rarer classes have no say in it
        some = np.unique(np.concatenate([*enough, order[:SEARCH_ROWS]]))
        common = np.isin(self.codes[some], [self.codes[rows[0]] for rows in enough])
        return np.asarray(some[common] if len(enough) > 1 else some)

    def _svm(self, view: View, kernel: Kernel | None) -> SVCCV:
        found = SVCCV(kernel=kernel, cv=self.folds, refit=False, memory=self.options["memory"])
        return found.fit(view.rows, self.codes)

    def _machine(self, name: str, view: View, found: SVCCV, tuned: str = "") -> Trial:
        kernel = rounded(found.kernel_)
        machine = SVC(C=float(f"{found.C_:.4g}"), kernel=kernel, memory=self.options["memory"])
        return self._calibrated(name, machine, view, kernel, tuned)

    def _with_probabilities(self, name: str, model: Any, view: View, kernel: Kernel, tuned: str = "") -> Trial:
        start = np.full((len(self.codes), self.classes), 1.0 / self.classes)
        models = self._of_folds(model, kernel, tuned)
        outputs = left_out(models, view.rows, self.codes, self.folds, "predict_proba", start)
        return self._trial(name, model, view, kernel, outputs, {})

    def _calibrated(self, name: str, model: Any, view: View, kernel: Kernel, tuned: str = "") -> Trial:
        shape = (len(self.codes),) if self.classes == 2 else (len(self.codes), self.classes)
        models = self._of_folds(model, kernel, tuned)
        values = left_out(models, view.rows, self.codes, self.folds, "decision_function", np.zeros(shape))
        extra = calibration(values, self.codes)
        return self._trial(name, model, view, kernel, calibrated(values, extra), extra)

    def _of_folds(self, model: Any, kernel: Kernel, tuned: str) -> list[Any]:
        """Return the model for each fold, with a kernel that has not seen it where that makes a difference."""
        if not tuned or self.search.given is not None:
            return [model] * len(self.folds)
        own = self.search.kernel(tuned)
        kernels = self.search.fold_kernels(tuned, own, self.folds)
        if kernels[0] is own:
            return [model] * len(self.folds)
        factor = next(factor for factor in STRETCHES if stretched(own, factor) == kernel)
        return [clone(model).set_params(kernel=stretched(k, factor)) for k in kernels]

    def _trial(self, name: str, model: Any, view: View, kernel: Kernel, outputs: np.ndarray, extra: Any) -> Trial:
        accuracy = float(np.mean(outputs.argmax(axis=1) == self.codes))
        loss = float(log_loss(self.codes, safe(outputs), labels=np.arange(self.classes)))
        note = f"log-loss {loss:.3f}"
        return Trial(name, model, view.encoder, kernel, outputs, score=accuracy, tie=loss, extra=extra, note=note)


def chosen(trials: list[Trial], n: int) -> Trial:
    """Return the trial of best accuracy; among those that chance could make as good, the one of least log-loss."""
    best = max(trial.score for trial in trials)
    error = np.sqrt(max(best * (1 - best), 1e-12) / n)
    return min((trial for trial in trials if trial.score >= best - TIES * error), key=lambda trial: trial.tie)


def calibration(values: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    """Return the logistic regression from decision values of rows left out to classes, as plain numbers.

    Examples
    --------
    >>> import numpy as np
    >>> found = calibration(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1]))
    >>> calibrated(np.array([0.0, 3.0]), found).round(1)
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    found = LogisticRegression(C=10.0, max_iter=1000).fit(values.reshape(len(values), -1), codes)
    return {"slopes": found.coef_.tolist(), "offsets": found.intercept_.tolist()}


def calibrated(values: np.ndarray, extra: dict[str, Any]) -> np.ndarray:
    """Return probabilities from decision values."""
    odds = values.reshape(len(values), -1) @ np.array(extra["slopes"]).T + np.array(extra["offsets"])
    return np.column_stack([expit(-odds), expit(odds)]) if odds.shape[1] == 1 else np.asarray(softmax(odds, axis=1))


def safe(probabilities: np.ndarray) -> np.ndarray:
    """Return probabilities that are never 0, as the log-loss wants them."""
    clipped = np.clip(probabilities, 1e-6, 1.0)
    return np.asarray(clipped / clipped.sum(axis=1, keepdims=True))


def _named(name: str, categories: str) -> str:
    return name if categories == "indicators" else f"{name}, a sum of kernels for numbers and categories"
