"""What models have minimised: loss and penalty, as predictions and the norm of the function say."""

import pickle
from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import compute_sample_weight

import mercer
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.models import (
    SVC,
    SVCCV,
    SVR,
    SVRCV,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from mercer.solvers.evidence import Objective

RNG = np.random.default_rng(7)
N = 60
X = RNG.uniform(-2.0, 2.0, size=(N, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]) + 0.3 * RNG.normal(size=N), X[:, 1] ** 2 + 0.3 * RNG.normal(size=N)])
LABELS = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=N), [-0.7, 0.7])
WEIGHTS = np.where(np.arange(N) % 7 == 0, 0.0, RNG.uniform(0.2, 3.0, size=N))


def sum_squares(model, given, y, weights, alpha):
    """Return Σ w(y − f − b)² and α‖f‖², from predictions and the norm."""
    function = model.expansion_
    values = model.decision_function(given) if hasattr(model, "decision_function") else model.predict(given)
    weights = np.ones(len(y)) if weights is None else weights
    loss = float(np.sum(weights @ (y - values) ** 2))
    return loss, float(np.sum(alpha * np.asarray(function.norm()) ** 2))


def check_objective(model, loss, penalty, rtol=1e-7):
    found = model.objective_
    assert isinstance(found, Objective)
    np.testing.assert_allclose([found.loss, found.penalty, found], [loss, penalty, loss + penalty], rtol=rtol)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("targets", [Y[:, 0] + 3.0, Y], ids=["one", "two"])
@pytest.mark.parametrize(
    ("solver", "kernel"),
    [
        ("spectral", Gaussian()), ("cholesky", Gaussian()), ("cg", Gaussian()), ("nystroem", Gaussian()),
        ("nystroem", "rbf by hand"), ("primal", Polynomial(2, 1.0)), ("auto", Polynomial(2, 1.0)),
    ],
)  # fmt: skip
def test_ridge_says_what_it_minimised(solver, kernel, targets, intercept, weights):
    alpha = 0.3 if targets.ndim == 1 else np.array([0.3, 2.0])
    if isinstance(kernel, str):  # which no Gram matrix computes quickly

        def kernel(a, b):
            return float(np.exp(-np.sum((a - b) ** 2)))

    centers = {"n_centers": 20} if solver == "nystroem" else {}
    model = KernelRidge(alpha, kernel=kernel, solver=solver, fit_intercept=intercept, random_state=0, **centers)
    model.fit(X, targets, WEIGHTS if weights is not None else None)
    check_objective(model, *sum_squares(model, X, targets, weights, alpha), rtol=1e-5 if solver == "cg" else 1e-7)


def test_mean_and_sum_form_of_ridge_have_the_objective_of_the_sum_form():
    whole = KernelRidge(0.5 * N, kernel=Gaussian()).fit(X, Y)
    mean = KernelRidge(0.5, kernel=Gaussian(), scaling="mean").fit(X, Y)
    assert mean.objective_ == pytest.approx(whole.objective_)


def test_ridge_of_a_matrix_and_without_a_penalty():
    K = Gaussian()(X)
    model = KernelRidge(0.1, kernel="precomputed", fit_intercept=True).fit(K, Y[:, 0], WEIGHTS)
    check_objective(model, *sum_squares(model, K, Y[:, 0], WEIGHTS, 0.1))
    free = KernelRidge(0.0, kernel=Linear(), solver="spectral").fit(X, Y[:, 0])
    left = np.linalg.lstsq(X, Y[:, 0], rcond=None)[1][0]
    np.testing.assert_allclose([free.objective_.loss, free.objective_.penalty], [left, 0.0], rtol=1e-10)


def test_squares_beyond_all_numbers_are_infinite():
    model = KernelRidge(1.0, kernel=Gaussian()).fit(X, 1e200 * Y[:, 0])
    assert model.objective_ == np.inf


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
def test_searches_and_classifiers_by_ridge_say_what_they_minimised(weights):
    search = KernelRidgeCV(kernel=Gaussian(), alphas=[0.1, 1.0]).fit(X, Y, weights)
    check_objective(search, *sum_squares(search, X, Y, weights, search.alpha_))
    assert search.ridge_.objective_ is search.objective_
    model = KernelRidgeClassifier(class_weight={0: 2.0, 1: 1.0, 2: 0.5}).fit(X, LABELS, weights)
    signs = np.where(LABELS[:, None] == model.classes_, 1.0, -1.0)
    factors = np.array([2.0, 1.0, 0.5])[LABELS] * (1.0 if weights is None else weights)
    check_objective(model, *sum_squares(model, X, signs, factors, model.alpha_))


