"""Independence given something else."""

import numpy as np
import pytest

from mercer import MemoryBudgetError
from mercer.embeddings import ConditionalTest
from mercer.embeddings.conditional import PENALTIES, explain_away
from mercer.kernels import Constant, Gaussian, Linear, Spectrum


def draw(seed, n=80, direct=0.0):
    """x and y that follow z, and y that also follows x if told to."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 1))
    x = np.sin(2 * z) + 0.5 * rng.normal(size=z.shape)
    return x, z**2 / 2 + direct * x + 0.5 * rng.normal(size=z.shape), z


def count_rejections(direct, repetitions=60):
    return sum(
        ConditionalTest(n_draws=199, random_state=i).test(*draw(i, direct=direct)).rejected for i in range(repetitions)
    )


def test_the_level_is_about_held_and_dependence_is_found():
    assert count_rejections(0.0) <= 9  # 3 are expected
    assert count_rejections(1.0) >= 50


def test_what_is_left_is_the_residual_of_ridge_regression():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 30, 1))
    x, z = x - x.mean(), z - z.mean()
    left = explain_away(x @ x.T, z @ z.T)
    residuals = [x - z * (z.T @ x) / (z.T @ z + 30 * alpha) for alpha in PENALTIES]
    assert min(np.abs(left - r @ r.T).max() for r in residuals) < 1e-9


def test_the_penalty_has_the_least_error_at_points_left_out():
    rng = np.random.default_rng(1)
    z = rng.normal(size=(20, 1))
    x = np.sin(3 * z)
    M, K = Gaussian(0.5)(z), x @ x.T

    def refit(alpha):
        total = 0.0
        for i in range(20):
            rest = np.delete(np.arange(20), i)
            c = np.linalg.solve(M[np.ix_(rest, rest)] + 20 * alpha * np.eye(19), x[rest])
            total += ((x[i] - M[i, rest] @ c) ** 2).sum()
        return total

    best = min(PENALTIES, key=refit)
    R = 20 * best * np.linalg.inv(M + 20 * best * np.eye(20))
    np.testing.assert_allclose(explain_away(K, M), R @ K @ R, atol=1e-8)


def test_strings_can_be_what_is_known():
    rng = np.random.default_rng(0)
    words = ["ab" if flag else "cd" for flag in rng.integers(2, size=80)]
    level = np.array([[2.0 * (word == "ab")] for word in words])
    x, y = level + 0.3 * rng.normal(size=(80, 1)), level + 0.3 * rng.normal(size=(80, 1))
    test = ConditionalTest(kernel_z=Spectrum(2), random_state=0)
    assert not test.test(x, y, words).rejected
    assert test.test(x, y + x, words).rejected


def test_a_constant_kernel_never_rejects():
    x, y, z = draw(0, direct=1.0)
    assert ConditionalTest(kernel_y=Constant(1.0), random_state=0).test(x, y, z).p_value == 1.0


def test_what_z_tells_in_full_leaves_nothing_to_find():
    x, y, _ = draw(0, direct=1.0)
    assert not ConditionalTest(Linear(), Linear(), Linear(), random_state=0).test(x, y, y).rejected


def test_bad_input_is_refused():
    x, y, z = draw(0)
    with pytest.raises(ValueError, match="X has 80, Y has 80, Z has 79"):
        ConditionalTest().test(x, y, z[1:])
    with pytest.raises(ValueError, match="at least 4 points in X, got 3"):
        ConditionalTest().test(x[:3], y[:3], z[:3])
    with pytest.raises(TypeError, match="kernel must be a mercer kernel"):
        ConditionalTest(kernel_x="rbf").test(x, y, z)
    with pytest.raises(MemoryBudgetError, match="give more memory or fewer points"):
        ConditionalTest(memory=1000).test(x, y, z)
    outcome = ConditionalTest(random_state=0).test(x, y, z)
    assert "independent given Z" in outcome.explain()
