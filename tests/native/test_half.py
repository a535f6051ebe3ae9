"""Products with half of a symmetric matrix and with few long rows, against NumPy in double precision."""

import numpy as np
import pytest

from mercer import _native

RNG = np.random.default_rng(0)


def cut(K, heights):
    """Strips of the given heights, the last as high as is left."""
    strips, start = [], 0
    while start < len(K):
        stop = min(len(K), start + heights[len(strips) % len(heights)])
        strips.append(np.ascontiguousarray(K[start:stop, start:]))
        start = stop
    return strips


@pytest.mark.parametrize("isa", _native.isas())
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-5), (np.float64, 1e-13)])
@pytest.mark.parametrize(("n", "heights"), [(1, [1]), (7, [3]), (40, [1, 8, 9]), (331, [200, 16, 1]), (8300, [4000])])
def test_half_of_a_matrix_multiplies_as_the_whole(isa, threads, dtype, error, n, heights):
    entries = RNG.normal(size=2 * n - 1).astype(dtype)
    K = np.lib.stride_tricks.sliding_window_view(entries, n)  # K[i, j] is a number of i + j, so that it is symmetric
    V = RNG.normal(size=(2, n)).astype(dtype)
    out = np.full((2, n), np.nan)
    _native.half_product(cut(K, heights), V, out, threads, isa)
    expected = [np.correlate(entries.astype(float), v.astype(float), "valid") for v in V]
    np.testing.assert_allclose(out, expected, atol=error * np.abs(V.astype(float)).sum() * np.abs(entries).max())


@pytest.mark.parametrize("isa", _native.isas())
@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-5), (np.float64, 1e-13)])
@pytest.mark.parametrize(("rows", "n"), [(0, 5), (1, 1), (9, 100), (23, 9000)])
def test_long_rows_are_multiplied(isa, dtype, error, rows, n):
    A, V = RNG.normal(size=(rows, n)).astype(dtype), RNG.normal(size=(3, n)).astype(dtype)
    out = np.full((3, rows), np.nan)
    _native.long_product(A, V, out, 2, isa)
    np.testing.assert_allclose(out, V.astype(float) @ A.T.astype(float), atol=error * n)


@pytest.mark.parametrize("isa", _native.isas())
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-5), (np.float64, 1e-13)])
@pytest.mark.parametrize(("rows", "n"), [(0, 5), (1, 1), (9, 100), (700, 2049), (8, 5000)])
def test_long_rows_are_combined(isa, threads, dtype, error, rows, n):
    A, V = RNG.normal(size=(rows, n)).astype(dtype), RNG.normal(size=(3, rows)).astype(dtype)
    out = np.full((3, n), np.nan)
    _native.long_combination(A, V, out, threads, isa)
    np.testing.assert_allclose(out, V.astype(float) @ A.astype(float), atol=error * max(1, rows))


@pytest.mark.parametrize("isa", _native.isas())
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-5), (np.float64, 1e-13)])
@pytest.mark.parametrize(("rows", "n"), [(0, 5), (1, 1), (9, 0), (9, 100), (700, 409), (8, 9000)])
def test_long_rows_are_multiplied_and_combined_by_what_is_left(isa, threads, dtype, error, rows, n):
    A, V = RNG.normal(size=(rows, n)).astype(dtype), RNG.normal(size=(2, n)).astype(dtype)
    right, scale = RNG.normal(size=(2, rows)), RNG.uniform(size=rows)
    left, image = np.full((2, rows), np.nan), np.full((2, n), np.nan)
    _native.long_remainder(A, V, right, scale, left, image, threads, isa)
    wanted = right - V.astype(float) @ A.T.astype(float)
    np.testing.assert_allclose(left, wanted, atol=error * max(1, n))
    np.testing.assert_allclose(image, (scale * wanted) @ A.astype(float), atol=error * max(1, n) * max(1, rows))
    again = np.empty((2, n))
    _native.long_remainder(A, V, right, scale, left, again, 5, isa)
    np.testing.assert_array_equal(image, again)


@pytest.mark.parametrize("isa", _native.isas())
@pytest.mark.parametrize("n", [0, 1, 63, 65, 2049, 4097, 6200])
def test_combined_rows_are_the_same_to_the_last_digit_by_any_number_of_threads(isa, n):
    A, V = RNG.normal(size=(700, n)).astype(np.float32), RNG.normal(size=(2, 700)).astype(np.float32)
    found = []
    for threads in (1, 2, 3, 7):
        found.append(np.full((2, n), np.nan))
        _native.long_combination(A, V, found[-1], threads, isa)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def test_strips_that_are_no_half_of_a_matrix_are_refused():
    K = np.eye(5)
    V, out = np.ones((1, 5)), np.empty((1, 5))
    with pytest.raises(ValueError, match="strips must have 5 rows together, got 3"):
        _native.half_product(cut(K, [3])[:1], V, out, 1)
    with pytest.raises(ValueError, match=r"strips\[1\] must have shape \(2, 2\), got \(2, 5\)"):
        _native.half_product([K[:3].copy(), K[3:].copy()], V, out, 1)
    with pytest.raises(ValueError, match=r"strips\[1\] must have 1..2 rows, got shape \(3, 2\)"):
        _native.half_product([K[:3].copy(), np.ones((3, 2))], V, out, 1)
    with pytest.raises(TypeError, match=r"strips\[0\] must have dtype float64, got float32"):
        _native.half_product([K.astype(np.float32)], V, out, 1)
    with pytest.raises(ValueError, match=r"out must have shape \(1, 5\)"):
        _native.half_product([K], V, np.empty((2, 5)), 1)
    with pytest.raises(ValueError, match=r"V must have shape \(1, 5\), got \(1, 4\)"):
        _native.long_product(K, np.ones((1, 4)), out, 1)
    with pytest.raises(ValueError, match=r"V must have shape \(1, 5\), got \(1, 4\)"):
        _native.long_combination(np.ones((5, 9)), np.ones((1, 4)), np.empty((1, 9)), 1)
    with pytest.raises(ValueError, match=r"out must have shape \(1, 9\), got \(1, 5\)"):
        _native.long_combination(np.ones((5, 9)), V, out, 1)
    right, scale, image = np.ones((1, 9)), np.ones(9), np.empty((1, 5))
    with pytest.raises(ValueError, match=r"right must have shape \(1, 9\), got \(1, 5\)"):
        _native.long_remainder(np.ones((9, 5)), V, V, scale, right, image, 1)
    with pytest.raises(ValueError, match=r"scale must have shape \(9,\), got \(8,\)"):
        _native.long_remainder(np.ones((9, 5)), V, right, np.ones(8), right.copy(), image, 1)
    with pytest.raises(ValueError, match=r"image must have shape \(1, 5\), got \(1, 9\)"):
        _native.long_remainder(np.ones((9, 5)), V, right, scale, right.copy(), right.copy(), 1)
