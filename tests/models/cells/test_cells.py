"""Machines in cells: one machine in one cell, a continuous function of several, and what is told of them."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

from mercer.arrays.threads import share_of_threads
from mercer.kernels import Gaussian, Spectrum
from mercer.models import SVC, SVR, CellSVC, CellSVR
from mercer.solvers.machines.cells import fit as fitting

X, Y = make_moons(400, noise=0.25, random_state=0)
WAVE = np.sin(3 * X[:, 0]) + X[:, 1]
GRID = {"Cs": [30.0, 1.0], "length_scales": [0.3, 1.0]}
SMALL = {"cell_size": 120, "search_size": 60, "folds": 3}
THREE = Y + (X[:, 0] > 1.2)


@pytest.mark.parametrize(("model", "one", "y"), [(CellSVC, SVC, Y), (CellSVC, SVC, THREE), (CellSVR, SVR, WAVE)])
def test_one_cell_is_one_machine_at_the_pair_that_was_chosen(model, one, y):
    found = model(**GRID, tol=1e-6).fit(X, y)
    same = one(C=found.C_, kernel=Gaussian(found.length_scale_), tol=1e-6).fit(X, y)
    assert len(found.cells_) == 1
    method = "predict" if one is SVR else "decision_function"
    np.testing.assert_allclose(getattr(found, method)(X), getattr(same, method)(X), atol=1e-4)
    assert found.duality_gap_.relative <= 1e-6


@pytest.mark.parametrize(("model", "y"), [(CellSVC, Y), (CellSVR, WAVE)])
def test_the_function_is_continuous_across_borders(model, y):
    line = np.linspace(X.min(axis=0), X.max(axis=0), 4001)

    def largest_step(overlap):
        found = model(**GRID, **SMALL, overlap=overlap).fit(X, y)
        assert len(found.cells_) > 2
        values = found.decision_function(line) if model is CellSVC else found.predict(line)
        return np.abs(np.diff(values)).max()

    assert largest_step(0.3) < 0.02
    assert largest_step(0.0) > 0.05  # without a band it jumps


def test_a_function_is_the_mean_of_its_cells_with_their_weights():
    found = CellSVR(**GRID, **SMALL).fit(X, WAVE)
    expected = np.zeros(len(X))
    for cell, rows, weights in found._function.cuts.weigh(X):
        expected[rows] += weights * found.cells_[cell].function(X[rows])[:, 0]
    np.testing.assert_allclose(found.predict(X), expected, atol=1e-12)


def test_every_cell_is_fitted_to_all_points_at_which_it_has_a_weight():
    found = CellSVC(**GRID, **SMALL).fit(X, Y)
    assert found.cell_sizes_.tolist() == [len(rows) for _, rows, _ in found._function.cuts.weigh(X)]
    assert found.cell_sizes_.sum() > len(X)


def test_many_cells_err_little_more_than_one():
    train, labels = make_moons(1500, noise=0.25, random_state=1)
    new, truth = make_moons(1000, noise=0.25, random_state=2)
    one, many = (CellSVC(**GRID, cell_size=size, search_size=200).fit(train, labels) for size in (2000, 250))
    assert len(many.cells_) == 6
    assert many.score(new, truth) > one.score(new, truth) - 0.015


def test_a_cell_of_one_class_votes_for_it():
    away = X + np.array([50.0, 0.0])
    points = np.concatenate([X, away])
    labels = np.concatenate([Y, np.full(len(X), 2)])
    found = CellSVC(**GRID, **SMALL).fit(points, labels)
    alone = [cell for cell in found.cells_ if cell.function is None]
    assert alone
    assert all(cell.classes.tolist() == [2] for cell in alone)
    assert (found.predict(away) == 2).all()
    assert found.score(X, Y) > 0.85


@pytest.mark.parametrize("model", [CellSVC(**GRID, **SMALL), CellSVR(**GRID, **SMALL)])
def test_results_do_not_depend_on_the_number_of_threads(model):
    y = WAVE if isinstance(model, CellSVR) else THREE
    several = clone(model).fit(X, y).predict(X)
    with share_of_threads(1):
        assert np.array_equal(clone(model).fit(X, y).predict(X), several)


def test_points_without_weight_are_as_if_they_were_not_there():
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    kept = weights > 0
    found = CellSVC(**GRID, **SMALL).fit(X, Y, weights)
    assert np.array_equal(
        found.decision_function(X), CellSVC(**GRID, **SMALL).fit(X[kept], Y[kept]).decision_function(X)
    )


def test_the_table_of_the_grid_has_penalties_as_they_were_given():
    found = CellSVC(**GRID, **SMALL).fit(X, Y)
    table = found.cv_results_
    assert [tuple(pair.values()) for pair in table["params"]] == [(30.0, 0.3), (30.0, 1.0), (1.0, 0.3), (1.0, 1.0)]
    assert found.best_index_ == table["rank_test_score"].argmin() == table["mean_test_score"].argmax()
    assert found.best_params_ == {"C": found.C_, "length_scale": found.length_scale_}
    assert found.n_fits_ + found.n_stopped_ == 4 * 3 * 8  # pairs, folds and parts: 2 in each of 4 cells
    assert "8 parts" in found.plan_.reason
    assert "4 cells" in found.plan_.reason


def test_scores_of_a_regression_are_squared_errors_and_a_short_scale_cannot_win():
    found = CellSVR([1.0, 10.0], [1e-3, 1.0], **SMALL).fit(X, WAVE)
    assert found.length_scale_ == 1.0
    assert -WAVE.var() < found.best_score_ < 0
    assert found.n_stopped_ > 0


def test_a_single_pair_is_not_searched():
    found = CellSVC([1.0], kernel=Gaussian(0.5), cell_size=120).fit(X, Y)
    assert (found.n_fits_, found.n_stopped_) == (0, 0)
    assert {cell.C for cell in found.cells_} == {1.0}


def test_a_limit_that_stops_machines_is_told_once_with_a_remedy():
    with pytest.warns(ConvergenceWarning, match="Raise max_iter") as told:
        found = CellSVC(**GRID, **SMALL, max_iter=2).fit(X, Y)
    assert len(told) == 1
    assert not found.converged_


def test_an_interrupted_fit_changes_nothing(monkeypatch):
    found = CellSVC(**GRID, **SMALL).fit(X, Y)
    before = dict(vars(found))

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "choose_pairs", interrupt)
    with pytest.raises(KeyboardInterrupt):
        found.fit(X[::2], Y[::2])
    assert vars(found) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cell_size": 3}, "cell_size must be a whole number of at least 10; got 3"),
        ({"folds": 1}, "folds must be a whole number of at least 2; got 1"),
        ({"overlap": 1.0}, "overlap must be a number from 0 to below 1.*got 1.0"),
        ({"Cs": [0.0]}, "Cs must be a list of positive penalties"),
        ({"kernel": "precomputed"}, "no points to cut; give a kernel such as"),
        ({"class_weight": {0: 0.0, 1: 1.0}}, "class weights must be finite and positive.*leave out"),
    ],
)
def test_bad_parameters_are_told_with_what_to_do(options, message):
    with pytest.raises(ValueError, match=message):
        CellSVC(**options).fit(X, Y)


def test_points_that_cannot_be_cut_are_refused():
    with pytest.raises(TypeError, match=r"cuts space across directions.*Use SVCCV"):
        CellSVC(kernel=Spectrum(2)).fit(["ab", "ba", "aa", "bb"] * 5, [0, 1] * 10)


WEIGHTS = {"check_sample_weight_equivalence_on_dense_data": "folds are chosen among points, and a repeated one is two"}


@pytest.mark.parametrize("model", [CellSVC, CellSVR])
def test_the_conventions_of_scikit_learn_hold(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        few = model([1.0, 10.0], [0.5, 2.0], folds=3, cell_size=40, search_size=20)
        check_estimator(few, expected_failed_checks=WEIGHTS, on_skip=None, on_fail="raise")
