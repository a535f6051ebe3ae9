"""SVC with several kernels: weights that are learned or given, and what is refused."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import mercer
from mercer.kernels import Constant, Edit, Gaussian, Linear, Sigmoid, Spectrum
from mercer.models.svm import SVC, NuSVC

RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 3))
TWO = (X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.4).astype(int)
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.4, 0.6])]
KERNELS = [Gaussian().on([j]) for j in range(3)]


@pytest.mark.parametrize("weights", ["simple", "easy", "average", "sum", [1.0, 0.0, 2.0]])
@pytest.mark.parametrize("y", [TWO, THREE])
def test_it_is_the_machine_with_the_weighted_sum(weights, y):
    model = SVC(kernel=KERNELS, weights=weights, C=2.0).fit(X, y)
    scales = [k(X).trace() / 100 - k(X).mean() for k in KERNELS]
    K = sum(w / s * k(X) for w, s, k in zip(model.weights_, scales, KERNELS, strict=True))
    np.testing.assert_allclose(model.kernel_(X), K, rtol=1e-9)
    other = SVC(kernel="precomputed", C=2.0).fit(K, y)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(K), atol=5e-3)
    assert float(model.objective_) == pytest.approx(float(other.objective_), rel=1e-3)
    assert model.converged_


@pytest.mark.parametrize("weights", ["simple", "easy"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_machine_on_matrices_that_are_there_is_that_of_the_learned_kernel(weights, classes):
    words = ["".join(RNG.choice(list("ACGT"), size=15)) for _ in range(80)]
    y = np.digitize([word.count("A") for word in words], [4, 5][: classes - 1])
    model = SVC(kernel=[Spectrum(1), Spectrum(2) + 50.0, Edit(0.3)], weights=weights, tol=1e-8).fit(words, y)
    other = SVC(kernel=model.kernel_, tol=1e-8).fit(words, y)
    np.testing.assert_allclose(model.intercept_, other.intercept_, atol=1e-5)
    np.testing.assert_allclose(model.decision_function(words), other.decision_function(words), atol=1e-5)
    assert float(model.objective_) == pytest.approx(float(other.objective_), rel=1e-6)
    assert list(model.support_vectors_) == [words[i] for i in model.support_]


def test_simple_has_the_least_objective_of_all_weights_of_sum_1():
    least = float(SVC(kernel=KERNELS, weights="simple", C=2.0).fit(X, THREE).objective_)
    for w in RNG.dirichlet(np.ones(3), size=20):
        assert float(SVC(kernel=KERNELS, weights=w, C=2.0).fit(X, THREE).objective_) >= least * (1 - 2e-3)


def test_weights_of_points_and_classes_count():
    factors = np.where(TWO == 1, 5.0, 1.0)
    a = SVC(kernel=KERNELS, weights="simple").fit(X, TWO, factors)
    b = SVC(kernel=KERNELS, weights="simple", class_weight={1: 5.0}).fit(X, TWO)
    np.testing.assert_allclose(a.weights_, b.weights_, atol=0.01)
    kept = np.r_[np.ones(80), np.zeros(20)]
    for weights in ("simple", "easy", "average"):
        a = SVC(kernel=KERNELS, weights=weights).fit(X, THREE, kept)
        b = SVC(kernel=KERNELS, weights=weights).fit(X[:80], THREE[:80])
        np.testing.assert_allclose(a.weights_, b.weights_, atol=1e-9)
        np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=5e-3)


def test_a_plain_kernel_leaves_no_weights():
    model = SVC(kernel=KERNELS, weights="easy").fit(X, TWO)
    assert hasattr(model, "weights_")
    assert not hasattr(model.set_params(kernel=Gaussian(), weights=None).fit(X, TWO), "weights_")


def test_kernels_that_say_nothing_make_a_constant_function():
    model = SVC(kernel=[Constant(1.0), Constant(3.0)], weights="simple").fit(X, TWO)
    assert model.kernel_ == Constant(0.0)
    assert len(set(model.predict(X).tolist())) == 1


def test_hard_margins_have_weights_too():
    kernels = [Gaussian(0.3).on([0]), Gaussian(0.3).on([1])]
    model = SVC(kernel=kernels, weights="simple", C=np.inf).fit(X, TWO)
    assert model.score(X, TWO) == 1.0
    for w in ([0.5, 0.5], [0.6, 0.4], [0.8, 0.2]):
        other = SVC(kernel=kernels, weights=w, C=np.inf).fit(X, TWO)
        assert float(other.objective_) >= float(model.objective_) * (1 - 2e-3)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"weights": None}, ValueError, "several kernels need weights; give weights='simple'"),
        ({"weights": "best"}, ValueError, "weights must be one of 'simple', 'easy', 'average', 'sum', or one number"),
        ({"weights": [1.0, 2.0]}, ValueError, "one number for each of the 3 kernels"),
        ({"weights": [0.0, 0.0, 0.0]}, ValueError, "not all 0"),
        ({"weights": [1.0, -1.0, 0.0]}, ValueError, "none negative"),
        ({"weights": "easy", "kernel": Gaussian()}, ValueError, "are those of several kernels, but kernel is Gaussian"),
        ({"weights": "easy", "kernel": []}, TypeError, "several kernels must be mercer kernels"),
        ({"weights": "easy", "kernel": ["rbf", Linear()]}, TypeError, "several kernels must be mercer kernels"),
        ({"weights": "easy", "kernel": [Gaussian(), Sigmoid()]}, ValueError, "positive semi-definite"),
    ],
)
def test_what_has_no_meaning_is_refused_and_changes_nothing(options, error, message):
    model = SVC(**({"kernel": KERNELS} | options))
    before = dict(vars(model))
    with pytest.raises(error, match=message):
        model.fit(X, TWO)
    assert vars(model) == before


def test_other_machines_take_one_kernel():
    with pytest.raises(ValueError, match="kernel must be a mercer kernel"):
        NuSVC(kernel=KERNELS).fit(X, TWO)


def test_an_optimum_that_is_not_reached_is_told(monkeypatch):
    monkeypatch.setattr("mercer.learning.several.simple.HALVINGS", 0)
    with pytest.warns(ConvergenceWarning, match="SVC: weights of kernels may be far from the best: after 0 steps"):
        SVC(kernel=KERNELS, weights="simple").fit(X, TWO)


def test_it_is_cloned_searched_pickled_and_saved(tmp_path):
    search = GridSearchCV(SVC(kernel=KERNELS), {"weights": ["simple", "easy", "average"]}, cv=3).fit(X, TWO)
    model = clone(search.best_estimator_).fit(X, TWO)
    mercer.save(model, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), mercer.load(tmp_path / "model")):
        np.testing.assert_allclose(copy.decision_function(X), model.decision_function(X), rtol=1e-9)
        np.testing.assert_array_equal(copy.weights_, model.weights_)
        assert copy.get_params()["kernel"] == KERNELS


def test_a_class_may_weigh_nothing():
    for weights in ("simple", "easy", "average"):
        assert SVC(kernel=KERNELS, weights=weights, class_weight={"a": 0.0}).fit(X, THREE).weights_.shape == (3,)
