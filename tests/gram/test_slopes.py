"""∇f of expansions: sums over centres of the slopes of a kernel, whatever the tiles, the budget and the place."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer import Expansion, MemoryBudgetError
from mercer.gram.slopes import sum_slopes
from mercer.kernels import (
    Chi2,
    Cosine,
    Fourier,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
    LinearMap,
    Matern,
    Overlap,
    Periodic,
    Polynomial,
    PowerExponential,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Sinc,
    exp,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(23, 4))
Z = np.concatenate([rng.normal(size=(31, 4)), X[:3]])
KERNELS = [
    Gaussian(1.5),
    Gaussian([1.0, 2.0, 3.0, 4.0]),
    Matern(0.5) + Matern(2.5),
    Matern(1.5) * Polynomial(3, 1.0),
    Matern(0.7),
    RationalQuadratic(2.0, 0.7),
    Laplacian(2.0),
    Laplacian([1.0, 2.0, 3.0, 4.0]),
    PowerExponential(1.5, 0.7, 2.0),
    PowerExponential(1.8, 1.2, [1.0, 2.0, 3.0, 4.0]),
    Gaussian(2.0).after(LinearMap([[1.0, 0.3], [0.0, 2.0], [0.5, 0.5], [-1.0, 0.0]])),
    PowerExponential(1.5, 1.0).after(LinearMap([[1.0, 0.3, 1.0], [0.0, 2.0, 0.5]])).on([3, 1]),
    Periodic([1.0, 2.0, 3.0, 4.0], 2.0),
    Cosine(),
    Fourier(5),
    Linear(),
    Linear().normalize(),
    Gaussian(2.0).on([2, 0]) + 0.5 * Linear().on([3]),
    exp(0.1 * Linear()),
    (Gaussian() + 1.0) ** 3,
    (Polynomial(2, 1.0) + Gaussian()).normalize() * Laplacian(),
    ((Linear() + Gaussian()).normalize() + Linear()).normalize(),
    Sigmoid(0.3),
    Chi2(),
    Intersection().normalize(),
    Sinc(),
]


def draw(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


def data(kernel):
    """Points without negative entries for the kernels that need them."""
    positive = any(name in repr(kernel) for name in ("Chi2", "Intersection"))
    return (np.abs(X), np.abs(Z)) if positive else (X, Z)


def by_hand(kernel, X, Z, coef):
    return np.einsum("nmd,m...->n...d", kernel.gradient_x(X, Z), coef)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_slope_of_a_sum_is_the_sum_of_slopes(kernel):
    points, centers = data(kernel)
    for shape in ((34,), (34, 1), (34, 3)):
        coef = draw(*shape)
        expected = by_hand(kernel, points, centers, coef)
        found = Expansion(kernel, centers, coef, np.ones(shape[1:])).gradient(points)
        assert found.shape == (23, *shape[1:], 4)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_slope_is_the_rate_at_which_values_change(kernel):
    points, centers = data(kernel)
    points = points + 0.01  # off the kinks
    f = Expansion(kernel, centers, draw(34))
    direction, step = draw(4), 2.0**-10
    at = {s: f(points + s * step * direction) for s in (-2, -1, 1, 2)}
    rate = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * step)
    away = np.abs(points[:, None] - centers[None]).min(axis=(1, 2)) > 4 * step * np.abs(direction).max()
    assert away.sum() > 5
    size = max(1.0, np.abs(rate).max())
    np.testing.assert_allclose((f.gradient(points) @ direction)[away], rate[away], rtol=0, atol=2e-7 * size)


def test_of_a_linear_function_it_is_its_weights():
    coef = draw(34)
    found = Expansion(Linear(), Z, coef, 3.0).gradient(X)
    np.testing.assert_allclose(found, np.broadcast_to(Z.T @ coef, (23, 4)), rtol=1e-12)


def test_a_quadratic_function_has_the_slope_of_its_matrix():
    coef = draw(34)
    M = (Z.T * coef) @ Z  # f(x) = Σ c (xᵀz)² = xᵀMx
    np.testing.assert_allclose(Expansion(Polynomial(2, 0.0), Z, coef).gradient(X), 2 * X @ M, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("kernel", [Matern(0.5), Laplacian(), Gaussian(), Matern(1.2)], ids=repr)
def test_a_centre_adds_nothing_of_its_own_to_the_slope_at_it(kernel):
    coef = draw(34)
    others = [Expansion(kernel, np.delete(Z, i, 0), np.delete(coef, i)).gradient(Z[i : i + 1])[0] for i in range(31)]
    np.testing.assert_allclose(Expansion(kernel, Z, coef).gradient(Z)[:31], others, rtol=0, atol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS[:8], ids=repr)
def test_float32_points_give_the_slope_to_their_precision(kernel):
    coef = draw(34, 2)
    single = [D.astype(np.float32) for D in data(kernel)]
    expected = by_hand(kernel, *(D.astype(np.float64) for D in single), coef)
    found = Expansion(kernel, single[1], coef).gradient(single[0])
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-6 * max(1.0, np.abs(expected).max()))


def test_many_outputs_and_wide_tiles_are_cut_without_a_trace():
    many, coef = draw(9001, 3), draw(9001, 200)
    points = draw(4, 3)
    expected = by_hand(Gaussian(), points, many, coef)
    np.testing.assert_allclose(Expansion(Gaussian(), many, coef).gradient(points), expected, rtol=0, atol=1e-11)


def test_sparse_points_and_frames_give_the_slopes_of_arrays():
    coef, points, centers = draw(34, 2), X * (X > 0), Z * (Z > 0)
    for kernel in (
        Gaussian(),
        Linear() + Matern(0.5, [1.0, 2.0, 3.0, 4.0]),
        Linear().normalize(),
        Gaussian().on([3, 1]),
    ):
        expected = Expansion(kernel, centers, coef).gradient(points)
        size = np.abs(expected).max()
        found = Expansion(kernel, sparse.coo_array(centers), coef).gradient(sparse.csr_array(points))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * size)
        frames = [pd.DataFrame(D, columns=list("abcd")) for D in (points, centers)]
        np.testing.assert_allclose(Expansion(kernel, frames[1], coef).gradient(frames[0]), expected, atol=1e-13 * size)


# -- memory --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(), (Linear() + Matern(0.5)).normalize()], ids=repr)
def test_slopes_stay_within_the_memory_budget(kernel):
    points, centers = draw(2000, 5), draw(1500, 5)
    coef = draw(1500)
    f = Expansion(kernel, centers, coef)
    expected = f.gradient(points)
    tracemalloc.start()
    found = f.gradient(points, memory="4MB")  # the matrix alone would be 24 MB
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)
    assert peak < 4e6


def test_what_does_not_fit_is_refused_before_it_is_made():
    with pytest.raises(MemoryBudgetError, match=r"slopes of 3 functions by 4 features at 23 points needs 2\.2 KB"):
        Expansion(Gaussian(), Z, np.ones((34, 3))).gradient(X, memory=1000)


# -- refusals ------------------------------------------------------------------------------------------------------


def test_kernels_without_slopes_say_so():
    with pytest.raises(ValueError, match=r"Overlap\(\) has no slope in x"):
        Expansion(Overlap(), [["red"], ["blue"]], [1.0, 2.0]).gradient([["red"]])
    with pytest.raises(ValueError, match=r"Precomputed.* has no slope in x"):
        Expansion(Precomputed(np.eye(3)), [0, 1, 2], np.ones(3)).gradient([0, 1])


def test_points_with_other_columns_than_the_centres_are_refused():
    with pytest.raises(ValueError, match="X has 3 features but Z has 4"):
        Expansion(Gaussian(), Z, np.ones(34)).gradient(X[:, :3])


def test_overflow_is_reported_in_words():
    with pytest.raises(OverflowError, match="Polynomial"):
        Expansion(Polynomial(3, 0.0), [[1e120]], [1.0]).gradient([[1e120]])


# -- tensors -------------------------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_tensors_give_the_slopes_of_arrays(kernel, dtype):
    torch = pytest.importorskip("torch")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    coef = draw(34, 2)
    points, centers = (D.astype(dtype) for D in data(kernel))
    expected = by_hand(kernel, points.astype(np.float64), centers.astype(np.float64), coef)
    tolerance = (1e-12 if dtype is np.float64 else 1e-5) * max(1.0, np.abs(expected).max())
    left, right = (torch.from_numpy(D).to(device) for D in (points, centers))
    for weights in (coef, torch.from_numpy(coef).to(device)):
        found = sum_slopes(kernel, left, right, weights)
        assert found.device == left.device
        np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=0, atol=tolerance)
    sent = Expansion(kernel, centers, coef[:, 0]).gradient(points, device=device)
    assert isinstance(sent, np.ndarray)
    np.testing.assert_allclose(sent, expected[:, 0], rtol=0, atol=tolerance)
