"""Support vector regression: optimality, other solvers' answers, the tube, bad input and good company."""

import pickle

import numpy as np
import pytest
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from mercer.kernels import Custom, Gaussian, Linear, Polynomial, Sigmoid
from mercer.models.svr import SVR, NuSVR


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(50, 2))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.3 * rng.normal(size=50)
    return X, y, rng.uniform(0.2, 3.0, size=50), rng.uniform(-3, 3, size=(8, 2))


def _full(model, n):
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    return beta


# -- optimality ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e-5, 0.1, 3.0, 1e5])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_conditions_of_optimality_hold_and_the_gap_is_what_it_says(data, C, epsilon, weighted):
    X, y, weights, _ = data
    k = Gaussian(0.4)
    model = SVR(kernel=k, C=C, epsilon=epsilon).fit(X, y, weights if weighted else None)
    beta, bounds = _full(model, 50), C * (weights if weighted else np.ones(50))
    residuals = y - model.predict(X)
    assert abs(beta.sum()) <= 1e-10 * C
    assert (np.abs(beta) <= bounds).all()
    slack = model.tol + 1e-9
    assert (np.abs(residuals)[beta == 0] <= epsilon + slack).all()
    assert ((np.sign(beta) * residuals)[beta != 0] >= epsilon - slack).all()
    assert ((np.sign(beta) * residuals)[(beta != 0) & (np.abs(beta) < bounds)] <= epsilon + slack).all()
    norm = beta @ k(X) @ beta
    primal = 0.5 * norm + bounds @ np.maximum(0, np.abs(residuals) - epsilon)
    dual = y @ beta - epsilon * np.abs(beta).sum() - 0.5 * norm
    np.testing.assert_allclose(model.duality_gap_.absolute, primal - dual, rtol=1e-4, atol=1e-6 * bounds.sum())
    assert model.converged_


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 25), C=st.floats(1e-3, 1e3), epsilon=st.floats(0, 1))
def test_no_other_point_of_the_box_has_a_better_objective(seed, n, C, epsilon):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    k = Gaussian(rng.uniform(0.3, 3.0))
    model = SVR(kernel=k, C=C, epsilon=epsilon).fit(X, y)

    def dual(beta):
        return y @ beta - epsilon * np.abs(beta).sum() - 0.5 * beta @ k(X) @ beta

    other = C * rng.uniform(-0.5, 0.5, size=n)
    other -= other.mean()
    assert model.duality_gap_.absolute >= 0
    assert dual(_full(model, n)) + model.duality_gap_.absolute >= dual(other) - 1e-9


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["SVR", "NuSVR"])
def test_the_objective_is_no_worse_than_that_of_libsvm_at_the_same_tol(data, name, weighted):
    X, y, weights, _ = data
    values = []
    for cls in ({"SVR": SVR, "NuSVR": NuSVR}[name], getattr(sklearn.svm, name)):
        model = cls(C=5.0, gamma=0.5).fit(X, y, weights if weighted else None)
        beta = _full(model, 50)
        width = 0.1 if name == "SVR" else 0.0  # the tube of the ν machine is part of its constraints
        values.append(y @ beta - width * np.abs(beta).sum() - 0.5 * beta @ Gaussian(1.0)(X) @ beta)
    assert values[0] >= values[1] - 1e-4 * abs(values[1])


def test_the_intercept_is_the_mean_over_margin_vectors(data):
    X, y, _, _ = data
    model = SVR(C=1.0, kernel=Gaussian(), epsilon=0.2).fit(X, y)
    beta = _full(model, 50)
    free = (beta != 0) & (np.abs(beta) < 1.0)
    assert free.sum() > 2
    found = (y - Gaussian()(X) @ beta - 0.2 * np.sign(beta))[free].mean()
    np.testing.assert_allclose(model.intercept_[0], found, atol=1e-6)


