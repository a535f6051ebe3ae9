"""The discrepancy of two samples, and the function that tells them apart."""

import numpy as np
import pytest
from scipy import sparse

from mercer import Gram, MemoryBudgetError
from mercer.embeddings import mmd, witness
from mercer.kernels import Constant, Custom, Gaussian, Graph, Linear, Overlap, Spectrum, WeisfeilerLehman

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 3)), 1.3 * RNG.normal(size=(45, 3)) + 0.2


def by_definition(k, X, Y, unbiased):
    """Loops over all pairs, different ones for the unbiased statistic."""
    pairs = [(i, j) for i in range(len(X)) for j in range(len(X)) if i != j or not unbiased]
    others = [(i, j) for i in range(len(Y)) for j in range(len(Y)) if i != j or not unbiased]
    one, two = k(X), k(Y)
    return np.mean([one[p] for p in pairs]) + np.mean([two[p] for p in others]) - 2 * k(X, Y).mean()


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Linear(), Gaussian() * Linear() + 1.0, Custom(lambda x, z: x @ z)])
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_the_discrepancy_is_that_of_its_definition(kernel, estimator):
    expected = by_definition(kernel, X, Y, estimator == "unbiased")
    assert mmd(X, Y, kernel, estimator=estimator) == pytest.approx(expected, rel=1e-9)


def test_of_the_linear_kernel_it_is_the_squared_distance_of_means():
    expected = np.sum((X.mean(axis=0) - Y.mean(axis=0)) ** 2)
    assert mmd(X, Y, Linear(), estimator="biased") == pytest.approx(expected)


def test_it_does_not_matter_which_sample_is_first():
    assert mmd(X, Y) == pytest.approx(mmd(Y, X))


def test_the_unbiased_estimator_has_no_bias():
    rng = np.random.default_rng(1)
    found = [mmd(*rng.normal(size=(2, 10, 1)), Gaussian()) for _ in range(400)]
    assert abs(np.mean(found)) < 4 * np.std(found) / np.sqrt(len(found))
    assert min(found) < 0


def test_linear_time_is_the_mean_over_consecutive_pairs():
    k = Gaussian()
    expected = [by_definition(k, X[i : i + 2], Y[i : i + 2], True) for i in range(0, 30, 2)]
    assert mmd(X, Y, k, estimator="linear") == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("size", [2, 7, 30])
def test_the_block_form_is_the_mean_over_blocks(size):
    k = Gaussian()
    expected = [by_definition(k, X[i : i + size], Y[i : i + size], True) for i in range(0, 31 - size, size)]
    assert mmd(X, Y, k, estimator="block", block_size=size) == pytest.approx(np.mean(expected))


def test_blocks_computed_together_are_those_computed_one_by_one(monkeypatch):
    from mercer.embeddings import discrepancy

    one = mmd(X, Y, Gaussian(), estimator="linear")
    monkeypatch.setattr(discrepancy, "CHUNK", 2)
    assert mmd(X, Y, Gaussian(), estimator="linear") == pytest.approx(one)


def test_float32_sums_of_many_points_keep_the_digits_that_matter(monkeypatch):
    from mercer.embeddings import samples

    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(500, 2)), rng.normal(size=(300, 2))
    exact = mmd(X, Y, Gaussian())
    monkeypatch.setattr(samples, "SINGLE", 1)
    assert mmd(X, Y, Gaussian()) == pytest.approx(exact, abs=2e-8)


def test_forms_are_those_of_the_dense_matrix_however_it_is_cut():
    V = RNG.normal(size=(30, 4))
    expected = np.diag(V.T @ Gaussian()(X) @ V)
    for memory in (None, 20_000):
        np.testing.assert_allclose(Gram(Gaussian(), X, memory=memory).forms(V), expected)
    with pytest.raises(ValueError, match="forms vᵀKv are those of a Gram matrix with Z = X"):
        Gram(Gaussian(), X, Y).forms(V)


