"""Squared distances in feature space against their definition in 80 digits."""

import decimal
from decimal import Decimal

import numpy as np
import pytest
from scipy import sparse

from mercer.kernels import (
    Chi2,
    Constant,
    Cosine,
    Fourier,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    MeanEmbedding,
    Overlap,
    PairSum,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sinc,
    exp,
)
from mercer.kernels.algebra import Exp, Normalized, Power, Product, Scaled, Sum
from mercer.testing import check_kernel

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")


@pytest.fixture(autouse=True)
def eighty_digits():
    with decimal.localcontext(decimal.Context(prec=80)):
        yield


def cosine(t):
    total, term, k = Decimal(0), Decimal(1), 0
    t = t % (2 * PI)
    while abs(term) > Decimal("1e-85"):
        total += term
        k += 2
        term *= -t * t / (k * (k - 1))
    return total


def value(kernel, x, z):
    """k(x, z) by its definition."""
    squared = sum((a - b) ** 2 for a, b in zip(x, z, strict=True))
    match kernel:
        case Sum():
            return value(kernel.k1, x, z) + value(kernel.k2, x, z)
        case Product():
            return value(kernel.k1, x, z) * value(kernel.k2, x, z)
        case Scaled():
            return Decimal(kernel.weight) * value(kernel.kernel, x, z)
        case Power():
            return value(kernel.kernel, x, z) ** kernel.exponent
        case Exp():
            return value(kernel.kernel, x, z).exp()
        case Normalized():
            return value(kernel.kernel, x, z) / (value(kernel.kernel, x, x) * value(kernel.kernel, z, z)).sqrt()
        case Constant():
            return Decimal(kernel.value)
        case Linear():
            return sum(a * b for a, b in zip(x, z, strict=True))
        case Polynomial():
            return (value(Linear(), x, z) + Decimal(kernel.offset)) ** kernel.degree
        case Gaussian():
            return (-squared / 2 / Decimal(kernel.length_scale) ** 2).exp()
        case Laplacian():
            return (-sum(abs(a - b) for a, b in zip(x, z, strict=True)) / Decimal(kernel.length_scale)).exp()
        case RationalQuadratic():
            alpha = Decimal(kernel.alpha)
            return (-alpha * (1 + squared / 2 / alpha / Decimal(kernel.length_scale) ** 2).ln()).exp()
        case Matern(nu=1.5):
            r = (3 * squared).sqrt()
            return (1 + r) * (-r).exp()
        case Matern(nu=2.5):
            r = (5 * squared).sqrt()
            return (1 + r + r * r / 3) * (-r).exp()
        case Cosine():
            return sum(cosine(Decimal(kernel.frequency) * (a - b)) for a, b in zip(x, z, strict=True))
        case Intersection():
            return sum(map(min, x, z))
        case Chi2():
            terms = [(a - b) ** 2 / (a + b) if a + b else Decimal(0) for a, b in zip(x, z, strict=True)]
            return (-Decimal(kernel.gamma) * sum(terms)).exp()
    raise TypeError(kernel)


def definition(kernel, X, Z):
    X, Z = ([[Decimal(float(t)) for t in row] for row in points] for points in (X, Z))
    return np.array(
        [[float(value(kernel, x, x) + value(kernel, z, z) - 2 * value(kernel, x, z)) for z in Z] for x in X]
    )


LEAVES = [
    Linear(), Gaussian(0.7), Laplacian(2.0), RationalQuadratic(1.5, 0.8), Matern(1.5), Matern(2.5), Cosine(1.3),
    Constant(0.5), Polynomial(3, 1.0), Intersection(), Chi2(0.5),
]  # fmt: skip


def random_kernel(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        return LEAVES[rng.integers(len(LEAVES))]
    one, other = random_kernel(rng, depth - 1), random_kernel(rng, depth - 1)
    return [
        lambda: one + other, lambda: one * other, lambda: 10.0 ** rng.uniform(-2, 2) * one,
        lambda: one ** int(rng.integers(2, 5)), lambda: exp(0.01 * one), lambda: (one + 1.0).normalize(),
    ][rng.integers(6)]()  # fmt: skip


@pytest.mark.parametrize("kernel", LEAVES, ids=repr)
@pytest.mark.parametrize("separation", [1e-9, 1e-4, 1.0, 30.0])
def test_close_points_keep_their_digits(kernel, separation):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 1.5, size=(3, 2))
    Z = X + separation * rng.uniform(0.1, 1.0, size=X.shape)
    np.testing.assert_allclose(kernel.distance(X, Z), definition(kernel, X, Z), rtol=1e-12, atol=0)


