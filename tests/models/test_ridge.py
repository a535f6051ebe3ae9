"""Kernel ridge regression: the lecture's examples, leave-one-out, bad input and good company."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import MemoryBudgetError
from mercer.kernels import Constant, Custom, Gaussian, Linear, Overlap, Polynomial, Sigmoid
from mercer.models.ridge import KernelRidge
from mercer.models.ridge_classifier import KernelRidgeClassifier

FOUR_X = np.array([[1.0], [4.0], [6.0], [9.0]])
FOUR_Y = np.array([0.8, 4.1, 6.2, 8.5])
PHI = np.column_stack([np.ones(4), FOUR_X])


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 3))
    Y = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] ** 2]) + 0.1 * rng.normal(size=(25, 2))
    return X, Y, rng.uniform(0.5, 2.0, size=25), rng.normal(size=(6, 3))


# -- worked examples ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "primal", "spectral", "cholesky"])
def test_four_pairs_have_the_closed_form_of_the_lecture(solver):
    w = np.linalg.solve(PHI.T @ PHI + np.eye(2), PHI.T @ FOUR_Y)
    a = np.linalg.solve(PHI @ PHI.T + np.eye(4), FOUR_Y)
    model = KernelRidge(kernel=Linear() + Constant(1), alpha=1, solver=solver).fit(FOUR_X, FOUR_Y)
    np.testing.assert_allclose(w, PHI.T @ a, rtol=1e-12)
    np.testing.assert_allclose(model.dual_coef_, a, rtol=1e-9)
    np.testing.assert_allclose(PHI.T @ model.dual_coef_, w, rtol=1e-9)
    new = np.array([[0.0], [2.5]])
    np.testing.assert_allclose(model.predict(new), np.column_stack([np.ones(2), new]) @ w, rtol=1e-10)


def test_the_mean_form_is_the_sum_with_a_penalty_times_m():
    K = PHI @ PHI.T
    model = KernelRidge(kernel=Linear() + Constant(1), alpha=0.3, scaling="mean").fit(FOUR_X, FOUR_Y)
    np.testing.assert_allclose(model.dual_coef_, np.linalg.solve(K + 0.3 * 4 * np.eye(4), FOUR_Y), rtol=1e-9)


def test_the_mean_form_with_weights_does_not_change_when_all_are_doubled(data):
    X, Y, weights, _ = data
    once, twice = (KernelRidge(0.1, kernel=Gaussian(), scaling="mean").fit(X, Y, factor * weights) for factor in (1, 2))
    np.testing.assert_allclose(once.dual_coef_, twice.dual_coef_, rtol=1e-9)


@pytest.mark.parametrize("solver", ["auto", "primal", "spectral", "cholesky"])
def test_the_intercept_is_a_column_of_ones_without_a_penalty(data, solver):
    X, Y, weights, new = data
    tilde = np.column_stack([X, np.ones(25)])
    L = np.diag([1.0, 1.0, 1.0, 0.0])
    w = np.linalg.solve(tilde.T @ (weights[:, None] * tilde) + 0.7 * L, tilde.T @ (weights[:, None] * Y))
    model = KernelRidge(0.7, kernel=Linear(), fit_intercept=True, solver=solver).fit(X, Y, weights)
    np.testing.assert_allclose(model.intercept_, w[-1], rtol=1e-9)
    np.testing.assert_allclose(model.predict(new), np.column_stack([new, np.ones(6)]) @ w, rtol=1e-9)


# -- leave-one-out ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(
    ("kernel", "solver"), [(Gaussian(1.5), "auto"), (Gaussian(1.5), "spectral"), (Linear(), "auto")]
)
def test_leaving_each_point_out_equals_as_many_refits(data, kernel, solver, fit_intercept, weighted):
    X, Y, weights, _ = data
    model = KernelRidge([0.1, 1.0], kernel=kernel, solver=solver, fit_intercept=fit_intercept)
    model.fit(X, Y, weights if weighted else None)
    refits = []
    for i in range(25):
        rest = np.arange(25) != i
        without = clone(model).fit(X[rest], Y[rest], weights[rest] if weighted else None)
        refits.append(without.predict(X[i : i + 1])[0])
    np.testing.assert_allclose(model.leave_one_out(), refits, atol=1e-8)


def test_points_without_weight_are_left_out_already(data):
    X, Y, weights, new = data
    weights[::3] = 0
    kept = weights > 0
    model = KernelRidge(0.1, kernel=Gaussian()).fit(X, Y[:, 0], weights)
    without = KernelRidge(0.1, kernel=Gaussian()).fit(X[kept], Y[kept, 0], weights[kept])
    np.testing.assert_allclose(model.predict(new), without.predict(new), rtol=1e-9)
    assert model.dual_coef_.shape == (25,)
    assert (model.dual_coef_[~kept] == 0).all()
    left_out = model.leave_one_out()
    np.testing.assert_allclose(left_out[kept], without.leave_one_out(), rtol=1e-9)
    np.testing.assert_allclose(left_out[~kept], without.predict(X[~kept]), rtol=1e-9)


# -- what a fitted model is ---------------------------------------------------------------------------------------


def test_a_fitted_model_is_an_expansion_with_a_plan_and_a_residual(data):
    X, Y, _, new = data
    model = KernelRidge(0.1, kernel=Gaussian(2.0)).fit(X, Y[:, 0])
    np.testing.assert_allclose(model.expansion_(new), model.predict(new), rtol=1e-12)
    assert model.kernel_ == Gaussian(2.0)
    assert model.plan_.solver == "cholesky"
    assert model.residual_ < 1e-8
    assert model.converged_
    assert model.n_iter_ == 0
    assert model.X_fit_ is model.expansion_.centers


@pytest.mark.parametrize("solver", ["spectral", "cholesky", "cg", "nystroem"])
def test_every_solver_gives_the_same_predictions(data, solver):
    X, Y, weights, new = data
    options = {"kernel": Gaussian(2.0), "fit_intercept": True, "random_state": 0}
    exact = KernelRidge(0.1, solver="spectral", **options).fit(X, Y, weights)
    other = KernelRidge(0.1, solver=solver, **options).fit(X, Y, weights)
    assert other.plan_.solver == solver
    np.testing.assert_allclose(other.predict(new), exact.predict(new), atol=1e-4)


def test_a_precomputed_matrix_gives_the_same_model(data):
    X, Y, weights, new = data
    k = Gaussian(2.0)
    by_kernel = KernelRidge(0.1, kernel=k, fit_intercept=True).fit(X, Y, weights)
    by_matrix = KernelRidge(0.1, kernel="precomputed", fit_intercept=True).fit(k(X), Y, weights)
    np.testing.assert_allclose(by_matrix.predict(k(new, X)), by_kernel.predict(new), rtol=1e-9)
    np.testing.assert_allclose(by_matrix.leave_one_out(), by_kernel.leave_one_out(), rtol=1e-9)


def test_an_indefinite_precomputed_matrix_is_solved_by_its_eigenvalues():
    K = np.array([[0.0, 3.0], [3.0, 0.0]])
    model = KernelRidge(1.0, kernel="precomputed").fit(K, [1.0, 2.0])
    assert model.plan_.solver == "spectral"
    assert "positive definite" in model.plan_.reason
    np.testing.assert_allclose(model.dual_coef_, np.linalg.solve(K + np.eye(2), [1.0, 2.0]))


def test_objects_and_mixed_frames_are_data_too():
    words = ["kernel", "ridge", "eigen", "value", "ridges"]
    common = Custom(lambda x, z: len(set(x) & set(z)))
    model = KernelRidge(1e-3, kernel=common).fit(words, [1.0, 2.0, 3.0, 4.0, 2.0])
    assert model.predict(["ridge"])[0] == pytest.approx(2.0, abs=0.1)
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "color": ["red", "red", "blue", "blue"]})
    mixed = KernelRidge(0.01, kernel=Gaussian().on("size") + Overlap().on("color"))
    mixed.fit(frame, [1.0, 1.0, 5.0, 5.0])
    assert mixed.feature_names_in_.tolist() == ["size", "color"]
    np.testing.assert_allclose(mixed.predict(frame), [1.0, 1.0, 5.0, 5.0], atol=0.1)


def test_columns_with_names_can_have_explicit_features():
    frame = pd.DataFrame({"a": np.arange(9.0), "b": np.arange(9.0) % 2, "c": ["u", "v", "w"] * 3})
    model = KernelRidge(1e-6, kernel=Linear().on("a") + Constant(1)).fit(frame, 2 * frame.a + 1)
    assert model.plan_.solver == "primal"
    np.testing.assert_allclose(model.predict(frame[:2]), [1.0, 3.0], atol=1e-4)
    np.testing.assert_allclose(model.predict(frame), model.expansion_(frame), atol=1e-4)


def test_explicit_features_are_computed_in_blocks(data, monkeypatch):
    X, Y, _, new = data
    model = KernelRidge(0.1, kernel=Linear()).fit(X, Y)
    whole = model.predict(new)
    monkeypatch.setattr("mercer.solvers.ridge.interval.BLOCK_BYTES", 2 * 16 * 3)
    np.testing.assert_allclose(model.predict(new), whole, rtol=1e-12)


def test_nystroem_centers_of_a_precomputed_matrix_keep_their_places(data):
    X, Y, _, new = data
    k = Gaussian(2.0)
    exact, few = (
        KernelRidge(0.1, kernel="precomputed", solver=solver, random_state=0).fit(k(X), Y)
        for solver in ("spectral", "nystroem")
    )
    assert few.dual_coef_.shape == (25, 2)
    np.testing.assert_allclose(few.predict(k(new, X)), exact.predict(k(new, X)), atol=1e-4)


def test_iterations_have_leave_one_out_predictions_from_a_factor(data):
    X, Y, _, _ = data
    exact, iterated = (
        KernelRidge(0.1, kernel=Gaussian(2.0), solver=solver, random_state=0).fit(X, Y) for solver in ("spectral", "cg")
    )
    np.testing.assert_allclose(iterated.leave_one_out(), exact.leave_one_out(), atol=1e-8)


def test_sparse_and_dense_data_agree(data):
    X, Y, _, new = data
    dense = KernelRidge(0.1, kernel=Gaussian()).fit(X, Y).predict(new)
    np.testing.assert_allclose(
        KernelRidge(0.1, kernel=Gaussian()).fit(sparse.csr_array(X), Y).predict(sparse.csr_array(new)), dense, rtol=1e-8
    )


def test_diagnose_gives_numbers_and_advice(data):
    X, Y, _, _ = data
    y = Y[:, 0]
    found = KernelRidge(0.1, kernel=Gaussian(2.0), fit_intercept=True).fit(X, y).diagnose()
    left_out = KernelRidge(0.1, kernel=Gaussian(2.0), fit_intercept=True).fit(X, y).leave_one_out()
    assert found.loo_error == pytest.approx(np.sqrt(np.mean((y - left_out) ** 2)))
    assert found.explained == pytest.approx(1 - np.mean((y - left_out) ** 2) / y.var())
    assert 1 < found.effective_dof < 25
    np.testing.assert_allclose(found.spectrum, np.linalg.eigvalsh(Gaussian(2.0)(X))[::-1], atol=1e-10)
    assert "leave-one-out error" in str(found)
    assert str(found).splitlines()[-1].startswith("advice")


@pytest.mark.parametrize(
    ("alpha", "kernel", "words"),
    [
        (0.1, Gaussian(1e-3), "longer length scale"),
        (0.1, Gaussian(1e3), "shorter length scale"),
        (1e4, Gaussian(2.0), "alpha is too large"),
        (1e-9, Gaussian(2.0), "alpha is too small"),
    ],
)
def test_the_advice_names_what_is_wrong(data, alpha, kernel, words):
    X, Y, _, _ = data
    assert words in KernelRidge(alpha, kernel=kernel, solver="spectral").fit(X, Y[:, 0]).diagnose().advice


# -- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1.0}, "alpha must be finite and not negative, got -1.0"),
        ({"alpha": [1.0, 2.0, 3.0]}, "one for each of the 1 targets; got shape \\(3,\\)"),
        ({"alpha": "much"}, "alpha must be a number"),
        ({"alpha": np.nan}, "alpha must be finite"),
        ({"kernel": "gauss"}, "kernel must be a mercer kernel such as Gaussian"),
        ({"kernel": "rbf", "gamma": -1.0}, "gamma must be a finite number that is not negative"),
        ({"kernel": "poly", "degree": -1}, "degree must be"),
        ({"kernel": "poly", "coef0": np.inf}, "coef0 must be"),
        ({"scaling": "max"}, "scaling must be 'sum' or 'mean'"),
        ({"solver": "magic"}, "solver must be 'auto' or one of"),
        ({"memory": "much"}, "memory must be"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        KernelRidge(**options).fit(FOUR_X, FOUR_Y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (FOUR_Y[:3], r"X has 4 points, so y must have shape \(4,\)"),
        (np.zeros((4, 2, 2)), "dim"),
        (3.0, "one target for each of the 4 points"),
        ([1.0, np.nan, 2.0, 3.0], "NaN"),
        (["a", "b", "c", "d"], "could not convert string to float"),
        (np.zeros((4, 0)), r"0 feature|shape \(4, 0\)"),
        (None, "requires y to be passed"),
    ],
)
def test_targets_that_do_not_fit_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        KernelRidge().fit(FOUR_X, y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(4), "all sample weights are zero"),
        ([1.0, -1.0, 1.0, 1.0], r"sample_weight\[1\] is -1.0"),
        ([1.0, np.nan, 1.0, 1.0], r"sample_weight\[1\] is nan"),
        ([1.0, 1.0], r"shape \(4,\), got shape \(2,\)"),
    ],
)
def test_weights_that_mean_nothing_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        KernelRidge().fit(FOUR_X, FOUR_Y, sample_weight=weights)


def test_without_a_penalty_a_singular_matrix_gives_the_smallest_least_squares_fit_and_says_so():
    X, y = np.array([[0.0], [0.0], [1.0]]), np.array([1.0, 3.0, 0.0])
    with pytest.warns(
        UserWarning, match=r"alpha=0 and the kernel matrix is singular \(rank 2 of 3\).*solver='spectral'"
    ):
        model = KernelRidge(0, kernel=Gaussian()).fit(X, y)
    np.testing.assert_allclose(model.predict(X), [2.0, 2.0, 0.0], atol=1e-10)
    np.testing.assert_allclose(model.dual_coef_, np.linalg.pinv(Gaussian()(X), hermitian=True) @ y, atol=1e-10)
    KernelRidge(0, kernel=Gaussian(), solver="spectral").fit(X, y)  # asked for: no warning
    with pytest.raises(ValueError, match="spectral solver"):
        KernelRidge(0, kernel=Gaussian(), solver="cholesky").fit(X, y)


def test_without_a_penalty_a_regular_matrix_interpolates(data):
    X, Y, _, _ = data
    np.testing.assert_allclose(KernelRidge(0, kernel=Gaussian(0.5)).fit(X, Y).predict(X), Y, atol=1e-8)


def test_duplicated_rows_with_different_targets_are_averaged():
    model = KernelRidge(1e-9, kernel=Gaussian()).fit([[0.0], [0.0]], [1.0, 3.0])
    assert model.predict([[0.0]])[0] == pytest.approx(2.0)


def test_one_sample_is_enough():
    assert KernelRidge(1.0, kernel=Gaussian()).fit([[0.0]], [4.0]).predict([[0.0]])[0] == pytest.approx(2.0)
    assert KernelRidge(1.0, kernel=Gaussian()).fit([[0.0]], [4.0]).leave_one_out()[0] == pytest.approx(0.0)
    model = KernelRidge(1.0, kernel=Gaussian(), fit_intercept=True).fit([[0.0]], [4.0])
    assert model.predict([[9.0]])[0] == pytest.approx(4.0)
    assert np.isnan(model.leave_one_out()[0])  # nothing is left to fit an intercept to


def test_constant_targets_are_the_intercept(data):
    X, _, _, new = data
    model = KernelRidge(1.0, kernel=Gaussian(), fit_intercept=True).fit(X, np.full(25, 7.0))
    np.testing.assert_allclose(model.predict(new), 7.0)
    np.testing.assert_allclose(model.dual_coef_, 0.0, atol=1e-12)
    assert "equal" in model.diagnose().advice


def test_a_refuted_kernel_is_refused_with_its_points_unless_asked_for(data):
    X, Y, _, _ = data
    k = Sigmoid(1.0, -1.0)
    with pytest.raises(ValueError, match=r"(?s)Refuted.*x₁.*assume_psd=True"):
        KernelRidge(kernel=k).fit(X, Y)
    KernelRidge(kernel=k, assume_psd=True).fit(X, Y)
    KernelRidge(kernel="sigmoid", coef0=-1.0).fit(X, Y)  # scikit-learn's names stay as they are there
    with pytest.raises(ValueError, match=r"(?s)Refuted.*assume_psd=True"):
        KernelRidge(kernel=Custom(lambda x, z: -float(x @ z))).fit(X, Y)


def test_data_of_another_shape_is_refused(data):
    X, Y, _, _ = data
    model = KernelRidge().fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but KernelRidge is expecting 3"):
        model.predict(X[:, :2])
    matrix = KernelRidge(kernel="precomputed").fit(np.eye(3), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"all 3 training points, shape \(points, 3\); got shape \(2, 2\)"):
        matrix.predict(np.eye(2))
    with pytest.raises(ValueError, match="a square matrix; got shape"):
        KernelRidge(kernel="precomputed").fit(np.ones((2, 3)), [1.0, 2.0])


def test_a_budget_too_small_is_refused_before_anything_is_computed(data):
    X, Y, _, _ = data
    with pytest.raises(MemoryBudgetError, match="needs"):
        KernelRidge(kernel=Gaussian(), memory=100).fit(X, Y)
    with pytest.raises(MemoryBudgetError, match="solver='spectral' for 25 points needs"):
        KernelRidge(kernel=Gaussian(), memory=5000, solver="spectral").fit(X, Y)


def test_a_model_that_is_not_fitted_says_so():
    for method in ("predict", "predict_interval"):
        with pytest.raises(NotFittedError):
            getattr(KernelRidge(), method)([[1.0]])
    for method in ("leave_one_out", "diagnose"):
        with pytest.raises(NotFittedError):
            getattr(KernelRidge(), method)()


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_fit_that_fails_changes_nothing(data, monkeypatch, error):
    X, Y, _, new = data
    fresh, fitted = KernelRidge(kernel=Gaussian()), KernelRidge(kernel=Gaussian()).fit(X, Y)
    before = fitted.predict(new)

    def stop(*args, **kwargs):
        raise error

    monkeypatch.setattr("mercer.solvers.ridge.fit.Expansion", stop)  # the last step that can fail
    for model in (fresh, fitted):
        with pytest.raises(error):
            model.fit(X[:, :2], Y)
    assert not hasattr(fresh, "n_features_in_")
    with pytest.raises(NotFittedError):
        fresh.predict(new)
    np.testing.assert_array_equal(fitted.predict(new), before)


# -- company ------------------------------------------------------------------------------------------------------


def test_a_grid_search_in_a_pipeline_tunes_the_kernel(data):
    X, Y, _, _ = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    search = GridSearchCV(
        make_pipeline(StandardScaler().set_output(transform="pandas"), KernelRidge(kernel=Gaussian() + Polynomial())),
        {"kernelridge__kernel__k1__length_scale": [0.1, 1.0, 3.0], "kernelridge__alpha": [0.01, 1.0]},
        cv=3,
    ).fit(frame, Y)
    best = search.best_estimator_[-1]
    assert best.kernel_.k1.length_scale == search.best_params_["kernelridge__kernel__k1__length_scale"]
    assert best.feature_names_in_.tolist() == ["a", "b", "c"]
    assert search.predict(frame).shape == (25, 2)


def test_cross_validation_cuts_a_precomputed_matrix_on_both_sides(data):
    X, Y, _, _ = data
    k = Gaussian(2.0)
    by_matrix = cross_val_score(KernelRidge(0.1, kernel="precomputed"), k(X), Y, cv=4)
    np.testing.assert_allclose(by_matrix, cross_val_score(KernelRidge(0.1, kernel=k), X, Y, cv=4), rtol=1e-8)


def test_a_pickled_model_predicts_the_same(data):
    X, Y, weights, new = data
    for kernel in (Gaussian(), "poly", "additive_chi2", "precomputed"):
        train, test = (Gaussian()(X), Gaussian()(new, X)) if kernel == "precomputed" else (np.abs(X), np.abs(new))
        model = KernelRidge(0.1, kernel=kernel).fit(train, Y, weights)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(test), model.predict(test))
        np.testing.assert_allclose(again.leave_one_out(), model.leave_one_out())


def test_a_clone_keeps_parameters_and_forgets_the_fit(data):
    X, Y, _, _ = data
    model = KernelRidge([0.1, 0.2], kernel=Gaussian(2.0), solver="spectral", memory="1GB").fit(X, Y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "expansion_")


def test_numbers_in_plain_lists_and_integers_will_do():
    model = KernelRidge(1, kernel="rbf").fit([[1, 2], [3, 4], [5, 6]], [1, 2, 3])
    assert model.predict([[1, 2]]).shape == (1,)
    assert KernelRidge().fit([[1], [2]], [[1], [2]]).predict([[1]]).shape == (1, 1)


@pytest.mark.parametrize("solver", ["cg", "blocks"])
@pytest.mark.parametrize("kind", [KernelRidge, KernelRidgeClassifier])
def test_a_looser_tolerance_takes_fewer_iterations_and_is_kept(kind, solver):
    points = np.random.default_rng(0).normal(size=(300, 2))
    labels = np.sign(points[:, 0])
    made = [
        kind(0.1, kernel=Gaussian(), solver=solver, tol=tol, random_state=0).fit(points, labels) for tol in (1e-2, 1e-8)
    ]
    loose, tight = made
    assert 0 < loose.n_iter_ < tight.n_iter_
    assert loose.residual_ <= 1e-2
    assert tight.residual_ <= 1e-8
    assert loose.converged_
    assert tight.converged_


def test_direct_solvers_keep_their_own_tolerance():
    points = np.random.default_rng(0).normal(size=(40, 2))
    assert KernelRidge(0.1, kernel=Gaussian(), solver="cholesky", tol=0.9).fit(points, points[:, 0]).residual_ <= 1e-8


@pytest.mark.parametrize("tol", [0, 1, -1e-6, np.nan, "tight", True, None])
@pytest.mark.parametrize("kind", [KernelRidge, KernelRidgeClassifier])
def test_tolerances_are_numbers_between_0_and_1(kind, tol):
    with pytest.raises(ValueError, match=f"{kind.__name__}: tol is the certificate .* between 0 and 1, .*; got"):
        kind(tol=tol).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
