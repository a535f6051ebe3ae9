"""Probabilities of support vector machines: as good as scikit-learn's, calibrated, and the same every time."""

import warnings

import numpy as np
import pytest
import sklearn.svm
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from mercer.kernels import Gaussian, Spectrum
from mercer.models import SVC, NuSVC
from mercer.solvers.machines.pairs import list_pairs
from mercer.solvers.machines.platt import couple_pairs, fit_sigmoid

pytestmark = pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")


def _halves(classes):
    X, y = make_classification(
        400, 6, n_informative=4, n_classes=classes, flip_y=0.15, class_sep=0.8, random_state=classes
    )
    return X[:200], y[:200], X[200:], y[200:]


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("kind", ["SVC", "NuSVC"])
def test_log_losses_on_new_points_are_those_of_scikit_learn(classes, kind):
    X, y, new, truth = _halves(classes)
    options = {"nu": 0.4} if kind == "NuSVC" else {"C": 2.0}
    ours = {"SVC": SVC, "NuSVC": NuSVC}[kind](probability=True, random_state=0, **options).fit(X, y)
    theirs = getattr(sklearn.svm, kind)(probability=True, random_state=0, **options).fit(X, y)
    mine, their = (log_loss(truth, model.predict_proba(new)) for model in (ours, theirs))
    assert mine <= 1.05 * their
    assert mine < 0.9 * np.log(classes)  # of a guess
    assert np.abs(ours.predict_proba(new) - theirs.predict_proba(new)).mean() < 0.05
    np.testing.assert_allclose(ours.predict_proba(new).sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(ours.predict_log_proba(new)), ours.predict_proba(new))
    np.testing.assert_array_equal(ours.predict(new), clone(ours).set_params(probability=False).fit(X, y).predict(new))


def test_probabilities_are_calibrated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 2))
    p = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = rng.uniform(size=2500) < p
    model = SVC(kernel="linear", probability=True).fit(X[:500], y[:500])
    assert np.abs(model.predict_proba(X[500:])[:, 1] - p[500:]).mean() < 0.05  # where a guess of ½ is off by 0.28


