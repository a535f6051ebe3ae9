"""KernelRidge and expansions on a device: arrays in and out as arrays, tensors as tensors, and nothing half done."""

import pickle

import numpy as np
import pytest

from mercer import Expansion, KernelRidge, MemoryBudgetError
from mercer.kernels import Custom, Gaussian, Matern, Polynomial

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] ** 2, rng.normal(size=(40, 3))


@pytest.mark.parametrize("solver", ["auto", "cholesky", "cg", "spectral", "nystroem", "primal"])
def test_arrays_give_arrays_and_tensors_give_tensors(solver, data):
    X, y, T = data
    kernel = Polynomial(2, 1.0) if solver == "primal" else Gaussian(1.5)
    options = {"kernel": kernel, "alpha": 0.1, "solver": solver, "random_state": 0, "fit_intercept": True}
    host = KernelRidge(**options).fit(X, y).predict(T)
    there = KernelRidge(**options, device="cpu").fit(X, y)
    tensors = KernelRidge(**options).fit(torch.tensor(X), torch.tensor(y))
    answers = tensors.predict(torch.tensor(T))
    assert isinstance(there.predict(T), np.ndarray)
    assert isinstance(answers, torch.Tensor)
    np.testing.assert_allclose(there.predict(T), host, atol=1e-3 if solver == "nystroem" else 1e-5)
    np.testing.assert_allclose(answers.numpy(), there.predict(T), atol=1e-12)
    values = there.predict(X)
    np.testing.assert_allclose(there.objective_.loss, np.sum((y - values) ** 2), rtol=1e-4)
    np.testing.assert_allclose(there.objective_.penalty, 0.1 * there.expansion_.norm() ** 2, rtol=1e-4)
    assert isinstance(there.dual_coef_, np.ndarray)
    assert isinstance(tensors.dual_coef_, np.ndarray)
    assert tensors.n_features_in_ == 3


@pytest.mark.parametrize("kernel", [Matern(0.7), Custom(lambda x, z: float(x @ z) + 1.0), "rbf", "poly"], ids=str)
def test_kernels_of_every_kind_work(kernel, data):
    X, y, T = data
    kernel = kernel if not isinstance(kernel, Custom) else Custom(_affine)
    host = KernelRidge(0.5, kernel=kernel).fit(X, y).predict(T)
    np.testing.assert_allclose(KernelRidge(0.5, kernel=kernel, device="cpu").fit(X, y).predict(T), host, atol=1e-7)


def _affine(x, z):
    return float(x @ z) + 1.0


def test_weights_several_targets_and_a_precomputed_matrix(data):
    X, y, T = data
    Y, weights = np.stack([y, -2.0 * y], axis=1), np.arange(200.0)
    host = KernelRidge([0.1, 0.5], kernel=Gaussian()).fit(X, Y, weights).predict(T)
    there = KernelRidge([0.1, 0.5], kernel=Gaussian(), device="cpu").fit(X, Y, weights)
    np.testing.assert_allclose(there.predict(T), host, atol=1e-8)
    tensors = KernelRidge([0.1, 0.5], kernel=Gaussian()).fit(torch.tensor(X), torch.tensor(Y), torch.tensor(weights))
    np.testing.assert_allclose(tensors.predict(torch.tensor(T)).numpy(), host, atol=1e-8)
    K = Gaussian()(X)
    host = KernelRidge(0.1, kernel="precomputed").fit(K, y).predict(K[:5])
    np.testing.assert_allclose(KernelRidge(0.1, kernel="precomputed", device="cpu").fit(K, y).predict(K[:5]), host)


def test_single_precision_data_agrees_to_its_precision(data):
    X, y, T = data
    host = KernelRidge(0.1, kernel=Gaussian()).fit(X, y).predict(T)
    there = KernelRidge(0.1, kernel=Gaussian(), device="cpu").fit(X.astype(np.float32), y)
    np.testing.assert_allclose(there.predict(T.astype(np.float32)), host, atol=1e-4)


def test_leave_one_out_intervals_and_diagnosis_of_a_model_from_a_device(data):
    X, y, T = data
    host = KernelRidge(0.1, kernel=Gaussian()).fit(X, y)
    for there in (
        KernelRidge(0.1, kernel=Gaussian(), device="cpu").fit(X, y),
        KernelRidge(0.1, kernel=Gaussian()).fit(torch.tensor(X), torch.tensor(y)),
    ):
        np.testing.assert_allclose(there.leave_one_out(), host.leave_one_out(), atol=1e-8)
        np.testing.assert_allclose(there.predict_interval(T), host.predict_interval(T), atol=1e-8)
        assert there.diagnose().effective_dof == pytest.approx(host.diagnose().effective_dof)


def test_a_fitted_model_is_pickled_with_its_points(data):
    X, y, T = data
    model = KernelRidge(0.1, kernel=Gaussian()).fit(torch.tensor(X), torch.tensor(y))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(torch.tensor(T)).numpy(), model.predict(torch.tensor(T)).numpy())


