import math

import numpy as np
import pytest
from scipy import sparse

from mercer.features import RandomFourier
from mercer.features.random_fourier import share_out
from mercer.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    PowerExponential,
    RationalQuadratic,
    SpectralMixture,
    Spectrum,
)

X = np.random.default_rng(0).normal(size=(30, 4))
KERNELS = [
    Gaussian(1.5),
    Gaussian([1.0, 2.0, 0.5, 3.0]),
    Matern(nu=0.5, length_scale=2.0),
    Matern(nu=1.5, length_scale=[1.0, 2.0, 1.5, 3.0]),
    Matern(nu=2.2),
    Matern(nu=math.inf),
    RationalQuadratic(length_scale=1.5, alpha=0.7),
    Laplacian(3.0),
    Laplacian([2.0, 3.0, 4.0, 8.0]),
    PowerExponential(2.0, 2.0, 3.0),
    PowerExponential(2.0, 1.2, 2.0),
    PowerExponential(1.5, 1.5, [2.0, 3.0, 4.0, 8.0]),
    PowerExponential(1.4, 0.7, 3.0),
    PowerExponential(1.0, 0.1),
    PowerExponential(0.3, 0.2, 5.0),
]


def estimate(kernel, n_components, seed, **options):
    features = RandomFourier(kernel, n_components, random_state=seed, **options).fit_transform(X)
    return features @ features.T


def error(kernel, n_components, seeds, **options):
    """Root of the mean squared error over all pairs and seeds."""
    K = kernel(X)
    return np.sqrt(np.mean([(estimate(kernel, n_components, seed, **options) - K) ** 2 for seed in seeds]))


@pytest.mark.parametrize("orthogonal", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_estimate_is_unbiased(kernel, orthogonal):
    # The mean of 50,000 waves has a standard error of at most 1/√50,000 in each entry.  Entries are strongly correlated
    # (about a dozen degrees of freedom for the whole matrix), so their root mean square may be twice that by chance.
    difference = estimate(kernel, 100_000, 0, orthogonal=orthogonal) - kernel(X)
    assert np.abs(difference).max() < 5 / math.sqrt(50_000)
    assert np.sqrt(np.mean(difference**2)) < 2 / math.sqrt(50_000)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_diagonal_is_exact(kernel):
    np.testing.assert_allclose(estimate(kernel, 10, 0).diagonal(), 1.0, rtol=1e-14)


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Matern(1.5, 2.0), Laplacian(3.0)], ids=repr)
def test_the_error_halves_with_four_times_the_features(kernel):
    errors = [error(kernel, count, range(20)) for count in (100, 400, 1600)]
    np.testing.assert_allclose(np.array(errors[:-1]) / errors[1:], 2.0, rtol=0.2)
    assert errors[0] < 1 / math.sqrt(50)


@pytest.mark.parametrize("n_components", [8, 16, 100])
def test_orthogonal_directions_lower_the_error_of_the_gaussian(n_components):
    kernel = Gaussian(2.0)
    assert error(kernel, n_components, range(60)) < 0.95 * error(kernel, n_components, range(60), orthogonal=False)


def test_directions_are_orthogonal_in_blocks_of_as_many_as_there_are_inputs():
    W = RandomFourier(Gaussian(), 20, random_state=0).fit(X).frequencies_
    assert W.shape == (10, 4)
    for block in (W[:4], W[4:8], W[8:]):
        products = block @ block.T
        np.testing.assert_allclose(products, np.diag(products.diagonal()), atol=1e-13)


def test_sparse_and_single_precision_data_work():
    phi = RandomFourier(Gaussian(), 10, random_state=0).fit(X)
    np.testing.assert_allclose(phi.transform(sparse.csr_array(X)), phi.transform(X), atol=1e-14)
    assert phi.transform(X.astype(np.float32)).dtype == np.float32


def test_features_are_numbered():
    assert RandomFourier(n_components=2).fit(X).get_feature_names_out().tolist() == ["randomfourier0", "randomfourier1"]


def test_wrong_arguments_are_refused_with_what_to_do():
    with pytest.raises(ValueError, match=r"Linear\(\) is not a kernel whose random frequencies are known.*Nystroem"):
        RandomFourier(Linear()).fit(X)
    with pytest.raises(ValueError, match=r"must be even, .* got 7, take 8"):
        RandomFourier(n_components=7).fit(X)
    for count in (0, -2, 2.0):
        with pytest.raises(ValueError, match="n_components must be a whole number of at least 1"):
            RandomFourier(n_components=count).fit(X)
    with pytest.raises(ValueError, match="has 2 length scales but the data has 4 features"):
        RandomFourier(Gaussian([1.0, 2.0])).fit(X)
    with pytest.raises(TypeError, match="must be a mercer kernel"):
        RandomFourier("rbf").fit(X)
    with pytest.raises(ValueError, match="is not a kernel whose random frequencies are known"):
        RandomFourier(Spectrum(2)).fit(["abc", "de"])


COMPOSED = [
    3.0 * Gaussian(1.5),
    0.5 * Gaussian(2.0) + 2.0 * Laplacian(3.0) + 0.3,
    Gaussian(2.0) * Laplacian(4.0),
    (Gaussian(1.0).on([0, 2]) + 0.5 * Matern(1.5, 2.0)) * (Laplacian(4.0).on(slice(1, None)) + 1.0),
    (Gaussian(3.0) + 0.5) ** 3,
    SpectralMixture([1.0, 0.5], [0.3, 1.0], [1.0, 2.0]).on(-1),
    (Matern(1.5).on([0, 1]) * Gaussian()).on([3, 1, 0]),
]


@pytest.mark.parametrize("kernel", COMPOSED, ids=repr)
def test_compositions_are_estimated_without_bias_and_with_an_exact_diagonal(kernel):
    value = kernel.diag(X)[0]
    difference = estimate(kernel, 60_000, 0) - kernel(X)
    assert np.abs(difference).max() < 5 * value / math.sqrt(30_000)
    np.testing.assert_allclose(estimate(kernel, 20, 1).diagonal(), value, rtol=1e-13)


def test_shares_of_frequencies_add_up_and_leave_no_term_without():
    for weights in ([1.0], [1.0, 1e-9], [5.0, 3.0, 1.0], [1.0] * 7):
        for count in (len(weights), 11, 100):
            shares = share_out(weights, count)
            assert sum(shares) == count
            assert min(shares) >= 1


def test_compositions_without_a_spectrum_are_refused():
    for kernel in (Gaussian() + Linear(), Gaussian() - 0.5 * Gaussian(2.0), Gaussian() * Linear()):
        with pytest.raises(ValueError, match="not a kernel whose random frequencies are known"):
            RandomFourier(kernel).fit(X)
    with pytest.raises(ValueError, match="n_components=6 or more"):
        RandomFourier(Gaussian() + Matern() + Laplacian(), n_components=4).fit(X)
    with pytest.raises(ValueError, match="one feature, got 4"):
        RandomFourier(SpectralMixture()).fit(X)
