"""Large triangles in strips, against substitution in float64."""

import weakref

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from mercer.linalg.strips import BLOCK, TriangleStrips


@pytest.mark.parametrize("n", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK - 7])
@pytest.mark.parametrize("columns", [1, 3, 9])
@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-5), (np.float64, 1e-13)])
def test_strips_solve_as_the_triangle_does(n, columns, dtype, error):
    rng = np.random.default_rng(n)
    L = np.tril(rng.normal(size=(n, n)) / n**0.5, -1) + np.diag(rng.uniform(1.0, 2.0, n))
    V = rng.normal(size=(n, columns))
    A = np.asfortranarray(L + np.triu(np.full((n, n), np.nan), 1), dtype=dtype)  # nothing above the diagonal is read
    strips = TriangleStrips(A)
    for found, transposed in ((strips.solve_lower(V), 0), (strips.solve_upper(V), 1)):
        expected = solve_triangular(L, V, lower=True, trans=transposed)
        assert np.linalg.norm(found - expected) <= error * np.linalg.norm(expected) * 10


@pytest.mark.parametrize("n", [1, BLOCK, 2 * BLOCK + 1])
def test_nothing_is_kept_of_the_matrix(n):
    class Watched(np.ndarray):
        """An array that can be watched."""

    A = np.asfortranarray(np.eye(n)).view(Watched)
    gone = weakref.ref(A)
    strips = TriangleStrips(A)
    del A
    assert gone() is None
    np.testing.assert_allclose(strips.solve_lower(np.ones((n, 1))), 1.0)
