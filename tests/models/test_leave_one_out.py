"""Classifiers leave points out as refits do: exactly, to a duality gap, or to one Newton step."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

import mercer
from mercer import (
    SVC,
    SVCCV,
    ImportVectorMachine,
    KernelClassifier,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelRidgeClassifier,
)
from mercer.arrays.budget import MemoryBudgetError
from mercer.kernels import Gaussian, Spectrum

N = 60


def points(classes):
    X, y = make_blobs(N, centers=4, cluster_std=3.0, random_state=1)
    return X, np.array(["a", "b", "c", "d"])[y % classes]


def refit_without_each(model, X, y, weights=None):
    found = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        one = clone(model).fit(X[rest], y[rest], None if weights is None else weights[rest])
        found.append(one.decision_function(X[[i]])[0])
    return np.array(found)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_is_exact(classes, weighted):
    X, y = points(classes)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, N) if weighted else None
    model = KernelRidgeClassifier(0.3, kernel=Gaussian(2.0)).fit(X, y, weights)
    found = model.leave_one_out()
    assert found.shape == model.decision_function(X).shape
    np.testing.assert_allclose(found, refit_without_each(model, X, y, weights), atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_machines_are_exact_to_their_gap(classes, C):
    X, y = points(classes)
    model = SVC(C=C, kernel=Gaussian(2.0), tol=1e-7).fit(X, y)
    found = model.leave_one_out()
    assert found.shape == model.decision_function(X).shape
    np.testing.assert_allclose(found, refit_without_each(model, X, y), atol=1e-5)
    unchanged = np.setdiff1d(np.arange(N), model.support_)
    np.testing.assert_allclose(found[unchanged], model.decision_function(X)[unchanged])
    assert np.abs(found - model.decision_function(X)).max() > 0.05  # something is left out


def test_machines_leave_out_the_same_whatever_the_kernel_is_given_as():
    X, y = points(3)
    k, fine = Gaussian(2.0), {"tol": 1e-7, "decision_function_shape": "ovo"}
    wanted = SVC(kernel=k, **fine).fit(X, y).leave_one_out()
    matrix = SVC(kernel="precomputed", **fine).fit(k(X), y).leave_one_out()
    function = SVC(kernel=lambda A, B: k(A, B), **fine).fit(X, y).leave_one_out()
    np.testing.assert_allclose(matrix, wanted, atol=1e-5)
    np.testing.assert_allclose(function, wanted, atol=1e-5)
    words = ["abab", "aabb", "baba", "bbbb", "abba", "bbab"] * 4
    assert SVC(kernel=Spectrum(2)).fit(words, [0, 1, 0, 1, 0, 1] * 4).leave_one_out().shape == (24,)


def test_the_only_point_of_a_class_is_given_to_the_other():
    X = np.array([[-2.0], [-1.0], [1.5]])
    np.testing.assert_allclose(SVC(kernel="linear").fit(X, [0, 0, 1]).leave_one_out()[2], -1.0)


def test_a_search_leaves_out_with_what_it_chose():
    X, y = points(2)
    search = SVCCV(Cs=[1.0], kernel=Gaussian(2.0), cv=3).fit(X, y)
    np.testing.assert_array_equal(search.leave_one_out(), search.best_estimator_.leave_one_out())
    tuned = KernelLogisticRegressionCV([0.5], kernel=Gaussian(2.0), cv=3).fit(X, y)
    plain = KernelLogisticRegression(0.5, kernel=Gaussian(2.0)).fit(X, y)
    np.testing.assert_allclose(tuned.leave_one_out(), plain.leave_one_out(), atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("centers", [None, 12])
def test_one_newton_step_is_near_refits(classes, centers):
    X, y = points(classes)
    model = KernelLogisticRegression(0.3, kernel=Gaussian(2.0)).fit(X, y)
    if centers is not None:
        k = Gaussian(2.0)
        Z = X[:centers]
        L = np.linalg.cholesky(k(Z) + 1e-12 * np.eye(centers))
        model = _NystroemLogistic(L, Z, k).fit(X, y)
    found, here, exact = model.leave_one_out(), model.decision_function(X), refit_without_each(model, X, y)
    assert found.shape == here.shape
    assert np.linalg.norm(found - exact) < 0.1 * np.linalg.norm(exact - here)  # of what leaving out changes


class _NystroemLogistic(KernelLogisticRegression):
    """A logistic regression whose centres do not depend on the points."""

    def __init__(self, L, Z, k):
        super().__init__(0.3, kernel=k)
        self.L, self.Z, self.k = L, Z, k

    def fit(self, X, y, sample_weight=None):
        from mercer.kernels import Linear

        phi = np.linalg.solve(self.L, self.k(self.Z, X)).T
        self.inner = KernelLogisticRegression(0.3, kernel=Linear()).fit(phi, y)
        self.outer = KernelLogisticRegression(0.3, kernel=self.k).fit(X, y)
        f = self.inner.expansion_
        coef = np.linalg.solve(self.L.T, phi.T @ f.coef)
        self.outer.expansion_ = mercer.Expansion(self.k, self.Z, coef, f.intercept)
        return self

    def decision_function(self, X):
        return self.outer.decision_function(X)

    def leave_one_out(self):
        return self.outer.leave_one_out()


@pytest.mark.parametrize("classes", [2, 3])
def test_import_vectors_move_among_the_functions_of_their_vectors(classes):
    X, y = points(classes)
    k = Gaussian(2.0)
    model = ImportVectorMachine(0.3, kernel=k).fit(X, y)
    Z = model.import_vectors_
    assert len(Z) < N
    fixed = _NystroemLogistic(np.linalg.cholesky(k(Z)), Z, k).fit(X, y)
    np.testing.assert_allclose(model.leave_one_out(), fixed.leave_one_out(), atol=1e-4)
    assert model.leave_one_out().shape == model.decision_function(X).shape


def test_smooth_losses_have_it_and_corners_say_why_not():
    X, y = points(2)
    model = KernelClassifier("SquaredHinge", 0.3, kernel=Gaussian(2.0)).fit(X, y)
    exact, here = refit_without_each(model, X, y), model.decision_function(X)
    assert np.linalg.norm(model.leave_one_out() - exact) < 0.2 * np.linalg.norm(exact - here)
    with pytest.raises(ValueError, match=r"corners.*SquaredHinge"):
        KernelClassifier("Hinge", 0.3).fit(X, y).leave_one_out()


MODELS = [
    KernelRidgeClassifier(0.3, kernel=Gaussian(2.0)),
    KernelLogisticRegression(0.3, kernel=Gaussian(2.0)),
    ImportVectorMachine(0.3, kernel=Gaussian(2.0)),
    SVC(kernel=Gaussian(2.0), tol=1e-7),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_values_are_kept_until_the_next_fit_and_in_files(model, tmp_path):
    X, y = points(2)
    model = clone(model).fit(X, y)
    first = model.leave_one_out()
    assert model.leave_one_out() is first or np.shares_memory(model.leave_one_out(), first)
    mercer.save(model, tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").leave_one_out(), first)
    other = model.fit(X[:40], y[:40]).leave_one_out()
    assert other.shape == (40,)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_points_of_weight_zero_are_out_already(model):
    X, y = points(2)
    weights = np.ones(N)
    weights[:5] = 0.0
    found = clone(model).fit(X, y, weights)
    wanted = clone(model).fit(X[5:], y[5:])
    np.testing.assert_allclose(found.leave_one_out()[5:], wanted.leave_one_out(), atol=1e-5)
    np.testing.assert_allclose(found.leave_one_out()[:5], found.decision_function(X[:5]), atol=1e-7)


def test_files_of_machines_hold_no_training_points(tmp_path):
    X, y = points(2)
    mercer.save(SVC(C=100.0).fit(X, y), tmp_path / "model")
    loaded = mercer.load(tmp_path / "model")
    for ask in (loaded.leave_one_out, lambda: loaded.predict_set(X)):
        with pytest.raises(ValueError, match=r"needs the training points.*before the model is saved"):
            ask()


def test_a_matrix_beyond_the_budget_is_refused():
    X, y = points(2)
    model = KernelLogisticRegression(0.3, kernel=Gaussian(2.0)).fit(X, y).set_params(memory=50_000)
    with pytest.raises(MemoryBudgetError, match="leaving points out"):
        model.leave_one_out()
