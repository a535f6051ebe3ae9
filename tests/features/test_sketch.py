import numpy as np
import pytest
from scipy import sparse

from mercer.features import TensorSketch
from mercer.kernels import Polynomial

X = np.random.default_rng(0).normal(size=(20, 5)) / np.sqrt(5)


@pytest.mark.parametrize(("degree", "offset"), [(1, 0.0), (2, 1.0), (2, 0.0), (3, 0.5)])
def test_the_sketch_is_unbiased_for_the_polynomial_kernel(degree, offset):
    K = Polynomial(degree, offset)(X)
    mean = np.zeros_like(K)
    for seed in range(100):
        features = TensorSketch(degree, offset, n_components=256, random_state=seed).fit_transform(X)
        assert features.shape == (20, 256)
        mean += features @ features.T / 100
    assert np.abs(mean - K).max() < 0.05 * np.abs(K).max()


def test_sparse_data_and_names():
    phi = TensorSketch(n_components=16, random_state=0).fit(X)
    np.testing.assert_allclose(phi.transform(sparse.csr_array(X)), phi.transform(X), atol=1e-12)
    assert phi.get_feature_names_out().tolist() == [f"tensorsketch{i}" for i in range(16)]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"degree": 0}, "degree must be a whole number of at least 1"),
        ({"offset": -1.0}, "offset must be a finite number that is not negative"),
        ({"n_components": 0}, "n_components must be a whole number of at least 1"),
    ],
)
def test_wrong_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        TensorSketch(**params).fit(X)