@pytest.mark.parametrize("nu", [None, 0.4])
def test_a_generic_solver_of_the_primal_finds_the_same_function(nu):
    rng = np.random.default_rng(1)
    m, C, fixed = 12, 2.0, 0.15
    X, y = rng.normal(size=(m, 2)), rng.normal(size=m)
    K = Gaussian(1.0)(X)
    values, vectors = np.linalg.eigh(K)
    phi = vectors * np.sqrt(np.maximum(values, 0))

    def tube(z):
        return fixed if nu is None else z[m + 1]

    def objective(z):  # w, intercept, half width of the tube, slacks
        return 0.5 * z[:m] @ z[:m] + C * z[m + 2 :].sum() + (0 if nu is None else C * m * nu * z[m + 1])

    def excess(z):
        residuals = y - phi @ z[:m] - z[m]
        return np.concatenate([tube(z) + z[m + 2 :] - residuals, tube(z) + z[m + 2 :] + residuals])

    bounds = [(None, None)] * (m + 1) + [(0, None)] * (m + 1)
    start = np.concatenate([np.zeros(m + 2), np.full(m, 3.0)])
    generic = optimize.minimize(
        objective,
        start,
        constraints={"type": "ineq", "fun": excess},
        bounds=bounds,
        options={"maxiter": 900, "ftol": 1e-12},
    )
    assert generic.success
    kernel = Gaussian(1.0)
    model = (
        SVR(kernel=kernel, C=C, epsilon=fixed, tol=1e-8) if nu is None else NuSVR(kernel=kernel, C=C, nu=nu, tol=1e-8)
    )
    np.testing.assert_allclose(model.fit(X, y).predict(X), phi @ generic.x[:m] + generic.x[m], atol=2e-3)
    if nu is not None:
        np.testing.assert_allclose(model.epsilon_, generic.x[m + 1], atol=2e-3)


# -- the ν machine ------------------------------------------------------------------------------------------------


def test_the_nu_machine_is_the_other_with_the_tube_it_finds(data):
    X, y, weights, new = data
    nu = NuSVR(nu=0.3, C=2.0, gamma=0.5, tol=1e-8).fit(X, y, weights)
    epsilon = SVR(epsilon=nu.epsilon_, C=2.0, gamma=0.5, tol=1e-8).fit(X, y, weights)
    np.testing.assert_allclose(nu.predict(new), epsilon.predict(new), atol=1e-5)


def test_nu_bounds_the_share_of_points_outside_the_tube_and_of_support_vectors(data):
    X, y, _, _ = data
    model = NuSVR(nu=0.3, gamma=0.5, tol=1e-6).fit(X, y)
    outside = np.mean(np.abs(y - model.predict(X)) > model.epsilon_ + 1e-4)
    assert outside <= 0.3 <= len(model.support_) / 50


def test_every_nu_up_to_one_has_a_solution(data):
    X, y, _, _ = data
    for nu in (0.01, 1.0):
        assert NuSVR(nu=nu).fit(X, y).converged_


# -- what a fitted model is ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [SVR, NuSVR])
def test_a_fitted_model_is_an_expansion_with_a_plan(data, cls):
    X, y, _, new = data
    model = cls(kernel=Gaussian(1.5)).fit(X, y)
    np.testing.assert_allclose(model.expansion_(new), model.predict(new), rtol=1e-12)
    assert model.kernel_ == Gaussian(1.5)
    assert "50 points" in str(model.plan_)
    assert isinstance(model.n_iter_, int)
    assert model.dual_coef_.shape == (1, model.n_support_[0])


@pytest.mark.parametrize("form", ["dense", "csr", "precomputed", "function"])
def test_a_tube_around_all_points_needs_no_support_vectors(data, form):
    X, y, _, new = data
    kernel = {"precomputed": "precomputed", "function": lambda A, B: A @ B.T}.get(form, "linear")
    if form == "csr":
        X, new = sparse.csr_array(X), sparse.csr_array(new)
    if form == "precomputed":
        X, new = X @ X.T, new @ X.T
    model = SVR(kernel=kernel, epsilon=100.0).fit(X, y)
    assert model.support_.size == 0
    middle = (y.max() + y.min()) / 2
    np.testing.assert_allclose(model.predict(new), middle)
    if form in ("dense", "csr"):
        np.testing.assert_allclose(model.expansion_(new), middle)
        assert model.coef_.shape == (1, 2)


@pytest.mark.parametrize("cls", [SVR, NuSVR])
def test_a_precomputed_matrix_gives_the_same_model(data, cls):
    X, y, weights, new = data
    k = Gaussian(1.2) + Linear()
    direct = cls(kernel=k, tol=1e-7).fit(X, y, weights)
    matrix = cls(kernel="precomputed", tol=1e-7).fit(k(X), y, weights)
    function = cls(kernel=lambda A, B: k(A, B), tol=1e-7).fit(X, y, weights)
    np.testing.assert_allclose(matrix.predict(k(new, X)), direct.predict(new), atol=1e-5)
    np.testing.assert_allclose(function.predict(new), direct.predict(new), atol=1e-5)


@pytest.mark.parametrize("cls", [SVR, NuSVR])
def test_permuting_rows_changes_nothing(data, cls):
    X, y, weights, new = data
    order = np.random.default_rng(3).permutation(50)
    once = cls(tol=1e-8).fit(X, y, weights)
    again = cls(tol=1e-8).fit(X[order], y[order], weights[order])
    np.testing.assert_allclose(again.predict(new), once.predict(new), atol=1e-5)


