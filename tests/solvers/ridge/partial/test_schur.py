"""What eliminated points leave of a matrix, against the difference that it is."""

import numpy as np
import pytest

from mercer.gram import Gram
from mercer.kernels import Gaussian, Laplacian
from mercer.linalg.strips import TriangleStrips
from mercer.solvers.ridge.partial.schur import SchurComplement, SchurIteration

N, COUNT = 300, 120


def eliminate(kernel, shift):
    """Return A in float64, and what is left of it where the first points are eliminated, in float32."""
    X = np.random.default_rng(0).normal(size=(N, 3))
    first, rest = X[:COUNT], X[COUNT:]
    A = kernel(X) + shift * np.eye(N)
    L = np.asfortranarray(np.linalg.cholesky(A[:COUNT, :COUNT]).astype(np.float32))
    side = Gram(kernel, rest, first, dtype=np.float32).dense()
    half = Gram(kernel, rest, dtype=np.float32).half()
    m, scale = N - COUNT, 1.0 / np.random.default_rng(1).uniform(shift, 2 * shift, N - COUNT)
    return A, SchurComplement(TriangleStrips(L), side, half, np.full((m, 1), shift), scale)


def step(matrix, V, W, steps, live):
    state = SchurIteration(matrix, V, W)
    for _ in range(steps):
        assert not state.step(live).any()
    return state


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(2.0), 1e8 * Gaussian(0.5), 1e-8 * Gaussian(2.0)])
@pytest.mark.parametrize("shift", [1e-1, 1e-2, 1e-4])
def test_residuals_are_those_of_what_was_found_however_many_steps_were_made(kernel, shift):
    shift *= kernel.diag(np.zeros((1, 3)))[0]
    A, matrix = eliminate(kernel, shift)
    first, side = A[:COUNT, :COUNT], A[COUNT:, :COUNT]
    S = A[COUNT:, COUNT:] - side @ np.linalg.solve(first, side.T)
    V = np.random.default_rng(2).normal(size=(N, 2))
    W = np.linalg.solve(first, V[:COUNT])
    begun = V[COUNT:] - side @ W
    lost = np.finfo(np.float32).eps * np.linalg.cond(A)  # by rounding of float32
    for steps in (1, 10, 60):
        state = step(matrix, V[COUNT:], W, steps, np.array([0, 1]))
        x, image = state.solution
        drift = np.linalg.norm(begun - S @ x - state.residual, axis=0)
        assert (drift <= lost * np.linalg.norm(begun, axis=0)).all()
        np.testing.assert_allclose(image, side.T @ x, atol=2e-6 * np.abs(image).max())


def test_columns_that_rest_stay_as_they_are():
    _, matrix = eliminate(Gaussian(), 0.1)
    V = np.random.default_rng(2).normal(size=(N - COUNT, 2))
    state = step(matrix, V, np.zeros((COUNT, 2)), 5, np.array([1]))
    np.testing.assert_array_equal(state.solution[0][:, 0], 0.0)
    np.testing.assert_allclose(state.residual[:, 0], V[:, 0], rtol=1e-6)
    alone = step(matrix, V[:, 1:], np.zeros((COUNT, 1)), 5, np.array([0]))
    np.testing.assert_array_equal(alone.solution[0][:, 0], state.solution[0][:, 1])
