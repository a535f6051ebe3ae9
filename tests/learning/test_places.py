"""Kernel and penalty are chosen on a device as they are on the host; CPU torch stands for all devices."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mercer import KernelRidgeCV  # noqa: E402
from mercer.kernels import Gaussian, Linear, Matern  # noqa: E402
from mercer.learning import search  # noqa: E402
from mercer.solvers.base import Problem  # noqa: E402
from mercer.solvers.ridge import banded  # noqa: E402
from mercer.solvers.ridge.banded import loo_path  # noqa: E402

pytestmark = pytest.mark.torch

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
NEW = RNG.normal(size=(20, 3))
TARGETS = np.sin(X[:, :2]) + 0.1 * RNG.normal(size=(80, 2))
WEIGHTS = np.where(np.arange(80) < 4, 0.0, RNG.uniform(0.5, 2.0, size=80))


def tensor(data):
    return None if data is None else torch.from_numpy(np.array(data))


def fitted(y, weights=None, **options):
    make = KernelRidgeCV
    return (
        make(random_state=0, **options).fit(X, y, weights),
        make(random_state=0, device="cpu", **options).fit(X, y, weights),
        make(random_state=0, **options).fit(tensor(X), tensor(y), tensor(weights)),
    )


OPTIONS = {
    "grid": {"kernel": Gaussian(), "length_scales": [0.5, 1.0, 2.0], "alphas": [0.01, 0.1, 1.0]},
    "kernels": {"kernel": [Gaussian(), Matern(2.5)]},
    "folds": {"kernel": "rbf", "cv": 3},
    "score": {"kernel": Gaussian(), "scoring": "neg_mean_absolute_error"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("several", [False, True], ids=["one", "two"])
def test_the_choice_on_a_device_is_that_of_the_host(options, weights, several):
    host, device, on_tensors = fitted(TARGETS if several else TARGETS[:, 0], weights, **options)
    expected = host.predict(NEW)
    for model in (device, on_tensors):
        assert model.kernel_ == host.kernel_
        assert model.alpha_ == pytest.approx(host.alpha_, rel=1e-9)
        assert model.best_score_ == pytest.approx(host.best_score_, rel=1e-7)
        np.testing.assert_allclose(model.path_["errors"], host.path_["errors"], rtol=1e-5)
        np.testing.assert_allclose(model.loo_predictions_, host.loo_predictions_, rtol=1e-6, atol=1e-8)
        assert model.loo_score_ == pytest.approx(host.loo_score_, rel=1e-8)
    np.testing.assert_allclose(device.predict(NEW), expected, rtol=1e-7, atol=1e-8)
    found = on_tensors.predict(tensor(NEW))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-7, atol=1e-8)


def test_length_scales_are_tuned_on_a_device_as_on_the_host():
    host, device, on_tensors = fitted(TARGETS[:, 0])
    for model in (device, on_tensors):
        np.testing.assert_allclose(model.kernel_.length_scale, host.kernel_.length_scale, rtol=1e-4)
        np.testing.assert_allclose(model.path_["tuning"], host.path_["tuning"], rtol=1e-4)


def test_intervals_of_a_model_on_a_device_are_those_of_the_host():
    host, device, on_tensors = fitted(TARGETS[:, 0], kernel=Gaussian(), alphas=[0.1])
    expected = host.predict_interval(NEW)
    np.testing.assert_allclose(device.predict_interval(NEW), expected, rtol=1e-7)
    np.testing.assert_allclose(on_tensors.predict_interval(tensor(NEW)), expected, rtol=1e-7)


def problem(weights=None, fit_intercept=True, kernel=None):
    return Problem(kernel or Matern(1.5), X, TARGETS, weights, fit_intercept, memory=10**9)


@pytest.mark.parametrize(("small", "few"), [(4096, 7), (0, 99), (0, 0)], ids=["inverses", "factors", "blocks"])
@pytest.mark.parametrize("weights", [None, WEIGHTS + 0.1], ids=["plain", "weighted"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_leave_one_out_residuals_of_a_path_are_those_of_the_host(weights, fit_intercept, small, few, monkeypatch):
    monkeypatch.setattr(banded, "SMALL", small)
    monkeypatch.setattr(banded, "FEW", few)
    monkeypatch.setattr(banded, "BLOCK", 7)
    on_host = problem(weights, fit_intercept)
    alphas = np.logspace(-6, 2, 9)
    residuals = loo_path(replace(on_host, device=torch.device("cpu")))
    expected = loo_path(on_host)
    np.testing.assert_allclose(residuals(alphas), expected(alphas), rtol=1e-7, atol=1e-10)
    each = np.stack([alphas[:3], alphas[3:6]], axis=1)  # one penalty for each output
    np.testing.assert_allclose(residuals(each), [expected(row[None])[0] for row in each], rtol=1e-7, atol=1e-10)


def test_more_penalties_than_a_few_replace_what_was_made_for_fewer(monkeypatch):
    monkeypatch.setattr(banded, "SMALL", 0)
    residuals = loo_path(replace(problem(), device=torch.device("cpu")))
    alphas = np.logspace(-3, 2, 12)
    first, all_of_them = residuals(alphas[:2]), residuals(alphas)
    np.testing.assert_allclose(first, all_of_them[:2], rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("small", [4096, 0])
@pytest.mark.parametrize("alpha", [0.0, 1e-18])
def test_penalties_that_have_no_factor_are_left_to_eigenvalues(alpha, small, monkeypatch):
    monkeypatch.setattr(banded, "SMALL", small)
    monkeypatch.setattr(banded, "FEW", 0)
    on_host = problem(kernel=Linear())
    found = loo_path(replace(on_host, device=torch.device("cpu")))(np.array([alpha]))
    np.testing.assert_allclose(found, loo_path(on_host)(np.array([alpha])), rtol=1e-5, atol=1e-7)


def test_on_a_gpu_the_path_takes_all_points_that_fit():
    data = replace(problem(), memory=24 * 30_000**2)
    assert search.limit_path(data) == (5000, 3000)
    assert search.limit_path(replace(data, device=torch.device("cpu"))) == (5000, 3000)
    assert search.limit_path(replace(data, device=torch.device("cuda"))) == (30_000, 20_000)
    assert search.limit_path(replace(data, memory=24 * 100, device=torch.device("cuda"))) == (10, 10)