def test_a_fit_that_fails_leaves_the_model_as_it_was(data):
    X, y, _ = data
    model = KernelRidge(0.1, kernel=Gaussian(), device="cpu", memory=50_000, solver="cholesky")
    with pytest.raises(MemoryBudgetError, match="on cpu"):
        model.fit(X, y)
    assert not hasattr(model, "expansion_")
    bad = torch.tensor(X)
    bad[3, 1] = torch.inf
    with pytest.raises(ValueError, match="row 3, column 1 is inf"):
        KernelRidge(kernel=Gaussian()).fit(bad, torch.tensor(y))


def test_bad_tensors_are_named(data):
    X, y, T = data
    model = KernelRidge(0.1, kernel=Gaussian()).fit(torch.tensor(X), torch.tensor(y))
    with pytest.raises(ValueError, match="X has 2 features, but KernelRidge is expecting 3"):
        model.predict(torch.tensor(T[:, :2]))
    with pytest.raises(ValueError, match=r"tensor of shape \(points, features\), got shape \(3,\)"):
        model.predict(torch.zeros(3))
    with pytest.raises(ValueError, match="needs real numbers, got a tensor of"):
        model.predict(torch.zeros(2, 3, dtype=torch.complex64))
    with pytest.raises(RuntimeError, match="on different devices"):
        model.predict(torch.zeros(2, 3, device="meta"))


def test_expansions_stream_points_in_blocks(data, monkeypatch):
    X, _, T = data
    f = Expansion(Gaussian(), X, np.random.default_rng(0).normal(size=(200, 2)), [1.0, -1.0])
    whole = f(T)
    monkeypatch.setattr("mercer.gram.torch.stream.BLOCK", 1)
    monkeypatch.setattr("mercer.gram.torch.stream.LEAST", 7)
    np.testing.assert_allclose(f(T, device="cpu"), whole, atol=1e-12)
    np.testing.assert_allclose(f(torch.tensor(T)).numpy(), whole, atol=1e-12)
    g = Expansion(Gaussian(), torch.tensor(X), f.coef[:, 0])
    assert isinstance(g(T), np.ndarray)
    np.testing.assert_allclose(g(T), whole[:, 0] - 1.0, atol=1e-12)


def test_a_device_that_runs_out_of_memory_leaves_the_model_unfitted(data, monkeypatch):
    X, y, _ = data
    model = KernelRidge(0.1, kernel=Gaussian(), device="cpu")

    def refuse(*args, **kwargs):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr(torch.linalg, "cholesky_ex", refuse)
    with pytest.raises(RuntimeError, match=r"KernelRidge: the device ran out of memory .* give a smaller"):
        model.fit(X, y)
    assert not hasattr(model, "expansion_")


def test_points_too_many_for_the_device_are_streamed_through_it(data, monkeypatch):
    X, y, T = data
    options = {"kernel": Gaussian(1.5), "alpha": 0.1, "solver": "nystroem", "n_centers": 30, "random_state": 0}
    whole = KernelRidge(**options, fit_intercept=True, device="cpu").fit(X, y)
    monkeypatch.setattr("mercer.gram.torch.stream.FORMS", 10**9)
    monkeypatch.setattr("mercer.gram.torch.stream.LEAST", 37)
    streamed = KernelRidge(**options, fit_intercept=True, device="cpu").fit(X, y)
    np.testing.assert_allclose(streamed.predict(T), whole.predict(T), atol=1e-3)


@pytest.mark.parametrize("solver", ["cholesky", "cg", "spectral", "nystroem"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_posteriors_of_a_device_are_those_of_the_host(solver, fit_intercept, data, monkeypatch):
    monkeypatch.setattr("mercer.solvers.ridge.posterior.inverse.STEPS", 1)  # a few points are iterated for
    X, y, T = data
    options = {"kernel": Gaussian(1.5), "alpha": 0.1, "solver": solver, "random_state": 0}
    options |= {"fit_intercept": fit_intercept, "n_centers": 50 if solver == "nystroem" else None}
    host = KernelRidge(**options).fit(X, y)
    there = KernelRidge(**options).fit(torch.tensor(X), torch.tensor(y))
    close = {"atol": 1e-3 if solver == "nystroem" else 1e-6}
    for points in (T[:5], T):
        std = there.predict(torch.tensor(points), return_std=True)[1]
        assert isinstance(std, torch.Tensor)
        np.testing.assert_allclose(std.numpy(), host.predict(points, return_std=True)[1], **close)
    cov = there.predict(torch.tensor(T), return_cov=True)[1]
    np.testing.assert_allclose(cov.numpy(), host.predict(T, return_cov=True)[1], **close)
    if solver != "nystroem":  # which draws other centres there
        assert there.log_marginal_likelihood_ == pytest.approx(host.log_marginal_likelihood_, rel=1e-6)
    drawn = there.sample(torch.tensor(T), size=3, random_state=0)
    assert drawn.shape == (40, 3)
