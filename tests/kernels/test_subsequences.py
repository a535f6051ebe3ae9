"""Normalised subsequence kernels where the values themselves are beyond the range of floats, against exact numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mercer import Gram
from mercer.kernels import Subsequence

strings = st.text(alphabet="AB", min_size=1, max_size=6)


def count(x, z, length, decay):
    """Return k(x, z) as a fraction, by the weight of the words of each length that end at a pair of positions."""
    ending = np.array([[decay**2 * (a == b) for b in z] for a in x], dtype=object)
    for _ in range(length - 1):
        shorter, ending = ending, np.zeros_like(ending)
        for i, j in np.ndindex(ending.shape):
            if x[i] == z[j]:
                before = [decay ** (i - p + j - q) * shorter[p, q] for p in range(i) for q in range(j)]
                ending[i, j] = sum(before)  # decay² for the token, and one for each that lies between
    return ending.sum()


def divide(x, z, length, decay):
    """Return k(x, z) / √(k(x, x) k(z, z)), 0 if there is nothing to divide by."""
    own = count(x, x, length, decay) * count(z, z, length, decay)
    if not own:
        return 0.0
    square = count(x, z, length, decay) ** 2 / own
    # √(p/q) = √(pq)/q in whole numbers, since the square may be too small for a float that its root is not.
    return float(Fraction(math.isqrt(square.numerator * square.denominator << 400), square.denominator << 200))


@given(strings, strings, st.integers(1, 4), st.sampled_from([1e-310, 1e-300, 1e-160, 1e-90, 1e-40, 0.5, 1.0]))
@example("BAA", "BABA", 3, 1e-160)
@settings(max_examples=15, deadline=None)
def test_values_are_those_of_exact_fractions_at_any_decay(x, z, length, decay):
    found = Subsequence(length, decay).normalize()([x, z])
    expected = [[divide(s, t, length, Fraction(decay)) for t in (x, z)] for s in (x, z)]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-300)


def test_long_words_are_compared_though_each_weighs_next_to_nothing():
    # A word of 60 tokens leaves one of 61 out, and spans 60 of them if that is the first or the last, else all.
    decay = 1e-3
    x, z = "a" * 61, "a" * 60 + "b"
    assert Subsequence(60, decay)([x])[0, 0] == 0
    value = Subsequence(60, decay).normalize()([x], [z])[0, 0]
    assert value == pytest.approx(1 / math.hypot(1, 1 + 59 * decay), rel=1e-10)


def test_gaps_of_any_width_are_compared():
    # All three have the feature "ab" alone, at a weight of 2^-3002 in the first.
    wide = ["a" + "N" * 3000 + "b", "a" + "N" * 2000 + "b", "ab"]
    np.testing.assert_allclose(Subsequence(2, skip="N").normalize()(wide), 1.0, rtol=1e-10)


def test_numbers_of_words_too_large_for_floats_have_logarithms():
    # Of aⁿbⁿ every word aⁱbʲ comes C(n, i) C(n, j) times.
    n, length = 260, 260
    kernel = Subsequence(length, decay=1.0)
    A, _ = kernel.prepare(["a" * n + "b" * n], ["ab"])
    exact = sum((math.comb(n, i) * math.comb(n, length - i)) ** 2 for i in range(length + 1))
    assert exact > 10**308
    assert kernel.log_block_diag(A)[0] == pytest.approx(math.log(exact), rel=1e-14)


def test_objects_without_words_and_missing_ones_are_as_they_were():
    kernel = Subsequence(3, 1e-200, missing="own").normalize()
    K = kernel(["abc", "abc", "ab", "", None, "xyz"])
    expected = np.eye(6)
    expected[0, 1] = expected[1, 0] = 1.0
    expected[2, 2] = expected[3, 3] = 0.0
    np.testing.assert_allclose(K, expected, rtol=1e-12)
    np.testing.assert_array_equal(kernel.diag(["abc", "ab", None]), [1.0, 0.0, 1.0])


def test_tiles_of_normalised_values_agree_with_the_whole():
    texts = ["abcab", "bca", "ab" * 9, "cab", "abcab"]
    kernel = Subsequence(2, 1e-170).normalize()
    gram = Gram(kernel, texts)
    np.testing.assert_allclose(gram.rows([3, 0]), kernel(texts)[[3, 0]], rtol=1e-14)
    np.testing.assert_allclose(gram.dense(), kernel(texts), rtol=1e-14)
