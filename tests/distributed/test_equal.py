"""Every model gives the answer of one machine, whatever the partitions."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from mercer.distributed import ClusterPlan
from mercer.kernels import Custom, Gaussian, Linear, Polynomial
from mercer.models import (
    SVC,
    SVR,
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    NuSVC,
    NuSVR,
    OneClassSVM,
    ParzenClassifier,
    ParzenDensity,
    ParzenRegressor,
)

from .conftest import ROWS, assert_same, cut, da, without_sizes

pytestmark = pytest.mark.usefixtures("at_once")

FACTORS = {"a": 2.0, "b": 1.0, 0: 1.0, 1: 3.0, 2: 1.0}
RIDGES = {
    "nystroem": lambda **options: KernelRidge(0.1, kernel=Gaussian(1.5), n_centers=40, random_state=0, **options),
    "growing": lambda **options: KernelRidge(0.1, kernel=Gaussian(1.5), solver="nystroem", random_state=0, **options),
    "primal": lambda **options: KernelRidge(0.1, kernel=Polynomial(2), solver="primal", **options),
}


def parts_of(model):
    return np.array([model.objective_.loss, model.objective_.penalty])


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("targets", ["y", "several"])
@pytest.mark.parametrize("name", list(RIDGES))
def test_ridge(data, name, targets, weighted, intercept):
    y, weights = getattr(data, targets), data.weights if weighted else None
    here = RIDGES[name](fit_intercept=intercept).fit(data.X, y, weights)
    there = RIDGES[name](fit_intercept=intercept).fit(cut(data.X), cut(y), cut(weights))
    assert_same(here.predict(data.X), there.predict(data.X))
    assert_same(parts_of(here), parts_of(there), 1e-6)
    assert_same(there.predict(data.X), there.expansion_(data.X))
    lazy = there.predict(cut(data.X))
    assert lazy.chunks[0] == ROWS
    assert_same(there.predict(data.X), lazy.compute(), 1e-12)


@pytest.mark.parametrize("rows", [(240,), (1,) * 3 + (237,), (0, 120, 0, 120)])
def test_any_chunking_of_rows_gives_one_answer(data, rows):
    here = RIDGES["nystroem"]().fit(data.X, data.y)
    there = RIDGES["nystroem"]().fit(cut(data.X, rows), cut(data.y))
    assert_same(here.predict(data.X), there.predict(data.X))


@pytest.mark.parametrize("targets", ["y", "several"])
@pytest.mark.parametrize("solver", ["cg", "auto"])
def test_conjugate_gradients_reach_the_exact_solution(data, solver, targets):
    y = getattr(data, targets)
    options = {"kernel": Gaussian(1.5), "fit_intercept": True}
    here = KernelRidge(0.1, solver="spectral", **options).fit(data.X, y, data.weights)
    there = KernelRidge(0.1, solver=solver, random_state=0, **options).fit(cut(data.X), cut(y), cut(data.weights))
    assert there.plan_.solver == "cg"
    assert there.converged_
    assert_same(here.predict(data.X), there.predict(data.X))
    assert_same(parts_of(here), parts_of(there))
    kept = data.weights > 0
    assert_same(here.leave_one_out()[kept], there.leave_one_out())  # it has all rows in the end


def test_penalties_of_means_and_of_single_targets(data):
    for alpha in (0.01, [0.01, 0.1]):
        options = {"kernel": Gaussian(), "scaling": "mean", "n_centers": 30, "random_state": 1}
        here = KernelRidge(alpha, **options).fit(data.X, data.several, data.weights)
        there = KernelRidge(alpha, **options).fit(cut(data.X), cut(data.several), cut(data.weights))
        assert_same(here.predict(data.X), there.predict(data.X))


def test_partitions_of_unknown_sizes(data):
    X, y = without_sizes(cut(data.X)), without_sizes(cut(data.y))
    here = RIDGES["nystroem"]().fit(data.X, data.y)
    there = RIDGES["nystroem"]().fit(X, y)
    assert_same(here.predict(data.X), there.predict(data.X))
    lazy = there.predict(X)
    assert np.isnan(lazy.chunks[0]).all()
    assert_same(here.predict(data.X), lazy.compute())


def test_sparse_blocks(data):
    X = np.where(np.abs(data.X) > 0.7, data.X, 0.0)
    blocks = cut(X).rechunk({1: -1}).map_blocks(sparse.csr_array, meta=sparse.csr_array((0, 3)))
    for model in (RIDGES["nystroem"], lambda: KernelRidge(0.1, kernel=Linear(), n_centers=3, random_state=0)):
        here, there = model().fit(sparse.csr_array(X), data.y), model().fit(blocks, cut(data.y))
        assert_same(here.predict(X), there.predict(X))
        assert_same(here.predict(X), there.predict(blocks).compute())


def test_objects_in_a_bag():
    import dask.bag as db

    words = ["kernel", "eigen", "norm", "matrix", "dog", "cat", "mouse", "bird"] * 3
    letters = Custom(lambda a, b: float(len(set(a) & set(b))))
    y = np.array([float(len(word)) for word in words])
    model = KernelRidge(0.5, kernel=letters, n_centers=5, random_state=0, assume_psd=True)
    here = model.fit(words, y).predict(words)
    there = model.fit(db.from_sequence(words, npartitions=3), without_sizes(cut(y, (8, 8, 8))))
    assert_same(here, there.predict(words))
    assert_same(here, there.predict(db.from_sequence(words, npartitions=2)).compute())


@pytest.mark.parametrize("labels", ["two", "three"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda: KernelRidgeClassifier(random_state=0, solver="nystroem"),
        lambda: KernelRidgeClassifier(random_state=0, kernel=Polynomial(2), class_weight="balanced"),
        lambda: KernelRidgeClassifier(0.5, random_state=0, kernel=Gaussian(), solver="cg"),
        lambda: KernelLogisticRegression(random_state=0, n_centers=25),
        lambda: KernelLogisticRegression(
            1e-3,
            random_state=0,
            n_centers=25,
            class_weight=FACTORS,
            scaling="mean",
            fit_intercept=False,
        ),
        lambda: KernelLogisticRegression(),
    ],
    ids=["ridge", "balanced ridge", "exact ridge", "logistic", "weighted logistic", "exact logistic"],
)
def test_classifiers(data, make, weighted, labels):
    y, weights = getattr(data, labels), data.weights if weighted else None
    here, there = make().fit(data.X, y, weights), make().fit(cut(data.X), cut(y), cut(weights))
    np.testing.assert_array_equal(here.classes_, there.classes_)
    rtol = 1e-5 if getattr(make(), "solver", "") == "cg" else 1e-8  # one machine stops at a residual of 1e-6
    assert_same(here.decision_function(data.X), there.decision_function(cut(data.X)).compute(), rtol)
    np.testing.assert_array_equal(here.predict(data.X), there.predict(cut(data.X)).compute())
    if hasattr(here, "loo_accuracy_"):
        assert there.alpha_ == pytest.approx(here.alpha_, rel=1e-12)
        assert there.loo_accuracy_ == pytest.approx(here.loo_accuracy_)
    if isinstance(here, KernelRidgeClassifier):
        assert_same(parts_of(here), parts_of(there), 1e-5)
    if hasattr(here, "predict_proba"):
        assert_same(here.predict_proba(data.X), there.predict_proba(cut(data.X)).compute())
        assert there.objective_ == pytest.approx(here.objective_, rel=1e-9)
        assert isinstance(there.plan_, ClusterPlan)
        assert type(there.duality_gap_) is type(here.duality_gap_)


def test_logistic_with_so_many_unknowns_that_newton_iterates(data, monkeypatch):
    monkeypatch.setattr("mercer.solvers.newton.features.JOINT", 10)
    make = lambda: KernelLogisticRegression(random_state=0, n_centers=8)  # noqa: E731
    here = make().fit(data.X[:80], data.three[:80])
    there = make().fit(cut(data.X[:80], (30, 50)), cut(data.three[:80], (30, 50)))
    assert_same(here.predict_proba(data.X), there.predict_proba(data.X))


@pytest.mark.parametrize(
    "make",
    [
        lambda: KernelRidgeCV(kernel=Gaussian(), length_scales=[0.7, 2.0], cv=3, random_state=0),
        lambda: KernelRidgeCV(kernel=[Gaussian(), Linear()], solver="nystroem", random_state=0),
        lambda: KernelRidgeCV(kernel=Polynomial(2), scoring="neg_mean_absolute_error", random_state=0),
    ],
    ids=["folds", "kernels", "primal"],
)
def test_the_choice_of_kernel_and_penalty(data, make):
    here = make().fit(data.X, data.y, data.weights)
    there = make().fit(cut(data.X), cut(data.y), cut(data.weights))
    assert there.kernel_ == here.kernel_
    assert there.alpha_ == pytest.approx(here.alpha_, rel=1e-12)
    assert there.best_score_ == pytest.approx(here.best_score_, rel=1e-9)
    assert there.loo_score_ == pytest.approx(here.loo_score_, rel=1e-7)
    assert_same(here.predict(data.X), there.predict(cut(data.X)).compute())


def test_length_scales_tuned_by_gradient(data):
    here, there = (KernelRidgeCV(random_state=0) for _ in range(2))
    here.fit(data.X[:90], data.y[:90])
    there.fit(cut(data.X[:90], (40, 50)), cut(data.y[:90], (40, 50)))
    np.testing.assert_allclose(there.kernel_.length_scale, here.kernel_.length_scale, rtol=1e-9)
    assert_same(here.predict(data.X), there.predict(data.X), 1e-7)


@pytest.mark.parametrize(
    ("make", "targets", "method"),
    [
        (lambda: KernelNeighborsClassifier(3), "three", "predict_proba"),
        (lambda: KernelNeighborsRegressor(3, kernel=Gaussian()), "several", "predict"),
        (lambda: ParzenClassifier(random_state=0), "two", "predict_log_proba"),
        (lambda: ParzenRegressor(random_state=0), "several", "predict"),
        (lambda: ParzenDensity(random_state=0), None, "score_samples"),
    ],
    ids=["neighbors", "neighbors of targets", "parzen", "parzen of targets", "density"],
)
def test_models_that_keep_all_rows(data, make, targets, method):
    y = None if targets is None else getattr(data, targets)
    here, there = make().fit(data.X, y), make().fit(cut(data.X), cut(y))
    assert_same(getattr(here, method)(data.X), getattr(there, method)(cut(data.X)).compute())
    assert "all rows" in str(there.plan_)


def test_neighbours_come_as_two_lazy_arrays(data):
    model = KernelNeighborsRegressor(2).fit(cut(data.X), cut(data.y))
    distances, indices = model.kneighbors(data.X)
    lazy_distances, lazy_indices = model.kneighbors(cut(data.X))
    assert_same(distances, lazy_distances.compute())
    np.testing.assert_array_equal(indices, lazy_indices.compute())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("make", "targets", "method"),
    [
        (lambda: SVC(tol=1e-9), "two", "decision_function"),
        (lambda: SVC(tol=1e-9, class_weight="balanced"), "three", "decision_function"),
        (lambda: NuSVC(nu=0.2, tol=1e-9), "two", "decision_function"),
        (lambda: SVR(tol=1e-9, kernel=Gaussian()), "y", "predict"),
        (lambda: NuSVR(tol=1e-9), "y", "predict"),
        (lambda: OneClassSVM(nu=0.3, tol=1e-9), None, "decision_function"),
    ],
    ids=["two classes", "pairs", "nu", "regression", "nu regression", "one class"],
)
def test_support_vector_machines(data, make, targets, method, weighted):
    y = None if targets is None else getattr(data, targets)
    weights = data.weights if weighted else None
    here = make().fit(data.X, y, sample_weight=weights)
    there = make().fit(cut(data.X), cut(y), sample_weight=cut(weights))
    np.testing.assert_array_equal(here.support_, there.support_)
    assert_same(getattr(here, method)(data.X), getattr(there, method)(cut(data.X)).compute())
    assert_same(parts_of(here), parts_of(there))
    assert_same(here.alpha_, there.alpha_)
    np.testing.assert_array_equal(np.hstack(here.margin_set_), np.hstack(there.margin_set_))
    assert there.duality_gap_.dual <= there.duality_gap_.primal


@pytest.mark.parametrize(
    ("make", "targets", "method"),
    [
        (lambda: SVC(tol=1e-3, C=0.5, random_state=0), "two", "decision_function"),
        (lambda: SVR(tol=1e-3, epsilon=0.2), "y", "predict"),
    ],
    ids=["classes", "regression"],
)
def test_machines_in_features_of_all_points_are_the_exact_ones(data, make, targets, method, monkeypatch):
    monkeypatch.setattr("mercer.distributed.svm.EXACT_ROWS", 10)
    X, y, weights = data.X[:30], getattr(data, targets)[:30], data.weights[:30]
    here = make().set_params(tol=1e-9).fit(X, y, weights)
    there = make().fit(cut(X, (10, 20)), cut(y, (10, 20)), cut(weights, (10, 20)))
    assert there.converged_
    assert there.duality_gap_.relative < 1e-3
    assert "Nyström" in str(there.plan_)
    assert_same(getattr(here, method)(X), getattr(there, method)(X), 1e-2)
    assert there.objective_ == there.duality_gap_.primal == pytest.approx(here.objective_, rel=1e-3)
    assert there.objective_.penalty == pytest.approx(0.5 * there.expansion_.norm() ** 2)
    assert here.objective_ >= there.duality_gap_.dual
    for name in ("alpha_", "margin_set_"):
        with pytest.raises(AttributeError, match=f"no {name}, because it was solved in Nyström features"):
            getattr(there, name)


@pytest.mark.parametrize("rows", [100_000, 10], ids=["exact", "features"])
@pytest.mark.parametrize("model", [SVC(C=15.0, class_weight=FACTORS, random_state=0), SVR(C=15.0)], ids=["SVC", "SVR"])
def test_the_mean_form_of_machines(data, model, rows, monkeypatch):
    monkeypatch.setattr("mercer.distributed.svm.EXACT_ROWS", rows)
    X, y, weights = data.X[:30], (data.two if isinstance(model, SVC) else data.y)[:30], data.weights[:30]
    here = clone(model).set_params(scaling="mean").fit(X, y, weights)
    there = clone(model).set_params(scaling="mean").fit(*(cut(part, (10, 20)) for part in (X, y, weights)))
    assert ("Nyström" in str(there.plan_)) == (rows == 10)
    assert there.objective_ == pytest.approx(here.objective_, rel=2e-3)


def test_a_pair_of_classes_in_features_leaves_out_all_others(data, monkeypatch):
    monkeypatch.setattr("mercer.distributed.svm.EXACT_ROWS", 10)
    X, y = data.X[:30], data.three[:30]
    options = {"tol": 1e-3, "decision_function_shape": "ovo", "random_state": 0}
    here, there = SVC(**options).fit(X, y), SVC(**options).fit(cut(X, (30,)), cut(y, (30,)))
    assert_same(here.decision_function(X), there.decision_function(X), 1e-2)


def test_leave_one_out_predictions_of_rows_where_they_live(data):
    from mercer import distributed

    for name in ("nystroem", "primal"):
        for weights in (None, data.weights + 0.1):
            here = RIDGES[name](fit_intercept=True).fit(data.X, data.several, weights)
            there = RIDGES[name](fit_intercept=True).fit(cut(data.X), cut(data.several), cut(weights))
            lazy = distributed.leave_one_out(there, cut(data.X), cut(data.several), cut(weights))
            assert_same(here.leave_one_out(), lazy.compute())


def test_more_rows_than_a_permutation_holds_give_distinct_centres(data, monkeypatch):
    monkeypatch.setattr("mercer.solvers.centers.PERMUTED", 100)
    here = KernelRidge(0.1, kernel=Gaussian(), n_centers=2, random_state=0).fit(data.X, data.y)
    there = KernelRidge(0.1, kernel=Gaussian(), n_centers=2, random_state=0).fit(cut(data.X), cut(data.y))
    assert_same(here.predict(data.X), there.predict(data.X))


def test_threads_give_the_same_as_one_task_after_the_other(data):
    import dask

    with dask.config.set(scheduler="threads"):
        there = RIDGES["nystroem"]().fit(cut(data.X), cut(data.y))
    assert_same(RIDGES["nystroem"]().fit(data.X, data.y).predict(data.X), there.predict(data.X))
    assert isinstance(there.predict(cut(data.X)), da.Array)
