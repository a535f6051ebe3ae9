"""No answer that its own evidence contradicts: what a fit says of itself is recomputed from its function alone."""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import models
from mercer.kernels import Gaussian, Linear

N = 40
WIDE = np.longdouble  # the certificates are recomputed in extended precision
REMEDY = r"\b(raise|lower|scale|use|give)\b|Scaler"


def _points(classes=2, scale=1.0, offset=0.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.4 * rng.normal(size=N)
    codes = np.digitize(score, np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1]))
    return scale * X + offset, codes, np.sin(X[:, 0]) + 0.1 * rng.normal(size=N)


WEIGHTS = {
    "even": np.ones(N),
    "one of 1e13": np.where(np.arange(N) == 5, 1e13, 1.0),
    "one of 1e-10": np.where(np.arange(N) == 5, 1e-10, 1.0),
    "all of 1e-10": np.full(N, 1e-10),
    "uneven": 10 ** np.random.default_rng(1).uniform(-3, 3, N),
}
# A kernel of a size, points of a scale with an offset, and weights: the problems that all machines are given.
PROBLEMS = [
    pytest.param(size * Gaussian(1.5 * scale), scale, offset, name, id=f"k*{size:g} X*{scale:g}+{offset:g} w {name}")
    for size in (1e-12, 1.0, 1e12)
    for scale, offset in ((1.0, 0.0), (1e-9, 0.0), (1e9, 0.0), (1.0, 1e8))
    for name in WEIGHTS
    if (size == 1.0) + (scale == 1.0 and offset == 0.0) + (name == "even") >= 2  # one thing that is odd at a time
]


def _fitted(model, *data):
    """Fit; what has not converged says so once, with a remedy, and what has says nothing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*data)
    told = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert len(told) == (not model.converged_), told
    if told:
        assert re.search(REMEDY, told[0])
    return model


def _values(model, kernel, X):
    """Coefficients at all points, squared norms and values of the model's own functions, in extended precision."""
    expansions = [model.expansion_] if _has_one(model) else model.expansions_
    K, found = kernel(X).astype(WIDE), []
    for f in expansions:
        cross, inner = kernel(X, f.centers).astype(WIDE), kernel(f.centers).astype(WIDE)
        c = np.asarray(f.coef, dtype=WIDE).ravel()
        found.append((cross @ c, c @ inner @ c, WIDE(np.ravel(f.intercept)[0])))
    return K, found


def _has_one(model):
    try:
        return model.expansion_.coef.ndim == 1 or model.expansion_.coef.shape[1] == 1
    except AttributeError:
        return False


# -- C-SVC and ε-SVR: the primal at f + b, against the dual at β -------------------------------------------------------


@pytest.mark.parametrize(("kernel", "scale", "offset", "weights"), PROBLEMS)
@pytest.mark.parametrize("C", [1.0, 1e6])
def test_a_classifier_that_has_converged_is_close_to_its_dual(kernel, scale, offset, weights, C):
    X, codes, _ = _points(2, scale, offset)
    w = WEIGHTS[weights]
    penalty = C / (float(kernel(X[:1])[0, 0]) * w.max())  # the same problem whatever the size of kernel and weights
    model = _fitted(models.SVC(C=penalty, kernel=kernel), X, codes, w)
    if not model.converged_:
        return
    K, ((values, norm, b),) = _values(model, kernel, X)
    y, beta = 2.0 * codes - 1, np.zeros(N, WIDE)
    beta[model.support_] = model.dual_coef_[0]
    bounds = penalty * w
    assert (beta * y >= 0).all()
    assert (beta * y <= bounds * (1 + 1e-9)).all()
    assert abs(beta.sum()) <= 1e-9 * np.abs(beta).sum() + np.finfo(float).tiny
    slope = y - K @ beta
    rise = slope[beta < np.maximum(y * bounds, 0)].max()
    fall = slope[beta > np.minimum(y * bounds, 0)].min()
    assert rise - fall <= 1.1e-3  # what tol asks for, in units of the labels
    if C == 1.0:
        primal = norm / 2 + bounds @ np.maximum(0, 1 - y * (values + b))
        dual = y @ beta - beta @ K @ beta / 2
        assert primal - dual <= 0.05 * primal


