"""Few long rows in parts, against the matrix that they are."""

import numpy as np
import pytest

from mercer.linalg.long_rows import LongRows, reduce_rows

RNG = np.random.default_rng(0)
PARTS = [RNG.normal(size=(rows, 5000)) for rows in (3, 8, 20)]


def stored(single, parts=PARTS):
    rows = LongRows(parts[0].shape[1], np.zeros(0), single=single)
    for part in parts:
        rows.append(part)
    return rows


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("columns", [1, 3, 9])
def test_products_are_those_of_the_matrix(single, columns):
    A, error = np.concatenate(PARTS), 1e-5 if single else 1e-12
    V, W = RNG.normal(size=(5000, columns)), RNG.normal(size=(31, columns))
    np.testing.assert_allclose(stored(single).multiply(V), A @ V, atol=error * 5000**0.5)
    np.testing.assert_allclose(stored(single).combine(W), A.T @ W, atol=error * 31)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("weights", [np.ones(5000), RNG.uniform(0.1, 4.0, 5000)])
def test_the_square_is_that_of_the_numbers_that_are_multiplied(single, weights):
    A = np.concatenate(PARTS)
    A = A.astype(np.float32).astype(float) if single else A
    rows = LongRows(5000, np.zeros(0), single=single)
    for count, part in enumerate(PARTS):  # grown one by one
        rows.append(part)
        known = A[: sum(map(len, PARTS[: count + 1]))]
        np.testing.assert_allclose(rows.square(weights), (known * weights) @ known.T, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(stored(single).square(weights), (A * weights) @ A.T, rtol=1e-12, atol=1e-10)


def test_columns_may_be_of_any_size():
    V = RNG.normal(size=(5000, 2)) * [1e-200, 1e200]
    np.testing.assert_allclose(stored(True).multiply(V), np.concatenate(PARTS) @ V, rtol=1e-2, atol=0.0)


@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-5), (np.float64, 1e-12)])
@pytest.mark.parametrize("columns", [1, 3, 9])  # one after the other, and at once
def test_what_a_product_leaves_is_combined_by_the_same_rows(dtype, error, columns):
    A = RNG.normal(size=(300, 70)).astype(dtype)
    W, V, scale = RNG.normal(size=(70, columns)), RNG.normal(size=(300, columns)), RNG.uniform(0.1, 4.0, 300)
    left, image = reduce_rows(A, W, V, scale)
    wanted = V - A.astype(float) @ W
    np.testing.assert_allclose(left, wanted, atol=error * 70)
    np.testing.assert_allclose(image, A.T.astype(float) @ (scale[:, None] * wanted), atol=error * 70 * 300)
