"""LAPACK by its address does what SciPy's wrapper does, also from several threads at once."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mercer.linalg.triangles import mirror
from mercer.linalg.unlocked import invert_definite


def make_definite(n: int, seed: int) -> np.ndarray:
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T + n * np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 65, 200])
def test_inverses_are_those_of_numpy(n):
    A = make_definite(n, n)
    found = A.copy()
    assert invert_definite(found)
    np.testing.assert_array_equal(np.triu(found, 1), np.triu(A, 1))
    np.testing.assert_allclose(mirror(found) @ A, np.eye(n), atol=1e-12)


def test_threads_do_not_disturb_each_other():
    matrices = [make_definite(80, seed) for seed in range(16)]
    copies = [A.copy() for A in matrices]
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(invert_definite, copies))
    for A, found in zip(matrices, copies, strict=True):
        np.testing.assert_allclose(mirror(found) @ A, np.eye(80), atol=1e-12)


def test_a_matrix_that_is_not_definite_is_told():
    assert not invert_definite(-np.eye(3))
    assert not invert_definite(np.ones((2, 2)))


@pytest.mark.parametrize(
    "A", [np.eye(3, dtype=np.float32), np.ones((2, 3)), np.asfortranarray(make_definite(3, 0) + np.arange(3))]
)
def test_other_arrays_are_refused(A):
    with pytest.raises(ValueError, match="square array of float64 in C order"):
        invert_definite(A)