def test_the_parameters_of_the_sigmoid_have_the_meaning_and_the_warning_of_scikit_learn():
    X, y, new, _ = _halves(2)
    model = SVC(probability=True).fit(X, y)
    theirs = sklearn.svm.SVC(probability=True, random_state=0).fit(X, y)
    with pytest.warns(FutureWarning, match="probA_.*deprecated"):
        A = model.probA_
    with pytest.warns(FutureWarning, match="probB_.*deprecated"):
        B = model.probB_
    first = 1 / (1 + np.exp(A * -model.decision_function(new) + B))
    np.testing.assert_allclose(model.predict_proba(new)[:, 0], first, rtol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        assert pytest.approx(theirs.probA_, rel=0.3) == A
        assert pytest.approx(theirs.probB_, abs=0.3) == B


@pytest.mark.filterwarnings("default:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize("probability", [True, False])
def test_the_parameter_is_deprecated_as_in_scikit_learn(probability):
    X, y = load_iris(return_X_y=True)
    for module in (SVC, sklearn.svm.SVC):
        with pytest.warns(FutureWarning, match="`probability` parameter was deprecated.*CalibratedClassifierCV"):
            model = module(probability=probability).fit(X, y)
        assert hasattr(model, "predict_proba") == probability


def test_folds_follow_the_random_state_and_nothing_else():
    X, y, new, _ = _halves(3)
    fits = [SVC(probability=True, random_state=seed).fit(X, y).predict_proba(new) for seed in (0, 0, 1, None, None)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert np.abs(fits[0] - fits[2]).max() > 0
    np.testing.assert_array_equal(fits[3], fits[4])


def test_probabilities_come_from_all_kinds_of_kernels_and_points():
    X, y, new, _ = _halves(3)
    k = Gaussian(2.0)
    direct = SVC(kernel=k, probability=True).fit(X, y).predict_proba(new)
    matrix = SVC(kernel="precomputed", probability=True).fit(k(X), y).predict_proba(k(new, X))
    function = SVC(kernel=lambda A, B: k(A, B), probability=True).fit(X, y).predict_proba(new)
    np.testing.assert_allclose(matrix, direct, atol=1e-3)
    np.testing.assert_allclose(function, direct, atol=1e-3)
    words = ["abab", "aabb", "baba", "bbbb", "abba", "bbab"] * 5
    p = SVC(kernel=Spectrum(2), probability=True).fit(words, [0, 1, 0, 1, 0, 1] * 5).predict_proba(words)
    assert p.shape == (30, 2)


def test_points_of_weight_zero_and_the_unit_of_weights_change_no_probability():
    X, y, new, _ = _halves(2)
    weights = np.where(np.arange(200) < 50, 0.0, 1.0)
    plain = SVC(probability=True, tol=1e-6).fit(X[50:], y[50:]).predict_proba(new)
    np.testing.assert_allclose(SVC(probability=True, tol=1e-6).fit(X, y, weights).predict_proba(new), plain, atol=1e-6)
    scaled = SVC(probability=True, tol=1e-6, C=1e5).fit(X[50:], y[50:], np.full(150, 1e-5)).predict_proba(new)
    np.testing.assert_allclose(scaled, plain, atol=1e-4)


def test_few_points_of_a_class_still_have_probabilities():
    X = np.array([[0.0], [0.1], [0.2], [5.0]])
    p = SVC(probability=True).fit(X, [0, 0, 0, 1]).predict_proba(X)
    assert np.isfinite(p).all()
    p = NuSVC(nu=0.5, probability=True).fit(np.r_[X, X + 0.05], [0, 0, 0, 1] * 2).predict_proba(X)
    assert np.isfinite(p).all()


def test_a_search_can_score_by_log_loss():
    X, y, _, _ = _halves(2)
    search = GridSearchCV(SVC(probability=True), {"C": [0.1, 1.0]}, scoring="neg_log_loss", cv=3).fit(X, y)
    assert search.best_score_ > -np.log(2)


def test_asking_after_a_fit_without_says_so():
    X, y, _, _ = _halves(2)
    model = SVC().fit(X, y).set_params(probability=True)
    with pytest.raises(NotFittedError, match="fitted with probability=False"):
        model.predict_proba(X)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_the_sigmoid_is_the_minimum_that_a_generic_optimiser_finds(size):
    rng = np.random.default_rng(2)
    first = rng.uniform(size=80) < 0.3
    v, w = np.where(first, 1.0, -1.0) + rng.normal(size=80), rng.uniform(0.5, 2, 80)
    w *= 80 / w.sum()
    target = np.where(first, (w[first].sum() + 1) / (w[first].sum() + 2), 1 / (w[~first].sum() + 2))

    def loss(z):
        g = z[0] * v + z[1]
        return w @ (target * np.logaddexp(0, g) + (1 - target) * np.logaddexp(0, -g))

    best = minimize(loss, [-1.0, 0.0], tol=1e-12)
    A, B = fit_sigmoid(size * v, first, w)
    assert loss([A * size, B]) == pytest.approx(best.fun, rel=1e-9)


def test_coupled_pairs_minimise_their_disagreement():
    rng = np.random.default_rng(1)
    for count in (3, 4, 6):
        pairs = rng.uniform(0.01, 0.99, size=(5, len(list_pairs(count))))
        found = couple_pairs(pairs, count)
        assert (found >= 0).all()

        def disagreement(p, r, count=count):
            return sum(((1 - s) * p[i] - s * p[j]) ** 2 for s, (i, j) in zip(r, list_pairs(count), strict=True))

        for p, r in zip(found, pairs, strict=True):
            for _ in range(20):
                other = rng.dirichlet(np.ones(count))
                assert disagreement(p, r) <= disagreement(0.9 * p + 0.1 * other, r) + 1e-12