@pytest.mark.parametrize(("kernel", "scale", "offset", "weights"), PROBLEMS)
def test_a_regression_that_has_converged_is_close_to_its_dual(kernel, scale, offset, weights):
    X, _, y = _points(2, scale, offset)
    w = WEIGHTS[weights]
    penalty = 10.0 / (float(kernel(X[:1])[0, 0]) * w.max())
    model = _fitted(models.SVR(C=penalty, kernel=kernel, epsilon=0.05), X, y, w)
    if not model.converged_:
        return
    K, ((values, norm, b),) = _values(model, kernel, X)
    beta = np.zeros(N, WIDE)
    beta[model.support_] = model.dual_coef_[0]
    primal = norm / 2 + penalty * w @ np.maximum(0, np.abs(y - values - b) - 0.05)
    dual = y @ beta - 0.05 * np.abs(beta).sum() - beta @ K @ beta / 2
    assert primal - dual <= 0.05 * primal


# -- ν machines: the gap that they report, relative to the objective ---------------------------------------------------


# With one weight of 1e13 no share of it is left for the others.
@pytest.mark.parametrize(
    ("kernel", "scale", "offset", "weights"), [problem for problem in PROBLEMS if problem.values[3] != "one of 1e13"]
)
@pytest.mark.parametrize("kind", [models.NuSVC, models.NuSVR, models.OneClassSVM])
def test_a_nu_machine_that_has_converged_reports_a_small_gap(kind, kernel, scale, offset, weights):
    X, codes, y = _points(2, scale, offset)
    w = WEIGHTS[weights]
    options = {"C": 1.0 / (float(kernel(X[:1])[0, 0]) * w.max())} if kind is models.NuSVR else {}
    data = (X,) if kind is models.OneClassSVM else (X, codes if kind is models.NuSVC else y)
    model = kind(nu=0.1 if weights == "uneven" else 0.3, kernel=kernel, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*data, sample_weight=w)
    told = [x for x in caught if issubclass(x.category, ConvergenceWarning)]
    assert len(told) == (not model.converged_)
    if model.converged_:
        assert model.duality_gap_.relative <= 0.05


def test_hulls_that_meet_have_no_margin_and_no_certificate():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.arange(200) % 2
    model = models.NuSVC(nu=0.3, kernel="linear")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
        except ValueError as refused:
            assert "margin" in str(refused)  # noqa: PT017
            return
    told = [x for x in caught if issubclass(x.category, ConvergenceWarning)]
    assert len(told) == (not model.converged_)
    if model.converged_:
        assert model.duality_gap_.relative <= 0.05


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_the_same_linear_problem_in_another_unit_takes_about_as_many_steps(size):
    X, codes, _ = _points()
    plain = models.SVC(kernel="linear", C=1.0).fit(X, codes)
    other = _fitted(models.SVC(kernel="linear", C=1.0 / size**2, max_iter=100_000), size * X, codes)
    assert other.converged_
    assert other.n_iter_.sum() <= 3 * plain.n_iter_.sum() + 10
    np.testing.assert_array_equal(other.predict(size * X), plain.predict(X))


# -- logistic losses: the gradient in the space of the kernel ----------------------------------------------------------


def _logistic_gap(model, kernel, X, codes, w, alpha):
    K, found = _values(model, kernel, X)
    g = np.column_stack([values + b for values, _, b in found])
    g = np.column_stack([0 * g, g]) if len(found) == 1 else g
    g = g - g.max(axis=1, keepdims=True)
    p = np.exp(g) / np.exp(g).sum(axis=1, keepdims=True)
    hit = np.arange(g.shape[1]) == codes[:, None]
    R = w.astype(WIDE)[:, None] * np.where(hit, np.where(hit, 0, p).sum(axis=1, keepdims=True), -p)
    R = R[:, 1:] if len(found) == 1 else R
    loss = w @ np.log1p(np.where(hit, 0, np.exp(g - g[hit][:, None])).sum(axis=1))
    norm = sum(part for _, part, _ in found)
    cross = sum(r @ values for r, (values, _, _) in zip(R.T, found, strict=True))
    gap = alpha * norm - cross + np.sum(R * (K @ R)) / (4 * alpha)
    return loss + alpha * norm, gap, np.abs(R.sum(axis=0)).max() / np.abs(R).sum()


@pytest.mark.parametrize(("kernel", "scale", "offset", "weights"), PROBLEMS)
@pytest.mark.parametrize("alpha", [1e-16, 1e-2, 1e6])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_logistic_model_that_has_converged_has_no_gradient_left(classes, alpha, kernel, scale, offset, weights):
    X, codes, _ = _points(classes, scale, offset)
    w = WEIGHTS[weights]
    alpha = alpha * float(kernel(X[:1])[0, 0])
    model = _fitted(models.KernelLogisticRegression(alpha, kernel=kernel, tol=1e-6, max_iter=8), X, codes, w)
    assert model.converged_ == (model.restricted_gap_ <= 1e-6 * model.objective_)
    if model.converged_:
        objective, gap, unbalanced = _logistic_gap(model, kernel, X, codes, w, alpha)
        assert gap <= 2e-6 * objective
        assert unbalanced <= 1e-6


