"""Few points that stand for many: herded, thinned, and weighted."""

import itertools

import numpy as np
import pytest

from mercer.embeddings import herd, mmd, quadrature_weights, thin
from mercer.kernels import Constant, Gaussian, Linear, Spectrum

X = np.random.default_rng(0).normal(size=(120, 2))
K = Gaussian()(X)


def distance(chosen):
    """The squared distance of the mean of some points to that of all."""
    return mmd(X, X[chosen], Gaussian(), estimator="biased")


def test_each_herded_point_is_the_best_to_add():
    chosen = herd(X, 6, Gaussian())
    for t in range(6):
        found = {i: distance([*chosen[:t], i]) for i in range(120) if i not in chosen[:t]}
        assert found[chosen[t]] == pytest.approx(min(found.values()), abs=1e-12)


def test_the_first_of_many_herded_points_are_those_of_few():
    np.testing.assert_array_equal(herd(X, 20)[:7], herd(X, 7))


def test_thinned_points_are_better_than_herded_ones_and_far_better_than_random_ones():
    rng = np.random.default_rng(1)
    random = np.mean([distance(rng.permutation(120)[:11]) for _ in range(20)])
    assert distance(thin(X, 11, Gaussian())) <= distance(herd(X, 11, Gaussian())) < 0.2 * random


def test_no_thinned_point_can_be_exchanged_for_a_better_one():
    kept = thin(X, 8, Gaussian())
    assert sorted(set(kept)) == kept.tolist()
    best = distance(kept)
    for place, other in itertools.product(range(8), set(range(120)) - set(kept)):
        swapped = kept.copy()
        swapped[place] = other
        assert distance(swapped) >= best - 1e-9


def test_all_points_stand_for_themselves():
    np.testing.assert_array_equal(thin(X, 120), np.arange(120))
    assert sorted(herd(X, 120)) == list(range(120))
    assert len(thin(X)) == 11


def test_strings_and_constant_kernels_can_be_thinned():
    words = ["ab"] * 6 + ["cd"] * 3
    kept = thin(words, 3, Spectrum(1))
    assert sorted(words[i] for i in kept) == ["ab", "ab", "cd"]
    assert len(thin(X, 5, Constant(1.0))) == 5


def test_weights_have_the_least_error_for_the_worst_function():
    nodes = X[:10]
    w = quadrature_weights(nodes, X, Gaussian())

    def error(w):
        return w @ K[:10, :10] @ w - 2 * w @ K[:10].mean(axis=1) + K.mean()

    rng = np.random.default_rng(0)
    assert all(error(w) < error(w + 0.01 * rng.normal(size=10)) for _ in range(50))
    assert error(w) < error(np.full(10, 0.1))


def test_weights_are_exact_for_functions_of_the_nodes():
    nodes = X[:10]
    w = quadrature_weights(nodes, X, Gaussian())
    for i in range(10):  # f = k(zᵢ, ·)
        assert w @ K[i, :10] == pytest.approx(K[i].mean(), abs=1e-9)


def test_repeated_nodes_share_their_weight():
    w = quadrature_weights(np.repeat(X[:5], 2, axis=0), X, Gaussian())
    np.testing.assert_allclose(w[::2] + w[1::2], quadrature_weights(X[:5], X, Gaussian()), rtol=1e-5)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="121 points cannot be chosen from 120"):
        thin(X, 121)
    with pytest.raises(ValueError, match="size must be a whole number of at least 1"):
        herd(X, 0)
    with pytest.raises(ValueError, match="nodes has 1 features and sample has 2"):
        quadrature_weights(X[:, :1], X)
    with pytest.raises(ValueError, match="is 0 at all nodes"):
        quadrature_weights([[0.0]], [[1.0]], Linear())
    with pytest.raises(TypeError, match="give a kernel that takes such objects"):
        herd(["a", "b"])
