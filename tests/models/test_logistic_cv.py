"""Kernel logistic regression that chooses its penalty and its length scale."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import LeaveOneOut, StratifiedKFold, cross_val_predict
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from mercer.kernels import Custom, Gaussian, Laplacian, Linear
from mercer.models.logistic import KernelLogisticRegression
from mercer.models.logistic_cv import KernelLogisticRegressionCV
from mercer.solvers.representer import scores as logistic_scores

ALPHAS = [0.01, 0.1, 1.0, 10.0]


def _data(classes=2, n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    score = X[:, 0] + X[:, 1] ** 2 + 0.7 * rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1]))


@pytest.mark.parametrize("classes", [2, 3])
def test_folds_give_the_log_loss_of_scikit_learn(classes):
    X, y = _data(classes)
    model = KernelLogisticRegressionCV(ALPHAS, Gaussian(), cv=4).fit(X, y)
    assert model.path_["by"] == "folds"
    for j, alpha in enumerate(ALPHAS):
        single = KernelLogisticRegression(alpha, kernel=Gaussian())
        p = cross_val_predict(single, X, y, cv=StratifiedKFold(4), method="predict_proba")
        assert model.path_["log_losses"][0, j] == pytest.approx(log_loss(y, p), rel=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_leaving_one_out_is_close_to_real_refits_where_it_chooses(classes):
    X, y = _data(classes, n=40)
    model = KernelLogisticRegressionCV([0.1, 1.0, 10.0], Gaussian()).fit(X, y)
    assert model.path_["by"] == "leave-one-out"
    single = KernelLogisticRegression(model.alpha_, kernel=Gaussian())
    p = cross_val_predict(single, X, y, cv=LeaveOneOut(), method="predict_proba")
    assert -model.best_score_ == pytest.approx(log_loss(y, p), rel=0.05)


def test_an_approximation_that_refits_contradict_is_not_used(monkeypatch):
    X, y = _data()
    true = logistic_scores.approximate_loo
    monkeypatch.setattr(logistic_scores, "approximate_loo", lambda *args: 0.3 * true(*args))
    model = KernelLogisticRegressionCV(ALPHAS, Gaussian()).fit(X, y)
    assert model.path_["by"] == "folds"


def test_many_points_are_judged_by_folds_of_a_sample(monkeypatch):
    monkeypatch.setattr(logistic_scores, "LOO_LIMIT", 20)
    monkeypatch.setattr(logistic_scores, "PATH_LIMIT", 50)
    monkeypatch.setattr(logistic_scores, "PATH_SAMPLE", 40)
    X, y = _data(3, n=120)
    y[y == 2] = 1
    y[:3] = 2  # a rare class must be in the sample
    model = KernelLogisticRegressionCV(ALPHAS, Gaussian(), random_state=0).fit(X, y)
    assert model.path_["by"] == "folds"
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    assert len(model.dual_coef_) == 120


def test_the_model_is_that_of_the_chosen_penalty_and_kernel():
    X, y = _data(3)
    weights = np.linspace(0.5, 2.0, len(y))
    model = KernelLogisticRegressionCV(ALPHAS, Gaussian(), length_scales=[0.3, 1.0, 3.0]).fit(X, y, weights)
    losses = model.path_["log_losses"]
    assert losses.shape == (3, 4)
    assert model.path_["length_scales"] == [0.3, 1.0, 3.0]
    i, j = np.unravel_index(losses.argmin(), losses.shape)
    assert model.kernel_ == Gaussian([0.3, 1.0, 3.0][i])
    assert model.alpha_ == ALPHAS[j]
    assert model.best_score_ == -losses.min()
    single = KernelLogisticRegression(model.alpha_, kernel=model.kernel_).fit(X, y, weights)
    np.testing.assert_array_equal(model.predict_proba(X), single.predict_proba(X))
    assert model.converged_


def test_several_kernels_are_compared():
    X, y = _data()
    model = KernelLogisticRegressionCV(ALPHAS, [Linear(), Gaussian(), Laplacian()]).fit(X, y)
    assert model.path_["kernels"] == [Linear(), Gaussian(), Laplacian()]
    assert model.kernel_ != Linear()  # the boundary is a parabola


def test_the_order_of_penalties_does_not_matter():
    X, y = _data()
    one = KernelLogisticRegressionCV(ALPHAS, Gaussian()).fit(X, y)
    other = KernelLogisticRegressionCV(ALPHAS[::-1], Gaussian()).fit(X, y)
    np.testing.assert_allclose(one.path_["log_losses"], other.path_["log_losses"][:, ::-1])


def test_zero_weights_are_absence_in_the_choice_too():
    X, y = _data()
    weights = (np.arange(len(y)) % 3 > 0).astype(float)
    weighed = KernelLogisticRegressionCV(ALPHAS, Gaussian()).fit(X, y, weights)
    fewer = KernelLogisticRegressionCV(ALPHAS, Gaussian()).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_allclose(weighed.path_["log_losses"], fewer.path_["log_losses"])


def test_objects_and_precomputed_matrices_will_do():
    words = ["ab", "abc", "abd", "bad", "xy", "xyz", "wxy", "yx"]
    labels = np.repeat(["first", "second"], 4)
    kernel = Custom(lambda x, z: float(len(set(x) & set(z))))
    model = KernelLogisticRegressionCV(ALPHAS, kernel).fit(words, labels)
    assert model.predict(["abe", "xyv"]).tolist() == ["first", "second"]
    given = KernelLogisticRegressionCV(ALPHAS, "precomputed").fit(kernel(words), labels)
    np.testing.assert_allclose(given.path_["log_losses"], model.path_["log_losses"])
    np.testing.assert_allclose(given.predict_proba(kernel(words)), model.predict_proba(words))


class Recorder:
    """A callback that counts steps, and may interrupt."""

    def __init__(self, interrupt_at=None):
        self.steps, self.closed, self.interrupt_at = 0, False, interrupt_at

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.steps += context.task_name == "step"
        if self.steps == self.interrupt_at:
            raise KeyboardInterrupt
        return False

    def teardown(self, estimator, context):
        self.closed = True


def test_callbacks_are_told_of_every_kernel():
    recorder = Recorder()
    model = KernelLogisticRegressionCV(ALPHAS, Gaussian(), [0.5, 1.0, 2.0]).set_callbacks(recorder)
    model.fit(*_data())
    assert recorder.closed
    assert recorder.steps == 3


def test_an_interrupted_fit_leaves_the_object_unfitted():
    recorder = Recorder(interrupt_at=2)
    model = KernelLogisticRegressionCV(ALPHAS, Gaussian(), [0.5, 1.0, 2.0]).set_callbacks(recorder)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*_data())
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"alphas": [1.0, 0.0]}, ValueError, "positive penalties"),
        ({"alphas": []}, ValueError, "positive penalties"),
        ({"length_scales": 2.0}, ValueError, "list of length scales"),
        ({"kernel": Linear(), "length_scales": [1.0]}, ValueError, "no length scale"),
        ({"kernel": ["rbf", Gaussian()]}, TypeError, "several kernels"),
        ({"tol": 0.0}, ValueError, "tol must be"),
        ({"solver": "magic"}, ValueError, "solver must be"),
    ],
    ids=str,
)
def test_bad_options_are_named_and_leave_the_object_unfitted(options, error, message):
    model = KernelLogisticRegressionCV(**{"alphas": [1.0], **options})
    with pytest.raises(error, match=message):
        model.fit(*_data())
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_a_class_of_one_point_cannot_be_in_folds(monkeypatch):
    monkeypatch.setattr(logistic_scores, "LOO_LIMIT", 0)
    X, y = _data()
    y[0] = 7
    with pytest.raises(ValueError, match="class 7 has 1"):
        KernelLogisticRegressionCV(ALPHAS, Gaussian()).fit(X, y)


def test_without_arguments_it_is_close_to_the_best_of_its_grid():
    X, y = make_moons(200, noise=0.25, random_state=1)
    model = KernelLogisticRegressionCV().fit(X[:100], y[:100])
    chosen = log_loss(y[100:], model.predict_proba(X[100:]))
    rivals = [
        KernelLogisticRegression(alpha, kernel=kernel, tol=1e-4).fit(X[:100], y[:100]).predict_proba(X[100:])
        for kernel in model.path_["kernels"]
        for alpha in model.path_["alphas"][::3]
    ]
    assert chosen < 1.3 * min(log_loss(y[100:], p) for p in rivals)


@pytest.mark.slow
def test_the_checks_of_scikit_learn_pass():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # the array API is not enabled
        check_estimator(KernelLogisticRegressionCV(alphas=[1.0], length_scales=[1.0], cv=2))