@pytest.mark.parametrize("weights", ["even", "uneven"])
def test_the_gaps_of_models_of_few_centres_are_those_of_their_functions(weights):
    X, codes, _ = _points()
    w, k = WEIGHTS[weights], Gaussian(0.7)
    for model in (
        models.KernelLogisticRegression(0.1, kernel=k, n_centers=5, random_state=0),
        models.KernelLogisticRegressionCV([0.1], kernel=k, n_centers=5, random_state=0, cv=2),
        models.ImportVectorMachine(0.1, kernel=k, max_vectors=5),
    ):
        _fitted(model, X, codes, w)
        objective, gap, _ = _logistic_gap(model, k, X, codes, w, 0.1)
        assert model.objective_ == pytest.approx(float(objective), rel=1e-9)
        assert model.duality_gap_.absolute == pytest.approx(float(gap), rel=1e-6, abs=1e-9 * model.objective_)
        assert model.converged_ == (model.restricted_gap_ <= model.tol * model.objective_)


# -- ridge: the system, and the fitted values --------------------------------------------------------------------------


@pytest.mark.parametrize(("kernel", "scale", "offset", "weights"), PROBLEMS)
@pytest.mark.parametrize("alpha", [1e-16, 1e-3, 1e6])
@pytest.mark.parametrize("solver", ["auto", "spectral"])
def test_a_ridge_that_has_converged_solves_its_system(solver, alpha, kernel, scale, offset, weights):
    X, _, y = _points(2, scale, offset)
    w = WEIGHTS[weights]
    penalty = alpha * float(kernel(X[:1])[0, 0]) * w.max()
    model = _fitted(models.KernelRidge(penalty, kernel=kernel, solver=solver), X, y, w)
    if not model.converged_:
        return
    _, ((values, _, b),) = _values(model, kernel, X)
    c = np.asarray(model.dual_coef_, dtype=WIDE)
    rounding = np.finfo(float).eps * float(kernel(X[:1])[0, 0]) * np.abs(c).sum()  # of any sum of such coefficients
    np.testing.assert_allclose(model.predict(X), (values + b).astype(float), atol=1e-6 + 10 * rounding)
    left = np.sqrt(w) * (y - values - b - penalty * c / w)
    assert np.linalg.norm(left) <= 1e-3 * np.linalg.norm(np.sqrt(w) * y)


@pytest.mark.parametrize("size", [1e3, 1e4])
@pytest.mark.parametrize("degree", [2, 3, 4])
def test_a_ridge_on_columns_that_are_not_scaled_is_right_or_says_that_it_is_not(size, degree):
    X, _, y = _points(2, size)
    kernel = (Linear() + 1.0) ** degree
    model = _fitted(models.KernelRidge(1.0, kernel=kernel), X, y)
    if model.converged_:
        assert np.mean((model.predict(X) - y) ** 2) <= np.mean((y - y.mean()) ** 2) * 1.01


# -- searches and perceptrons ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kernel", "scale", "offset", "weights"), PROBLEMS[::3])
def test_searches_report_what_their_last_fit_reports(kernel, scale, offset, weights):
    X, codes, y = _points(2, scale, offset)
    w = WEIGHTS[weights]
    unit = 1.0 / (float(kernel(X[:1])[0, 0]) * w.max())
    for search, targets in (
        (models.SVCCV([unit], kernel=kernel, cv=2), codes),
        (models.SVRCV([unit], kernel=kernel, cv=2), y),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            search.fit(X, targets, w)
        assert search.converged_ == search.best_estimator_.converged_
        if search.converged_:
            assert search.duality_gap_.relative <= 0.05


@pytest.mark.parametrize(("kernel", "scale", "offset", "weights"), PROBLEMS)
def test_a_perceptron_that_has_converged_makes_no_mistake(kernel, scale, offset, weights):
    X, codes, _ = _points(2, scale, offset)
    model = models.KernelPerceptron(kernel=kernel, kind="plain", max_iter=20, random_state=0)
    _fitted(model, X, codes, WEIGHTS[weights])
    if model.converged_:
        assert model.score(X, codes) == 1.0