@pytest.mark.parametrize("cls", [SVR, NuSVR])
def test_points_without_weight_are_as_good_as_absent(data, cls):
    X, y, weights, new = data
    weights[::4] = 0
    weights[1::4] *= -1
    kept = weights > 0
    model = cls(gamma=0.5, tol=1e-8).fit(X, y, weights)
    without = cls(gamma=0.5, tol=1e-8).fit(X[kept], y[kept], weights[kept])
    np.testing.assert_allclose(model.predict(new), without.predict(new), atol=1e-8)


@pytest.mark.parametrize(
    "kernel", [(Gaussian() + 0.5) * Polynomial(2), (Gaussian(2.0) * Linear() + Linear()) ** 2], ids=repr
)
def test_nested_kernels_are_solved_as_their_matrices(data, kernel):
    X, y, _, new = data
    model = SVR(kernel=kernel, C=0.1, tol=1e-5).fit(X, y)
    theirs = sklearn.svm.SVR(kernel="precomputed", C=0.1, tol=1e-5).fit(kernel(X), y)
    np.testing.assert_allclose(model.predict(new), theirs.predict(kernel(new, X)), rtol=1e-2, atol=1e-2)


def test_shifted_and_scaled_targets_give_the_shifted_and_scaled_function(data):
    X, y, _, new = data
    plain = SVR(C=2.0, epsilon=0.1, tol=1e-8).fit(X, y)
    moved = SVR(C=200.0, epsilon=10.0, tol=1e-6).fit(X, 100 * y - 1000)
    np.testing.assert_allclose(moved.predict(new), 100 * plain.predict(new) - 1000, atol=1e-3)


def test_duplicated_points_and_constant_targets_are_solved(data):
    X, y, _, _ = data
    assert SVR(C=5.0).fit(np.concatenate([X, X]), np.concatenate([y, -y])).converged_
    np.testing.assert_allclose(SVR().fit(X, np.full(50, 3.0)).predict(X), 3.0)
    np.testing.assert_allclose(SVR().fit(X[:1], [2.0]).predict(X), 2.0)


def test_strings_are_points_for_a_kernel_that_takes_them():
    words = ["a", "aa", "aaa", "b", "bb", "ab"]
    y = [1.0, 2.0, 3.0, 0.0, 0.0, 1.0]
    k = Custom(lambda x, z: float(x.count("a") * z.count("a")))
    model = SVR(kernel=k, C=10.0, epsilon=0.01).fit(words, y)
    np.testing.assert_allclose(model.predict(["aaaa", "bbb"]), [4, 0], atol=0.1)


def test_models_are_pickled_cloned_and_searched(data):
    X, y, _, new = data
    model = SVR(kernel=Gaussian(0.8)).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(new), model.predict(new))
    assert clone(model).set_params(kernel__length_scale=3.0).kernel == Gaussian(3.0)
    grid = {"svr__kernel__length_scale": [0.01, 1.0]}
    search = GridSearchCV(make_pipeline(StandardScaler(), SVR(kernel=Gaussian(), C=10.0)), grid).fit(X, y)
    assert search.best_params_ == {"svr__kernel__length_scale": 1.0}


# -- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SVR(C=0), "C must be"),
        (SVR(epsilon=-0.1), "epsilon must be a finite number that is not negative.*got -0.1"),
        (SVR(gamma=-1), "gamma must be"),
        (SVR(kernel=Sigmoid(scale=-1.0)), "positive semi-definite"),
        (SVR(kernel=lambda A, B: np.array([[1.0]])), "must have shape"),
        (NuSVR(nu=0), "nu must be a number above 0 and at most 1"),
        (NuSVR(nu=1.5), "nu must be"),
        (NuSVR(C=-1), "C must be"),
    ],
    ids=lambda value: str(value).split(" at 0x")[0][:40],
)
def test_bad_options_are_named_and_leave_the_object_unfitted(data, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*data[:2])
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize("cls", [SVR, NuSVR])
def test_bad_data_is_refused_in_words(data, cls):
    X, y, _, _ = data
    with pytest.raises(ValueError, match="NaN"):
        cls().fit(X, np.where(y > 1, np.nan, y))
    with pytest.raises(ValueError, match="50 points"):
        cls().fit(X, y[:3])
    with pytest.raises(ValueError, match="y is None"):
        cls().fit(X, None)
    with pytest.raises(ValueError, match="1d array"):
        cls().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        cls().fit(X, y, np.zeros(50))
    with pytest.warns(DataConversionWarning):
        cls().fit(X, y[:, None])
