"""The search for nearest neighbours: what sorting finds, exactly, in any tiles and within a budget."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mercer import MemoryBudgetError, _native
from mercer.arrays.place import Place
from mercer.gram.choice import choose_backend
from mercer.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    LinearMap,
    Matern,
    Polynomial,
    PowerExponential,
    RationalQuadratic,
)
from mercer.solvers.neighbors import search as _neighbors_search
from mercer.solvers.neighbors.ranking import ByDistance, fall, rank_points
from mercer.solvers.neighbors.search import find_nearest


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(80, 3)), rng.normal(size=(30, 3))
    return X, rng.integers(0, 3, size=80), np.column_stack([np.sin(X[:, 0]), X[:, 1]]), new


def _brute(kernel, X, Z, k, exclude=False):
    """Sort all distances, ties by index."""
    squared = kernel.distance(X, Z).astype(float)
    if exclude:
        np.fill_diagonal(squared, np.inf)
    order = np.argsort(squared, axis=1, kind="stable")[:, :k]
    return np.sqrt(np.take_along_axis(squared, order, axis=1)), order


@pytest.mark.parametrize("exclude", [False, True])
@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        3.0 * Linear() + 2.0,
        Gaussian(0.7),
        Gaussian([0.5, 1.0, 3.0]),
        2.0 * Gaussian() + 1.0,
        Gaussian() * Matern(1.5, 2.0),
        Laplacian(2.0),
        Matern(0.7),
        RationalQuadratic(1.0, 0.5) ** 2,
        PowerExponential(1.0, 0.5),
        PowerExponential(1.5, 0.7),
        2.0 * PowerExponential(0.5, 0.5),
        Gaussian().on([0, 2]),
        Gaussian().after(LinearMap([[1.0, 0.3], [0.0, 2.0], [0.5, 0.5]])),
        Polynomial(3, 0.5),
        Gaussian() + Linear(),
        Linear().normalize(),
    ],
    ids=repr,
)
def test_the_search_finds_what_sorting_all_distances_finds(data, kernel, exclude):
    X, _, _, new = data
    queries = X if exclude else new
    distances, indices = find_nearest(kernel, queries, X, 7, exclude=exclude)
    expected, order = _brute(kernel, queries, X, 7, exclude)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(2.0), Polynomial(2)], ids=repr)
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (96, 256), (96, 300), (5, 1000)])
def test_block_sizes_change_nothing(monkeypatch, kernel, shape):
    rng = np.random.default_rng(1)
    Z, X = rng.integers(-3, 4, size=(400, 2)).astype(float), rng.integers(-3, 4, size=(20, 2)).astype(float)
    before = find_nearest(kernel, X, Z, 9)
    monkeypatch.setattr(_neighbors_search, "QUERIES", shape[0])
    monkeypatch.setattr(_neighbors_search, "POINTS", shape[1])
    after = find_nearest(kernel, X, Z, 9)
    np.testing.assert_array_equal(before[0], after[0])
    np.testing.assert_array_equal(before[1], after[1])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=40),
    st.lists(st.integers(-3, 3), min_size=1, max_size=5),
    st.data(),
)
def test_ties_go_to_the_smaller_index(points, queries, draw):
    k = draw.draw(st.integers(1, len(points)))
    Z, X = np.array(points, dtype=float)[:, None], np.array(queries, dtype=float)[:, None]
    for kernel in (Linear(), Gaussian(), Polynomial(2)):
        _, indices = find_nearest(kernel, X, Z, k)
        for row, x in zip(indices, queries, strict=True):
            if isinstance(kernel, Polynomial):
                by = [(x * x + 1) ** 2 + (z * z + 1) ** 2 - 2 * (x * z + 1) ** 2 for z in points]
            else:
                by = [abs(x - z) for z in points]
            assert row.tolist() == sorted(range(len(points)), key=lambda i: (by[i], i))[:k]


def test_many_neighbours_among_many_ties_come_in_order():
    Z = np.zeros((3000, 2))
    _, indices = find_nearest(Linear(), np.ones((2, 2)), Z, 400)
    np.testing.assert_array_equal(indices, np.tile(np.arange(400), (2, 1)))
    distances, indices = find_nearest(Gaussian(), Z[:3], Z, 5, exclude=False)
    np.testing.assert_array_equal(indices, np.tile(np.arange(5), (3, 1)))
    np.testing.assert_array_equal(distances, 0.0)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0), Gaussian(1e4), Matern(1.5, 30.0)], ids=repr)
def test_nearly_equal_points_far_from_the_origin_are_ordered_exactly(kernel):
    rng = np.random.default_rng(2)
    Z = 1e3 + 1e-9 * rng.normal(size=(50, 4))
    X = 1e3 + 1e-9 * rng.normal(size=(6, 4))
    _, indices = find_nearest(kernel, X, Z, 10)
    for x, row in zip(X, indices, strict=True):
        squared = [sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, z, strict=True)) for z in Z]
        assert row.tolist() == sorted(range(50), key=squared.__getitem__)[:10]


@pytest.mark.parametrize("k", [1, 5, 70])
@pytest.mark.parametrize("kind", ["normal", "outliers", "near", "tiny", "huge", "integers", "equal"])
def test_ranking_in_single_precision_first_changes_nothing(monkeypatch, kind, k):
    rng = np.random.default_rng(7)
    Z, X = rng.normal(size=(900, 6)), rng.normal(size=(20, 6))
    if kind == "outliers":
        Z, X = Z / rng.uniform(1e-4, 1.0, size=(900, 1)), X / rng.uniform(1e-4, 1.0, size=(20, 1))
    Z, X = {
        "near": (5.0 + 1e-7 * Z, 5.0 + 1e-7 * X),
        "tiny": (1e-30 * Z, 1e-30 * X),
        "huge": (1e30 * Z, 1e30 * X),
        "integers": (Z.round(), X.round()),
        "equal": (np.zeros_like(Z), X),
    }.get(kind, (Z, X))
    expected = find_nearest(Linear(), X, Z, k)
    monkeypatch.setattr(_neighbors_search, "ROUGH", 0)
    for ours, other in zip(find_nearest(Linear(), X, Z, k), expected, strict=True):
        np.testing.assert_array_equal(ours, other)
    squared = ((X[:, None, :] - Z[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(expected[1], np.argsort(squared, axis=1, kind="stable")[:, :k])


def test_the_error_of_single_precision_is_within_its_bound():
    rng = np.random.default_rng(8)
    for scale, shift in ((1.0, 0.0), (1e-3, 10.0), (100.0, 1e4)):
        X, Z = shift + scale * rng.normal(size=(30, 26)), shift + scale * rng.normal(size=(400, 26))
        rough = rank_points(Linear()).rough(X, Z)
        tile = choose_backend(rough.expression, rough.X, rough.Z, "test", "auto", np.float32)
        error = np.abs(tile.tile(slice(0, 30), slice(0, 400)) - ((X[:, None, :] - Z[None]) ** 2).sum(axis=2))
        assert (error <= rough.margin[:, None]).all()


def test_points_where_the_gaussian_vanishes_still_have_an_order():
    Z = np.array([[300.0], [100.0], [200.0]])
    distances, indices = find_nearest(Gaussian(1.0), np.array([[0.0]]), Z, 3)
    assert indices.tolist() == [[1, 2, 0]]
    np.testing.assert_allclose(distances, np.sqrt(2.0), rtol=1e-15)


@pytest.mark.parametrize("s", [1e-14, 1e-6, 0.3, 5.0])
@pytest.mark.parametrize(
    "kernel", [Gaussian(), Gaussian() ** 3, 2.0 * Gaussian() + 1.0, RationalQuadratic(), Matern(0.5)], ids=repr
)
def test_the_fall_of_a_kernel_keeps_its_digits(kernel, s):
    with localcontext(prec=60):
        x = Decimal(s)
        true = {
            repr(Gaussian()): 1 - (-x / 2).exp(),
            repr(Gaussian() ** 3): 1 - (-3 * x / 2).exp(),
            repr(2.0 * Gaussian() + 1.0): 2 - 2 * (-x / 2).exp(),
            repr(RationalQuadratic()): 1 - 1 / (1 + x / 2),
            repr(Matern(0.5)): 1 - (-x.sqrt()).exp(),
        }[repr(kernel)]
        found = fall(rank_points(kernel).kernel, np.array([s]))[0]
        assert abs(Decimal(float(found)) - true) <= Decimal("1e-13") * true


def test_kernels_that_do_not_decrease_with_distance_are_not_ranked_by_it():
    for kernel in (Gaussian() - 2.0 * Gaussian(2.0), -1.0 * Linear(), Gaussian() * Linear(), Gaussian().normalize()):
        assert not isinstance(rank_points(kernel), ByDistance)


def test_sparse_and_dense_points_have_the_same_neighbours(data):
    X, _, _, new = data
    for kernel in (Linear(), Gaussian(), Polynomial(2)):
        dense, other = (
            find_nearest(kernel, new, X, 4),
            find_nearest(kernel, sparse.csr_array(new), sparse.csr_array(X), 4),
        )
        np.testing.assert_array_equal(dense[1], other[1])
        np.testing.assert_allclose(dense[0], other[0], rtol=1e-6)


def test_a_small_budget_is_kept_and_one_that_is_too_small_refused(data):
    X, _, _, new = data
    full = find_nearest(Polynomial(2), new, X, 3)
    np.testing.assert_array_equal(find_nearest(Polynomial(2), new, X, 3, place=Place.find(None, "30KB"))[1], full[1])
    with pytest.raises(MemoryBudgetError, match="give more memory"):
        find_nearest(Polynomial(2), new, X, 3, place=Place.find(None, "5KB"))


def test_permuting_points_permutes_neighbours(data):
    X, _, _, new = data
    order = np.random.default_rng(3).permutation(80)
    straight, permuted = find_nearest(Gaussian(), new, X, 6), find_nearest(Gaussian(), new, X[order], 6)
    np.testing.assert_array_equal(order[permuted[1]], straight[1])
    np.testing.assert_array_equal(permuted[0], straight[0])


@pytest.mark.parametrize("isa", _native.isas())
@pytest.mark.parametrize("own", [-1, 0, 7])
@pytest.mark.parametrize("shape", [(1, 1, 1), (9, 49, 3), (30, 101, 26), (5, 300, 40)])
def test_candidates_hold_every_point_within_the_margin_and_few_others(isa, own, shape):
    m, n, d = shape
    if own + m > n or n == 1 <= own + 1:
        own = -1
    rng = np.random.default_rng(n)
    Z = rng.normal(size=(n, d)).astype(np.float32)
    X = Z[own : own + m].copy() if own >= 0 else rng.normal(size=(m, d)).astype(np.float32)
    k, margin = min(3, n - (own >= 0)), np.full(m, 0.01)
    index, count = np.empty((m, n), dtype=np.int64), np.empty(m, dtype=np.int64)
    _native.nearest_candidates(X, Z, margin, k, own, index, count, 2, isa)
    squared = ((X[:, None].astype(float) - Z.astype(float)) ** 2).sum(axis=2)
    if own >= 0:
        squared[np.arange(m), own + np.arange(m)] = np.inf
    kth = np.sort(squared, axis=1)[:, k - 1]
    for i in range(m):
        found = index[i, : count[i]]
        assert set(np.flatnonzero(squared[i] <= kth[i] + 0.009)) <= set(found.tolist())
        assert (squared[i, found] <= kth[i] + 0.011).all()
        assert (np.diff(found) > 0).all()


def test_queries_with_more_candidates_than_room_say_so():
    Z = np.zeros((500, 2), dtype=np.float32)
    index, count = np.empty((3, 4), dtype=np.int64), np.empty(3, dtype=np.int64)
    _native.nearest_candidates(Z[:3], Z, np.zeros(3), 2, -1, index, count, 1)
    assert (count == -1).all()


@pytest.mark.parametrize("exclude", [False, True])
def test_calls_of_any_size_find_the_same_candidates(monkeypatch, exclude):
    Z = np.round(np.random.default_rng(5).normal(size=(150, 2)), 1)  # with ties
    X = Z if exclude else Z[:40] + 0.05
    expected = find_nearest(Gaussian(), X, Z, 4, exclude=exclude)
    monkeypatch.setattr(_neighbors_search, "ROUGH", 0)
    monkeypatch.setattr(_neighbors_search, "CALL_PAIRS", 1000)
    for one, other in zip(find_nearest(Gaussian(), X, Z, 4, exclude=exclude), expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("exclude", [False, True])
@pytest.mark.parametrize("kind", ["normal", "grid", "equal"])
def test_a_tree_of_few_columns_finds_what_sorting_finds(kind, exclude, monkeypatch):
    monkeypatch.setattr(_neighbors_search, "ROUGH", 1)
    monkeypatch.setattr(_neighbors_search, "ASKED", 50)
    rng = np.random.default_rng(0)
    X = {"normal": rng.normal(size=(120, 2)), "grid": rng.integers(5, size=(120, 2)).astype(float),
         "equal": np.ones((120, 2))}[kind]  # fmt: skip
    X[0] = 1e9  # far away from all
    kernel = Gaussian([1.0, 2.0])
    _, count = _neighbors_search._ask_tree(rank_points(kernel), X, X, 5, exclude, 2**30)
    assert (count[1:] >= 5).all() if kind == "normal" else (count < 0).any()
    squared = ((X[:, None] - X) ** 2 / [1.0, 4.0]).sum(axis=2)
    if exclude:
        np.fill_diagonal(squared, np.inf)
    order = np.argsort(squared, axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(find_nearest(kernel, X, X, 5, exclude=exclude)[1], order)


def test_points_of_many_columns_and_other_distances_have_no_tree():
    ask = _neighbors_search._ask_tree
    assert ask(rank_points(Gaussian()), np.ones((9, 6)), np.ones((9, 6)), 2, False, 2**30) is None
    assert ask(rank_points(Laplacian()), np.ones((9, 2)), np.ones((9, 2)), 2, False, 2**30) is None
    assert ask(rank_points(Polynomial()), np.ones((9, 2)), np.ones((9, 2)), 2, False, 2**30) is None
    assert ask(rank_points(Gaussian()), np.ones((9, 2)), np.ones((9, 2)), 2, False, 100) is None