def test_sparse_rows_frames_and_lists_are_vectors_too():
    pd = pytest.importorskip("pandas")
    expected = mmd(X, Y, Gaussian())
    assert mmd(sparse.csr_array(X), sparse.csr_array(Y), Gaussian()) == pytest.approx(expected)
    assert mmd(pd.DataFrame(X), pd.DataFrame(Y), Gaussian()) == pytest.approx(expected)
    assert mmd(X.tolist(), Y.tolist(), Gaussian()) == pytest.approx(expected)


def test_strings_graphs_and_mixtures_are_compared():
    strings = ["abab", "abba", "ba"], ["aabb", "bb"]
    assert mmd(*strings, Spectrum(2)) == pytest.approx(by_definition(Spectrum(2), *strings, True))
    paths = [Graph.from_edges([(0, 1), (1, 2)], labels="CCO"), Graph.from_edges([(0, 1)], labels="CC")]
    rings = [Graph.from_edges([(0, 1), (1, 2), (2, 0)], labels="CCC")] * 2
    assert mmd(paths, rings, WeisfeilerLehman(1)) > 0
    pd = pytest.importorskip("pandas")
    kernel = Gaussian().on(["size"]) * Overlap().on(["kind"])
    tables = (pd.DataFrame({"size": side[:, 0], "kind": np.where(side[:, 1] > 0, "a", "b")}) for side in (X, Y))
    assert np.isfinite(mmd(*tables, kernel))


def test_a_constant_kernel_sees_no_difference():
    assert mmd(X, Y, Constant(2.0)) == pytest.approx(0.0, abs=1e-12)


def test_identical_samples_are_at_distance_zero():
    assert mmd(X, X, Gaussian(), estimator="biased") == pytest.approx(0.0, abs=1e-12)
    assert mmd(np.ones((4, 2)), np.ones((4, 2))) == pytest.approx(0.0, abs=1e-12)  # without any distance


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((X[:1], Y), {}, "mmd needs at least 2 points in X, got 1"),
        ((X, Y[:, :2]), {}, "X has 3 features and Y has 2"),
        ((X, Y), {"estimator": "best"}, "estimator must be one of"),
        ((X, Y), {"block_size": 3}, "block_size is of estimator='block'"),
        ((X, Y), {"estimator": "block", "block_size": 31}, "blocks of 31 points are longer than the shorter sample"),
        ((X * np.nan, Y), {}, "needs finite numbers"),
        ((X, []), {}, "needs a two-dimensional array"),
    ],
)
def test_what_is_no_pair_of_samples_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        mmd(*arguments, **options)


def test_objects_without_a_kernel_and_kernels_that_are_none_are_refused():
    with pytest.raises(TypeError, match="give a kernel that takes such objects"):
        mmd(["ab", "b"], ["a", "bb"])
    with pytest.raises(TypeError, match="kernel must be a mercer kernel such as"):
        mmd(X, Y, "rbf")
    with pytest.raises(TypeError, match="must be a collection of objects"):
        mmd("abc", ["a", "b"], Spectrum(1))


def test_a_budget_too_small_for_the_points_is_refused():
    with pytest.raises(MemoryBudgetError):
        mmd(X, Y, Gaussian(), memory=100)


def test_one_point_has_a_mean():
    assert mmd([[0.0]], [[1.0]], Linear(), estimator="biased") == pytest.approx(1.0)


def test_the_witness_is_the_difference_of_the_means():
    f = witness(X, Y, Gaussian())
    np.testing.assert_allclose(f(X), Gaussian()(X).mean(axis=1) - Gaussian()(X, Y).mean(axis=1))
    assert f.norm() ** 2 == pytest.approx(mmd(X, Y, Gaussian(), estimator="biased"))
    # No other function of that norm has means further apart.
    gap = f(X).mean() - f(Y).mean()
    assert gap == pytest.approx(f.norm() ** 2)


def test_the_witness_of_strings_says_which_are_typical():
    f = witness(["abab", "abba"], ["bbbb", "bbba"], Spectrum(2))
    values = f(["ab", "bb"])
    assert values[0] > 0 > values[1]
