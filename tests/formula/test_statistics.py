"""Statistics of pairs: fast forms against differences, sharing, and tiles."""

import numpy as np
import pytest
from scipy import sparse

from mercer.formula.data import Steps
from mercer.formula.evaluation import Evaluation
from mercer.formula.expression import Param, Stat, nodes
from mercer.formula.statistics import AbsoluteDistance, Dot, SquaredDistance
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Periodic, Polynomial


def table(statistic, X, Z, dtype=np.float64):
    return statistic.block(*statistic.prepare(X, Z, dtype))


def slow_squares(X, Z):
    return ((X[:, None, :].astype(np.longdouble) - Z[None, :, :]) ** 2).sum(-1).astype(float)


@pytest.mark.parametrize("spread", [1e-9, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e6])
def test_squared_distances_keep_their_digits_wherever_the_data_lies(spread, offset):
    rng = np.random.default_rng(5)
    X, Z = (offset + spread * rng.normal(size=(n, 4)) for n in (30, 20))
    Z[:5] = X[:5]
    values = table(SquaredDistance(Steps(), "k"), X, Z)
    np.testing.assert_allclose(values, slow_squares(X, Z), rtol=1e-12, atol=0)
    assert (values[np.arange(5), np.arange(5)] == 0).all()


@pytest.mark.parametrize("where", [1e7, -1e7, 1e16])
def test_two_distant_clusters_keep_their_inner_distances(where):
    rng = np.random.default_rng(6)
    X = np.concatenate([where + rng.normal(size=(10, 3)), rng.normal(size=(10, 3))])
    np.testing.assert_allclose(table(SquaredDistance(Steps(), "k"), X, X), slow_squares(X, X), rtol=1e-12, atol=0)
    np.testing.assert_allclose(
        Laplacian()(X[9:11], [[1.5, 0.0, 0.0]])[1, 0], Laplacian()(X[10:11], [[1.5, 0, 0]])[0, 0]
    )


def test_sparse_squared_distances_keep_their_digits_too():
    rng = np.random.default_rng(7)
    X = 1e6 * (rng.random((20, 6)) < 0.4) + 1e-3 * rng.normal(size=(20, 6))
    values = table(SquaredDistance(Steps(), "k"), sparse.csr_array(X), sparse.csr_array(X.copy()))
    np.testing.assert_allclose(values, slow_squares(X, X), rtol=1e-12, atol=0)


def test_length_scales_divide_each_coordinate(points, others):
    scale = tuple(Param(f"s[{d}]", s) for d, s in enumerate([0.5, 2.0, 4.0]))
    values = np.array([0.5, 2.0, 4.0])
    squares = table(SquaredDistance(Steps(), "k", scale), points, others)
    np.testing.assert_allclose(squares, slow_squares(points / values, others / values), rtol=1e-13)
    one = table(SquaredDistance(Steps(), "k", scale, 1), points, others)
    np.testing.assert_allclose(one, slow_squares(points[:, [1]] / 2, others[:, [1]] / 2), rtol=1e-13)
    absolute = table(AbsoluteDistance(Steps(), "k", scale), points, others)
    np.testing.assert_allclose(absolute, (np.abs(points[:, None] - others[None]) / values).sum(-1), rtol=1e-13)


def test_the_same_collection_is_prepared_once(points):
    for statistic in (Dot(Steps(), "k"), SquaredDistance(Steps(), "k"), AbsoluteDistance(Steps(), "k")):
        left, right = statistic.prepare(points, points, np.float64)
        assert left is right


def test_kernels_of_any_length_scale_share_one_statistic():
    k = Gaussian(0.5) + Gaussian(2.0) * Matern(1.5, 3.0) + Linear() * Polynomial() + Laplacian()
    found = {node.statistic for node in nodes(k.traced()) if isinstance(node, Stat)}
    assert {type(s) for s in found} == {SquaredDistance, Dot, AbsoluteDistance}
    assert len(found) == 3


def test_statistics_of_other_columns_are_not_shared():
    k = Gaussian().on(0) + Gaussian().on(1) + Gaussian([1.0]).on(0)
    assert len({node.statistic for node in nodes(k.traced()) if isinstance(node, Stat)}) == 3


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Gaussian([1.0, 2.0, 3.0]), Laplacian(), Periodic(), (Polynomial() + Matern(3.2)).normalize()],
    ids=repr,
)
def test_tiles_are_parts_of_the_matrix(points, others, kernel):
    K = kernel(points, others)
    evaluation = Evaluation(kernel.traced(), points, others, "k")
    np.testing.assert_allclose(evaluation.tile(slice(2, 5), slice(1, 3)), K[2:5, 1:3], rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(evaluation.tile(np.array([6, 0, 0]), slice(0, 5)), K[[6, 0, 0]], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("tile", [1, 3, 20, 10**6])
def test_the_size_of_tiles_does_not_matter(points, others, monkeypatch, tile):
    kernel = (Polynomial() + Matern(3.2) * Gaussian()).normalize()
    expected, square = kernel(points, others), kernel(points)
    monkeypatch.setattr("mercer.formula.evaluation.TILE_ENTRIES", tile)
    np.testing.assert_allclose(kernel(points, others), expected, rtol=1e-13)
    np.testing.assert_allclose(kernel(points), square, rtol=1e-13)
    np.testing.assert_array_equal(kernel(points), kernel(points).T)


def test_a_matrix_of_several_tiles_is_exactly_symmetric():
    X = np.random.default_rng(8).normal(size=(1600, 3))
    K = (Polynomial() + Gaussian()).normalize()(X)
    np.testing.assert_array_equal(K, K.T)


def test_overflow_while_preparing_is_only_far():
    np.testing.assert_array_equal(Gaussian([1e-10, 1.0])([[1e305, 0.0], [0.0, 0.0]]), np.eye(2))


def test_differences_that_overflow_are_far():
    X = [[1.7e308], [1.7e308], [-1.7e308]]
    for kernel in (Gaussian(), Laplacian(), Matern(2.5)):
        np.testing.assert_array_equal(kernel(X), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