@pytest.mark.parametrize("seed", range(40))
def test_compositions_keep_the_digits_of_close_points(seed):
    rng = np.random.default_rng(seed)
    kernel = random_kernel(rng, 3)
    X = rng.uniform(0.5, 1.5, size=(2, 2))
    for separation in (1e-9, 1e-3, 1.0):
        Z = X + separation * rng.uniform(0.1, 1.0, size=X.shape)
        expected = definition(kernel, X, Z)
        np.testing.assert_allclose(kernel.distance(X, Z), expected, rtol=1e-8, atol=1e-30, err_msg=repr(kernel))


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Gaussian(), Laplacian(), Matern(1.5), RationalQuadratic(), Polynomial(2, 1.0), 2.0 * Linear() + 1.0,
     Linear() ** 2 * Gaussian(), Linear() * Linear(), Linear().normalize(), (Linear() + 1.0).normalize(), Cosine(0.5),
     exp(1e-18 * Linear()), Intersection()],
    ids=repr,
)  # fmt: skip
def test_points_far_from_zero_keep_their_digits(kernel):
    rng = np.random.default_rng(1)
    X, Z = 1e8 + rng.normal(size=(3, 2)), 1e8 + rng.normal(size=(4, 2))
    np.testing.assert_allclose(kernel.distance(X, Z), definition(kernel, X, Z), rtol=1e-7, atol=1e-40)


def test_the_cases_that_cancelled():
    np.testing.assert_array_equal(Linear().distance([[1e8], [1e8 + 1]]), [[0.0, 1.0], [1.0, 0.0]])
    assert Gaussian().distance([[0.0], [1e-9]])[0, 1] == pytest.approx(1e-18, rel=1e-14)
    assert Gaussian([1.0, 2.0]).distance([[0.0, 0.0]], [[0.0, 2e-9]])[0, 0] == pytest.approx(1e-18, rel=1e-12)
    assert Linear().distance(np.float32([[4096.0]]), np.float32([[4096.5]]))[0, 0] == 0.25
    far = [[0.0], [1e-9], *([[1e8]] * 20)]  # most points are where two neighbours are not
    assert Gaussian().distance(far)[0, 1] == pytest.approx(1e-18, rel=1e-12)


@pytest.mark.parametrize("kernel", [Periodic(0.7, 1.3), Periodic([0.7, 2.0], 1.3), Fourier(4), Sinc()], ids=repr)
def test_waves_keep_the_digits_of_close_points(kernel):
    X = np.array([[0.0, 0.0], [5.25, -3.5]])
    wide, near = (kernel.distance(X, X + step) for step in (1e-5, 1e-8))
    # Close to 0 all of them are quadratic.
    np.testing.assert_allclose(np.diag(near) * 1e6, np.diag(wide), rtol=1e-6)


@pytest.mark.parametrize("nu", [0.3, 0.9, 1.0, 1.7, 2.0, 3.7, 12.0, 70.0])
def test_every_matern_kernel_falls_as_its_series_says(nu):
    from scipy.special import gamma

    r = np.array([1e-7, 1e-6])
    u = np.sqrt(2 * nu) * r
    if nu == 1:
        expected = u**2 * (0.5 - np.euler_gamma - np.log(u / 2))
    else:
        expected = u**2 / (2 * (nu - 1)) + (0 if nu >= 2 else 2 * gamma(1 - nu) / gamma(1 + nu) * (u / 2) ** (2 * nu))
    np.testing.assert_allclose(Matern(nu).distance([[0.0]], r[:, None])[0], expected, rtol=1e-9)


@pytest.mark.parametrize("kernel", [MeanEmbedding, PairSum])
@pytest.mark.parametrize("base", [Linear(), Gaussian(), Linear() * Gaussian()], ids=repr)
def test_bags_have_the_same_distances_wherever_they_lie(kernel, base):
    rng = np.random.default_rng(2)
    bags = [rng.integers(-8, 8, size=(n, 2)) / 4.0 for n in (4, 4, 4, 1, 1)]
    K = kernel(base)(bags)
    expected = np.diag(K)[:, None] + np.diag(K) - 2 * K
    np.testing.assert_allclose(kernel(base).distance(bags), np.maximum(expected, 0), atol=1e-11 * np.abs(K).max())
    shifted = kernel(base).distance([bag + 2.0**27 for bag in bags])
    if base != Linear() * Gaussian() and kernel is MeanEmbedding:
        np.testing.assert_allclose(shifted, kernel(base).distance(bags), rtol=1e-12, atol=1e-14)


def test_sparse_and_single_points_have_distances_too():
    X = np.array([[1e4, 0.0], [1e4 + 1e-6, 0.0], [0.0, 3.0]])
    np.testing.assert_allclose(
        (Gaussian() + Linear()).distance(sparse.csr_array(X)), (Gaussian() + Linear()).distance(X), rtol=1e-9
    )


def test_a_normalised_exponential_has_the_distances_of_a_gaussian():
    X = 1e8 + np.random.default_rng(3).normal(size=(4, 2))
    np.testing.assert_allclose(exp(Linear()).normalize().distance(X), Gaussian().distance(X), rtol=1e-14)


def test_categories_and_matrices_keep_the_plain_difference():
    assert Overlap().distance([["a", "b"], ["a", "c"]])[0, 1] == 2.0
    assert Precomputed([[2.0, 1.0], [1.0, 5.0]]).distance([0, 1])[0, 1] == 5.0


def test_the_conformance_suite_notices_a_distance_that_cancels():
    class Cancelling(Gaussian):
        def distance(self, X, Z=None):
            K = self(X, Z)
            return np.maximum(2.0 - 2.0 * K, 0.0)

    check_kernel(Gaussian(), np.linspace(0.0, 1e-7, 9)[:, None])
    with pytest.raises(AssertionError, match="distance"):
        check_kernel(Cancelling(), np.linspace(0.0, 1e-7, 9)[:, None])
