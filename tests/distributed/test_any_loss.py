"""Any loss over partitions is that of one machine with the same centres."""

import numpy as np
import pytest

from mercer import KernelClassifier, KernelQuantileRegressor, KernelRegressor
from mercer.distributed import ClusterPlan
from mercer.distributed.newton import loss as partitioned
from mercer.distributed.newton import sample, values
from mercer.distributed.table import RowTable
from mercer.kernels import Custom, Gaussian
from mercer.losses import CustomLoss, NormBound

from .conftest import assert_same, without_sizes
from .conftest import cut as cut_rows

pytestmark = pytest.mark.usefixtures("at_once")
OPTIONS = {"kernel": Gaussian(1.5), "n_centers": 6, "random_state": 0}
ROWS = (30, 0, 50)


@pytest.fixture(scope="module")
def data(data):
    """A few of the rows: every pass over partitions takes its time, and Newton's method takes many."""
    return type(data)(*(getattr(data, field)[:80] for field in ("X", "y", "several", "two", "three", "weights")))


def cut(values, rows=ROWS):
    return cut_rows(values, rows)


def pseudo_huber(y, f):
    return np.sqrt(1 + (y - f) ** 2) - 1


def both(model, data, y, weights=None):
    """The model here, and there, with the same centres."""
    here = model.fit(data.X, y, weights)
    there = type(model)(**model.get_params(deep=False)).fit(cut(data.X), cut(y), cut(weights))
    assert isinstance(there.plan_, ClusterPlan)
    assert there.converged_
    assert_same(here.expansion_.centers, there.expansion_.centers)
    return here, there


SMOOTH = ["Huber(0.3)", "Poisson", CustomLoss(pseudo_huber)]


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_smooth_losses(data, loss):
    y = np.exp(data.several).round() if loss == "Poisson" else data.several
    here, there = both(KernelRegressor(loss, 0.3, tol=1e-8, **OPTIONS), data, y, data.weights)
    assert_same(here.predict(data.X), there.predict(data.X), 1e-4)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-7)
    lazy = there.predict(cut(data.X))
    assert lazy.chunks[0] == ROWS
    assert_same(there.predict(data.X), lazy.compute(), 1e-12)


def test_samples_of_partitions_come_first(data, monkeypatch):
    monkeypatch.setattr(sample, "LEAST", 5)
    monkeypatch.setattr(sample, "PER_CENTER", 1)
    sizes, thin = [], RowTable.thin
    monkeypatch.setattr(RowTable, "thin", lambda table, times: sizes.append(table.n) or thin(table, times))
    here, there = both(KernelRegressor("Huber(0.3)", 0.3, tol=1e-8, **OPTIONS), data, data.several, data.weights)
    assert sizes == [np.count_nonzero(data.weights)]
    assert_same(here.predict(data.X), there.predict(data.X), 1e-4)


def test_quantiles_share_one_fit(data):
    model = KernelQuantileRegressor([0.2, 0.9], 0.3, tol=1e-2, **OPTIONS)
    here, there = both(model, data, data.y, data.weights)
    assert there.objective_ == pytest.approx(here.objective_, rel=2e-2)
    assert there.dual_coef_.shape == (6, 2)
    found = there.predict(cut(data.X)).compute()
    assert (np.diff(found, axis=1) >= 0).all()
    assert_same(here.predict(data.X), found, 0.3)
    with pytest.raises(ValueError, match="one target for each point, got 2"):
        model.fit(cut(data.X), cut(data.several))


def test_few_rows_are_gathered(data):
    X, y = data.X[:60], data.y[:60]
    here = KernelQuantileRegressor([0.2, 0.9], kernel=Gaussian()).fit(X, y)
    there = KernelQuantileRegressor([0.2, 0.9], kernel=Gaussian()).fit(cut(X, (20, 40)), cut(y, (20, 40)))
    assert_same(here.predict(X), there.predict(X), 1e-12)
    assert "all rows" in str(there.plan_)


@pytest.mark.parametrize(
    ("loss", "labels"),
    [("SquaredHinge", "three"), ("Softmax", "two")],
)
def test_classes(data, loss, labels):
    y, tol = getattr(data, labels), 1e-8
    model = KernelClassifier(loss, 0.5, class_weight="balanced", tol=tol, **OPTIONS)
    here, there = both(model, data, y, data.weights)
    np.testing.assert_array_equal(here.classes_, there.classes_)
    rtol = 1e-3
    assert_same(here.decision_function(data.X), there.decision_function(cut(data.X)).compute(), rtol)
    assert_same(here.predict_proba(data.X), there.predict_proba(cut(data.X)).compute(), 1e-3)
    np.testing.assert_array_equal(here.predict(data.X), there.predict(cut(data.X)).compute())


def test_frames_and_bags(data):
    import dask.bag as db

    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    frame = pd.DataFrame(data.X, columns=["a", "b", "c"])
    model = KernelRegressor("Huber(.3)", 0.3, **OPTIONS)
    here = model.fit(frame, data.y)
    there = KernelRegressor("Huber(.3)", 0.3, **OPTIONS)
    there.fit(dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(data.y), npartitions=3))
    assert list(there.feature_names_in_) == ["a", "b", "c"]
    assert_same(here.predict(frame), there.predict(frame), 1e-3)
    words = ["kernel", "eigen", "norm", "matrix", "dog", "cat", "mouse", "bird"] * 3
    letters = Custom(lambda a, b: float(len(set(a) & set(b))))
    y = np.array([float(len(word)) for word in words])
    model = KernelRegressor("Poisson", 0.5, kernel=letters, n_centers=5, random_state=0, assume_psd=True)
    here = model.fit(words, y).predict(words)
    there = model.fit(db.from_sequence(words, npartitions=3), without_sizes(cut(y, (8, 8, 8))))
    assert_same(here, there.predict(words), 1e-3)


def test_counts_of_one_partition_may_all_be_0(data):
    y = np.where(np.arange(80) < 30, 0.0, np.round(np.exp(data.y)))  # the first partition
    model = KernelRegressor("Poisson", 10.0, tol=1e-3, fit_intercept=False, **OPTIONS)
    both(model, data, y)
    y[60] = -1.0
    with pytest.raises(ValueError, match=r"needs counts.* is .*-1"):
        model.fit(cut(data.X), cut(y))


def test_values_of_many_steps_are_added_up_now_and_then(data, monkeypatch):
    most, steps, mapped = [], [], partitioned.PartitionSums._map

    def count(self, name, outputs, *shared):
        most.append(len(outputs.terms))
        steps.append(name == "hessian")
        return mapped(self, name, outputs, *shared)

    monkeypatch.setattr(partitioned.PartitionSums, "_map", count)
    monkeypatch.setattr(values, "TERMS", 2)
    model = KernelRegressor("Quantile(.7)", 0.3, tol=1e-2, fit_intercept=False, **OPTIONS)  # whose search takes long
    model.fit(cut(data.X), cut(data.y))
    assert sum(steps) > 2
    assert max(most) == 2


def test_other_penalties_need_all_rows_in_one_place(data):
    model = KernelRegressor("Squared", penalty=NormBound(1.0), **OPTIONS)
    with pytest.raises(ValueError, match=r"penalty='squared', got NormBound.*X.compute\(\)"):
        model.fit(cut(data.X), cut(data.y))
