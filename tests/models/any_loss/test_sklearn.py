"""scikit-learn's conventions, for models of any loss."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.callback import FitCallback
from sklearn.exceptions import SkipTestWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from mercer import KernelClassifier, KernelQuantileRegressor, KernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import CustomLoss, Huber, Quantile, Squared

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=60)
WIDE = dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix", "check_regressors_train"),
    "predictions have a column for each level",
)


def softplus(y, f):
    return np.logaddexp(y - f, f - y)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (KernelRegressor(), {}),
        (KernelRegressor("Huber(.5)"), {}),
        (KernelRegressor("Quantile(.3)", tol=1e-9), {}),
        (KernelRegressor(CustomLoss(softplus)), {}),
        (KernelClassifier(), {}),
        (KernelClassifier("Hinge", tol=1e-10), {}),
        (KernelClassifier("Softmax"), {}),
        (KernelQuantileRegressor(0.5, tol=1e-9), {}),
        (KernelQuantileRegressor([0.2, 0.6], tol=1e-9), WIDE),
    ],
    ids=lambda value: "" if isinstance(value, dict) else str(value),
)
def test_the_checks_of_scikit_learn_pass(model, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # the array API is not enabled
        check_estimator(model, expected_failed_checks=expected, on_skip=None, on_fail="raise")


def test_parameters_of_losses_and_kernels_are_parameters_of_models():
    model = KernelRegressor(Huber(2.0), kernel=Gaussian())
    assert model.get_params()["loss__width"] == 2.0
    model.set_params(loss__width=0.5, kernel__length_scale=3.0)
    assert (model.loss, model.kernel) == (Huber(0.5), Gaussian(3.0))
    assert clone(model).loss == Huber(0.5)
    with pytest.raises(ValueError, match="cannot set loss__width, because loss is 'Huber', which has no parameters"):
        KernelRegressor("Huber").set_params(loss__width=1.0)


def test_losses_are_searched_over_as_texts_and_as_objects():
    grid = {"loss": ["Squared", Huber(0.5), Quantile(0.5)], "alpha": [0.1, 1.0]}
    search = GridSearchCV(KernelRegressor(), grid, cv=3, scoring="neg_mean_absolute_error").fit(X, Y)
    assert search.best_params_["loss"] in grid["loss"]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    pipe = make_pipeline(StandardScaler(), KernelClassifier("SquaredHinge")).fit(X, Y > 0)
    assert pipe.set_params(kernelclassifier__loss="Hinge").fit(X, Y > 0).score(X, Y > 0) > 0.9


def test_tables_keep_the_names_of_their_columns():
    frame = pd.DataFrame(X, columns=["a", "b"])
    for model in (KernelRegressor("Huber"), KernelQuantileRegressor()):
        assert list(model.fit(frame, pd.Series(Y)).feature_names_in_) == ["a", "b"]
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame[["b", "a"]])
        with pytest.raises(ValueError, match=r"3 features, but .* is expecting 2"):
            model.fit(X, Y).predict(np.zeros((2, 3)))


@pytest.mark.parametrize("model", [KernelRegressor("Huber"), KernelQuantileRegressor(tol=1e-8)], ids=str)
def test_sparse_rows_are_rows(model):
    full = model.fit(X, Y).predict(X)
    np.testing.assert_allclose(clone(model).fit(sparse.csr_array(X), Y).predict(sparse.csr_array(X)), full, atol=1e-4)


@pytest.mark.parametrize(
    "model",
    [
        KernelRegressor("Huber(.2)", tol=1e-12, kernel=Gaussian()),
        KernelRegressor("Quantile(.3)", tol=1e-9, kernel=Gaussian()),
        KernelQuantileRegressor([0.3, 0.6], tol=1e-9, kernel=Gaussian()),
        KernelClassifier("SquaredHinge", tol=1e-12, kernel=Gaussian()),
    ],
    ids=str,
)
def test_weights_are_repeats(model):
    y = Y > 0 if isinstance(model, KernelClassifier) else Y
    method = "decision_function" if isinstance(model, KernelClassifier) else "predict"
    counts = np.arange(60) % 3
    weighted = clone(model).fit(X, y, counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(getattr(weighted, method)(X), getattr(repeated, method)(X), atol=1e-4)
    twice = clone(model).set_params(alpha=0.2).fit(X, y, 2.0)
    np.testing.assert_allclose(getattr(twice, method)(X), getattr(clone(model).fit(X, y), method)(X), atol=1e-4)
    with pytest.raises(ValueError, match=r"not negative, but sample_weight\[1\] is -1.0"):
        model.fit(X, y, np.where(np.arange(60) == 1, -1.0, 1.0))


class Heard(FitCallback):
    def __init__(self):
        self.seen = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **data):
        self.seen.append("begin")

    def on_fit_task_end(self, estimator, context, **data):
        self.seen.append("end")


@pytest.mark.parametrize("model", [KernelRegressor("Huber"), KernelClassifier(), KernelQuantileRegressor()], ids=str)
def test_callbacks_hear_of_a_fit(model):
    heard = Heard()
    y = Y > 0 if isinstance(model, KernelClassifier) else Y
    model.set_callbacks(heard).fit(X, y)
    assert heard.seen[0] == "begin"
    assert heard.seen[-1] == "end"


def test_a_fit_that_fails_changes_nothing():
    model = KernelRegressor(Squared()).fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="y must have shape"):
        model.fit(X[:9], Y)
    assert vars(model) == before


@pytest.mark.parametrize("loss", ["Squared", "Absolute", "Quantile(.9)", "Huber(.5)", "LogCosh", "Poisson", "Gamma"])
@pytest.mark.parametrize("n", [1, 30])
@pytest.mark.parametrize("size", [3.3, 1e6])
def test_targets_that_are_all_the_same_are_fitted_by_the_intercept(loss, n, size):
    model = KernelRegressor(loss).fit(X[:n], np.full(n, size))
    assert model.converged_
    np.testing.assert_allclose(model.predict(X[:n]), size, rtol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_large_counts_are_fitted(seed):
    # The objective is -1e9, and rounding hides what the last steps gain.
    y = np.random.default_rng(seed).poisson(1e6 * np.exp(X[:, 0])).astype(float)
    model = KernelRegressor("Poisson", 0.1).fit(X, y)
    assert model.duality_gap_.relative <= 1e-6
    assert np.abs(model.predict(X) / y - 1).max() < 0.2
