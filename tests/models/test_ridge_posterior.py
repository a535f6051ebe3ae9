"""Ridge is the mean of a Gaussian process: its variance, its draws and its likelihood are those of one."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp

import mercer
from mercer.arrays.budget import MemoryBudgetError
from mercer.kernels import (
    Constant,
    Custom,
    Gaussian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
)
from mercer.models.ridge import KernelRidge
from mercer.models.ridge_cv import KernelRidgeCV

PAIRS = [
    pytest.param(1.7 * Gaussian(1.3), 1.7 * gp.RBF(1.3), id="gaussian"),
    pytest.param(Matern(1.5, 0.8), gp.Matern(0.8, nu=1.5), id="matern"),
    pytest.param(Linear() + 2.0, gp.DotProduct(2.0**0.5), id="line"),
    pytest.param(
        RationalQuadratic() * Gaussian() + Linear() + 1.0,
        gp.RationalQuadratic() * gp.RBF() + gp.DotProduct(1.0),
        id="composed",
    ),
]
SOLVERS = ["auto", "cholesky", "spectral", "cg", "nystroem"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=50)
    return X, y, rng.uniform(0.2, 3.0, 50), rng.normal(size=(13, 2))


def make_model(alpha, solver, **options):
    centers = 50 if solver == "nystroem" else None  # all points: nothing is left out
    return KernelRidge(alpha, solver=solver, n_centers=centers, random_state=0, **options)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_mean_deviation_covariance_and_likelihood_are_those_of_scikit_learn(
    data, ours, theirs, weighted, solver, scale
):
    X, y, weights, Z = data
    # Targets in other units are a process of another size; the noise goes with them.
    alpha, ours, theirs = 0.07 * scale**2, scale**2 * ours, gp.ConstantKernel(scale**2, "fixed") * theirs
    reference = GaussianProcessRegressor(theirs, alpha=alpha / weights if weighted else alpha, optimizer=None)
    reference.fit(X, scale * y)
    model = make_model(alpha, solver, kernel=ours).fit(X, scale * y, weights if weighted else None)
    mean, std = model.predict(Z, return_std=True)
    cov = model.predict(Z, return_cov=True)[1]
    expected, expected_cov = reference.predict(Z, return_cov=True)
    np.testing.assert_allclose(mean, expected, atol=1e-6 * scale)
    np.testing.assert_allclose(std, np.sqrt(np.diag(expected_cov)), atol=1e-8 * scale)
    np.testing.assert_allclose(cov, expected_cov, atol=1e-8 * scale**2)
    assert model.log_marginal_likelihood_ == pytest.approx(reference.log_marginal_likelihood_value_, rel=1e-8)


@pytest.mark.parametrize("kernel", [Gaussian(1.3), Linear()], ids=["dual", "primal"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_an_intercept_is_the_limit_of_a_constant_of_large_variance(data, kernel, solver, weighted):
    X, y, weights, Z = data
    weights = weights if weighted else None
    model = make_model(0.1, solver, kernel=kernel, fit_intercept=True).fit(X, y, weights)
    large = 1e6
    limit = KernelRidge(0.1, kernel=kernel + Constant(large), solver="cholesky").fit(X, y, weights)
    np.testing.assert_allclose(model.predict(Z, return_cov=True)[1], limit.predict(Z, return_cov=True)[1], atol=1e-6)
    np.testing.assert_allclose(model.predict(Z, return_std=True)[1], limit.predict(Z, return_std=True)[1], atol=1e-6)
    restricted = limit.log_marginal_likelihood_ + 0.5 * np.log(2 * np.pi * large)
    assert model.log_marginal_likelihood_ == pytest.approx(restricted, abs=1e-5)


def test_centres_leave_what_they_do_not_explain(data):
    X, y, _, Z = data
    few = KernelRidge(0.1, kernel=Gaussian(), n_centers=8, random_state=0).fit(X, y)
    assert few.plan_.solver == "nystroem"
    C = few.expansion_.centers
    Phi, phi = (np.linalg.solve(np.linalg.cholesky(Gaussian()(C)), Gaussian()(C, points)) for points in (X, Z))
    known = 0.1 * phi.T @ np.linalg.solve(Phi @ Phi.T + 0.1 * np.eye(len(C)), phi)
    expected = Gaussian()(Z) - phi.T @ phi + known
    np.testing.assert_allclose(few.predict(Z, return_cov=True)[1], expected, atol=1e-8)
    np.testing.assert_allclose(few.predict(Z, return_std=True)[1] ** 2, np.diag(expected), atol=1e-8)
    # Far from all points nothing is known, also to a model of few centres.
    assert few.predict([[50.0, 50.0]], return_std=True)[1] == pytest.approx(1.0)


def test_an_object_that_shares_nothing_with_the_data_is_as_uncertain_as_before_it():
    texts, y = ["abab", "abba", "baba", "bbbb"], np.array([1.0, 0.5, 0.8, -1.0])
    kernel, new = Spectrum(2), ["abab", "cdcd"]
    std = KernelRidge(0.1, kernel=kernel).fit(texts, y).predict(new, return_std=True)[1]
    assert std[1] == pytest.approx(np.sqrt(kernel.diag(new)[1]))
    assert std[0] < 0.5 * np.sqrt(kernel.diag(new)[0])


def test_one_alpha_for_each_target_gives_one_deviation_for_each(data):
    X, y, _, Z = data
    Y = np.column_stack([y, -y, 2.0 * y])
    for solver in ("cholesky", "spectral", "cg", "nystroem"):
        model = make_model([0.1, 1.0, 0.1], solver, kernel=Gaussian()).fit(X, Y)
        std, cov = (model.predict(Z, **{what: True})[1] for what in ("return_std", "return_cov"))
        singles = [make_model(a, solver, kernel=Gaussian()).fit(X, Y[:, i]) for i, a in enumerate((0.1, 1.0, 0.1))]
        np.testing.assert_allclose(std, np.column_stack([m.predict(Z, return_std=True)[1] for m in singles]), atol=1e-9)
        assert cov.shape == (13, 13, 3)
        np.testing.assert_allclose(cov[:, :, 1], singles[1].predict(Z, return_cov=True)[1], atol=1e-9)
        total = sum(single.log_marginal_likelihood_ for single in singles)
        assert model.log_marginal_likelihood_ == pytest.approx(total)


def test_points_of_weight_0_do_not_count(data):
    X, y, _, Z = data
    weights = np.where(np.arange(50) < 10, 0.0, 1.0)
    some, rest = KernelRidge(0.1, kernel=Gaussian()), KernelRidge(0.1, kernel=Gaussian())
    some, rest = some.fit(X, y, weights), rest.fit(X[10:], y[10:])
    np.testing.assert_allclose(some.predict(Z, return_std=True)[1], rest.predict(Z, return_std=True)[1], atol=1e-10)
    assert some.log_marginal_likelihood_ == pytest.approx(rest.log_marginal_likelihood_)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_without_noise_nothing_is_uncertain_at_the_points(data, fit_intercept):
    X, y, _, Z = data
    X, y = np.vstack([X[:12], X[:2]]), np.append(y[:12], y[:2])  # repeated points make the matrix singular
    model = KernelRidge(0.0, kernel=Matern(0.5), solver="spectral", fit_intercept=fit_intercept).fit(X, y)
    assert model.predict(X, return_std=True)[1].max() < 1e-6
    small = KernelRidge(1e-9, kernel=Matern(0.5), solver="cholesky", fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_allclose(model.predict(Z, return_std=True)[1], small.predict(Z, return_std=True)[1], atol=1e-4)
    with pytest.raises(ValueError, match="needs alpha > 0"):
        model.log_marginal_likelihood_  # noqa: B018


def test_the_mean_alone_costs_no_posterior_and_files_have_none(data, tmp_path):
    X, y, _, Z = data
    model = KernelRidge(0.1, kernel=Gaussian()).fit(X, y)
    model.predict(Z)
    assert "_posterior" not in vars(model._record)
    plain = len(pickle.dumps(model))
    mercer.save(model, tmp_path / "plain.mercer")
    std = model.predict(Z, return_std=True)[1]
    assert "_posterior" in vars(model._record)
    assert len(pickle.dumps(model)) == plain
    assert "_posterior" not in vars(copy.deepcopy(model)._record)
    mercer.save(model, tmp_path / "after.mercer")
    assert (tmp_path / "after.mercer").stat().st_size == (tmp_path / "plain.mercer").stat().st_size
    loaded = mercer.load(tmp_path / "after.mercer")
    np.testing.assert_allclose(loaded.predict(Z, return_std=True)[1], std, atol=1e-12)
    assert loaded.log_marginal_likelihood_ == pytest.approx(model.log_marginal_likelihood_)
    model.fit(X[:5], y[:5])
    assert model.predict(Z, return_std=True)[1].mean() > std.mean()


def test_both_spreads_at_once_are_refused(data):
    X, y, _, Z = data
    model = KernelRidge(0.1, kernel=Gaussian()).fit(X, y)
    with pytest.raises(RuntimeError, match="cannot both be True"):
        model.predict(Z, return_std=True, return_cov=True)


def test_a_matrix_without_the_diagonal_of_new_points_is_refused_and_the_remedy_works(data):
    X, y, _, Z = data
    model = KernelRidge(0.1, kernel="precomputed").fit(Gaussian()(X), y)
    for ask in (lambda: model.predict(Gaussian()(Z, X), return_std=True), lambda: model.sample(Gaussian()(Z, X))):
        with pytest.raises(ValueError, match=r"do not say k\(x, x\).*Precomputed\(K\)"):
            ask()
    both = Precomputed(Gaussian()(np.vstack([X, Z])))
    whole = KernelRidge(0.1, kernel=both).fit(np.arange(50), y)
    expected = KernelRidge(0.1, kernel=Gaussian()).fit(X, y).predict(Z, return_std=True)[1]
    np.testing.assert_allclose(whole.predict(np.arange(50, 63), return_std=True)[1], expected, atol=1e-9)


def test_a_kernel_that_is_none_is_named_with_the_remedy():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    kernel = Sigmoid(1.0, -1.0)
    for solver, alpha in (("cholesky", 20.0), ("spectral", 0.5)):
        model = KernelRidge(alpha, kernel=kernel, assume_psd=True, solver=solver).fit(X, y)
        with pytest.raises(ValueError, match=r"Sigmoid.*certificate\(\)"):
            model.predict(3.0 * rng.normal(size=(50, 2)), return_std=True)


def test_variances_lost_in_rounding_are_0_counted_and_warned_about_once():
    X = np.random.default_rng(0).uniform(1.0, 2.0, size=(200, 1))  # rounding takes every other one below 0
    model = KernelRidge(1e-11, kernel=1e8 * Linear(), solver="spectral").fit(X, X[:, 0])
    with pytest.warns(UserWarning, match="lost in rounding and given as 0"):
        std = model.predict(X, return_std=True)[1]
    assert (std >= 0).all()
    assert vars(model._record)["_posterior"].clamped > 0
    model.predict(X, return_std=True)


def test_a_budget_that_holds_no_factor_iterates_and_one_that_holds_no_covariances_says_so():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, size=(700, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=700)
    whole = KernelRidge(0.5, kernel=Gaussian(), solver="cholesky").fit(X, y)
    tight = KernelRidge(0.5, kernel=Gaussian(), solver="cholesky", memory="4MB").fit(X, y)
    np.testing.assert_allclose(tight.predict(X[:9], return_std=True)[1], whole.predict(X[:9], return_std=True)[1])
    with pytest.raises(MemoryBudgetError, match="return_std=True"):
        tight.predict(X, return_cov=True)
    with pytest.raises(MemoryBudgetError, match="likelihood"):
        tight.log_marginal_likelihood_  # noqa: B018


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(("alpha", "trusted"), [(0.1, True), (1e-9, False)])
def test_float32_gives_way_to_float64_where_it_moves_a_deviation(monkeypatch, alpha, trusted, fit_intercept):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, size=(80, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=80)
    new = np.concatenate([X[:20] + 0.01, rng.uniform(-4.0, 4.0, size=(20, 2))])
    model = KernelRidge(alpha, kernel=Gaussian(0.5), solver="cholesky", fit_intercept=fit_intercept)
    exact = model.fit(X, y).predict(new, return_std=True)[1]
    monkeypatch.setattr("mercer.solvers.ridge.posterior.inverse.SMALL", 50)
    std = model.fit(X, y).predict(new, return_std=True)[1]
    np.testing.assert_allclose(std, exact, rtol=2e-4)
    inverses = vars(model._record)["_posterior"]._form._inverses
    assert inverses.trusts_single == trusted
    assert (std != exact).any() == trusted  # and float32 was really there
    cov = model.predict(new, return_cov=True)[1]  # what is asked for next is precise in any case
    np.testing.assert_allclose(np.sqrt(cov.diagonal()), exact, rtol=1e-6 if trusted else 1e-3)


def test_few_points_of_a_model_by_iterations_are_iterated_for_and_many_are_not(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, size=(60, 2))
    model = KernelRidge(0.5, kernel=Gaussian(), solver="cg").fit(X, np.sin(X[:, 0]))
    monkeypatch.setattr("mercer.solvers.ridge.posterior.inverse.STEPS", 1)
    few = model.predict(X[:9], return_std=True)[1]
    inverses = vars(model._record)["_posterior"]._form._inverses
    assert inverses.iterates(9)
    many = model.predict(X, return_std=True)[1]
    assert not inverses.iterates(9)  # the factor is there now
    np.testing.assert_allclose(few, many[:9], rtol=1e-6)


# -- draws ------------------------------------------------------------------------------------------------------------


def check_draws(drawn, mean, cov, slack=0.0):
    """Compare mean and covariance of draws, one a column, with what they are drawn from, to five deviations."""
    size, scale = drawn.shape[1], np.sqrt(np.diag(cov))
    assert (np.abs(drawn.mean(axis=1) - mean) <= 5.0 * scale / np.sqrt(size) + 1e-6).all()
    spread = np.sqrt((np.outer(np.diag(cov), np.diag(cov)) + cov**2) / size)
    assert (np.abs(np.cov(drawn) - cov) <= 5.0 * spread + slack + 1e-9).all()


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", [Gaussian(1.3), Polynomial(2, 1.0)], ids=["dual", "primal"])
def test_draws_have_the_mean_and_the_covariance_of_the_posterior(data, kernel, solver, fit_intercept):
    X, y, weights, Z = data
    model = make_model(0.3, solver, kernel=kernel, fit_intercept=fit_intercept).fit(X, y, weights)
    mean, cov = model.predict(Z, return_cov=True)
    drawn = model.sample(Z, size=4000, random_state=0)
    assert drawn.shape == (13, 4000)
    check_draws(drawn, mean, cov)
    np.testing.assert_array_equal(drawn, model.sample(Z, size=4000, random_state=0))


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(
    ("kernel", "solver"),
    [
        (2.0 * Gaussian(1.3) + 0.5, "cholesky"),
        (Gaussian(2.0) * Matern(1.5, 2.0) + Linear().on([0]), "spectral"),
        (Gaussian(1.3), "cg"),
        (Gaussian(1.3), "nystroem"),
        (Polynomial(2, 1.0), "primal"),
        (Custom(lambda A, B: np.exp(-np.abs(A[:, None, 0] - B[None, :, 0])), vectorized=True), "cholesky"),
    ],
)
def test_draws_at_many_points_have_them_too(data, kernel, solver, fit_intercept):
    X, y, weights, Z = data
    many = np.vstack([Z, X[:3], np.random.default_rng(1).normal(size=(2100, 2))])
    centers = 10 if solver == "nystroem" else None
    model = KernelRidge(
        0.3, kernel=kernel, solver=solver, n_centers=centers, fit_intercept=fit_intercept, random_state=0
    ).fit(X, y, weights)
    drawn = model.sample(many, size=800, random_state=0)
    mean, cov = model.predict(many[:16], return_cov=True)
    slack = 0.0 if solver == "primal" else 0.05 * np.abs(kernel.diag(many[:16])).max()  # of so many waves
    check_draws(drawn[:16], mean, cov, slack)


def test_draws_of_several_targets_are_independent_and_have_their_own_alpha(data):
    X, y, _, Z = data
    model = KernelRidge([0.1, 5.0], kernel=Gaussian()).fit(X, np.column_stack([y, y]))
    drawn = model.sample(Z, size=3000, random_state=0)
    assert drawn.shape == (13, 2, 3000)
    mean, cov = model.predict(Z, return_cov=True)
    for target in (0, 1):
        check_draws(drawn[:, target], mean[:, target], cov[:, :, target])
    between = [np.corrcoef(drawn[i, 0], drawn[i, 1])[0, 1] for i in range(13)]
    assert np.abs(between).max() < 5.0 / np.sqrt(3000)


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "3"])
def test_a_size_that_is_no_number_of_draws_is_refused(data, size):
    X, y, _, Z = data
    with pytest.raises(ValueError, match="size must be a whole number of at least 1"):
        KernelRidge(0.1, kernel=Gaussian()).fit(X, y).sample(Z, size=size)


# -- likelihood -------------------------------------------------------------------------------------------------------


def test_likelihood_and_gradient_are_those_of_scikit_learn(data):
    X, y, _, _ = data
    model = KernelRidge(0.1, kernel=2.0 * Gaussian(1.3)).fit(X, y)
    reference = GaussianProcessRegressor(
        gp.ConstantKernel(2.0) * gp.RBF(1.3) + gp.WhiteKernel(0.1), alpha=1e-14, optimizer=None
    ).fit(X, y)
    for theta in (None, np.log([0.7, 0.4, 0.02])):
        value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
        expected, slopes = reference.log_marginal_likelihood(reference.kernel_.theta if theta is None else theta, True)
        assert value == pytest.approx(expected)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-6)
        assert model.log_marginal_likelihood(theta) == pytest.approx(expected)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("scaling", ["sum", "mean"])
@pytest.mark.parametrize("alpha", [0.3, [0.3, 0.05]])
def test_the_gradient_is_the_slope_of_the_likelihood(data, fit_intercept, scaling, alpha):
    X, y, weights, _ = data
    kernel = 1.5 * Gaussian([1.0, 2.0]) + 0.3 * Polynomial(2, 0.7)
    Y = np.column_stack([y, y**2])
    model = KernelRidge(alpha, kernel=kernel, fit_intercept=fit_intercept, scaling=scaling).fit(X, Y, weights)
    theta = np.log([*model.kernel_.hyperparameters().values(), *np.atleast_1d(alpha)])
    value, gradient = model.log_marginal_likelihood(eval_gradient=True)
    assert value == pytest.approx(model.log_marginal_likelihood_)
    assert value == pytest.approx(model.log_marginal_likelihood(theta))
    step = 1e-5
    slopes = [
        (model.log_marginal_likelihood(theta + move) - model.log_marginal_likelihood(theta - move)) / (2 * step)
        for move in step * np.eye(len(theta))
    ]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6)


def test_theta_of_another_length_is_told_what_it_should_hold(data):
    X, y, _, _ = data
    model = KernelRidge(0.1, kernel=Gaussian()).fit(X, y)
    with pytest.raises(ValueError, match=r"\['length_scale'\] and of alpha, shape \(2,\)"):
        model.log_marginal_likelihood([0.0])


def test_centres_have_a_likelihood_but_none_elsewhere(data):
    X, y, _, _ = data
    model = KernelRidge(0.1, kernel=Gaussian(), n_centers=8, random_state=0).fit(X, y)
    C = model.expansion_.centers
    Q = Gaussian()(X, C) @ np.linalg.solve(Gaussian()(C), Gaussian()(C, X)) + 0.1 * np.eye(50)
    expected = -0.5 * (y @ np.linalg.solve(Q, y) + np.linalg.slogdet(Q)[1] + 50 * np.log(2 * np.pi))
    assert model.log_marginal_likelihood_ == pytest.approx(expected, rel=1e-6)
    with pytest.raises(ValueError, match="Nyström"):
        model.log_marginal_likelihood(eval_gradient=True)


def test_models_that_searched_have_all_of_it(data):
    X, y, _, Z = data
    model = KernelRidgeCV(kernel=Gaussian(), alphas=[0.1]).fit(X, y)
    inner = model.ridge_
    np.testing.assert_array_equal(model.predict(Z, return_std=True)[1], inner.predict(Z, return_std=True)[1])
    np.testing.assert_array_equal(model.sample(Z, 2, random_state=0), inner.sample(Z, 2, random_state=0))
    assert model.log_marginal_likelihood_ == inner.log_marginal_likelihood_
    assert model.log_marginal_likelihood(np.log([1.0, 0.1])) == pytest.approx(inner.log_marginal_likelihood_)
