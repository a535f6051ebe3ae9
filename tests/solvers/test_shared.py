"""Rows of K that several places share."""

from dataclasses import replace

import numpy as np
import pytest

from mercer import Gram
from mercer.arrays.tensors import DeviceError
from mercer.kernels import Gaussian, Polynomial
from mercer.models import (
    SVC,
    KernelKMeans,
    KernelPCA,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    ParzenClassifier,
)
from mercer.solvers import BlockDescent, Problem
from mercer.solvers import shared as shared_module
from mercer.solvers.products import Products
from mercer.solvers.ridge.cg import ConjugateGradient
from mercer.solvers.shared import SharedProducts


def make_problem(device=None, n=101):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return Problem(Gaussian(1.2), X, np.sin(X[:, :2]), device=device)


@pytest.mark.parametrize("places", [[None], [None] * 2, [None] * 7])
def test_shared_products_are_those_of_one_place(places):
    problem, V = make_problem(), np.random.default_rng(1).normal(size=(101, 2))
    alone, shared = Products(problem), SharedProducts(problem, places)
    index = np.array([3, 50, 51, 100])
    np.testing.assert_allclose(shared.exact(V), alone.exact(V), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(shared.fast(V), alone.fast(V), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(shared.fast_rows(index, V), alone.exact(V)[index], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(shared.fast(V), alone.exact(V), rtol=1e-4, atol=1e-4)
    shared.give_up_single()
    np.testing.assert_allclose(shared.fast_rows(index, V), alone.exact(V)[index], rtol=1e-12, atol=1e-12)


def test_fewer_rows_than_places_are_shared_too():
    shared = SharedProducts(make_problem(n=3), [None] * 5)
    np.testing.assert_allclose(shared.exact(np.eye(3)), Gaussian(1.2)(make_problem(n=3).X), rtol=1e-12)
    assert shared.fast_rows(np.array([2]), np.eye(3)).shape == (1, 3)


def test_values_beyond_float32_are_shared_in_float64():
    problem = Problem(Polynomial(40, 1.0), np.full((4, 1), 30.0), np.zeros((4, 1)))
    shared = SharedProducts(problem, [None, None])
    assert np.isfinite(shared.fast_rows(np.array([0, 3]), np.ones((4, 1)))).all()
    assert not shared.single


def test_conjugate_gradients_take_shared_products():
    problem, alpha = make_problem(), np.array([0.1, 0.1])
    solver = ConjugateGradient(rank=5, random_state=0, devices=[None, None])
    prepared = solver.prepare(problem)
    assert isinstance(prepared.products, SharedProducts)
    alone = replace(solver, devices=None).prepare(problem).solve(alpha)
    shared = prepared.solve(alpha)
    assert shared.converged
    np.testing.assert_allclose(shared.coef, alone.coef, atol=1e-4)


@pytest.mark.parametrize("solver", ["cg", "blocks"])
def test_models_hand_several_devices_to_solvers_that_iterate(solver, monkeypatch):
    made = []
    monkeypatch.setattr(shared_module, "SharedProducts", lambda *given: made.append(given[1]) or Products(given[0]))
    X = make_problem().X
    for model in (KernelRidge(kernel="rbf"), KernelRidgeClassifier(1.0)):
        model.set_params(solver=solver, device=[None, None], random_state=0).fit(X, np.sign(X[:, 0])).predict(X)
    assert made == [[None, None]] * 2


@pytest.mark.parametrize(
    "model", [KernelRidgeCV(), SVC(), KernelKMeans(2), KernelPCA(), ParzenClassifier()], ids=lambda m: type(m).__name__
)
def test_models_that_share_nothing_refuse_several_devices(model):
    X = make_problem().X
    with pytest.raises(DeviceError, match=r"\['cuda:0', 'cuda:1'\] names several devices.*give one, such as"):
        model.set_params(device=["cuda:0", "cuda:1"]).fit(X, (X[:, 0] > 0).astype(int)).predict(X)


def test_matrices_and_clusters_refuse_several_devices_too():
    X = make_problem().X
    with pytest.raises(DeviceError, match="several devices"):
        Gram(Gaussian(), X, device=["cpu", "cpu"])
    da = pytest.importorskip("dask.array")
    with pytest.raises(DeviceError, match="several devices"):
        KernelRidge(device=["cpu", "cpu"]).fit(da.from_array(X), da.from_array(X[:, 0]))


def test_no_device_is_refused():
    with pytest.raises(ValueError, match="at least one device"):
        SharedProducts(make_problem(), [])


@pytest.mark.torch
def test_two_devices_fit_what_one_does():
    torch = pytest.importorskip("torch")
    alpha, options = np.array([0.1, 0.1]), {"block": 40, "random_state": 0}
    problem = make_problem(torch.device("cpu"))
    one = BlockDescent(**options).prepare(problem).solve(alpha)
    two = BlockDescent(**options, devices=["cpu", "cpu"]).prepare(problem).solve(alpha)
    host = BlockDescent(**options).prepare(make_problem()).solve(alpha)
    for found in (two, host):
        np.testing.assert_allclose(found.coef, one.coef, atol=1e-5)
    X, y = problem.X, problem.y[:, 0]
    truth = KernelRidge(0.1, kernel=Gaussian(1.2), solver="cholesky").fit(X, y)
    for solver in ("cg", "blocks"):
        model = KernelRidge(0.1, kernel=Gaussian(1.2), solver=solver, device=["cpu", "cpu"], random_state=0)
        np.testing.assert_allclose(model.fit(X, y).predict(X), truth.predict(X), atol=1e-5)
