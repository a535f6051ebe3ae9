"""Models that go on point by point are those of a fit to all points they have."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError

import mercer
from mercer.arrays.budget import MemoryBudgetError
from mercer.kernels import Gaussian, Graph, Linear, Precomputed, ShortestPath, Sigmoid, Spectrum
from mercer.models import KernelLogisticRegression, KernelRidge, KernelRidgeClassifier, RecursiveFeatureClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 2.0
W = RNG.uniform(0.2, 3.0, 60)
OPTIONS = {"kernel": Gaussian(1.5), "fit_intercept": True}


def _expect_same(model, refit, points=X):
    f = refit.predict(points)
    np.testing.assert_allclose(model.predict(points), f, rtol=0, atol=1e-10 * np.abs(f).max())
    np.testing.assert_allclose(model.dual_coef_, refit.dual_coef_, rtol=0, atol=1e-10 * np.abs(refit.dual_coef_).max())
    np.testing.assert_allclose(model.intercept_, refit.intercept_, rtol=1e-10)
    np.testing.assert_allclose(model.objective_, refit.objective_, rtol=1e-9)
    assert model.converged_
    assert model.residual_ <= 1e-10


@pytest.mark.parametrize("scaling", ["sum", "mean"])
@pytest.mark.parametrize("targets", [y, np.column_stack([y, -3.0 * y**2])], ids=["one", "two"])
def test_ridge_has_every_attribute_of_a_refit(targets, scaling):
    model = KernelRidge(0.1, scaling=scaling, **OPTIONS)
    for part in (slice(0, 7), slice(7, 8), slice(8, 60)):
        assert model.partial_fit(X[part], targets[part], W[part]) is model
    refit = clone(model).fit(X, targets, W)
    _expect_same(model, refit)
    assert set(vars(refit)) <= set(vars(model))
    assert model.plan_.solver == "cholesky"
    assert (model.n_iter_, model.n_features_in_, model.kernel_) == (0, 3, refit.kernel_)
    np.testing.assert_array_equal(model.X_fit_, X)
    np.testing.assert_allclose(model.leave_one_out(), refit.leave_one_out(), rtol=1e-9, atol=1e-9)
    if targets.ndim == 1:
        np.testing.assert_allclose(model.predict_interval(X[:4]), refit.predict_interval(X[:4]), rtol=1e-9)
        assert model.diagnose().advice == refit.diagnose().advice


def test_it_goes_on_after_a_fit_and_a_fit_starts_anew():
    model = KernelRidge(0.1, **OPTIONS).fit(X[:40], y[:40], np.where(np.arange(40) < 5, 0.0, 1.0))
    model.partial_fit(X[40:], y[40:])
    _expect_same(model, KernelRidge(0.1, **OPTIONS).fit(X[5:], y[5:]))
    _expect_same(model.fit(X[:9], y[:9]), KernelRidge(0.1, **OPTIONS).fit(X[:9], y[:9]))
    _expect_same(model.partial_fit(X[9:], y[9:]), KernelRidge(0.1, **OPTIONS).fit(X, y))


def test_points_that_are_forgotten_leave_the_fit_of_the_others():
    model = KernelRidge(0.1, **OPTIONS).fit(X, y)
    _expect_same(
        model.forget([0, 17, -1]), KernelRidge(0.1, **OPTIONS).fit(*(np.delete(a, [0, 17, 59], 0) for a in (X, y)))
    )
    np.testing.assert_array_equal(model.X_fit_, np.delete(X, [0, 17, 59], 0))
    weights = np.where(np.arange(60) < 5, 0.0, 1.0)
    some = KernelRidge(0.1, **OPTIONS).fit(X, y, weights).forget([0, 5])  # the first had no weight
    _expect_same(some, KernelRidge(0.1, **OPTIONS).fit(X[6:], y[6:]))


def test_windows_and_budgets_bound_the_points_and_forgetting_their_weights():
    model = KernelRidge(0.1, **OPTIONS)
    for i in range(60):
        model.partial_fit(X[[i]], y[[i]], window=20)
    _expect_same(model, KernelRidge(0.1, **OPTIONS).fit(X[40:], y[40:]))
    few = KernelRidge(0.1, **OPTIONS).partial_fit(X, y, budget=25)
    assert len(few.X_fit_) == 25
    worst = KernelRidge(0.1, **OPTIONS).fit(X[:25], y[:25])
    assert np.abs(few.predict(X) - y).mean() < np.abs(worst.predict(X) - y).mean()
    faded = KernelRidge(0.1, **OPTIONS).fit(X[:30], y[:30]).partial_fit(X[30:], y[30:], forgetting=0.25)
    _expect_same(faded, KernelRidge(0.1, **OPTIONS).fit(X, y, np.repeat([0.25, 1.0], 30)))


def test_another_penalty_counts_from_the_next_call_on():
    model = KernelRidge(0.1, **OPTIONS).partial_fit(X[:30], y[:30])
    _expect_same(model.set_params(alpha=2.0).partial_fit(X[30:], y[30:]), KernelRidge(2.0, **OPTIONS).fit(X, y))


def test_points_that_come_twice_count_twice():
    model = KernelRidge(0.1, **OPTIONS).partial_fit(X, y).partial_fit(X, y)
    f = KernelRidge(0.1, **OPTIONS).fit(X, y, np.full(60, 2.0)).predict(X)
    np.testing.assert_allclose(model.predict(X), f, rtol=1e-10)


def test_strings_and_graphs_come_one_by_one():
    words = ["kernel", "kennel", "colonel", "kernels", "tunnel"]
    rings = [Graph([[(i - 1) % n, (i + 1) % n] for i in range(n)]) for n in (3, 4, 5, 6, 7)]
    for kernel, things in ((Spectrum(2), words), (ShortestPath(), rings)):
        model = KernelRidge(kernel=kernel)
        for thing, value in zip(things, y, strict=False):
            model.partial_fit([thing], [value])
        _expect_same(model, KernelRidge(kernel=kernel).fit(things, y[:5]), things)
        _expect_same(model.forget(2), KernelRidge(kernel=kernel).fit(things[:2] + things[3:], y[[0, 1, 3, 4]]), things)


@pytest.mark.parametrize("make", [sparse.csr_array, lambda a: pd.DataFrame(a, columns=["a", "b", "c"]), np.float32])
def test_tables_of_every_kind_follow_each_other(make):
    kernel = Linear() + 1.0
    model = KernelRidge(0.5, kernel=kernel).partial_fit(make(X[:20]), y[:20]).partial_fit(make(X[20:]), y[20:])
    f = KernelRidge(0.5, kernel=kernel, solver="cholesky").fit(make(X), y).predict(make(X))
    np.testing.assert_allclose(model.predict(make(X)), f, rtol=1e-5 if make is np.float32 else 1e-10)


def test_a_stored_matrix_is_a_kernel_of_positions():
    model = KernelRidge(kernel=Precomputed(Gaussian()(X)))
    for i in range(60):
        model.partial_fit([i], y[[i]])
    np.testing.assert_allclose(
        model.predict(np.arange(60)), KernelRidge(kernel=Gaussian()).fit(X, y).predict(X), rtol=1e-10
    )


def test_copies_and_files_go_on_by_themselves(tmp_path):
    model = KernelRidge(0.1, **OPTIONS).partial_fit(X[:30], y[:30])
    mercer.save(model, tmp_path / "model.mercer")
    others = [
        copy.copy(model),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        mercer.load(tmp_path / "model.mercer"),
    ]
    model.partial_fit(X[30:40], y[30:40])
    for other in others:
        assert len(other.X_fit_) == 30
        _expect_same(
            other.partial_fit(X[40:], y[40:]),
            KernelRidge(0.1, **OPTIONS).fit(*(np.delete(a, np.s_[30:40], 0) for a in (X, y))),
        )
    _expect_same(model.forget(0), KernelRidge(0.1, **OPTIONS).fit(X[1:40], y[1:40]))


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_any_order_of_calls_equals_a_refit(data):
    options = {"scaling": data.draw(st.sampled_from(["sum", "mean"])), "fit_intercept": data.draw(st.booleans())}
    targets = data.draw(st.sampled_from([y, np.column_stack([y, -3.0 * y**2])]))
    model, there, weights = KernelRidge(0.1, kernel=Gaussian(1.5), **options), np.empty(0, dtype=int), np.empty(0)
    doings = ("one", "some", "fade", "predict", "evidence", "forget", "pickle", "copy", "clone", "show")
    for doing in data.draw(st.lists(st.sampled_from(doings), min_size=2, max_size=12)):
        if doing in ("one", "some", "fade") or not len(there):
            new = np.array(data.draw(st.lists(st.integers(0, 59), min_size=1, max_size=1 if doing == "one" else 8)))
            faded = 0.5 if doing == "fade" else None
            model.partial_fit(X[new], targets[new], W[new], forgetting=faded)
            there, weights = np.concatenate([there, new]), np.concatenate([weights * (faded or 1.0), W[new]])
        elif doing == "forget" and len(there) > 1:
            gone = data.draw(st.integers(0, len(there) - 1))
            model.forget(gone)
            there, weights = np.delete(there, gone), np.delete(weights, gone)
        elif doing == "pickle":
            model = pickle.loads(pickle.dumps(model))
        elif doing == "copy":
            model = copy.copy(model)
        elif doing == "predict":
            model.predict(X[:1])
        elif doing == "evidence":
            assert model.converged_
        elif doing == "clone":
            assert clone(model).get_params() == model.get_params()
        elif doing == "show":
            assert {"dual_coef_", "residual_"} <= set(dir(model))
            assert repr(model) == repr(clone(model))
    refit = clone(model).set_params(solver="cholesky").fit(X[there], targets[there], weights)
    size = np.abs(targets[there]).max()  # a constant alone may fit all of them, and coefficients are rounding then
    for name in ("dual_coef_", "intercept_"):
        np.testing.assert_allclose(getattr(model, name), getattr(refit, name), rtol=1e-10, atol=1e-10 * size)
    np.testing.assert_allclose(model.predict(X), refit.predict(X), rtol=0, atol=1e-10 * size)
    np.testing.assert_allclose(model.objective_, refit.objective_, atol=1e-10 * size**2 * weights.sum())
    assert model.converged_


def test_threads_that_ask_at_the_same_time_get_the_same_function():
    model = KernelRidge(0.1, **OPTIONS).partial_fit(X, y)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda name: getattr(model, name), ["expansion_", "converged_"] * 8))
    assert all(f is model.expansion_ for f in found[::2])
    assert all(found[1::2])


def test_a_call_that_fails_before_anything_was_asked_for_changes_nothing():
    model = KernelRidge(0.1, kernel=Sigmoid(), assume_psd=True).partial_fit([[0.0], [0.1]], [1.0, 2.0])
    other = KernelRidge(0.1, kernel=Sigmoid(), assume_psd=True).partial_fit([[0.0], [0.1]], [1.0, 2.0])
    for options in ({"forgetting": 0.5}, {"window": 3}, {}):
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            model.partial_fit([[3.0], [-3.0], [0.5]], [1.0, 2.0, 3.0], **options)
    np.testing.assert_allclose(model.predict(X[:, :1]), other.predict(X[:, :1]), rtol=1e-14)
    assert hasattr(model, "residual_")
    assert not hasattr(model, "no_such_thing_")


def test_parameters_that_change_afterwards_do_not_count_before_the_next_call():
    model = KernelRidge(0.1, **OPTIONS).partial_fit(X, y).set_params(alpha=9.0, fit_intercept=False)
    _expect_same(model, KernelRidge(0.1, **OPTIONS).fit(X, y))
    labels = KernelRidgeClassifier(0.1, kernel=Gaussian()).partial_fit(X, y > 2.0, classes=[False, True])
    labels.set_params(fit_intercept=False)
    assert labels.regressor_.fit_intercept
    assert labels.intercept_ == labels.regressor_.intercept_ != 0.0


def test_another_intercept_does_not_count_if_the_call_fails():
    model = KernelRidge(0.1, kernel=Gaussian(1.5)).partial_fit(X[:30], y[:30])
    with pytest.raises(MemoryBudgetError):
        model.set_params(fit_intercept=True, memory=1000).partial_fit(X[30:], y[30:])
    refit = KernelRidge(0.1, kernel=Gaussian(1.5)).fit(X[:30], y[:30])
    np.testing.assert_allclose(model.dual_coef_, refit.dual_coef_, atol=1e-10)
    assert model.intercept_ == 0.0


def test_a_copy_that_is_made_while_points_come_has_them(monkeypatch):
    model, complete, late = (
        KernelRidge(0.1, **OPTIONS).partial_fit(X[:30], y[:30]),
        KernelRidge._complete,
        [slice(30, 60)],
    )

    def complete_and_go_on(self, name=None):
        complete(self, name)
        if name is None and late:
            part = late.pop()
            self.partial_fit(X[part], y[part])

    monkeypatch.setattr(KernelRidge, "_complete", complete_and_go_on)
    copied = pickle.loads(pickle.dumps(model))
    assert len(copied.X_fit_) == 60
    _expect_same(copied, clone(model).fit(X, y))


def test_attributes_that_were_taken_away_come_back():
    model = KernelRidge(0.1, **OPTIONS).partial_fit(X, y)
    coef = model.dual_coef_
    del model.dual_coef_
    np.testing.assert_array_equal(model.dual_coef_, coef)


def test_a_call_that_fails_changes_nothing():
    model = KernelRidge(0.1, kernel=Sigmoid(), assume_psd=True, fit_intercept=False).partial_fit([[0.0]], [1.0])
    before = model.predict(X[:, :1])
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        model.partial_fit([[3.0], [-3.0], [0.5]], [1.0, 2.0, 3.0], forgetting=0.5)
    np.testing.assert_array_equal(model.predict(X[:, :1]), before)
    assert len(model.partial_fit([[0.0]], [1.0]).X_fit_) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.partial_fit(X[:, :2], y), "2 features, but KernelRidge is expecting 3"),
        (lambda m: m.partial_fit(X, np.column_stack([y, y])), r"shape \(60, 2\), but the model .* \(60,\)"),
        (lambda m: m.partial_fit(X, y, window=5, budget=5), "both say how many points stay"),
        (lambda m: m.partial_fit(X, y, window=0), "window must be a whole number of at least 1"),
        (lambda m: m.partial_fit(X, y, budget=2.5), "budget must be a whole number"),
        (lambda m: m.partial_fit(X, y, forgetting=1.5), "forgetting multiplies the weights"),
        (lambda m: m.set_params(alpha=0.0).partial_fit(X, y), "partial_fit needs alpha > 0"),
        (lambda m: m.set_params(solver="cg").partial_fit(X, y), "solver='cg' was asked for"),
        (lambda m: m.set_params(n_centers=5).partial_fit(X, y), "n_centers=5 was asked for"),
        (lambda m: m.set_params(device="cpu").partial_fit(X, y), "partial_fit computes on the host"),
        (lambda m: KernelRidge([1.0, 2.0]).partial_fit(X, np.column_stack([y, y])), "all targets need the same alpha"),
        (lambda m: KernelRidge(kernel="precomputed").partial_fit(X @ X.T, y), "cannot know a precomputed kernel"),
        (lambda m: KernelRidge(kernel=Sigmoid()).partial_fit(X, y), "positive semi-definite"),
        (lambda m: m.forget(60), "there is no point 60 to forget; the model has 60"),
        (lambda m: m.forget([0.5]), "whole numbers such as"),
        (lambda m: m.forget(range(60)), "would leave none of the 60 points"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(call, message):
    model = KernelRidge(0.1, **OPTIONS).fit(X, y)
    with pytest.raises(ValueError, match=message):
        call(model)
    assert len(model.X_fit_) == 60


def test_a_factor_beyond_the_budget_is_refused_and_nothing_can_be_forgotten_before_a_fit():
    with pytest.raises(MemoryBudgetError, match=r"factor of 60 points.*window= or budget="):
        KernelRidge(memory=10_000, kernel=Gaussian()).partial_fit(X, y)
    for model in (KernelRidge(), KernelRidgeClassifier(), KernelLogisticRegression()):
        with pytest.raises(NotFittedError):
            model.forget(0)


# -- classifiers ----------------------------------------------------------------------------------------------------


@pytest.fixture(params=[2, 3])
def labelled(request):
    if request.param == 2:
        return make_moons(80, noise=0.25, random_state=0)
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)[:90]
    return X[order], np.array(["a", "b", "c"])[y[order]]


def test_ridge_on_labels_is_that_of_a_refit_with_its_penalty(labelled):
    X, y = labelled
    model = KernelRidgeClassifier().partial_fit(X[:30], y[:30], classes=np.unique(y))
    first = KernelRidgeClassifier().fit(X[:30], y[:30])
    assert (model.alpha_, model.kernel_) == (first.alpha_, first.kernel_)
    for i in range(30, len(y)):
        model.partial_fit(X[[i]], y[[i]])
    refit = KernelRidgeClassifier(model.alpha_, kernel=model.kernel_).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), refit.decision_function(X), atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), refit.predict(X))
    np.testing.assert_allclose(model.regressor_.leave_one_out(), refit.regressor_.leave_one_out(), atol=1e-9)
    assert set(vars(refit)) - {"_examples"} <= set(dir(model))  # of which sets are made, after a fit only
    model.forget([0, 1])
    np.testing.assert_allclose(model.decision_function(X), refit.fit(X[2:], y[2:]).decision_function(X), atol=1e-10)


def test_what_was_searched_for_a_fit_is_not_said_of_more_points(labelled):
    X, y = labelled
    model = KernelRidgeClassifier().fit(X[:40], y[:40])
    assert hasattr(model, "loo_accuracy_")
    assert len(model.leave_one_out()) == 40
    assert not hasattr(model.partial_fit(X[40:], y[40:]), "loo_accuracy_")
    assert len(model.leave_one_out()) == len(y)


def test_logistic_regression_is_that_of_a_refit_to_the_gap(labelled):
    X, y = labelled
    weights = np.linspace(0.5, 2.0, len(y))
    model = KernelLogisticRegression(tol=1e-13, kernel=Gaussian()).partial_fit(
        X[:40], y[:40], np.unique(y), weights[:40]
    )
    from_nothing = model.n_iter_
    for part in (slice(40, 41), slice(41, len(y))):
        model.partial_fit(X[part], y[part], sample_weight=weights[part])
        if part.stop == 41:
            assert model.n_iter_ < from_nothing
    refit = clone(model).fit(X, y, weights)
    np.testing.assert_allclose(model.predict_proba(X), refit.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(model.objective_, refit.objective_, rtol=1e-12)
    assert model.duality_gap_.relative <= 1e-13
    np.testing.assert_allclose(model.dual_coef_, refit.dual_coef_, atol=1e-5)
    model.forget(np.arange(5))
    refit.fit(X[5:], y[5:], weights[5:])
    np.testing.assert_allclose(model.objective_, refit.objective_, rtol=1e-12)
    assert model.converged_


@pytest.mark.parametrize("solver", ["newton", "newton-cg"])
def test_logistic_regression_forgets_by_windows_and_weights(labelled, solver):
    X, y = labelled
    model = KernelLogisticRegression(kernel=Gaussian(), solver=solver, random_state=0, tol=1e-12).fit(X[:50], y[:50])
    model.partial_fit(X[50:], y[50:], window=45, forgetting=0.5)
    start = len(y) - 45
    weights = np.where(np.arange(start, len(y)) < 50, 0.5, 1.0)
    refit = clone(model).fit(X[start:], y[start:], weights)
    np.testing.assert_array_equal(model.X_fit_, X[start:])
    np.testing.assert_allclose(model.objective_, refit.objective_, rtol=1e-11)


def test_logistic_regression_goes_on_after_files_and_points_without_weight(labelled, tmp_path):
    X, y = labelled
    model = KernelLogisticRegression(kernel=Gaussian()).fit(X[:40], y[:40], np.where(np.arange(40) < 3, 0.0, 1.0))
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer").partial_fit(X[40:], y[40:])
    np.testing.assert_allclose(again.objective_, clone(model).fit(X[3:], y[3:]).objective_, rtol=1e-7)


@pytest.mark.parametrize("model", [KernelRidgeClassifier(1.0), KernelLogisticRegression()])
def test_classes_are_named_in_the_first_call(model):
    X, y = make_moons(40, noise=0.2, random_state=0)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        clone(model).partial_fit(X, y)
    fitted = clone(model).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"label [23], but the classes are \[0, 1\]"):
        fitted.partial_fit(X, y + 2)
    with pytest.raises(ValueError, match="class_weight='balanced' changes"):
        clone(model).set_params(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="cannot know a precomputed kernel"):
        clone(model).set_params(kernel="precomputed").partial_fit(X @ X.T, y, classes=[0, 1])


def test_a_class_without_points_is_nothing_to_ridge_and_refused_where_it_has_no_answer():
    X, y = make_moons(40, noise=0.2, random_state=0)
    stream = KernelRidgeClassifier(1.0, kernel=Gaussian()).partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    assert (stream.predict(X) == 0).all()
    stream.partial_fit(X[y == 1], y[y == 1])
    order = np.argsort(y, kind="stable")
    whole = KernelRidgeClassifier(1.0, kernel=Gaussian()).fit(X[order], y[order])
    np.testing.assert_allclose(stream.decision_function(X), whole.decision_function(X), atol=1e-11)
    with pytest.raises(ValueError, match="alpha='loo' chooses the penalty from the points of the first call"):
        KernelRidgeClassifier().partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    with pytest.raises(ValueError, match="no point of the class 1"):
        KernelLogisticRegression().partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    flat = KernelLogisticRegression(fit_intercept=False).partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    assert flat.converged_


def test_a_kernel_that_is_learned_from_all_points_has_no_more_of_them():
    assert not hasattr(RecursiveFeatureClassifier(), "partial_fit")
    with pytest.raises(AttributeError) as reason:
        RecursiveFeatureClassifier().forget(0)
    assert "learns its kernel from all points" in str(reason.value.__cause__)
