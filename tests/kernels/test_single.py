"""k(x, z) of two single points is a number, and collections stay what they were."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels import (
    Constant,
    Custom,
    Edit,
    FromFeatures,
    Gaussian,
    GlobalAlignment,
    Graph,
    Linear,
    Mismatch,
    Overlap,
    PairSum,
    Precomputed,
    RandomWalk,
    ShortestPath,
    Spectrum,
    Subsequence,
    SubsetTree,
    WeisfeilerLehman,
)

X, Z = np.array([0.5, -1.25, 2.0]), np.array([1.0, 0.25, -3.0])
WATER, HYDROGEN = Graph([[1, 2], [0], [0]], "OHH"), Graph([[1], [0]], "HH")


def test_two_vectors_give_the_entry_of_the_matrix_of_two_collections_of_one(takes_rows):
    k, x, z = takes_rows.kernel, takes_rows.X[0], takes_rows.Z[1]
    value = k(x, z)
    assert type(value) is float
    assert value == k(x[None, :], z[None, :])[0, 0] == k([x], [z])[0, 0]
    assert value == pytest.approx(takes_rows.formula(x, z), rel=1e-9, abs=1e-11)


def test_two_vectors_may_change_places(takes_rows):
    k, x, z = takes_rows.kernel, takes_rows.X[2], takes_rows.Z[0]
    assert k(x, z) == pytest.approx(k(z, x), rel=1e-12, abs=1e-14)
    assert k(x, x) == pytest.approx(k.diag(x[None, :])[0], rel=1e-12)


def test_lists_tuples_series_and_arrays_are_the_same_vector(takes_rows):
    k, x, z = takes_rows.kernel, takes_rows.X[0], takes_rows.Z[1]
    for form in (list, tuple, pd.Series, pl.Series, lambda v: np.array(v, dtype=object)):
        assert k(form(x.tolist()), form(z.tolist())) == pytest.approx(k(x, z), rel=1e-12, abs=1e-14)


def test_two_numbers_are_points_with_one_feature():
    assert Linear()(2, 3.5) == Linear()(np.float64(2), np.array(3.5)) == 7.0
    assert Gaussian()(0.0, 1.0) == Gaussian()([[0.0]], [[1.0]])[0, 0]
    assert (Linear() + 1.0).on(0)(2.0, 3.0) == 7.0


@pytest.mark.parametrize("kernel", [Gaussian(), Linear() + Constant(1.0), Linear().on([0, 1])], ids=repr)
def test_vectors_of_different_lengths_are_refused_by_their_lengths(kernel):
    with pytest.raises(ValueError, match="x has 2 entries but z has 3"):
        kernel([1.0, 2.0], [1.0, 2.0, 3.0])


def test_a_row_of_a_table_may_hold_text():
    kernel = Gaussian().on(0) * Overlap().on(1)
    assert kernel([1.0, "red"], [2.0, "red"]) == kernel([[1.0, "red"]], [[2.0, "red"]])[0, 0] > 0


@pytest.mark.parametrize(
    "kernel", [Spectrum(2), Subsequence(2), Mismatch(2, 1), Edit(), Spectrum(1).normalize() + 1.0], ids=repr
)
@given(x=st.text("ACGT", min_size=2, max_size=8), z=st.text("ACGT", min_size=2, max_size=8))
def test_two_strings_give_the_entry_of_two_lists_of_one(kernel, x, z):
    value = kernel(x, z)
    assert type(value) is float
    assert value == kernel([x], [z])[0, 0]
    assert value == pytest.approx(kernel(z, x), rel=1e-12)


def test_a_list_of_strings_is_a_collection():
    assert Spectrum(2)(["abab", "ab"], ["ba", "ab", "b"]).shape == (2, 3)
    assert Overlap()(["red", "blue"], ["red", "green"]).shape == (2, 2)


def test_two_objects_without_a_length_are_single():
    for kernel in (WeisfeilerLehman(2), ShortestPath(), WeisfeilerLehman(1).normalize()):
        assert kernel(WATER, HYDROGEN) == kernel([WATER], [HYDROGEN])[0, 0]
    tree = "(S (NP Ann) (VP runs))"
    assert SubsetTree()(tree, tree) == SubsetTree()([tree], [tree])[0, 0]
    assert Custom(lambda g, h: g.n_nodes * h.n_nodes)(WATER, HYDROGEN) == 6.0


def test_two_graphs_of_networkx_are_single_though_they_have_a_length():
    networkx = pytest.importorskip("networkx")
    path, ring = networkx.path_graph(4), networkx.cycle_graph(3)
    for kernel in (WeisfeilerLehman(2), RandomWalk(0.1), ShortestPath() + 1.0):
        assert kernel(path, ring) == kernel([path], [ring])[0, 0]
    assert WeisfeilerLehman(2)([path, ring], [ring]).shape == (2, 1)


def test_sequences_and_bags_of_numbers_are_single_and_may_have_different_lengths():
    x, z = [0.0, 1.0, 0.0], np.array([0.0, 1.0])
    for kernel in (GlobalAlignment(), GlobalAlignment().normalize(), Spectrum(1), PairSum(Custom(min))):
        assert kernel(x, z) == kernel([x], [z])[0, 0]


def test_numbers_that_are_objects_stay_a_collection_when_they_are_many():
    K = Precomputed([[2.0, 1.0], [1.0, 3.0]])
    assert K(0, 1) == K(np.int64(1), 0) == 1.0
    assert K([0, 1], [1, 0]).tolist() == [[1.0, 2.0], [3.0, 1.0]]
    for kernel in (Custom(min), Overlap(), Constant(), FromFeatures(lambda x: [1.0, x]), Gaussian().after(np.tanh)):
        assert kernel(X, Z).shape == kernel(X.tolist(), Z.tolist()).shape == (3, 3)
        assert type(kernel(1.0, 2.0)) is float


def test_one_argument_and_rows_of_two_dimensions_mean_what_they_meant():
    with pytest.raises(ValueError, match="two-dimensional"):
        Gaussian()(X)
    with pytest.raises(ValueError, match="two-dimensional"):
        Gaussian()(X, Z[None, :])
    assert Gaussian()(X[None, :], Z[None, :]).shape == (1, 1)
    assert Gaussian()(X[:, None], Z[:, None]).shape == (3, 3)
    with pytest.raises(TypeError, match="collection of objects with a length"):
        Gaussian()(1.0, [[2.0]])
    with pytest.raises(ValueError, match="finite"):
        Gaussian()([1.0, np.nan], [1.0, 2.0])
