"""Cuts of space: every point in one part, weights that have the sum 1, and fade without a jump."""

import numpy as np
import pytest

from mercer.solvers.machines.cells.cuts import cut_points

RNG = np.random.default_rng(0)
CLOUDS = {
    "a ball": RNG.normal(size=(500, 3)),
    "a line": np.outer(RNG.normal(size=300), [1.0, -2.0]),
    "a few values": RNG.integers(3, size=(400, 4)).astype(float),
    "far from 0": 1e8 + RNG.normal(size=(200, 2)),
    "of any size": RNG.normal(size=(200, 2)) * 1e-200,
    "float32": RNG.normal(size=(200, 3)).astype(np.float32),
}


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("size", [7, 60, 1000])
def test_every_point_is_in_one_part_of_the_size_asked_for(name, size):
    X = CLOUDS[name]
    cuts, parts = cut_points(X, size)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(len(X)))
    assert cuts.count == len(parts)
    for part in parts:
        assert 0 < len(part) <= size or len(np.unique(X[part], axis=0)) <= len(np.unique(X[part]))


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("overlap", [0.0, 0.3])
def test_weights_of_cells_have_the_sum_one_and_are_largest_at_home(name, overlap):
    X = CLOUDS[name]
    cuts, parts = cut_points(X, 50, overlap)
    total, heaviest, home = np.zeros(len(X)), np.full((len(X), 2), -1.0), np.empty(len(X))
    for cell, part in enumerate(parts):
        home[part] = cell
    for cell, rows, weights in cuts.weigh(X):
        assert (weights > 0).all()
        total[rows] += weights
        better = rows[weights > heaviest[rows, 0]]
        heaviest[better] = np.column_stack([weights[np.isin(rows, better)], np.full(len(better), cell)])
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)
    if overlap == 0:
        assert np.array_equal(heaviest[:, 1], home)


def test_weights_are_continuous_along_a_line_and_jump_without_a_band():
    X = CLOUDS["a ball"]
    line = np.linspace(-2, 2, 4001)[:, None] * np.array([1.0, 0.7, -0.4])

    def steps(overlap):
        cuts, _ = cut_points(X, 60, overlap)
        weights = np.zeros((cuts.count, len(line)))
        for cell, rows, found in cuts.weigh(line):
            weights[cell, rows] = found
        assert np.count_nonzero((weights > 0).any(axis=1)) > 2  # the line crosses borders
        return np.abs(np.diff(weights, axis=1)).max()

    assert steps(0.2) < 0.02
    assert steps(0.0) == 1.0


def test_points_that_are_all_the_same_stay_together():
    cuts, parts = cut_points(np.ones((30, 2)), 10, overlap=0.2)
    assert (cuts.count, [len(part) for part in parts]) == (1, [30])
    assert [(cell, len(rows)) for cell, rows, _ in cuts.weigh(np.zeros((5, 2)))] == [(0, 5)]


@pytest.mark.parametrize("seed", range(20))
def test_copies_of_a_few_points_stay_together_and_every_cell_has_a_weight_somewhere(seed):
    rng = np.random.default_rng(seed)
    few = rng.normal(size=(3, 33))
    X = few[rng.integers(0, 3, size=137)]
    cuts, parts = cut_points(X, 10, overlap=0.2)
    assert len(parts) <= 3
    assert {cell for cell, _, _ in cuts.weigh(X)} == set(range(len(parts)))


def test_a_cut_goes_across_the_column_that_the_kernel_measures_as_longest():
    X = RNG.normal(size=(400, 2)) * [1.0, 3.0]
    assert np.abs(cut_points(X, 200)[0].directions[0]).argmax() == 1
    assert np.abs(cut_points(X, 200, 0.0, np.array([0.1, 10.0]))[0].directions[0]).argmax() == 0


def test_cells_have_nearly_the_same_size():
    _, parts = cut_points(CLOUDS["a ball"], 72)
    assert {len(part) for part in parts} <= {71, 72}