def test_objectives_survive_files_pickles_and_clones(tmp_path):
    model = KernelRidge(0.3, kernel=Gaussian()).fit(X, Y)
    mercer.save(model, tmp_path / "model")
    for again in (mercer.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert isinstance(again.objective_, Objective)
        assert (again.objective_.loss, again.objective_.penalty) == (model.objective_.loss, model.objective_.penalty)
    assert clone(model).fit(X, Y).objective_ == model.objective_


# -- machines -------------------------------------------------------------------------------------------------------

SIGNS = np.where(LABELS == 0, -1.0, 1.0)
TWO = (LABELS > 0).astype(int)
FACTORS = {0: 2.0, 1: 1.0, 2: 0.5}
FINE = 1e-9


def list_problems(model, given, labels, weights):
    """Return, for each pair of classes, which points take part, their signs, decision values and the function."""
    pairs = list(combinations(range(len(model.classes_)), 2))
    values = model.decision_function(given).reshape(len(labels), -1)
    functions = [model.expansion_] if len(pairs) == 1 else model.expansions_
    toward = -1.0 if len(pairs) == 1 else 1.0
    for column, (i, j) in enumerate(pairs):
        chosen = np.isin(labels, model.classes_[[i, j]]) & (weights > 0)
        signs = np.where(labels[chosen] == model.classes_[i], toward, -toward)
        yield chosen, signs, values[chosen, column], functions[column]


@pytest.mark.parametrize("weights", [np.ones(N), WEIGHTS], ids=["", "weighted"])
@pytest.mark.parametrize("labels", [TWO, LABELS], ids=["two", "three"])
@pytest.mark.parametrize("kind", ["kernel", "matrix", "class weights"])
def test_classifying_machines_say_what_they_minimised(kind, labels, weights):
    factors = {code: FACTORS[code] for code in np.unique(labels)} if kind == "class weights" else None
    kernel, given = ("precomputed", Gaussian()(X)) if kind == "matrix" else (Gaussian(), X)
    options = {"kernel": kernel, "tol": FINE, "decision_function_shape": "ovo"}
    model = SVC(C=0.7, class_weight=factors, **options).fit(given, labels, weights)
    price = 0.7 * weights * (1.0 if factors is None else np.array([factors[code] for code in labels]))
    loss = penalty = 0.0
    alpha, margin_sets = model.alpha_.reshape(N, -1), model.margin_set_ if labels is LABELS else [model.margin_set_]
    for column, (chosen, signs, values, f) in enumerate(list_problems(model, given, labels, weights)):
        loss += price[chosen] @ np.maximum(1.0 - signs * values, 0.0)
        penalty += 0.5 * f.norm() ** 2
        own = alpha[:, column]
        assert (own[~chosen] == 0).all()
        assert ((own >= 0) & (own <= price)).all()
        assert signs @ own[chosen] == pytest.approx(0.0, abs=1e-12)
        on_margin = np.flatnonzero((own > 0) & (own < price))
        np.testing.assert_array_equal(margin_sets[column], on_margin)
        np.testing.assert_allclose((signs * values)[np.isin(np.flatnonzero(chosen), on_margin)], 1.0, atol=1e-6)
    check_objective(model, loss, penalty)
    gap = model.duality_gap_
    assert gap.dual <= gap.primal
    assert 0 <= gap.absolute - (gap.primal - gap.dual) <= 1e-6 * gap.primal
    if labels is TWO:
        assert gap.primal == model.objective_
        np.testing.assert_array_equal(np.sort(alpha[model.support_, 0]), np.sort(np.abs(model.dual_coef_[0])))


def test_the_gap_is_that_of_the_worst_machine():
    model = SVC(kernel=Gaussian(), tol=0.1).fit(X, LABELS)
    alone = []
    for pair in combinations(range(3), 2):
        chosen = np.isin(LABELS, pair)
        alone.append(SVC(kernel=Gaussian(), tol=0.1).fit(X[chosen], LABELS[chosen]))
    worst = max(alone, key=lambda machine: machine.duality_gap_.relative).duality_gap_
    assert model.objective_ == pytest.approx(sum(machine.objective_ for machine in alone), rel=0.05)
    assert model.duality_gap_.primal == pytest.approx(worst.primal, rel=0.05)
    assert model.duality_gap_.relative <= 0.1


@pytest.mark.parametrize("weights", [np.ones(N), WEIGHTS], ids=["", "weighted"])
def test_regressing_machines_say_what_they_minimised(weights):
    y = Y[:, 0]
    model = SVR(C=0.7, epsilon=0.2, kernel=Gaussian(), tol=FINE).fit(X, y, weights)
    shared = NuSVR(C=0.7, nu=0.4, kernel=Gaussian(), tol=FINE).fit(X, y, weights)
    for machine, width, fee in ((model, 0.2, 0.0), (shared, shared.epsilon_, 0.4)):
        r, price = y - machine.predict(X), 0.7 * weights
        loss = price @ (fee * width + np.maximum(np.abs(r) - width, 0.0))
        check_objective(machine, loss, 0.5 * machine.expansion_.norm() ** 2, rtol=1e-6)
        assert machine.duality_gap_.dual <= machine.duality_gap_.primal == machine.objective_
        above, below = machine.alpha_.T
        beta = np.zeros(N)
        beta[machine.support_] = machine.dual_coef_[0]
        np.testing.assert_array_equal(above - below, beta)
        assert (np.minimum(above, below) == 0).all()
        assert above.sum() == pytest.approx(below.sum())
        assert (machine.alpha_ <= price[:, None] * (1 + 1e-12)).all()
        np.testing.assert_allclose(np.abs(r[machine.margin_set_]), width, atol=1e-5)
        assert set(machine.margin_set_) <= set(machine.support_)


@pytest.mark.parametrize("weights", [np.ones(N), WEIGHTS], ids=["", "weighted"])
def test_machines_with_a_share_say_what_they_minimised(weights):
    kept, nu = weights > 0, 0.3
    one = OneClassSVM(nu=nu, kernel=Gaussian(), tol=FINE).fit(X, sample_weight=weights)
    f, rho = one.score_samples(X), float(one.offset_[0])
    loss = weights @ np.maximum(rho - f, 0.0) - nu * rho * weights.sum()
    check_objective(one, loss, 0.5 * one.expansion_.norm() ** 2, rtol=1e-6)
    assert one.alpha_.sum() == pytest.approx(nu * weights.sum())
    np.testing.assert_allclose(f[one.margin_set_], rho, atol=1e-6)
    model = NuSVC(nu=nu, kernel=Gaussian(), tol=FINE).fit(X, TWO, weights)
    rho = 1.0 / np.max(model.alpha_[kept] / weights[kept])  # of points inside of the margin, where α = w/ρ
    errors = np.maximum(1.0 - SIGNS * model.decision_function(X), 0.0)
    loss = rho * (weights @ errors) - nu * rho * weights.sum()
    check_objective(model, loss, 0.5 * (rho * model.expansion_.norm()) ** 2, rtol=1e-6)
    assert model.duality_gap_.primal == model.objective_
    np.testing.assert_allclose((SIGNS * model.decision_function(X))[model.margin_set_], 1.0, atol=1e-5)


def test_searches_for_machines_have_what_the_best_machine_has():
    for search in (SVCCV([0.5, 2.0], kernel=Linear(), cv=3), SVRCV([0.5, 2.0], kernel=Linear(), cv=3)):
        search.fit(X, TWO)
        best = search.best_estimator_
        assert search.objective_ == best.objective_
        for name in ("alpha_", "margin_set_", "coef_primal_"):
            np.testing.assert_array_equal(getattr(search, name), getattr(best, name))


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
@pytest.mark.parametrize("factors", [None, FACTORS, "balanced"])
def test_the_mean_form_divides_the_price_by_all_weight(factors, weights):
    there = np.ones(N, dtype=bool) if weights is None else weights > 0
    total = (np.ones(N) if weights is None else weights)[there] @ compute_sample_weight(factors, LABELS[there])
    options = {"kernel": Gaussian(), "tol": FINE}
    mean = SVC(C=20.0, class_weight=factors, scaling="mean", **options).fit(X, LABELS, weights)
    whole = SVC(C=20.0 / total, class_weight=factors, **options).fit(X, LABELS, weights)
    np.testing.assert_allclose(mean.decision_function(X), whole.decision_function(X), atol=1e-6)
    assert mean.objective_ == pytest.approx(whole.objective_)
    if factors is None:
        mean = SVR(C=20.0, scaling="mean", **options).fit(X, Y[:, 0], weights)
        whole = SVR(C=20.0 / total, **options).fit(X, Y[:, 0], weights)
        np.testing.assert_allclose(mean.predict(X), whole.predict(X), atol=1e-6)


def test_a_scaling_that_is_neither_is_refused():
    with pytest.raises(ValueError, match="SVC: scaling must be 'sum' or 'mean', got 'median'"):
        SVC(scaling="median").fit(X, TWO)


def test_a_hard_margin_is_hard_in_either_form():
    apart = SVC(C=np.inf, kernel="linear", scaling="mean").fit(X, (X[:, 0] > 0).astype(int))
    assert apart.coef_ == pytest.approx(SVC(C=np.inf, kernel="linear").fit(X, (X[:, 0] > 0).astype(int)).coef_)


def test_nothing_is_there_before_a_fit():
    for name in ("alpha_", "margin_set_", "coef_primal_", "objective_"):
        assert not hasattr(SVC(), name)
        assert not hasattr(SVR(), name)


@pytest.mark.parametrize("model", [SVC(), SVR(), NuSVC(nu=0.2), NuSVR(), OneClassSVM(), SVCCV(cv=2)])
def test_machines_keep_their_names_in_files_and_pickles(model, tmp_path):
    model.fit(X, TWO)
    mercer.save(model, tmp_path / "model")
    for again in (mercer.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert isinstance(again.objective_, Objective)
        assert (again.objective_.loss, again.objective_.penalty) == (model.objective_.loss, model.objective_.penalty)
        assert again.duality_gap_ == model.duality_gap_
        np.testing.assert_array_equal(again.alpha_, model.alpha_)
        np.testing.assert_array_equal(again.margin_set_, model.margin_set_)
