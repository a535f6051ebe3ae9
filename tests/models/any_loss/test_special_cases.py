"""Existing models are special cases of any loss, and fits are minima: each equality and each gap is shown."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_moons

import mercer
from mercer import KernelClassifier, KernelQuantileRegressor, KernelRegressor, losses
from mercer.kernels import Gaussian, Linear, Polynomial

K = Gaussian(1.3)


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (90, 2))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.normal(size=90), rng.uniform(0.3, 2.0, 90)


@pytest.mark.parametrize("scaling", ["sum", "mean"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_squared_loss_is_ridge(points, scaling, fit_intercept):
    X, y, w = points
    options = {"kernel": K, "alpha": 0.3, "scaling": scaling, "fit_intercept": fit_intercept}
    ours = KernelRegressor("Squared", tol=1e-12, **options).fit(X, y, w)
    ridge = mercer.KernelRidge(**options).fit(X, y, w)
    np.testing.assert_allclose(ours.predict(X), ridge.predict(X), atol=1e-7)
    assert ours.objective_ == pytest.approx(ridge.objective_)
    assert ours.objective_.penalty == pytest.approx(ridge.objective_.penalty)


def test_the_hinge_is_svc_with_alpha_half_of_one_over_c(points):
    X, y, w = points
    labels = np.where(y > 0, "up", "down")
    ours = KernelClassifier("Hinge", 1 / (2 * 3.0), kernel=K, tol=1e-8).fit(X, labels, w)
    svc = mercer.SVC(C=3.0, kernel=K, tol=1e-8).fit(X, labels, w)
    np.testing.assert_allclose(ours.decision_function(X), svc.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), svc.predict(X))
    assert ours.objective_ == pytest.approx(svc.objective_ / 3.0, rel=1e-6)


def test_the_epsilon_insensitive_loss_is_svr(points):
    X, y, w = points
    ours = KernelRegressor("EpsilonInsensitive(.1)", 1 / (2 * 2.0), kernel=K, tol=1e-8).fit(X, y, w)
    svr = mercer.SVR(C=2.0, epsilon=0.1, kernel=K, tol=1e-8).fit(X, y, w)
    np.testing.assert_allclose(ours.predict(X), svr.predict(X), atol=1e-4)
    mean = mercer.SVR(C=2.0 * w.sum(), epsilon=0.1, kernel=K, tol=1e-8, scaling="mean").fit(X, y, w)
    np.testing.assert_allclose(ours.predict(X), mean.predict(X), atol=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_and_softmax_are_logistic_regression(points, classes):
    X, y, w = points
    labels = np.digitize(y, [-0.5, 0.5][: classes - 1])
    loss = "Logistic" if classes == 2 else "Softmax"
    ours = KernelClassifier(loss, 0.2, kernel=K, tol=1e-10).fit(X, labels, w)
    known = mercer.KernelLogisticRegression(0.2, kernel=K, tol=1e-10).fit(X, labels, w)
    np.testing.assert_allclose(ours.predict_proba(X), known.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(ours.predict_log_proba(X), known.predict_log_proba(X), atol=1e-5)
    assert ours.objective_ == pytest.approx(known.objective_)


def test_two_classes_that_are_judged_together_have_half_the_penalty(points):
    X, y, _ = points
    together = KernelClassifier("Softmax", 0.2, kernel=K, tol=1e-10).fit(X, y > 0)
    alone = KernelClassifier("Logistic", 0.1, kernel=K, tol=1e-10).fit(X, y > 0)
    np.testing.assert_allclose(together.decision_function(X), alone.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(together.predict_proba(X), alone.predict_proba(X), atol=1e-6)


def test_one_class_against_the_others_is_a_model_of_two_classes_each(points):
    X, y, w = points
    labels = np.digitize(y, [-0.5, 0.5])
    for loss in ("SquaredHinge", "Hinge", "Logistic"):
        model = KernelClassifier(loss, 0.2, kernel=K, tol=1e-9).fit(X, labels, w)
        values = model.decision_function(X)
        for q in range(3):
            one = KernelClassifier(loss, 0.2, kernel=K, tol=1e-9).fit(X, labels == q, w)
            np.testing.assert_allclose(values[:, q], one.decision_function(X), atol=2e-4)
        np.testing.assert_array_equal(model.predict(X), values.argmax(axis=1))


SMOOTH = ["Squared", "Expectile(.8)", "Huber(.1)", "LogCosh", "SquaredEpsilonInsensitive(.1)", "Poisson", "Gamma"]
CORNERS = ["Absolute", "Quantile(.8)", "EpsilonInsensitive(.1)"]


def _targets(loss, y):
    return np.floor(3 * np.exp(y)) + (loss == "Gamma") if loss in ("Poisson", "Gamma") else y


def _minimise(loss, y, w, matrix, alpha, intercept):
    """Minimise by L-BFGS in c and b, from scratch; corners are rounded off less and less."""
    loss, point = losses.text.parse_loss(loss), np.zeros(len(y) + 1)
    for width in [None] if loss.smooth else [1e-1, 1e-2, 1e-3, 1e-4, 1e-5]:
        rounded = loss if width is None else losses.smoothed.Smoothed(loss, width)

        def total(p, rounded=rounded):
            c, b = p[:-1], p[-1] * intercept
            f = matrix @ c
            slopes = w * rounded.slope(y, f + b)
            gradient = np.append(matrix @ (slopes + 2 * alpha * c), slopes.sum() * intercept)
            return w @ rounded.value(y, f + b) + alpha * c @ f, gradient

        options = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-15, "gtol": 1e-10}
        point = minimize(total, point, jac=True, method="L-BFGS-B", options=options).x
    c, b = point[:-1], point[-1] * intercept
    return w @ loss.value(y, matrix @ c + b) + alpha * c @ matrix @ c


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", SMOOTH + CORNERS)
def test_the_objective_is_the_minimum_of_an_independent_search(points, loss, fit_intercept):
    X, y, w = points
    X, y, w = X[:12], _targets(loss, y[:12]), w[:12]  # of more, the search finds corners less accurately
    model = KernelRegressor(loss, 0.1, kernel=K, fit_intercept=fit_intercept, tol=1e-7).fit(X, y, w)
    known = _minimise(loss, y, w, K(X), 0.1, fit_intercept)
    assert model.converged_
    close = 1e-4 if loss in SMOOTH else 2e-3  # of the reference
    assert abs(model.objective_ - known) <= close * abs(known)
    assert model.objective_ <= known + 1e-6 * abs(known)
    gap = model.duality_gap_
    assert gap.dual <= known
    assert gap.primal == float(model.objective_)
    assert gap.absolute == pytest.approx(gap.primal - gap.dual, abs=1e-9)
    assert gap.relative <= 1e-7


@pytest.mark.parametrize("loss", SMOOTH + CORNERS)
def test_solvers_agree(points, loss):
    X, y, w = points[0][:45], _targets(loss, points[1][:45]), points[2][:45]
    solvers = ("newton", "newton-cg", "nystroem") if loss in SMOOTH else ("smo", "proximal", "nystroem")
    models = [
        KernelRegressor(loss, 0.1, kernel=K, solver=solver, n_centers=45, tol=1e-7, random_state=0).fit(X, y, w)
        for solver in solvers
    ]
    for model in models[1:]:
        assert model.converged_
        assert float(model.objective_) == pytest.approx(float(models[0].objective_), rel=1e-6)
        np.testing.assert_allclose(model.predict(X), models[0].predict(X), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("loss", ["Huber(.1)", "Poisson", "Quantile(.8)", "Absolute"])
def test_weights_are_repeats(points, loss):
    X, y, _ = points
    y, counts = _targets(loss, y), np.random.default_rng(1).integers(0, 3, len(y))
    weighted = KernelRegressor(loss, 0.1, kernel=K, tol=1e-8).fit(X, y, counts)
    repeated = KernelRegressor(loss, 0.1, kernel=K, tol=1e-8).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert float(weighted.objective_) == pytest.approx(float(repeated.objective_), rel=1e-6)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=5e-3, atol=5e-3)


def test_several_targets_are_fitted_one_by_one(points):
    X, y, w = points
    Y = np.column_stack([y, y**2, -y])
    for loss in ("Huber(.2)", "Quantile(.3)"):
        model = KernelRegressor(loss, 0.1, kernel=K, tol=1e-8).fit(X, Y, w)
        for q in range(3):
            one = KernelRegressor(loss, 0.1, kernel=K, tol=1e-8).fit(X, Y[:, q], w)
            np.testing.assert_allclose(model.predict(X)[:, q], one.predict(X), atol=3e-4)


def test_equal_up_to_scale(points):
    X, y, _ = points
    base = KernelRegressor("Huber(.1)", 0.1, kernel=K, tol=1e-10).fit(X, y)
    for unit in (1e-6, 1e6):
        scaled = KernelRegressor(losses.Huber(0.1 * unit), 0.1, kernel=K, tol=1e-10).fit(X, unit * y)
        np.testing.assert_allclose(scaled.predict(X) / unit, base.predict(X), rtol=1e-6, atol=1e-7)
        quantile = [KernelRegressor("Quantile(.7)", 0.1 / u, kernel=K, tol=1e-6).fit(X, u * y) for u in (1.0, unit)]
        np.testing.assert_allclose(quantile[1].predict(X) / unit, quantile[0].predict(X), atol=1e-3)


@pytest.mark.parametrize("loss", ["Squared", "Huber(.1)", "LogCosh", "Expectile(.8)", "Quantile(.7)"])
def test_an_offset_of_all_targets_is_one_of_the_intercept(points, loss):
    X, y, w = points
    for alpha in (1e-5, 0.1) if loss in SMOOTH else (0.1,):
        plain, far = (KernelRegressor(loss, alpha, kernel=K).fit(X, y + offset, w) for offset in (0.0, 1e8))
        assert far.converged_
        assert float(far.objective_) == pytest.approx(float(plain.objective_), rel=1e-3)
        np.testing.assert_allclose(far.predict(X) - 1e8, plain.predict(X), atol=5e-3)


def test_predictions_are_in_the_unit_of_targets(points):
    X, y, _ = points
    counts = np.random.default_rng(0).poisson(np.exp(1 + y)).astype(float)
    model = KernelRegressor("Poisson", 0.5, kernel=K).fit(X, counts)
    np.testing.assert_allclose(model.predict(X), np.exp(model.expansion_(X)))
    assert model.predict(X).sum() == pytest.approx(counts.sum(), rel=1e-4)  # what the intercept balances


def test_a_share_of_targets_is_below_each_quantile(points):
    X, y, _ = points
    for level in (0.1, 0.5, 0.9):
        found = KernelRegressor(losses.Quantile(level), 1.0, kernel=K, tol=1e-6).fit(X, y).predict(X)
        assert np.mean(y < found - 1e-6) <= level + 1e-9
        assert np.mean(y > found + 1e-6) <= 1 - level + 1e-9


def test_quantiles_never_cross_and_sorting_costs_nothing(points):
    X, y, w = points
    levels = [0.05, 0.2, 0.25, 0.5, 0.75, 0.95]
    model = KernelQuantileRegressor(levels, 0.002, kernel=Gaussian(0.4), tol=1e-6).fit(X, y, w)
    new = np.random.default_rng(3).uniform(-4, 4, (500, 2))
    raw, found = model.expansion_(new), model.predict(new)
    assert (np.diff(raw, axis=1) < 0).any()  # or this test would show nothing
    assert (np.diff(found, axis=1) >= 0).all()
    targets = np.random.default_rng(4).normal(size=(500, 1)) + np.zeros((1, 6))
    assert model.loss_.value(targets, found).sum() <= model.loss_.value(targets, raw).sum()
    for q, level in enumerate(levels):
        one = KernelRegressor(losses.Quantile(level), 0.002, kernel=Gaussian(0.4), tol=1e-6).fit(X, y, w)
        np.testing.assert_allclose(model.expansion_(X)[:, q], one.predict(X), atol=5e-3)


def test_explicit_weights_and_any_object():
    X, y = make_moons(60, noise=0.2, random_state=0)
    model = KernelClassifier("SquaredHinge", 0.1, kernel=Polynomial(2, 1.0)).fit(X, y)
    phi = model.kernel_.feature_map(2).transform(X)
    np.testing.assert_allclose(phi @ model.coef_primal_ + model.intercept_, model.decision_function(X), atol=1e-8)
    texts, sizes = ["aab", "abb", "bba", "caa", "cab", "bca"] * 5, np.array([3.0, 1, 2, 5, 4, 2] * 5)
    model = KernelRegressor("Poisson", 0.1, kernel=mercer.kernels.Spectrum(2)).fit(texts, sizes)
    assert np.abs(model.predict(texts) - sizes).max() < 1.0
    matrix = Linear()(X)
    ours = KernelClassifier("Logistic", 0.1, kernel="precomputed").fit(matrix, y)
    known = KernelClassifier("Logistic", 0.1, kernel=Linear()).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(matrix), known.decision_function(X), atol=1e-6)
