"""Automatic models of tables that are larger than their budget: chosen on some rows, and fitted to all of them."""

import numpy as np
import pytest

from mercer import AutoClassifier, AutoRegressor, load, save
from mercer.auto import large
from mercer.auto.large import LargeTable
from mercer.stored import StoredTable, plan, table, write_predictions

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
N = 1600
OPTIONS = {"kernel": "Gaussian(2.0)", "memory": "20MB", "random_state": 0}


@pytest.fixture(autouse=True)
def large_tables(monkeypatch):
    """Let small tables be large: learning from them in memory would take more copies than there is room for."""
    monkeypatch.setattr(table, "COPIES", 10**4)
    monkeypatch.setattr(large, "SAMPLE", 400)
    monkeypatch.setattr(plan, "PIECE", 2**14)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N, 2)), columns=["a", "b"])
    X["town"] = np.array(["Bonn", "Kiel", "Trier"])[rng.integers(3, size=N)]
    X.loc[::50, "a"] = np.nan
    X["y"] = np.sin(X["a"].fillna(0.0)) + X["b"] + (X["town"] == "Kiel") + 0.1 * rng.normal(size=N)
    X["kind"] = np.where(X["y"] > 0.5, "high", "low")
    X.loc[N - 3 :, "kind"] = "rare"
    X.loc[7, ["y", "kind"]] = [np.nan, None]
    return X


@pytest.fixture
def path(frame, tmp_path):
    frame.to_parquet(tmp_path / "big.parquet", index=False, row_group_size=700)
    return tmp_path / "big.parquet"


def test_a_table_larger_than_the_budget_is_chosen_for_on_some_rows_and_fitted_to_all(frame, path, tmp_path):
    rows, known = StoredTable(path, columns=["a", "b", "town"]), frame["y"].notna()
    model = AutoRegressor("ridge", **OPTIONS).fit(rows, "y")
    report = model.report_
    assert (report.n_rows, report.n_train + report.n_test) == (N - 1, N - 1)
    assert report.n_test < N / 4
    said = next(sentence for sentence in report.advice if "larger than memory" in sentence)
    assert f"{N - 1:,} rows" in said
    assert f"all but {report.n_test} rows, which judge it, and then to all rows" in said
    assert "read from the disk" in report.plan.lower()
    assert model.model_.plan_.pieces > 2
    assert report.scores[0].values["R²"] > 0.9
    found = model.predict(rows)
    np.testing.assert_allclose(found, model.predict(frame), rtol=1e-9)
    assert np.corrcoef(found[known], frame["y"][known])[0, 1] > 0.97
    ends = model.predict_interval(rows, 0.9)
    assert np.mean((ends[known, 0] <= frame["y"][known]) & (frame["y"][known] <= ends[known, 1])) > 0.8
    save(model, tmp_path / "model.mercer")
    assert write_predictions(load(tmp_path / "model.mercer"), path, tmp_path / "out.parquet") == N
    np.testing.assert_allclose(pd.read_parquet(tmp_path / "out.parquet")["prediction"], found)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["big.parquet", "model.mercer", "out.parquet"]


def test_classes_that_are_rare_are_known_too(frame, path):
    rows = StoredTable(path, columns=["a", "b", "town"])
    model = AutoClassifier("logistic", test=0, **OPTIONS | {"kernel": "Linear()"}).fit(rows, "kind")
    assert model.classes_.tolist() == ["high", "low", "rare"]
    assert np.mean(model.predict(rows) == frame["kind"]) > 0.85
    chances = model.predict_proba(rows)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert model.predict_set(rows, 0.9).shape == chances.shape


def test_each_of_many_classes_is_in_the_sample_as_often_as_it_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "AT_ONCE", 97)
    rng = np.random.default_rng(0)
    labels = np.minimum(rng.geometric(0.03, size=N), 150)
    pd.DataFrame({"a": rng.normal(size=N), "kind": labels}).to_parquet(tmp_path / "many.parquet", index=False)
    with LargeTable(StoredTable(tmp_path / "many.parquet"), "kind", "classification", 10**9, "k") as rows:
        sample = rows.take_sample(0)
    np.testing.assert_array_equal(sample.y, labels[sample.positions])
    there, drawn = np.bincount(labels), np.bincount(sample.y, minlength=labels.max() + 1)
    assert (drawn >= np.minimum(there, large.EACH)).all()
    assert len(sample.positions) < 1200


def test_what_keeps_its_rows_learns_from_the_sample_and_says_so(path):
    model = AutoRegressor("neighbors", memory="20MB", kernel="Gaussian(2.0)", random_state=0, test=0).fit(
        StoredTable(path, columns=["a", "b"]), "y"
    )
    assert any("rows of the sample alone" in sentence for sentence in model.report_.advice)


def test_rows_held_out_are_in_no_sum(frame, path, monkeypatch):
    left, fit = [], LargeTable.fit_members

    def note(self, *given):
        left.append(given[6])
        found = fit(self, *given)
        kept = np.load(self._folder / "weights.npy")
        assert set(np.flatnonzero(kept == 0)) == {7, *given[6].tolist()}
        return found

    monkeypatch.setattr(LargeTable, "fit_members", note)
    model = AutoRegressor("ridge", **OPTIONS).fit(StoredTable(path, columns=["a", "b"]), "y")
    first, second = left
    assert len(first) == model.report_.n_test
    assert len(second) == 0


def test_targets_may_be_an_array_beside_a_file_of_numbers(tmp_path):
    X = np.random.default_rng(0).normal(size=(1500, 2))
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", X[:, 0])
    options = {"kernel": "Linear()", "memory": "20MB", "random_state": 0, "test": 0}
    for y in (X[:, 0], tmp_path / "y.npy"):
        model = AutoRegressor("ridge", **options).fit(tmp_path / "X.npy", y)
        np.testing.assert_allclose(model.predict(tmp_path / "X.npy"), X[:, 0], atol=0.01)
    with pytest.raises(ValueError, match="X has 1500 rows, but y has 5"):
        AutoRegressor("ridge", **options).fit(tmp_path / "X.npy", X[:5, 0])


def test_a_target_of_texts_is_refused_for_numbers(path):
    with pytest.raises(ValueError, match=r"kind holds .* take AutoClassifier"):
        AutoRegressor(**OPTIONS).fit(path, "kind")
