"""Support vector classification: optimality, other solvers' answers, bad input and good company."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from mercer import MemoryBudgetError
from mercer.estimators.machines import base as _svm_base
from mercer.kernels import Custom, Gaussian, Laplacian, Linear, Overlap, Polynomial, Precomputed, Sigmoid
from mercer.models import SVR, OneClassSVM
from mercer.models.svm import SVC, NuSVC
from mercer.solvers.machines.smo import SMO


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=50) > 1, "yes", "no")
    return X, y, rng.uniform(0.2, 3.0, size=50), rng.normal(size=(8, 2))


def _signs(model, y):
    return np.where(np.asarray(y) == model.classes_[1], 1.0, -1.0)


def _full(model, n):
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    return beta


# -- optimality ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e-5, 1e-2, 1.0, 30.0, 1e5])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_conditions_of_optimality_hold_and_the_gap_is_what_it_says(data, C, weighted):
    X, y, weights, _ = data
    k = Gaussian(0.7)
    options = {"class_weight": {"no": 2.0}} if weighted else {}
    model = SVC(C=C, kernel=k, **options).fit(X, y, weights if weighted else None)
    signs, beta = _signs(model, y), _full(model, 50)
    bounds = C * (weights * np.where(y == "no", 2.0, 1.0) if weighted else np.ones(50))
    alpha, margins = signs * beta, signs * model.decision_function(X)
    assert abs(beta.sum()) <= 1e-10 * C
    assert (alpha >= 0).all()
    assert (alpha <= bounds).all()
    slack = model.tol + 1e-9
    assert (margins[alpha < bounds] >= 1 - slack).all()
    assert (margins[alpha > 0] <= 1 + slack).all()
    norm = beta @ k(X) @ beta
    primal = 0.5 * norm + bounds @ np.maximum(0, 1 - margins)
    dual = alpha.sum() - 0.5 * norm
    rounding = 1e-6 * bounds.sum()  # of kernel values in float32, in every margin
    np.testing.assert_allclose(model.duality_gap_.absolute, primal - dual, rtol=1e-4, atol=rounding)
    np.testing.assert_allclose(model.duality_gap_.relative, (primal - dual) / primal, rtol=1e-4, atol=rounding / primal)
    assert model.converged_
    assert model.violation_ <= model.tol


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(4, 25), C=st.floats(1e-3, 1e3))
def test_no_other_point_of_the_box_has_a_better_objective(seed, n, C):
    rng = np.random.default_rng(seed)
    X, signs = rng.normal(size=(n, 2)), np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    k = Gaussian(rng.uniform(0.3, 3.0))
    model = SVC(C=C, kernel=k).fit(X, signs)
    K, beta = k(X), _full(model, n)

    def dual(beta):
        return signs @ beta - 0.5 * beta @ K @ beta

    assert model.duality_gap_.absolute >= 0
    other = C * rng.uniform(size=n)
    other[signs > 0] *= min(1.0, other[signs < 0].sum() / other[signs > 0].sum())
    other[signs < 0] *= other[signs > 0].sum() / other[signs < 0].sum()
    assert dual(beta) + model.duality_gap_.absolute >= dual(signs * other) - 1e-9


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_objective_is_no_worse_than_that_of_libsvm_at_the_same_tol(data, C, weighted):
    X, y, weights, _ = data
    values = []
    for cls in (SVC, sklearn.svm.SVC):
        model = cls(C=C, gamma=0.5, class_weight="balanced" if weighted else None)
        beta = _full(model.fit(X, y, weights if weighted else None), 50)
        values.append(np.abs(beta).sum() - 0.5 * beta @ Gaussian(1.0)(X) @ beta)
    assert values[0] >= values[1] - 1e-4 * abs(values[1])


def _nu_dual(model, n, total):
    """−½βᵀKβ before the division by the margin: there, coefficients have an absolute sum of ν times all weight."""
    beta = _full(model, n)
    return beta * total / np.abs(beta).sum()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_of_the_nu_machine_is_no_worse_than_that_of_libsvm(data, weighted):
    X, y, weights, _ = data
    weights = weights if weighted else np.ones(50)
    values = []
    for cls in (NuSVC, sklearn.svm.NuSVC):
        beta = _nu_dual(cls(nu=0.3, gamma=0.5).fit(X, y, weights), 50, 0.3 * weights.sum())
        values.append(-0.5 * beta @ Gaussian(1.0)(X) @ beta)
    assert values[0] >= values[1] - 1e-4 * abs(values[1])


def test_the_intercept_is_the_mean_over_margin_vectors(data):
    X, y, _, _ = data
    model = SVC(C=0.8, kernel=Gaussian()).fit(X, y)
    signs, beta = _signs(model, y), _full(model, 50)
    free = (beta != 0) & (np.abs(beta) < 0.8)
    assert free.sum() > 2
    np.testing.assert_allclose(model.intercept_[0], (signs - Gaussian()(X) @ beta)[free].mean(), atol=1e-6)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.3)])
def test_a_penalty_of_one_over_2_lambda_m_solves_the_regularised_hinge_problem(kernel):
    rng = np.random.default_rng(1)
    m, lam = 14, 0.05
    X = rng.normal(size=(m, 2))
    signs = np.where(X[:, 0] + 0.8 * rng.normal(size=m) > 0, 1.0, -1.0)
    K = kernel(X)
    values, vectors = np.linalg.eigh(K)
    phi = vectors * np.sqrt(np.maximum(values, 0))  # features of the points: the norm of w is that of f

    def objective(z):  # w, intercept, slacks
        return lam * z[:m] @ z[:m] + z[m + 1 :].mean()

    margins = {"type": "ineq", "fun": lambda z: signs * (phi @ z[:m] + z[m]) - 1 + z[m + 1 :]}
    bounds = [(None, None)] * (m + 1) + [(0, None)] * m
    start = np.concatenate([np.zeros(m + 1), np.ones(m)])
    generic = optimize.minimize(
        objective, start, constraints=margins, bounds=bounds, options={"maxiter": 900, "ftol": 1e-12}
    )
    assert generic.success
    model = SVC(C=1 / (2 * lam * m), kernel=kernel, tol=1e-8).fit(X, signs)
    beta = _full(model, m)
    ours = lam * beta @ K @ beta + np.maximum(0, 1 - signs * model.decision_function(X)).mean()
    np.testing.assert_allclose(ours, generic.fun, rtol=1e-5)
    np.testing.assert_allclose(model.decision_function(X), phi @ generic.x[:m] + generic.x[m], atol=1e-3)


def test_the_linear_kernel_gives_the_plane_of_the_primal_solver():
    rng = np.random.default_rng(2)
    half = rng.normal(size=(30, 3))
    labels = np.where(half[:, 0] + 0.7 * rng.normal(size=30) > 0, 1, -1)
    X, y = np.concatenate([half, -half]), np.concatenate([labels, -labels])  # symmetric, so that no intercept is needed
    primal = LinearSVC(loss="hinge", C=0.3, fit_intercept=False, tol=1e-9, max_iter=10**6, random_state=0).fit(X, y)
    model = SVC(kernel="linear", C=0.3, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, primal.coef_, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, 0, atol=1e-6)


# -- the ν machine ------------------------------------------------------------------------------------------------


def test_nu_bounds_the_share_of_margin_errors_and_of_support_vectors(data):
    X, y, _, _ = data
    model = NuSVC(nu=0.4, gamma=0.5, tol=1e-6).fit(X, y)
    errors = np.mean(_signs(model, y) * model.decision_function(X) < 1 - 1e-4)
    assert errors <= 0.4 <= len(model.support_) / 50


def test_the_nu_machine_solves_the_problem_of_the_price_it_finds(data):
    X, y, _, _ = data
    nu = NuSVC(nu=0.4, gamma=0.5, tol=1e-8).fit(X, y)
    price = SVC(C=np.abs(nu.dual_coef_).max(), gamma=0.5, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(nu.decision_function(X), price.decision_function(X), atol=1e-5)


def test_an_infeasible_nu_is_refused_with_the_range(data):
    X = data[0][:20]
    with pytest.raises(ValueError, match=r"specified nu is infeasible.*3 and 17.*0 < nu <= 0\.3;.*nu=0\.31"):
        NuSVC(nu=0.31).fit(X, [0] * 3 + [1] * 17)
    NuSVC(nu=0.3).fit(X, [0] * 3 + [1] * 17)


def test_classes_with_the_same_points_have_no_margin():
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    with pytest.raises(ValueError, match="margin is"):
        NuSVC(nu=1.0).fit(X, [0, 0, 1, 1])


def test_class_weights_of_the_nu_machine_are_said_to_have_no_effect(data):
    with pytest.warns(UserWarning, match="class_weight has no effect") as caught:
        NuSVC(nu=0.2, class_weight="balanced").fit(*data[:2])
    assert caught[0].filename == __file__


# -- what a fitted model is ---------------------------------------------------------------------------------------


def test_a_fitted_model_is_an_expansion_with_a_plan(data):
    X, y, _, new = data
    model = SVC(kernel=Gaussian(1.5)).fit(X, y)
    np.testing.assert_allclose(model.expansion_(new), model.decision_function(new), rtol=1e-12)
    assert model.kernel_ == Gaussian(1.5)
    assert "50 points" in str(model.plan_)
    assert model.fit_status_ == 0
    assert not hasattr(model, "expansions_")
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


def test_several_classes_have_an_expansion_for_each_pair():
    X, y = load_iris(return_X_y=True)
    model = SVC(decision_function_shape="ovo").fit(X, y)
    assert len(model.expansions_) == 3
    assert "3 pairs" in str(model.plan_)
    values = np.column_stack([f(X) for f in model.expansions_])
    np.testing.assert_allclose(values, model.decision_function(X), atol=1e-12)
    wins = np.column_stack([values[:, 0] > 0, values[:, 1] > 0, values[:, 2] > 0])
    votes = np.column_stack([wins[:, 0] * 1 + wins[:, 1], ~wins[:, 0] * 1 + wins[:, 2], ~wins[:, 1] * 1 + ~wins[:, 2]])
    np.testing.assert_array_equal(model.predict(X), votes.argmax(axis=1))
    two = model.fit(X[:100], y[:100])
    assert not hasattr(two, "expansions_")


def test_every_pair_of_classes_is_the_machine_of_these_two_alone():
    X, y = load_iris(return_X_y=True)
    model = SVC(decision_function_shape="ovo", gamma=0.3, tol=1e-8).fit(X, y)
    for column, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        chosen = (y == i) | (y == j)
        alone = SVC(gamma=0.3, tol=1e-8).fit(X[chosen], y[chosen])
        np.testing.assert_allclose(model.decision_function(X)[:, column], -alone.decision_function(X), atol=1e-6)


def test_a_precomputed_matrix_gives_the_same_model(data):
    X, y, weights, new = data
    k = Gaussian(1.2)
    direct = SVC(kernel=k, tol=1e-8).fit(X, y, weights)
    matrix = SVC(kernel="precomputed", tol=1e-8).fit(k(X), y, weights)
    kernel = SVC(kernel=Precomputed(k(X)), tol=1e-8).fit(np.arange(50), y, weights)
    function = SVC(kernel=lambda A, B: k(A, B), tol=1e-8).fit(X, y, weights)
    one_by_one = SVC(kernel=Custom(lambda x, z: np.exp(-((x - z) @ (x - z)) / (2 * 1.2**2))), tol=1e-8).fit(
        X, y, weights
    )
    expected = direct.decision_function(new)
    np.testing.assert_allclose(matrix.decision_function(k(new, X)), expected, atol=1e-6)
    np.testing.assert_allclose(function.decision_function(new), expected, atol=1e-6)
    np.testing.assert_allclose(one_by_one.decision_function(new), expected, atol=1e-6)
    np.testing.assert_allclose(kernel.decision_function(np.arange(50)), direct.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(function.expansion_(new), expected, atol=1e-6)
    assert matrix.support_vectors_.shape == (0, 0)


def test_a_function_gets_sparse_data_as_it_is(data):
    X, y, _, new = data
    model = SVC(kernel=lambda A, B: A @ B.T).fit(sparse.csr_array(X), y)
    linear = SVC(kernel="linear").fit(X, y)
    np.testing.assert_allclose(model.decision_function(sparse.csr_array(new)), linear.decision_function(new), atol=1e-2)


def test_a_large_matrix_is_examined_at_some_of_its_rows():
    K = Gaussian()(np.random.default_rng(5).normal(size=(400, 2)))
    y = np.arange(400) % 2
    SVC(kernel="precomputed", C=0.1).fit(K, y)
    with pytest.raises(ValueError, match="Refuted"):
        SVC(kernel="precomputed", C=0.1).fit(K - 0.2 * np.eye(400), y)


def test_permuting_rows_changes_nothing(data):
    X, y, weights, new = data
    order = np.random.default_rng(3).permutation(50)
    for model in (SVC(tol=1e-9), NuSVC(nu=0.3, tol=1e-7)):
        once = clone(model).fit(X, y, weights)
        again = clone(model).fit(X[order], y[order], weights[order])
        np.testing.assert_allclose(again.decision_function(new), once.decision_function(new), atol=1e-5)
        np.testing.assert_array_equal(np.sort(order[again.support_]), np.sort(once.support_))


def test_points_without_weight_are_as_good_as_absent(data):
    X, y, weights, new = data
    weights[::4] = 0
    weights[1::4] *= -1
    kept = weights > 0
    model = SVC(gamma=0.5, tol=1e-9).fit(X, y, weights)
    without = SVC(gamma=0.5, tol=1e-9).fit(X[kept], y[kept], weights[kept])
    np.testing.assert_allclose(model.decision_function(new), without.decision_function(new), atol=1e-9)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(kept)[without.support_])


def test_a_point_of_weight_two_is_as_good_as_two_points(data):
    X, y, _, new = data
    weights = np.tile([1.0, 2.0], 25)
    twice = np.repeat(np.arange(50), weights.astype(int))
    weighted = SVC(gamma=0.5, tol=1e-9).fit(X, y, weights)
    repeated = SVC(gamma=0.5, tol=1e-9).fit(X[twice], y[twice])
    np.testing.assert_allclose(weighted.decision_function(new), repeated.decision_function(new), atol=1e-6)


@pytest.mark.parametrize(
    "kernel",
    [
        0.5 * Gaussian(2.0) + Polynomial(degree=2, offset=1.0) * Linear(),
        (Gaussian(1.0) + Linear()) ** 2,
        (Laplacian(1.0) * Polynomial(2) + 0.3).normalize(),
    ],
    ids=repr,
)
def test_nested_kernels_are_solved_as_their_matrices(data, kernel):
    X, y, _, new = data
    model = SVC(kernel=kernel, tol=1e-6).fit(X, y)
    theirs = sklearn.svm.SVC(kernel="precomputed", tol=1e-6).fit(kernel(X), y)
    np.testing.assert_allclose(model.decision_function(new), theirs.decision_function(kernel(new, X)), atol=1e-3)
    assert model.duality_gap_.relative < 1e-4


# -- awkward data -------------------------------------------------------------------------------------------------


def test_one_sample_of_each_class_is_enough():
    model = SVC(kernel="linear").fit([[0.0], [2.0]], ["a", "b"])
    np.testing.assert_allclose(model.coef_, [[1.0]])
    np.testing.assert_allclose(model.intercept_, [-1.0])
    assert list(SVC(C=10.0).fit([[0.0], [2.0], [4.0]], [3, 2, 1]).predict([[0.0], [2.0], [4.0]])) == [3, 2, 1]


def test_duplicated_points_with_both_labels_are_solved(data):
    X, y, _, _ = data
    model = SVC(C=5.0).fit(np.concatenate([X, X]), np.concatenate([y, y[::-1]]))
    assert model.converged_
    assert model.duality_gap_.relative < 1e-2


def test_unscaled_features_are_solved_by_the_kernel_that_scales(data):
    X, y, _, new = data
    plain = SVC(tol=1e-8, gamma="scale").fit(X, y)
    large = SVC(tol=1e-8, gamma="scale").fit(1e6 * X, y)
    np.testing.assert_allclose(large.decision_function(1e6 * new), plain.decision_function(new), atol=1e-5)


def test_an_infinite_price_gives_the_hard_margin():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 2))
    y = X[:, 0] > 0
    X[:, 0] += np.where(y, 0.5, -0.5)
    model = SVC(C=np.inf, kernel="linear", tol=1e-5).fit(X, y)
    margins = np.where(y, 1, -1) * model.decision_function(X)
    np.testing.assert_allclose(margins.min(), 1, atol=1e-5)


def test_labels_may_be_of_any_type(data):
    X = data[0]
    for labels in (["b", "a"], [True, False], [2.0, -1.0], [10, 3], np.array(["x", 7], dtype=object).astype(str)):
        y = np.asarray(labels)[(X[:, 0] > 0).astype(int)]
        model = SVC(C=100.0).fit(X, y)
        assert model.score(X, y) > 0.9
        assert model.predict(X).dtype == y.dtype
        assert list(model.classes_) == sorted(labels)


def test_strings_are_points_for_a_kernel_that_takes_them():
    words = ["apple", "apply", "ape", "grape", "zoo", "zoom", "zorro", "ozone"]
    y = [0, 0, 0, 0, 1, 1, 1, 1]
    k = Custom(lambda x, z: float(len(set(x) & set(z))))
    model = SVC(kernel=k).fit(words, y)
    assert list(model.predict(["grapes", "zoology"])) == [0, 1]
    assert set(model.support_vectors_) <= set(words)
    again = SVC(kernel=lambda A, B: k(list(A), list(B))).fit(words, y)
    np.testing.assert_allclose(again.decision_function(words), model.decision_function(words), atol=1e-9)


def test_frames_keep_their_names_and_mixed_columns_have_kernels_of_their_own(data):
    X, y, _, _ = data
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": np.where(X[:, 0] > 0, "u", "v")})
    model = SVC(kernel=Gaussian().on(["a", "b"]) + Overlap().on(["kind"])).fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "kind"]
    assert model.predict(frame.head(3)).shape == (3,)
    numbers = SVC().fit(frame[["a", "b"]], y)
    np.testing.assert_allclose(numbers.decision_function(frame[["a", "b"]]), SVC().fit(X, y).decision_function(X))
    with pytest.raises(ValueError, match="feature names"):
        numbers.predict(frame[["b", "a"]])


# -- good company -------------------------------------------------------------------------------------------------


def test_models_are_pickled_cloned_and_searched(data):
    X, y, _, new = data
    model = SVC(kernel=Gaussian(0.8), C=2.0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))
    assert clone(model).set_params(kernel__length_scale=3.0).kernel == Gaussian(3.0)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), SVC(kernel=Gaussian())),
        {"svc__kernel__length_scale": [0.3, 1.0], "svc__C": [1]},
    ).fit(X, y)
    assert search.best_score_ > 0.7
    matrix = cross_val_score(SVC(kernel="precomputed"), Gaussian()(X), y)
    np.testing.assert_allclose(matrix, cross_val_score(SVC(kernel=Gaussian()), X, y))


class Recorder:
    """A callback that counts rounds, and may interrupt."""

    def __init__(self, interrupt_at=None):
        self.rounds, self.closed, self.interrupt_at = 0, False, interrupt_at

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.rounds += context.task_name == "round"
        if self.rounds == self.interrupt_at:
            raise KeyboardInterrupt
        return False

    def teardown(self, estimator, context):
        self.closed = True


class Talkative(SMO):
    """A solver that reports twice, however small the problem is."""

    def solve(self, kernel, X, problem, progress=None, taken=0):
        if progress is not None:
            progress(1, 0.5)
            progress(2, 0.2)
        return super().solve(kernel, X, problem, taken=taken)


def test_callbacks_are_told_of_every_round(data, monkeypatch):
    monkeypatch.setattr(_svm_base, "SMO", Talkative)
    recorder = Recorder()
    SVC().set_callbacks(recorder).fit(*data[:2])
    assert recorder.rounds == 2
    assert recorder.closed


def test_an_interrupted_fit_leaves_the_object_unfitted(data, monkeypatch):
    monkeypatch.setattr(_svm_base, "SMO", Talkative)
    recorder = Recorder(interrupt_at=2)
    model = SVC().set_callbacks(recorder)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data[:2])
    assert recorder.closed
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_a_failed_fit_keeps_what_was_fitted_before(data):
    X, y, _, new = data
    model = SVC().fit(X, y)
    before = model.decision_function(new)
    for bad in (lambda: model.fit(X, y[:3]), lambda: model.set_params(C=-1).fit(X, y)):
        with pytest.raises(ValueError, match=r"y must have 50|C must be"):
            bad()
        np.testing.assert_array_equal(model.decision_function(new), before)


def test_verbose_prints_one_line(data, capsys):
    SVC(verbose=True).fit(*data[:2])
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    assert "duality gap" in printed


def test_probabilities_that_were_not_asked_for_are_absent_with_a_pointer(data):
    model = SVC().fit(*data[:2])
    assert not hasattr(model, "predict_proba")
    for ask in (lambda: model.predict_proba, lambda: model.predict_log_proba):
        with pytest.raises(AttributeError, match=r"calibration='sigmoid' or 'isotonic'.*KernelLogisticRegression"):
            ask()
    with pytest.raises(ValueError, match="probability must be True or False, got 'yes'"):
        SVC(probability="yes").fit(*data[:2])


# -- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0}, "C must be a positive number.*got 0"),
        ({"C": -1.0}, "C must be"),
        ({"C": "1"}, "C must be"),
        ({"gamma": -0.1}, "gamma must be 'scale', 'auto' or a finite number.*got -0.1"),
        ({"gamma": "best"}, "gamma must be"),
        ({"gamma": np.nan}, "gamma must be"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": -2}, "max_iter must be"),
        ({"max_time": 0}, "max_time must be"),
        ({"cache_size": 0}, "cache_size must be"),
        ({"kernel": "gaussian"}, "kernel must be"),
        ({"kernel": Sigmoid(scale=-1.0)}, "positive semi-definite"),
        ({"kernel": lambda A, B: np.ones(len(A))}, r"must have shape \(50, 50\).*has shape \(50,\)"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "returned nan"),
        ({"kernel": lambda A, B: np.arange(2500.0).reshape(50, 50)}, "not symmetric"),
        ({"decision_function_shape": "all"}, "decision_function_shape must be"),
        ({"class_weight": {"yes": -1.0}}, "class weights must be"),
        ({"memory": "much"}, "memory must be"),
    ],
    ids=lambda value: str(value).split(" at 0x")[0][:40],
)
def test_bad_options_are_named_and_leave_the_object_unfitted(data, options, message):
    model = SVC(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(*data[:2])
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize("nu", [0.0, -0.1, 1.1, "half"])
def test_a_nu_that_is_no_share_is_refused(data, nu):
    with pytest.raises(ValueError, match="nu must be a number above 0 and at most 1"):
        NuSVC(nu=nu).fit(*data[:2])


def test_bad_data_is_refused_in_words(data):
    X, y, weights, _ = data
    with pytest.raises(ValueError, match=r"greater than one; got 1 class.*'a'.*OneClassSVM"):
        SVC().fit(X, ["a"] * 50)
    with pytest.raises(ValueError, match="NaN"):
        SVC().fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match="Unknown label type"):
        SVC().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="y is None"):
        SVC().fit(X, None)
    with pytest.raises(ValueError, match=r"incompatible shapes.*50 points.*\(49,\)"):
        SVC().fit(X, y, weights[1:])
    with pytest.raises(ValueError, match=r"sample_weight\[0\] is nan"):
        SVC().fit(X, y, np.full(50, np.nan))
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        SVC().fit(X, y, np.zeros(50))
    with pytest.raises(ValueError, match="belong to the same class, 'yes'"):
        SVC().fit(X, y, (y == "yes") * 1.0)
    with pytest.raises(ValueError, match="trained on dense data"):
        SVC().fit(X, y).predict(sparse.csr_array(X))


def test_matrices_that_are_no_kernels_are_refused_with_a_certificate(data):
    X, y, _, _ = data
    K = Gaussian()(X)
    with pytest.raises(ValueError, match="not symmetric"):
        SVC(kernel="precomputed").fit(np.triu(K), y)
    with pytest.raises(ValueError, match="square matrix"):
        SVC(kernel="precomputed").fit(K[:, :9], y)
    with pytest.raises(TypeError, match="Sparse precomputed"):
        SVC(kernel="precomputed").fit(sparse.csr_array(K), y)
    indefinite = K - 0.5 * np.eye(50)
    with pytest.raises(ValueError, match=r"(?s)Refuted.*assume_psd=True.*local optimum"):
        SVC(kernel="precomputed").fit(indefinite, y)
    model = SVC(kernel="precomputed", assume_psd=True).fit(indefinite, y)
    assert model.converged_
    with pytest.raises(ValueError, match=r"(?s)9 features.*kernel between the new points and all training points"):
        model.predict(K[:, :9])
    rounded = Gaussian()(X.astype(np.float32)).astype(np.float64)
    SVC(kernel="precomputed").fit((rounded + rounded.T) / 2, y)


def test_a_function_that_does_not_fit_into_memory_is_refused_with_another_way(data):
    X, y, _, _ = data
    with pytest.raises(MemoryBudgetError, match="Custom"):
        SVC(kernel=lambda A, B: A @ B.T, memory=1000).fit(X, y)


def test_points_without_any_spread_are_one_point():
    model = SVC().fit(np.ones((4, 2)), [0, 0, 0, 1])
    assert model.predict([[1.0, 1.0]]) == [0]


@pytest.mark.parametrize("model", [SVC, NuSVC, SVR, OneClassSVM])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, z: x @ z,  # of the tables this is an error of NumPy
        lambda x, z: float(np.exp(-np.sum((x - z) ** 2))),  # and this one number
        lambda x, z: np.dot(x, z),
        lambda x, z: sum(a * b for a, b in zip(x, z, strict=True)),
    ],
)
def test_a_function_of_two_points_is_told_from_one_of_two_tables(data, model, function):
    X, y = data[0], np.arange(50) % 2
    remedy = r"takes two collections.*function of two points, and returned.*mercer\.kernels\.Custom\(function\)"
    with pytest.raises(ValueError, match=remedy):
        model(kernel=function).fit(X, y)
    assert SVC(kernel=Custom(function)).fit(X, y).predict(X).shape == (50,)


def test_the_error_of_a_function_of_two_tables_is_told(data):
    def broken(A, B):
        raise RuntimeError("no licence")

    with pytest.raises(ValueError, match=r"raised RuntimeError: no licence\. Wrap"):
        SVC(kernel=broken).fit(*data[:2])
