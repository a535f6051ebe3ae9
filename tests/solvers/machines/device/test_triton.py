"""The Triton kernels of support vector machines do what the compiled core does: on CUDA, or in Triton's interpreter.

The interpreter must be switched on before Triton is loaded, so these tests run in a process of their own:
``TRITON_INTERPRET=1 python -m pytest tests/solvers/machines/device/test_triton.py``.
"""

import os
from dataclasses import replace

import numpy as np
import pytest

from mercer.arrays.place import Place
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge
from mercer.solvers.machines.problems import Priced, SharedMargin
from mercer.solvers.machines.smo import SMO

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = torch.device("cuda" if torch.cuda.is_available() and not INTERPRETED else "cpu")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(DEVICE.type == "cpu" and not INTERPRETED, reason="needs CUDA or TRITON_INTERPRET=1"),
]

from mercer.solvers.machines.device import rows as _smo_rows  # noqa: E402
from mercer.solvers.machines.device.inner import WorkingSets, native_sets, triton_sets  # noqa: E402
from mercer.solvers.machines.device.smo import solve_on_device  # noqa: E402

SIZE = 16


def tensor(values, dtype=torch.float64):
    return torch.tensor(np.asarray(values), dtype=dtype, device=DEVICE)


def working_sets(kind, dtype, most):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(2, SIZE, 3))
    K = np.exp(-((points[:, :, None] - points[:, None]) ** 2).sum(-1))
    signs = np.sign(rng.normal(size=(2, SIZE)))
    lower, upper = (
        (np.minimum(5 * signs, 0), np.maximum(5 * signs, 0)) if kind == "svc" else (0 * signs - 5, 0 * signs + 5)
    )
    beta, cut, epsilon = np.zeros((2, SIZE)), [SIZE, SIZE], [0.0, 0.0]
    if kind == "svr":
        epsilon = [0.1, 0.3]
    if kind == "groups":
        beta, cut = rng.uniform(-5, 5, size=(2, SIZE)), [8, 11]
    lower[1, -3:] = upper[1, -3:] = beta[1, -3:] = 0.0  # padding
    slope = signs - np.einsum("bij,bj->bi", K, beta)
    return WorkingSets(
        tensor(K, dtype), *map(tensor, (lower, upper, beta, slope, epsilon)), tensor(cut, torch.int32),
        tensor([1e-3, 1e-2]), tensor(most, torch.int32), kind == "groups",
    )  # fmt: skip


def test_a_kernel_of_any_size_takes_the_same_steps():
    sets, s = working_sets("svc", torch.float64, [1000, 1000]), 2.0**60
    small = replace(
        sets, K=sets.K / s, lower=s * sets.lower, upper=s * sets.upper, beta=s * sets.beta
    )  # slopes stay as they are
    (one, steps), (two, same) = triton_sets(sets), triton_sets(small)
    assert steps.tolist() == same.tolist()
    np.testing.assert_array_equal((s * one).cpu().numpy(), two.cpu().numpy())


def objective(sets, beta):
    """½βᵀKβ − tᵀβ + ε‖β‖₁ of each set."""
    K, start = sets.K.double(), sets.beta
    target = sets.slope + torch.einsum("bij,bj->bi", K, start)
    quadratic = 0.5 * torch.einsum("bi,bij,bj->b", beta, K, beta)
    return quadratic - (target * beta).sum(1) + sets.epsilon * beta.abs().sum(1)


@pytest.mark.parametrize("kind", ["svc", "svr", "groups"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_working_sets_are_solved_as_by_the_compiled_core(kind, dtype):
    # A step leaves two slopes equal up to rounding, so that which of them is taken next may differ.
    sets = working_sets(kind, dtype, [300, 4])
    beta, steps = triton_sets(sets)
    reference, count = native_sets(sets)
    values, expected = objective(sets, beta), objective(sets, reference)
    assert steps[1] == count[1] == 4
    assert 4 < steps[0] < 300
    assert float(values[0]) == pytest.approx(float(expected[0]), abs=1e-4)
    assert bool((values < objective(sets, sets.beta)).all())
    assert bool(((sets.lower <= beta) & (beta <= sets.upper)).all())
    for b, cut in enumerate(sets.cut.tolist()):
        for group in (slice(0, cut), slice(cut, SIZE)):
            assert float(beta[b, group].sum()) == pytest.approx(float(sets.beta[b, group].sum()), abs=1e-12)
    assert bool((beta[1, -3:] == 0).all())


@pytest.mark.parametrize("kind", ["svc", "svr", "groups"])
def test_the_first_step_is_that_of_the_compiled_core(kind):
    sets = working_sets(kind, torch.float64, [1, 1])
    torch.testing.assert_close(triton_sets(sets)[0], native_sets(sets)[0], rtol=1e-12, atol=1e-12)


def test_no_step_is_taken_where_none_is_allowed_or_wanted():
    sets = working_sets("svc", torch.float32, [0, 0])
    beta, steps = triton_sets(sets)
    assert steps.tolist() == [0, 0]
    assert bool((beta == sets.beta).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weighted_rows_are_those_of_torch(dtype, monkeypatch):
    rng = np.random.default_rng(0)
    matrix = tensor(rng.normal(size=(40, 50)), dtype)
    rows, columns = (tensor(rng.integers(high, size=(3, count)), torch.int64) for high, count in ((40, 35), (50, 150)))
    weights = tensor(rng.normal(size=(3, 35)) * (rng.random((3, 35)) < 0.6))
    weights[2] = 0.0
    ours, reference = torch.ones(2, 3, 150, dtype=torch.float64, device=DEVICE)
    _smo_rows.add_rows(matrix, rows, columns, weights, ours)
    monkeypatch.setattr(_smo_rows, "fusable", lambda device: False)
    _smo_rows.add_rows(matrix, rows, columns, weights, reference)
    torch.testing.assert_close(ours, reference, rtol=1e-12, atol=1e-12)
    assert bool((ours[2] == 1).all())


def test_machines_are_solved_from_beginning_to_end():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2))
    signs = np.repeat([1.0, -1.0], 12)
    X += 0.7 * signs[:, None]
    everything, few = np.arange(24), np.arange(4, 20)
    parts = [
        (everything, Priced(Hinge(), 1.0).problem(signs, np.ones(24))),
        (few, Priced(EpsilonInsensitive(0.1), 1.0).problem(X[few, 0], np.ones(16))),
        (everything, SharedMargin(0.5).problem(signs, np.ones(24))),
    ]
    solver = SMO(tol=1e-2)
    ours = solve_on_device(solver, Place.find(DEVICE, None), Gaussian(1.0), X, parts, size=SIZE)
    for found, part in zip(ours, parts, strict=True):
        (host,) = solver.solve_many(Gaussian(1.0), X, [part])
        assert found.violation <= 1e-2
        assert found.dual == pytest.approx(host.dual, rel=1e-2, abs=1e-2)
