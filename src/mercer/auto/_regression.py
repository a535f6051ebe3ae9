"""Candidates for regression: how each is tuned, and what it scores on rows left out."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.kernels import Gaussian, Kernel, Linear, Matern
from mercer.models.neighbors import KernelNeighborsRegressor
from mercer.models.parzen import ParzenRegressor
from mercer.models.ridge import KernelRidge
from mercer.models.ridge_cv import KernelRidgeCV
from mercer.models.svm_cv import SVRCV

from ._search import FOLDS, PLENTY, SCARCE, SEARCH_ROWS, Recipe, Search, Trial
from ._tables import View, left_out, shuffled_folds
from ._tuning import scales_of

SKEW = 1.0  # skewness from which the logarithm of a positive target is tried
NEIGHBORS = (2, 4, 8, 16, 32)
MODELS = ("auto", "ridge", "svm", "neighbors", "parzen")


class RegressionCandidates:
    """Recipes for the tuning rows of a search.

    Parameters
    ----------
    search : Search
        Rows, kernels and time.
    y : array of shape (n,)
        Targets of the tuning rows.
    options : dict
        ``memory`` and ``random_state`` of the estimators.
    """

    def __init__(self, search: Search, y: np.ndarray, options: dict[str, Any]) -> None:
        self.search, self.y, self.options = search, y, options
        self.folds = shuffled_folds(len(y), min(FOLDS, len(y)), search.rng)

    def recipes(self, model: str) -> list[Recipe]:
        """Return what is to be tried, in order of promise."""
        if model == "neighbors":
            return [Recipe("nearest neighbours", self.neighbors, 1.0, "indicators")]
        if model == "parzen":
            return [Recipe("Parzen windows", self.parzen)]
        free, ridge, encoder = self.search.given is None, model != "svm", self.search.view("indicators").encoder
        share = len(self.y) / max(1, len(encoder.names("numeric")))  # rows for each length scale
        scarce = free and encoder.is_numeric and share < SCARCE
        found = []
        if ridge:
            ways = ["indicators"] * (not scarce) + ["overlap"] * (self.search.tables.mixed and free)
            found = [Recipe(_named("ridge", way), partial(self.ridge, way), 1.0, way) for way in ways]
        if ridge and free and encoder.is_numeric:
            simple = Recipe("ridge, linear or one length scale", self.simple, 0.5)
            found.insert(0 if share < PLENTY else 1, simple)
        if ridge and not scarce and looks_logarithmic(self.y):
            found.append(Recipe("ridge on the logarithm of the target", self.logarithmic, 1.0))
        if model == "svm" or (model == "auto" and not scarce):
            found.append(Recipe("support vectors", self.support_vectors, 0.6, "indicators"))
        return found

    def ridge(self, categories: str) -> Trial:
        """Ridge, with the penalty of the least leave-one-out error."""
        view, kernel = self.search.view(categories), self.search.kernel(categories)
        found = KernelRidgeCV(kernel=kernel, **self.options).fit(view.rows, self.y)
        model, kernels = self._ridge(found), self.search.fold_kernels(categories, kernel, self.folds)
        outputs = found.loo_predictions_ if kernels[0] is kernel else self._left_out(model, view, kernels)
        return self._trial(_named("ridge", categories), model, view, kernel, outputs)

    def simple(self) -> Trial:
        """Ridge with one length scale for all columns, or a linear kernel."""
        view = self.search.view("indicators")
        kernels = [Linear(), *(family(scale) for scale in scales_of(view.rows) for family in (Gaussian, _matern))]
        some = self.search.rng.permutation(len(self.y))[:SEARCH_ROWS]
        best = KernelRidgeCV(kernel=kernels, **self.options).fit(view.rows[some], self.y[some]).kernel_
        found = KernelRidgeCV(kernel=best, **self.options).fit(view.rows, self.y)
        return self._trial(
            "ridge, linear or one length scale", self._ridge(found), view, found.kernel_, found.loo_predictions_
        )

    def logarithmic(self) -> Trial:
        """Ridge on log y; predictions are the exponentials, times a factor that makes their mean right."""
        logs = np.log(self.y)
        view = self.search.view("indicators")
        kernel = self.search.kernel("indicators", standardise(logs)[:, None])
        found = KernelRidgeCV(kernel=kernel, **self.options).fit(view.rows, logs)
        values = np.exp(np.minimum(found.loo_predictions_, logs.max() + 1.0))
        factor = float(self.y.sum() / values.sum())
        extra = {
            "transform": "log",
            "factor": factor,
            "smallest": float(self.y.min()),
            "largest": float(logs.max() + 1.0),
        }
        name = "ridge on the logarithm of the target"
        return self._trial(name, self._ridge(found), view, kernel, factor * values, extra)

    def support_vectors(self) -> Trial:
        """Support vector regression, which large errors pull less; its zone is half of the typical error of ridge."""
        view, kernel = self.search.view("indicators"), self.search.kernel("indicators")
        ridge = KernelRidgeCV(kernel=kernel, **self.options).fit(view.rows, self.y)
        epsilon = float(0.5 * np.median(np.abs(self.y - ridge.loo_predictions_)))
        found = SVRCV(
            kernel=kernel, epsilon=epsilon, cv=self.folds, scoring="neg_mean_squared_error", refit=False,
            memory=self.options["memory"],
        ).fit(view.rows, self.y)  # fmt: skip
        machine = found._machine(kernel, found.C_)
        outputs = self._left_out(machine, view, self.search.fold_kernels("indicators", kernel, self.folds))
        return self._trial("support vectors", machine, view, kernel, outputs)

    def neighbors(self) -> Trial:
        """The mean of the nearest rows, as many as are best."""
        view, kernel = self.search.view("indicators"), self.search.kernel("indicators")
        trials = []
        for k in [k for k in NEIGHBORS if k < len(self.y) * (1 - 1 / FOLDS)] or [1]:
            model = KernelNeighborsRegressor(k, kernel=kernel, weights="distance", memory=self.options["memory"])
            outputs = self._left_out(model, view, self.search.fold_kernels("indicators", kernel, self.folds))
            trials.append(self._trial(f"{k} nearest neighbours", model, view, kernel, outputs))
        return min(trials, key=lambda trial: trial.score)

    def parzen(self) -> Trial:
        """A mean weighted by windows, whose width the model finds."""
        view = self.search.view("indicators")
        model = ParzenRegressor(**self.options)
        outputs = left_out([model] * len(self.folds), view.rows, self.y, self.folds, "predict", np.empty(len(self.y)))
        return self._trial("Parzen windows", model, view, model.fit(view.rows, self.y).kernel_, outputs)

    def _left_out(self, model: Any, view: View, kernels: list[Kernel]) -> np.ndarray:
        models = [clone(model).set_params(kernel=kernel) for kernel in kernels]
        return left_out(models, view.rows, self.y, self.folds, "predict", np.empty(len(self.y)))

    def _ridge(self, found: KernelRidgeCV) -> KernelRidge:
        return KernelRidge(found.alpha_, kernel=found.kernel_, fit_intercept=True, **self.options)

    def _trial(
        self, name: str, estimator: Any, view: Any, kernel: Any, outputs: np.ndarray, extra: Any = None
    ) -> Trial:
        error = float(np.sqrt(np.mean((self.y - outputs) ** 2)))
        extra = {"transform": "identity"} if extra is None else extra
        return Trial(name, estimator, view.encoder, kernel, outputs, score=error, tie=error, extra=extra)


def restored(values: np.ndarray, extra: dict[str, Any]) -> np.ndarray:
    """Return predictions in the units of the target.

    Examples
    --------
    >>> import numpy as np
    >>> restored(np.array([0.0, 9.0]), {"transform": "log", "factor": 2.0, "largest": 0.0})
    array([2., 2.])
    """
    if extra["transform"] == "log":
        return np.asarray(extra["factor"] * np.exp(np.minimum(values, extra["largest"])))
    return values


def looks_logarithmic(y: np.ndarray) -> bool:
    """Whether a target is positive with a long tail that the logarithm takes away.

    Examples
    --------
    >>> import numpy as np
    >>> looks_logarithmic(np.exp(np.linspace(0, 5, 50))), looks_logarithmic(np.linspace(1, 5, 50))
    (True, False)
    """
    if not y.min() > 0:
        return False
    plain, logarithm = (float(np.mean(standardise(values) ** 3)) for values in (y, np.log(y)))
    return plain > SKEW and abs(logarithm) < 0.5 * plain


def standardise(y: np.ndarray) -> np.ndarray:
    """Return targets with mean 0 and deviation 1."""
    spread = float(y.std())
    return np.asarray((y - y.mean()) / (spread if spread > 0 else 1.0))


def _matern(scale: float) -> Matern:
    return Matern(1.5, scale)


def _named(name: str, categories: str) -> str:
    return name if categories == "indicators" else f"{name}, a sum of kernels for numbers and categories"
