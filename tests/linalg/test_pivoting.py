import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.linalg.pivoting import PivotedCholesky


def gram(n=120, d=2, length_scale=1.0, seed=0):
    return Gaussian(length_scale)(np.random.default_rng(seed).normal(size=(n, d)))


def decompose(K, rank, seed=0, block=None):
    return grow(K, rank, np.random.default_rng(seed), block)


def grow(K, rank, rng, block=None):
    found = PivotedCholesky(K.diagonal(), lambda i: K[i], lambda i: K[np.ix_(i, i)], rng)
    found.grow(rank, block)
    return found.pivots, found.factor, found.residual_trace


@pytest.mark.parametrize("block", [None, 1, 7, 64])
def test_the_approximation_is_exact_in_the_columns_of_its_pivots(block):
    K = gram()
    pivots, F, residual = decompose(K, 40, block=block)
    assert len(set(pivots.tolist())) == 40
    np.testing.assert_allclose(F @ F[pivots].T, K[:, pivots], atol=1e-12)
    np.testing.assert_array_equal(F[pivots], np.tril(F[pivots]))
    assert residual == pytest.approx(np.trace(K - F @ F.T), rel=1e-6)
    assert np.linalg.eigvalsh(K - F @ F.T).min() > -1e-12


def test_it_is_the_nystroem_approximation_of_its_pivots():
    K = gram()
    pivots, F, _ = decompose(K, 15)
    by_hand = K[:, pivots] @ np.linalg.solve(K[np.ix_(pivots, pivots)], K[pivots])
    np.testing.assert_allclose(F @ F.T, by_hand, atol=1e-8)


def test_it_is_close_to_the_best_approximation_and_better_than_uniform_pivots():
    # One cluster far away holds few points, which uniform pivots miss and the residual does not.
    rng = np.random.default_rng(3)
    X = np.concatenate([0.3 * rng.normal(size=(480, 2)), 20 + 3 * rng.normal(size=(20, 2))])
    K = Gaussian()(X)
    rank = 25
    best_with_20 = np.sort(np.linalg.eigvalsh(K))[:-20].sum()
    pivoted = np.mean([decompose(K, rank, seed)[2] for seed in range(10)])
    uniform = []
    for seed in range(10):
        chosen = np.random.default_rng(seed).permutation(len(X))[:rank]
        explained = K[:, chosen] @ np.linalg.pinv(K[np.ix_(chosen, chosen)], hermitian=True) @ K[chosen]
        uniform.append(np.trace(K - explained))
    assert pivoted < 1.5 * best_with_20
    assert pivoted < 0.5 * np.mean(uniform)


def test_blocks_draw_from_the_same_distribution_as_one_pivot_at_a_time():
    K = np.array([[4.0, 1.8, 0.0, 0.3], [1.8, 1.0, 0.1, 0.2], [0.0, 0.1, 2.0, 1.0], [0.3, 0.2, 1.0, 1.5]])
    trials = 1200

    def frequency(block):
        counts = np.zeros((4, 4))
        rng = np.random.default_rng(5)
        for _ in range(trials):
            (a, b), _, _ = grow(K, 2, rng, block)
            counts[a, b] += 1
        return counts / trials

    exact = np.zeros((4, 4))
    for a in range(4):
        left = K.diagonal() - K[:, a] ** 2 / K[a, a]
        exact[a] = K[a, a] / np.trace(K) * left / left.sum()
    np.testing.assert_allclose(frequency(1), exact, atol=0.05)
    np.testing.assert_allclose(frequency(2), exact, atol=0.05)


def test_only_rows_of_pivots_are_computed():
    K = gram(300, length_scale=3.0)
    asked = []

    def rows(indices):
        asked.extend(indices.tolist())
        return K[indices]

    found = PivotedCholesky(K.diagonal(), rows, lambda i: K[np.ix_(i, i)], np.random.default_rng(0))
    found.grow(30, block=30)
    assert sorted(asked) == sorted(found.pivots.tolist())


def test_growing_in_steps_keeps_what_was_there_and_explains_more():
    K = gram()
    found = PivotedCholesky(K.diagonal(), lambda i: K[i], lambda i: K[np.ix_(i, i)], np.random.default_rng(0))
    assert found.grow(10) == 10
    first, before = found.factor, found.residual_trace
    assert found.grow(8) == 0
    assert found.grow(40) == 30
    np.testing.assert_array_equal(found.factor[:, :10], first)
    assert found.residual_trace < before
    np.testing.assert_allclose(found.triangle @ found.triangle.T, K[np.ix_(found.pivots, found.pivots)], atol=1e-12)


@pytest.mark.parametrize("block", [1, 8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_stops_when_everything_is_explained(block, dtype):
    B = np.random.default_rng(1).normal(size=(50, 4))
    K = (B @ B.T).astype(dtype)
    pivots, F, residual = decompose(K, 50, block=block)
    assert len(pivots) <= (4 if dtype == np.float64 else 6)
    np.testing.assert_allclose(F @ F.T, K, atol=1e-12 if dtype == np.float64 else 1e-4)
    assert residual <= 1e-4


def test_a_smooth_kernel_of_full_rank_in_theory_ends_at_its_numerical_rank():
    K = gram(200, d=1, length_scale=4.0)
    pivots, F, residual = decompose(K, 200, block=16)
    assert len(pivots) < 40
    assert np.abs(K - F @ F.T).max() < 1e-11
    assert residual < 1e-11


def test_repeated_points_are_picked_once_and_zeros_never():
    K = np.zeros((6, 6))
    K[:4, :4] = 1.0
    pivots, F, _ = decompose(K, 6)
    assert len(pivots) == 1
    assert pivots[0] < 4
    np.testing.assert_allclose(F @ F.T, K)
    pivots, F, residual = decompose(np.zeros((3, 3)), 2)
    assert (len(pivots), F.shape, residual) == (0, (3, 0), 0.0)


def test_what_cannot_be_positive_semi_definite_is_refused():
    with pytest.raises(ValueError, match=r"entry 1 is -2.0; check the kernel with k\.certificate"):
        decompose(np.diag([1.0, -2.0]), 1)
    assert len(decompose(np.eye(2), 0)[0]) == 0
