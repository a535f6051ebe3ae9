"""Kernels for tables: which parts they have, what they weigh, and how they are tuned."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mercer.auto import TableEncoder
from mercer.auto.search.encodings import Encodings, leave_out, shuffle_folds
from mercer.auto.search.tuning import WEIGHTS, count_steps, is_alike, propose_kernels, tune_kernel, weigh_parts
from mercer.kernels import Gaussian, Matern, Overlap
from mercer.models.ridge import KernelRidge
from mercer.models.ridge_cv import KernelRidgeCV


@pytest.fixture
def mixed():
    rng = np.random.default_rng(0)
    colours = rng.choice(["red", "green", "blue"], size=120)
    table = pd.DataFrame({"size": rng.normal(size=120), "noise": rng.normal(size=120), "colour": colours})
    y = np.sin(2 * table["size"]) + 2.0 * (colours == "red")
    return table, (y.to_numpy() - y.mean())[:, None]


def test_numbers_alone_get_smooth_and_rough_kernels_with_a_length_scale_each():
    X = np.random.default_rng(0).normal(size=(50, 3))
    encoder = TableEncoder().fit(X)
    found = propose_kernels(encoder, encoder.transform(X))
    assert [getattr(kernel, "nu", None) for kernel in found] == [0.5, 1.5, 2.5, None]
    assert all(len(kernel.length_scale) == 3 for kernel in found)


def test_categories_and_texts_are_added(mixed):
    table = mixed[0].assign(said=[f"sentence {i} about {i * 7919}" for i in range(120)])
    encoder = TableEncoder("overlap", texts="strings").fit(table)
    found = propose_kernels(encoder, encoder.transform(table))
    text = repr(found[0])
    assert "Overlap().on(['colour'])" in text
    assert "Spectrum(length=3, shortest=None).normalize().on(['said'])" in text
    assert all(kernel.theorem() is not None for kernel in found)


def test_weights_are_those_of_the_least_leave_one_out_error(mixed):
    table, targets = mixed
    encoder = TableEncoder("overlap").fit(table)
    rows = encoder.transform(table)
    first = propose_kernels(encoder, rows)[0]
    found = weigh_parts([first], rows, targets, np.random.RandomState(0), 2**30)[0]
    tried = {weight: first.k1 + weight * first.k2 for weight in WEIGHTS}
    scores = {w: KernelRidgeCV(kernel=k).fit(rows, targets[:, 0]).best_score_ for w, k in tried.items()}
    best = max(scores, key=scores.get)
    np.testing.assert_allclose(found(rows), tried[best](rows))


def test_tuning_finds_the_column_that_matters(mixed):
    table, _ = mixed
    encoder = TableEncoder("indicators").fit(table)
    rows = encoder.transform(table)
    targets = np.sin(2 * rows[:, :1])
    calls = []
    kernel = tune_kernel(
        propose_kernels(encoder, rows), rows, targets, np.random.RandomState(0), 2**30, lambda: bool(calls.append(1))
    )
    assert kernel.length_scale[1] > 3 * kernel.length_scale[0]
    assert 0 < len(calls) <= count_steps(propose_kernels(encoder, rows), len(rows))


def test_tuning_stops_when_it_is_told_to(mixed):
    X = mixed[0][["size", "noise"]].to_numpy()
    calls = []
    tune_kernel(
        [Gaussian([1.0, 1.0])], X, mixed[1], np.random.RandomState(0), 2**30, lambda: bool(calls.append(1)) or True
    )
    assert len(calls) == 1


def test_kernels_are_alike_if_only_length_scales_differ():
    first = Matern(1.5, [1.0, 2.0]).on([0, 1]) + 0.5 * Overlap().on([2])
    assert is_alike(first, Matern(1.5, [3.0, 4.0]).on([0, 1]) + 0.5 * Overlap().on([2]))
    assert not is_alike(first, Matern(1.5, [3.0, 4.0]).on([0, 1]) + 0.3 * Overlap().on([2]))


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
    model = KernelRidge(0.1, kernel=Gaussian())
    found = leave_out([model] * 3, X, y, folds, "predict", np.empty(30))
    fit, held = folds[1]
    np.testing.assert_allclose(found[held], KernelRidge(0.1, kernel=Gaussian()).fit(X[fit], y[fit]).predict(X[held]))


def test_a_table_is_encoded_once_in_each_way(mixed):
    tables = Encodings(TableEncoder().fit(mixed[0]), mixed[0])
    assert tables.has_categories
    assert tables.encode("overlap") is tables.encode("overlap")
    assert tables.encode().rows.shape == (120, 5)
