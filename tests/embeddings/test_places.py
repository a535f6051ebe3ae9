"""Samples on a device are compared as on the host: CPU torch stands for all devices."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mercer import HSICTest, KernelKMeans, MMDTest  # noqa: E402
from mercer.embeddings import (  # noqa: E402
    ConditionalTest,
    SteinTest,
    herd,
    hsic,
    mmd,
    quadrature_weights,
    samples,
    stein,
    stein_discrepancy,
    thin,
    witness,
)
from mercer.formula.program import UnsupportedError  # noqa: E402
from mercer.kernels import Gaussian, RationalQuadratic, Spectrum  # noqa: E402

pytestmark = pytest.mark.torch

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), RNG.normal(size=(50, 3)) + 0.3
K = Gaussian(1.5)


def both(function, *data, **options):
    """What a function gives on the host, with a device, and on tensors."""
    tensors = [torch.from_numpy(each.copy()) for each in data]
    return function(*data, **options), function(*data, device="cpu", **options), function(*tensors, **options)


@pytest.mark.parametrize("estimator", ["unbiased", "biased", "linear", "block"])
def test_discrepancies_on_a_device_are_those_of_the_host(estimator):
    host, device, tensors = both(lambda A, B, **options: mmd(A, B, K, estimator=estimator, **options), X, Y)
    assert device == pytest.approx(host, abs=1e-12)
    assert tensors == pytest.approx(host, abs=1e-12)


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_criteria_of_independence_are_those_of_the_host(estimator):
    host, device, tensors = both(lambda A, B, **options: hsic(A, B, K, K, estimator=estimator, **options), X[:50], Y)
    assert device == pytest.approx(host, abs=1e-12)
    assert tensors == pytest.approx(host, abs=1e-12)


@pytest.mark.parametrize("single", [1, 2048], ids=["float32", "float64"])
@pytest.mark.parametrize(
    "make",
    [
        lambda **given: MMDTest(random_state=0, **given),
        lambda **given: MMDTest(K, null="wild", random_state=0, **given),
        lambda **given: HSICTest(random_state=0, n_permutations=20, **given),
        lambda **given: HSICTest([K, Gaussian(0.5)], random_state=0, n_permutations=199, **given),
        lambda **given: HSICTest(null="shift", **given),
    ],
    ids=["mmd", "wild", "cyclic", "permuted", "shifted"],
)
def test_tests_on_a_device_say_what_they_say_on_the_host(make, single, monkeypatch):
    monkeypatch.setattr(samples, "SINGLE", single)
    host, device, tensors = both(lambda A, B, **options: make(**options).test(A, B), X[:50], Y)
    for found in (device, tensors):
        assert isinstance(found.null, np.ndarray)
        assert found.statistic == pytest.approx(host.statistic, abs=1e-6)
        assert found.p_value == pytest.approx(host.p_value, abs=0.02)


@pytest.mark.parametrize(
    "kernel",
    [None, Gaussian([0.7, 1.0, 2.0]), [Gaussian(), RationalQuadratic(2.0, alpha=0.5)], 2.0 * Gaussian() + 1.0],
    ids=["default", "scales", "several", "sum"],
)
def test_a_density_is_compared_on_a_device_as_on_the_host(kernel):
    A = X + 100.0  # far from the origin, where squared distances must keep their digits
    found = both(lambda A, **given: SteinTest(kernel, random_state=0, **given).test(A, lambda x: 100.0 - x), A)
    for outcome in found[1:]:
        assert isinstance(outcome.null, np.ndarray)
        assert outcome.kernel == found[0].kernel
        assert outcome.statistic == pytest.approx(found[0].statistic, abs=1e-10)
        assert outcome.p_value == found[0].p_value


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_discrepancies_from_a_density_are_those_of_the_host(estimator):
    host, device, tensors = both(lambda A, **given: stein_discrepancy(A, -X, K, estimator=estimator, **given), X)
    assert device == pytest.approx(host, abs=1e-12)
    assert tensors == pytest.approx(host, abs=1e-12)


def test_formulas_that_a_device_does_not_have_are_evaluated_on_the_host(monkeypatch):
    def refuse(formula):
        raise UnsupportedError("not there")

    expected = stein_discrepancy(X, -X, K)
    monkeypatch.setattr(stein, "lower", refuse)
    assert stein_discrepancy(X, -X, K, device="cpu") == pytest.approx(expected, abs=1e-12)


def test_conditions_are_explained_on_a_device_as_on_the_host():
    Z = RNG.normal(size=(50, 1))
    host, *others = both(
        lambda A, B, C, **given: ConditionalTest(K, random_state=0, **given).test(A, B, C), X[:50] + Z, Y - Z, Z
    )
    for outcome in others:
        assert isinstance(outcome.null, np.ndarray)
        assert outcome.statistic == pytest.approx(host.statistic, rel=1e-8)
        assert outcome.p_value == pytest.approx(host.p_value, abs=0.002)
    words = ["ab" * (1 + i % 4) for i in range(50)]
    found = [
        ConditionalTest(Spectrum(2), random_state=0, device=device).test(words, Y, Z).p_value
        for device in (None, "cpu")
    ]
    assert found[1] == pytest.approx(found[0], abs=0.002)


def test_factors_on_a_device_give_the_p_value_of_the_host():
    A, B = RNG.normal(size=(2, 300, 1))
    host, device, tensors = both(
        lambda A, B, **options: HSICTest(K, K, n_permutations=300, memory="1MB", random_state=0, **options).test(A, B),
        A,
        B,
    )
    for found in (device, tensors):
        assert "factors" in found.method
        assert found.p_value == pytest.approx(host.p_value, abs=0.1)  # from other pivots, and so other permutations


def test_strings_are_compared_on_the_host_and_summed_up_on_the_device():
    words = ["abab", "baba", "abba"] * 4, ["aabb", "bbaa", "aaab"] * 4
    found = [MMDTest(Spectrum(2), random_state=0, device=device).test(*words).p_value for device in (None, "cpu")]
    assert found[0] == found[1]


def test_points_chosen_and_weights_are_those_of_the_host():
    for function in (herd, thin):
        host, device, tensors = both(lambda A, function=function, **options: function(A, 8, K, **options), X)
        np.testing.assert_array_equal(device, host)
        np.testing.assert_array_equal(tensors, host)
    host, device, tensors = both(lambda A, B, **options: quadrature_weights(A, B, K, **options), X[:9], Y)
    np.testing.assert_allclose(device, host, rtol=1e-6)
    np.testing.assert_allclose(tensors, host, rtol=1e-6)


def test_tensors_have_a_witness_and_scores():
    f = witness(torch.from_numpy(X), torch.from_numpy(Y), K)
    np.testing.assert_allclose(f(torch.from_numpy(X)).numpy(), witness(X, Y, K)(X), atol=1e-12)
    assert stein_discrepancy(torch.from_numpy(X), torch.from_numpy(-X)) == pytest.approx(stein_discrepancy(X, -X))


def test_clusters_on_a_device_are_those_of_the_host():
    for kernel in (None, K):
        model = KernelKMeans(4, kernel=kernel, random_state=0).fit(X)
        device = KernelKMeans(4, kernel=kernel, random_state=0, device="cpu").fit(X)
        tensors = KernelKMeans(4, kernel=kernel, random_state=0).fit(torch.from_numpy(X))
        for found in (device, tensors):
            np.testing.assert_array_equal(found.labels_, model.labels_)
            assert found.inertia_ == pytest.approx(model.inertia_)
        placed = tensors.predict(torch.from_numpy(Y))
        assert placed.dtype == torch.int64
        np.testing.assert_array_equal(placed.numpy(), model.predict(Y))
        np.testing.assert_allclose(tensors.transform(torch.from_numpy(Y)).numpy(), model.transform(Y), atol=1e-9)


def test_clusters_of_strings_are_summed_up_on_the_device():
    words = ["abab", "baba", "abba", "cdcd", "dcdc", "cddc"]
    found = [KernelKMeans(2, kernel=Spectrum(1), random_state=0, device=device).fit(words) for device in (None, "cpu")]
    np.testing.assert_array_equal(found[0].labels_, found[1].labels_)
