"""The one-class machine: optimality, the share of outliers, bad input and good company."""

import pickle

import numpy as np
import pytest
import sklearn.svm
from scipy import optimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from mercer.kernels import Custom, Gaussian, Laplacian, Linear, Sigmoid
from mercer.models.one_class import OneClassSVM


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 2)), rng.uniform(0.2, 3.0, size=60), rng.normal(size=(8, 2))


def _full(model, n):
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    return beta


@pytest.mark.parametrize("nu", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_conditions_of_optimality_hold_and_the_gap_is_what_it_says(data, nu, weighted):
    X, weights, _ = data
    k = Gaussian(0.8)
    model = OneClassSVM(kernel=k, nu=nu).fit(X, sample_weight=weights if weighted else None)
    bounds = weights if weighted else np.ones(60)
    beta, values = _full(model, 60), model.decision_function(X)
    np.testing.assert_allclose(beta.sum(), nu * bounds.sum())
    assert (beta >= 0).all()
    assert (beta <= bounds * (1 + 1e-12)).all()
    slack = model.tol + 1e-9
    assert (values[beta < bounds * (1 - 1e-12)] >= -slack).all()
    assert (values[beta > 0] <= slack).all()
    norm = beta @ k(X) @ beta
    primal = 0.5 * norm + bounds @ np.maximum(0, -values) - nu * bounds.sum() * model.offset_[0]
    np.testing.assert_allclose(
        model.duality_gap_.absolute, primal + 0.5 * norm, rtol=1e-3, atol=1e-6 * bounds.sum() * norm
    )
    assert model.converged_


@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_is_no_worse_than_that_of_libsvm_at_the_same_tol(data, weighted):
    X, weights, _ = data
    norms = []
    for cls in (OneClassSVM, sklearn.svm.OneClassSVM):
        beta = _full(cls(nu=0.3, gamma=0.5).fit(X, sample_weight=weights if weighted else None), 60)
        norms.append(beta @ Gaussian(1.0)(X) @ beta)
    assert norms[0] <= norms[1] * (1 + 1e-4)


def test_a_generic_solver_finds_the_same_coefficients():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 2))
    K = Gaussian(0.7)(X)
    generic = optimize.minimize(
        lambda b: 0.5 * b @ K @ b,
        np.full(12, 0.4),
        jac=lambda b: K @ b,
        bounds=[(0, 1)] * 12,
        constraints={"type": "eq", "fun": lambda b: b.sum() - 0.4 * 12},
        options={"ftol": 1e-14, "maxiter": 900},
    )
    assert generic.success
    model = OneClassSVM(kernel=Gaussian(0.7), nu=0.4, tol=1e-8).fit(X)
    np.testing.assert_allclose(_full(model, 12), generic.x, atol=1e-4)


def test_nu_bounds_the_share_of_outliers_and_of_support_vectors(data):
    X, _, _ = data
    model = OneClassSVM(nu=0.25, gamma=0.5, tol=1e-7).fit(X)
    assert np.mean(model.decision_function(X) < -1e-5) <= 0.25 <= len(model.support_) / 60


def test_the_offset_is_the_mean_score_of_margin_vectors(data):
    X, _, _ = data
    model = OneClassSVM(nu=0.25, kernel=Gaussian()).fit(X)
    beta = _full(model, 60)
    free = (beta > 0) & (beta < 1)
    np.testing.assert_allclose(model.offset_[0], (Gaussian()(X) @ beta)[free].mean(), atol=1e-5)
    np.testing.assert_allclose(model.score_samples(X), Gaussian()(X) @ beta, atol=1e-9)


def test_all_points_with_their_full_weight_give_the_density_of_parzen(data):
    X, weights, new = data
    model = OneClassSVM(nu=1.0, kernel=Gaussian()).fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.score_samples(new), Gaussian()(new, X) @ weights, rtol=1e-9)


def test_a_fitted_model_is_an_expansion_with_a_plan(data):
    X, _, new = data
    model = OneClassSVM(kernel=Gaussian(1.5)).fit(X)
    np.testing.assert_allclose(model.expansion_(new), model.decision_function(new), rtol=1e-12)
    np.testing.assert_array_equal(model.offset_, -model.intercept_)
    np.testing.assert_array_equal(model.predict(new), np.where(model.decision_function(new) > 0, 1, -1))
    assert "60 points" in str(model.plan_)
    assert isinstance(model.n_iter_, int)


def test_a_precomputed_matrix_gives_the_same_model(data):
    X, weights, new = data
    k = Gaussian(0.9) * Laplacian(2.0) + 0.1 * Linear()
    direct = OneClassSVM(kernel=k, tol=1e-8).fit(X, sample_weight=weights)
    matrix = OneClassSVM(kernel="precomputed", tol=1e-8).fit(k(X), sample_weight=weights)
    np.testing.assert_allclose(matrix.decision_function(k(new, X)), direct.decision_function(new), atol=1e-5)


def test_permuting_rows_changes_nothing(data):
    X, weights, new = data
    order = np.random.default_rng(3).permutation(60)
    once = OneClassSVM(tol=1e-9).fit(X, sample_weight=weights)
    again = OneClassSVM(tol=1e-9).fit(X[order], sample_weight=weights[order])
    np.testing.assert_allclose(again.decision_function(new), once.decision_function(new), atol=1e-5)


def test_points_without_weight_are_as_good_as_absent(data):
    X, weights, new = data
    weights[::4] = 0
    kept = weights > 0
    model = OneClassSVM(gamma=0.5, tol=1e-9).fit(X, sample_weight=weights)
    without = OneClassSVM(gamma=0.5, tol=1e-9).fit(X[kept], sample_weight=weights[kept])
    np.testing.assert_allclose(model.decision_function(new), without.decision_function(new), atol=1e-8)


def test_equal_points_and_single_ones_are_solved():
    assert OneClassSVM().fit(np.ones((6, 2))).converged_
    assert OneClassSVM(nu=0.3).fit([[1.0, 2.0]]).converged_


def test_words_are_points_for_a_kernel_that_takes_them():
    k = Custom(lambda x, z: float(len(set(x) & set(z))))
    model = OneClassSVM(kernel=k, nu=0.2).fit(["abc", "abd", "acd", "bcd", "xyz"])
    assert model.decision_function(["abcd"])[0] > model.decision_function(["xy"])[0]


def test_models_are_pickled_cloned_and_put_into_pipelines(data):
    X, _, new = data
    model = OneClassSVM(kernel=Gaussian(0.8)).fit(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(new), model.predict(new))
    assert clone(model).set_params(kernel__length_scale=3.0).kernel == Gaussian(3.0)
    assert set(make_pipeline(StandardScaler(), OneClassSVM()).fit_predict(X)) == {-1, 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nu": 0}, "nu must be a number above 0 and at most 1"),
        ({"nu": 2.0}, "nu must be"),
        ({"gamma": "best"}, "gamma must be"),
        ({"kernel": Sigmoid(scale=-1.0)}, "positive semi-definite"),
    ],
    ids=str,
)
def test_bad_options_are_named_and_leave_the_object_unfitted(data, options, message):
    model = OneClassSVM(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(data[0])
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_bad_data_is_refused_in_words(data):
    X = data[0]
    with pytest.raises(ValueError, match="NaN"):
        OneClassSVM().fit(np.where(X > 1, np.nan, X))
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        OneClassSVM().fit(X, sample_weight=np.zeros(60))
