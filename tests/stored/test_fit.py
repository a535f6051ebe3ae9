"""A table on a disk gives every model that the same rows in memory give."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import AutoRegressor, load, save
from mercer.arrays.budget import MemoryBudgetError
from mercer.distributed import svm
from mercer.distributed.newton import rows, sample
from mercer.distributed.table import RowTable
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.models import (
    SVC,
    SVR,
    KernelClassifier,
    KernelLogisticRegression,
    KernelPCA,
    KernelQuantileRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
)
from mercer.solvers.newton import plan as newton_plan
from mercer.stored import StoredPlan, StoredTable, plan
from mercer.stored.executor import DiskExecutor

from .conftest import NAMES, assert_same

SMALL = {"memory": 2_000_000, "random_state": 0}


def ridge(**options):
    return KernelRidge(0.1, kernel=Gaussian(1.5), n_centers=30, **(SMALL | options))


def outputs(model, X):
    return getattr(model, "decision_function", model.predict)(X)


@pytest.mark.parametrize("weight", [None, "weight", 2.0])
@pytest.mark.parametrize("target", ["y", ["y", "other"]])
def test_ridge_on_a_folder_is_ridge_on_its_rows(data, folder, target, weight):
    given = data.frame[weight].to_numpy() if isinstance(weight, str) else weight
    here = ridge(fit_intercept=True).fit(data.X, data.frame[target].to_numpy(), given)
    there = ridge(fit_intercept=True).fit(StoredTable(folder, columns=NAMES), target, weight)
    assert_same(here.predict(data.X), there.predict(data.frame[NAMES]))
    assert there.feature_names_in_.tolist() == NAMES
    assert isinstance(there.plan_, StoredPlan)
    assert there.plan_.pieces > 2
    assert "pieces" in str(there.plan_)
    assert not [path for path in folder.parent.iterdir() if path != folder]


@pytest.mark.parametrize(
    ("make", "target"),
    [
        (lambda: KernelRidge(0.1, kernel=Polynomial(2), **SMALL), "y"),
        (lambda: KernelRidgeClassifier(kernel=Gaussian(1.5), solver="nystroem", **SMALL), "three"),
        (lambda: KernelLogisticRegression(kernel=Gaussian(1.5), n_centers=20, **SMALL), "two"),
        (
            lambda: KernelLogisticRegression(kernel=Gaussian(1.5), n_centers=20, class_weight="balanced", **SMALL),
            "three",
        ),
        (lambda: KernelClassifier(loss="SquaredHinge", kernel=Gaussian(1.5), n_centers=20, **SMALL), "two"),
        (lambda: KernelQuantileRegressor([0.2, 0.8], kernel=Linear(), n_centers=3, **SMALL), "y"),
    ],
)
def test_other_models_too(data, folder, make, target):
    here = make().fit(data.X, data.frame[target].to_numpy())
    there = make().fit(StoredTable(folder, columns=NAMES), target)
    assert_same(outputs(here, data.X), outputs(there, StoredTable(folder, columns=NAMES)), 1e-5)
    assert there.converged_


def test_steps_that_bend_by_some_rows_lead_to_the_minimum_of_all(data, folder, monkeypatch):
    def make():
        return KernelClassifier(loss="SquaredHinge", kernel=Gaussian(1.5), n_centers=10, **SMALL)

    target = "two"
    here = make().fit(data.X, data.frame[target].to_numpy())
    monkeypatch.setattr(newton_plan, "LEAST_BENT", 400)
    monkeypatch.setattr(newton_plan, "PER_CENTER", 1)
    monkeypatch.setattr(newton_plan, "WORTH", 1)
    counts, draw = [], rows.draw_bent
    monkeypatch.setattr(rows, "draw_bent", lambda *given: counts.append(len(draw(*given)[0])) or draw(*given))
    there = make().fit(StoredTable(folder, columns=NAMES), target)
    assert there.converged_
    assert max(counts) < 150  # of pieces of 170 rows
    assert_same(outputs(here, data.X), outputs(there, data.frame[NAMES]), 1e-3)


@pytest.fixture
def sampled(monkeypatch):
    """Samples of few rows are solved first; their sizes."""
    monkeypatch.setattr(sample, "LEAST", 10)
    monkeypatch.setattr(sample, "PER_CENTER", 1)
    monkeypatch.setattr(sample, "SEEN", 4)
    sizes, thin = [], RowTable.thin

    def count(table, times):
        drawn = thin(table, times)
        found = drawn.each("all", lambda block: block)
        assert [len(block) for block in found] == drawn.counts.tolist()
        assert len(np.unique(np.concatenate([block.X for block in found]), axis=0)) == drawn.n
        sizes.append(drawn.n)
        return drawn

    monkeypatch.setattr(RowTable, "thin", count)
    return sizes


@pytest.mark.parametrize(("target", "weight", "count"), [("two", "weight", 2), ("three", None, 1)])
def test_a_fit_that_begins_with_samples_of_rows_leads_to_the_minimum_of_all(
    data, folder, sampled, target, weight, count
):
    def make():
        return KernelLogisticRegression(0.3, kernel=Gaussian(1.5), n_centers=10, tol=1e-9, **SMALL)

    weights = None if weight is None else data.frame[weight].to_numpy()
    here = make().fit(data.X, data.frame[target].to_numpy(), weights)
    there = make().fit(StoredTable(folder, columns=NAMES), target, weight)
    assert len(sampled) == count
    assert max(sampled) <= 900 // sample.THIN
    assert there.converged_
    assert there.restricted_gap_ <= 1e-9 * there.objective_
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-8)
    assert_same(outputs(here, data.X), outputs(there, data.frame[NAMES]), 1e-4)


def test_samples_have_rows_of_every_class(data, folder, sampled):
    rare = data.frame.assign(three=np.where(np.arange(900) % 300, data.frame["three"].clip(0, 1), 2))
    rare.to_parquet(folder / "part-0.parquet", index=False)
    (folder / "part-1.parquet").unlink()
    model = KernelLogisticRegression(kernel=Gaussian(1.5), n_centers=10, **SMALL)
    assert model.fit(StoredTable(folder, columns=NAMES), "three").converged_
    assert sampled == []  # three rows of one class are too few to draw from


def test_machines_that_bend_by_some_rows_lead_to_the_minimum_of_all(data, tmp_path, monkeypatch):
    monkeypatch.setattr(svm, "EXACT_ROWS", 100)
    monkeypatch.setattr(newton_plan, "LEAST_BENT", 60)
    monkeypatch.setattr(newton_plan, "PER_CENTER", 1)
    monkeypatch.setattr(newton_plan, "WORTH", 0)
    few = data.frame[[*NAMES, "two"]][:300]
    few.to_parquet(tmp_path / "few.parquet", index=False)
    here = SVC(C=0.1, kernel=Linear(), tol=1e-4).fit(data.X[:300], few["two"].to_numpy())
    there = SVC(C=0.1, kernel=Linear(), tol=1e-4).fit(tmp_path / "few.parquet", "two")
    assert there.converged_
    assert_same(outputs(here, data.X), outputs(there, data.frame[NAMES]), 1e-3)


def test_rows_that_are_drawn_by_how_much_they_bend_stand_for_all():
    bends = np.where(np.arange(400) % 3, np.random.default_rng(0).uniform(size=400), 0.0)
    totals = []
    for seed in range(40):
        drawn, chances = rows.draw_bent(bends, 60, seed)
        assert (bends[drawn] > 0).all()
        assert len(drawn) in (59, 60, 61)
        totals.append((bends[drawn] / chances).sum())
    assert np.mean(totals) == pytest.approx(bends.sum(), rel=0.05)
    assert rows.draw_bent(np.zeros(5), 2, 0)[0].tolist() == [0]
    assert all(len(rows.draw_bent(np.ones(3), 0.06, seed)[0]) == 1 for seed in range(40))  # of a small last piece


def test_what_fits_is_solved_exactly(data, folder):
    table, few = StoredTable(folder, columns=NAMES), data.frame[NAMES][:20]
    for make, target in (
        (lambda: KernelRidge(0.1, kernel=Gaussian(1.5), memory="100MB"), "y"),
        (lambda: SVC(kernel=Gaussian(1.5), memory="100MB"), "two"),
        (lambda: SVR(kernel=Gaussian(1.5), memory="100MB"), "y"),
    ):
        here = make().fit(data.X, data.frame[target].to_numpy())
        assert_same(outputs(here, data.X[:20]), outputs(make().fit(table, target), few), 1e-3)


@pytest.mark.parametrize(
    ("make", "target"),
    [
        (lambda: SVC(C=0.1, kernel=Linear(), tol=1e-4), "two"),
        (
            lambda: SVC(C=0.1, kernel=Linear(), tol=1e-4, class_weight="balanced", decision_function_shape="ovo"),
            "three",
        ),
        (lambda: SVR(C=0.1, kernel=Linear(), tol=1e-4), "y"),
    ],
)
@pytest.mark.parametrize("weight", [None, "weight"])
def test_machines_of_more_rows_than_are_solved_exactly_are_the_same_where_few_features_are_all(
    data, tmp_path, monkeypatch, make, target, weight
):
    monkeypatch.setattr(svm, "EXACT_ROWS", 100)
    monkeypatch.setattr(plan, "PIECE", 2**12)
    few = data.frame[[*NAMES, target, "weight"]][:300]
    few.to_parquet(tmp_path / "few.parquet", index=False)
    here = make().fit(data.X[:300], few[target].to_numpy(), None if weight is None else few[weight].to_numpy())
    there = make().fit(StoredTable(tmp_path / "few.parquet", columns=NAMES), target, weight)
    assert_same(
        here.decision_function(data.X) if target != "y" else here.predict(data.X),
        outputs(there, data.frame[NAMES]),
        1e-3,
    )
    assert there.converged_
    assert there.plan_.pieces == 2
    assert "Nyström features" in there.plan_.reason


def test_machines_of_pairs_take_pieces_without_either_class(data, tmp_path, monkeypatch):
    monkeypatch.setattr(svm, "EXACT_ROWS", 100)
    monkeypatch.setattr(plan, "PIECE", 2**12)
    few = data.frame[[*NAMES, "three"]][:300].sort_values("three")
    few.to_parquet(tmp_path / "few.parquet", index=False)
    here, there = (SVC(C=0.1, kernel=Linear(), tol=1e-4, decision_function_shape="ovo") for _ in range(2))
    here.fit(few[NAMES].to_numpy(), few["three"].to_numpy())
    there.fit(tmp_path / "few.parquet", "three")
    assert_same(here.decision_function(data.X), there.decision_function(data.frame[NAMES]), 1e-3)


@pytest.mark.parametrize(
    ("make", "target", "count"),
    [
        (lambda: SVC(C=0.1, kernel=Linear(), tol=1e-4), "two", 2),
        (lambda: SVC(C=0.1, kernel=Linear(), tol=1e-4, decision_function_shape="ovo"), "three", 3),
        (lambda: SVR(C=0.1, kernel=Linear(), tol=1e-4), "y", 2),
    ],
)
def test_machines_that_begin_with_samples_of_rows_are_those_of_all(
    data, folder, monkeypatch, sampled, make, target, count
):
    monkeypatch.setattr(svm, "EXACT_ROWS", 100)
    here = make().fit(data.X, data.frame[target].to_numpy())
    there = make().fit(StoredTable(folder, columns=NAMES), target)
    assert len(sampled) == count
    assert there.converged_
    assert there.duality_gap_.relative <= 1e-4
    assert_same(outputs(here, data.X), outputs(there, data.frame[NAMES]), 1e-3)


def test_a_machine_of_few_steps_is_not_certified(data, folder, monkeypatch):
    monkeypatch.setattr(svm, "EXACT_ROWS", 100)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = SVC(C=10.0, kernel=Gaussian(1.5), max_iter=3).fit(StoredTable(folder, columns=NAMES), "two")
    assert model.n_iter_.tolist() == [3]
    assert not model.converged_
    assert model.duality_gap_.relative > model.tol


def test_products_with_all_pairs_read_no_piece_again(data, folder, monkeypatch):
    read, counts = DiskExecutor.read, []
    monkeypatch.setattr(DiskExecutor, "read", lambda *given: counts.append(1) or read(*given))
    model = KernelRidge(0.01, kernel=Gaussian(1.5), solver="cg", memory=2_000_000, fit_intercept=True)
    there = model.fit(StoredTable(folder, columns=NAMES), "y")
    here = KernelRidge(0.01, kernel=Gaussian(1.5), solver="cholesky", fit_intercept=True).fit(data.X, data.y)
    assert_same(here.predict(data.X), there.predict(data.frame[NAMES]), 1e-6)
    assert len(counts) <= 10 * there.plan_.pieces


def test_a_penalty_is_found_for_a_table(data, folder):
    model = KernelRidgeCV([0.01, 0.1, 1.0], kernel=Gaussian(1.5), random_state=0).fit(
        StoredTable(folder, columns=NAMES), "y"
    )
    assert model.score(data.frame[NAMES], data.y) > 0.9


def test_every_way_to_give_a_table_is_the_same(data, folder, tmp_path):
    np.save(tmp_path / "X.npy", data.X)
    np.save(tmp_path / "y.npy", data.y)
    data.frame[[*NAMES, "y"]].to_parquet(tmp_path / "all.parquet")
    mapped = np.lib.format.open_memmap(tmp_path / "X.npy", mode="r")
    expected = ridge(memory="30MB").fit(data.X, data.y).predict(data.X)
    for X, y in (
        (tmp_path / "X.npy", data.y),
        (str(tmp_path / "X.npy"), str(tmp_path / "y.npy")),
        (mapped, np.lib.format.open_memmap(tmp_path / "y.npy", mode="r")),
        (tmp_path / "all.parquet", "y"),
        (pa.dataset.dataset(tmp_path / "all.parquet"), "y"),
        (StoredTable(pa.dataset.dataset(folder), columns=NAMES), data.y.tolist()),
    ):
        model = ridge(memory="30MB").fit(X, y)
        assert_same(expected, model.predict(X))
        assert_same(expected, model.predict(data.frame[NAMES] if hasattr(model, "feature_names_in_") else data.X))


def test_folders_may_spell_a_column(data, tmp_path):
    for name, part in data.frame[[*NAMES, "y", "three"]].groupby("three"):
        (tmp_path / f"three={name}").mkdir()
        part.drop(columns="three").to_parquet(tmp_path / f"three={name}" / "part.parquet", index=False)
    rows = data.frame.sort_values("three", kind="stable")
    X = rows[[*NAMES, "three"]].astype(float)
    here, there = ridge().fit(X, rows["y"]), ridge().fit(tmp_path, "y")
    assert there.feature_names_in_.tolist() == [*NAMES, "three"]
    assert_same(here.predict(X), there.predict(tmp_path))
    model = KernelRidgeClassifier(kernel=Gaussian(1.5), solver="nystroem", **SMALL)
    assert model.fit(StoredTable(tmp_path, columns=NAMES), "three").score(rows[NAMES], rows["three"]) > 0.6


def test_a_fit_stays_within_its_budget_whatever_the_file_has(tmp_path):
    rng, budget = np.random.default_rng(0), 1_800_000
    X = rng.normal(size=(12_000, 40))
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", np.sin(X[:, 0]))
    del X
    model = KernelRidge(1.0, kernel=Gaussian(9.0), n_centers=20, memory=budget, random_state=0)
    model.fit(tmp_path / "X.npy", tmp_path / "y.npy")  # what is loaded once does not count
    tracemalloc.start()
    clone(model).fit(tmp_path / "X.npy", tmp_path / "y.npy")
    assert tracemalloc.get_traced_memory()[1] < budget
    tracemalloc.reset_peak()
    model.predict(tmp_path / "X.npy")
    assert tracemalloc.get_traced_memory()[1] < budget + 2 * 8 * 12_000  # and the answer
    tracemalloc.stop()


def test_a_mapped_array_larger_than_the_budget_is_never_copied_whole(tmp_path):
    X = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=(12_000, 40))
    X[:] = np.random.default_rng(0).normal(size=X.shape)
    y, budget = np.sin(np.asarray(X[:, 0], dtype=np.float64)), 1_800_000
    model = KernelRidge(1.0, kernel=Gaussian(9.0), n_centers=60, memory=budget, random_state=0)
    model.fit(X, y)  # what is loaded once does not count
    tracemalloc.start()
    model.fit(X, y)
    assert tracemalloc.get_traced_memory()[1] < budget + y.nbytes
    tracemalloc.stop()
    assert model.score(np.asarray(X[:1000], dtype=np.float64), y[:1000]) > 0.2


def test_models_that_keep_all_rows_say_what_they_need(folder):
    with pytest.raises(MemoryBudgetError, match="for 900 points needs"):
        KernelRidge(kernel=Gaussian(), solver="cg", memory=50_000).fit(StoredTable(folder, columns=NAMES), "y")
    with pytest.raises(TypeError, match="KernelPCA cannot be fitted to a table on a disk"):
        KernelPCA().fit(folder)


def test_a_model_of_a_table_is_an_ordinary_one(data, folder, tmp_path):
    model = ridge().fit(StoredTable(folder, columns=NAMES), "y")
    save(model, tmp_path / "model.mercer")
    X = data.frame[NAMES]
    assert np.array_equal(load(tmp_path / "model.mercer").predict(X), model.predict(X))


def test_without_a_seed_a_fit_has_one_of_its_own(folder):
    first = ridge(random_state=None).fit(StoredTable(folder, columns=NAMES), "y")
    second = ridge(random_state=None).fit(StoredTable(folder, columns=NAMES), "y")
    assert first.random_state is None
    assert np.array_equal(first.dual_coef_, second.dual_coef_)


def test_automatic_models_read_a_table_whole_if_it_fits(data, tmp_path):
    data.frame[[*NAMES, "y"]][:150].to_parquet(tmp_path / "small.parquet", index=False)
    options = {"model": "ridge", "kernel": Gaussian(1.5), "test": 0.0, "budget": 1.0, "random_state": 0}
    model = AutoRegressor(**options).fit(tmp_path / "small.parquet", "y")
    assert model.score(data.frame[NAMES], data.y) > 0.5
