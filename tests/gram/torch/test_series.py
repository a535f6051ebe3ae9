"""Signature kernels on a device have the values of the native core, of tensors of integrals, and fit the memory."""

import numpy as np
import pytest

import mercer
from mercer import Gram, MemoryBudgetError
from mercer.kernels import (
    Custom,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Overlap,
    Polynomial,
    Signature,
    TruncatedSignature,
)

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

RNG = np.random.default_rng(3)
SERIES = [0.3 * RNG.normal(size=(m, 2)).cumsum(axis=0) for m in (1, 4, 7, 3, 12, 5, 9, 30, 2, 6)]
KERNELS = [
    Signature(),
    Signature(2.0 * Linear(), 1),
    Signature(Gaussian(), 2),
    Signature(Matern(1.5) + Laplacian(), 3),
    Signature(Polynomial(2).normalize()),
    Signature(Gaussian().on(0) * Overlap().on(1)),
    TruncatedSignature(3),
    TruncatedSignature(3, Gaussian([0.5, 2.0]), 1),
    Signature(order=6).normalize(),
    0.3 * Signature(Gaussian()).normalize() + Signature() * Gaussian().after(lambda x: [len(x)]),
]


@pytest.fixture(params=["cpu"])
def device(request):
    return request.param


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_are_those_of_the_native_core(kernel, device, monkeypatch):
    K, gram = kernel(SERIES), Gram(kernel, SERIES, backend="torch", device=device)
    assert "are computed on" in gram.why
    assert gram.dtype == np.float64
    dense = gram.dense()
    assert dense.device.type == device
    np.testing.assert_allclose(dense.cpu().numpy(), K, rtol=1e-10)
    assert torch.equal(dense, dense.T)
    np.testing.assert_allclose(gram.diag().cpu().numpy(), np.diag(K), rtol=1e-10)
    np.testing.assert_allclose(gram.rows([5, 2, 2]).cpu().numpy(), K[[5, 2, 2]], rtol=1e-10)
    np.testing.assert_allclose(gram.part([6, 1]).dense().cpu().numpy(), K[np.ix_([6, 1], [6, 1])], rtol=1e-10)
    other = Gram(kernel, SERIES[3:], SERIES[:6], device=device)
    np.testing.assert_allclose(other.dense().cpu().numpy(), K[3:, :6], rtol=1e-10)
    monkeypatch.setattr("mercer.gram.torch.series.TILE_BYTES", 2**14)  # a few pairs at a time
    np.testing.assert_allclose(Gram(kernel, SERIES, device=device).dense().cpu().numpy(), K, rtol=1e-10)


def test_values_are_inner_products_of_tensors_of_integrals(device):
    # Σ_{m≤2} ⟨S_m(x), S_m(z)⟩ with S₁ = Σ vᵢ and S₂ = Σ_{i<j} vᵢ⊗vⱼ + Σ vᵢ⊗vᵢ/2.
    def integrate(x):
        v = np.diff(x, axis=0)
        before = np.cumsum(v, axis=0) - v / 2
        return np.concatenate([[1.0], v.sum(axis=0), (before[:, :, None] * v[:, None, :]).sum(axis=0).ravel()])

    features = np.array([integrate(x) for x in SERIES])
    K = Gram(TruncatedSignature(2), SERIES, device=device).dense().cpu().numpy()
    np.testing.assert_allclose(K, features @ features.T, rtol=1e-12)


def test_series_do_not_notice_longer_ones_beside_them(device):
    for static in (Linear(), Gaussian()):
        kernel = Signature(static)
        alone = Gram(kernel, SERIES[1:3], device=device).dense()
        beside = Gram(kernel, SERIES[1:8], device=device).dense()[:2, :2]
        torch.testing.assert_close(alone, beside, rtol=1e-14, atol=0)


def test_static_kernels_without_a_form_there_are_left_to_the_host(device):
    kernel = Signature(Custom(lambda x, z: float(min(x[0], z[0]))))
    gram = Gram(kernel, [abs(x) for x in SERIES], device=device)
    assert "evaluated on the host and moved" in gram.why
    np.testing.assert_array_equal(gram.dense().cpu().numpy(), kernel([abs(x) for x in SERIES]))


def test_tables_of_pairs_stay_within_the_memory(device):
    long = [np.sin(np.linspace(0, 9, 60))[:, None] + shift for shift in np.linspace(0, 0.2, 5)]
    kernel = Signature(Gaussian(), order=2)
    gram = Gram(kernel, long, device=device, memory="200kB")
    np.testing.assert_allclose(gram.dense().cpu().numpy(), kernel(long), rtol=1e-10)
    with pytest.raises(MemoryBudgetError, match="one row of the 5 × 5 Gram matrix on"):
        Gram(kernel, long, device=device, memory="10kB")


def test_values_beyond_numbers_are_named_as_on_the_host(device):
    with pytest.raises(OverflowError, match=r"overflows float64.*Divide the series"):
        Gram(Signature(), [[0.0, 1e200]], device=device).dense()


def test_models_fit_and_predict_there(device):
    y = np.array([x[-1, 0] * x[-1, 1] for x in SERIES])
    kernel = Signature(Gaussian()).normalize()
    there = mercer.KernelRidge(alpha=0.1, kernel=kernel, device=device).fit(SERIES, y)
    here = mercer.KernelRidge(alpha=0.1, kernel=kernel).fit(SERIES, y)
    np.testing.assert_allclose(there.predict(SERIES[:4]), here.predict(SERIES[:4]), rtol=1e-9)
