"""Rows of a table are encoded once in each way, and fits leave some of them out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mercer.auto import TableEncoder
from mercer.auto.search.encodings import Encodings, encode_rows, leave_out, shuffle_folds
from mercer.kernels import Gaussian
from mercer.models.ridge import KernelRidge


@pytest.fixture(scope="module")
def towns():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=120), "town": [f"t{i}" for i in rng.integers(0, 30, size=120)]})
    return table, rng.normal(size=(120, 1))


def test_a_table_is_encoded_once_in_each_way(towns):
    table, goals = towns
    tables = Encodings(TableEncoder().fit(table), table, goals)
    for way in ("indicators", "statistics", "frame"):
        assert tables.encode(way) is tables.encode(way)
        assert tables.encode(way).way == way
        assert tables.encode(way).rows.shape[0] == 120
    np.testing.assert_array_equal(tables.encode().rows, tables.encoder.transform(table))


def test_categories_stay_themselves_in_a_frame(towns):
    table, goals = towns
    found = encode_rows(TableEncoder().fit(table), "frame", table, goals)
    assert found.rows["town"].tolist() == table["town"].tolist()


def test_statistics_of_a_row_do_not_know_its_own_target(towns):
    table, goals = towns
    encoder = TableEncoder().fit(table)
    found = encode_rows(encoder, "statistics", table, goals)
    changed = goals.copy()
    changed[7] += 100.0
    again = encode_rows(encoder, "statistics", table, changed)
    names = found.encoder.get_feature_names_out().tolist()
    mean = names.index("town: mean")
    others = [i for i in range(120) if i != 7 and table["town"][i] == table["town"][7]]
    assert again.rows[7, mean] == found.rows[7, mean]
    assert (np.abs(again.rows[others, mean] - found.rows[others, mean]) > 1.0).any()


def test_every_row_is_left_out_once_and_classes_are_shared_out():
    labels = np.repeat([0, 1, 2], [20, 10, 1])
    folds = shuffle_folds(31, 5, np.random.RandomState(0), labels)
    held = np.concatenate([fold for _, fold in folds])
    assert sorted(held.tolist()) == list(range(30))  # the only row of its class always stays
    for fit, fold in folds:
        assert len(np.intersect1d(fit, fold)) == 0
        assert np.bincount(labels[fold], minlength=2).tolist() == [4, 2]
        assert set(labels[fit]) == {0, 1, 2}


def test_left_out_predictions_are_those_of_refits():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    folds = shuffle_folds(30, 3, np.random.RandomState(0))
    found = leave_out(KernelRidge(0.1, kernel=Gaussian()), X, y, folds, "predict", np.empty(30))
    for fit, held in folds:
        expected = KernelRidge(0.1, kernel=Gaussian()).fit(X[fit], y[fit]).predict(X[held])
        np.testing.assert_allclose(found[held], expected)
