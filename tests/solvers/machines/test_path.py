"""Paths of support vector machines: the same solutions as one machine at a time, wherever they are computed."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import Custom, Gaussian, Linear, Precomputed
from mercer.solvers.machines import path as module
from mercer.solvers.machines.dual import DualProblem
from mercer.solvers.machines.path import Lane, solve_paths
from mercer.solvers.machines.smo import SMO

PENALTIES = [0.1, 1.0, 3.0, 100.0]
TIGHT = SMO(tol=1e-6)


def data(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sign(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n))


def problem_of(name, X, y, weights=None):
    weights = np.ones(len(y)) if weights is None else weights
    if name == "svr":
        return DualProblem(X[:, 0] ** 2, -weights, weights, np.zeros(len(y)), 0.05)
    return DualProblem(y, np.minimum(0, y * weights), np.maximum(0, y * weights), np.zeros(len(y)))


def lane_of(name, X, y, index, weights=None):
    index = np.asarray(index)
    held = np.setdiff1d(np.arange(len(y)), index)
    return Lane(index, held, problem_of(name, X[index], y[index], weights))


def at(problem, C):
    return DualProblem(problem.target, C * problem.lower, C * problem.upper, problem.start, problem.epsilon)


def alone(kernel, X, lane, C, solver=TIGHT):
    """The machine fitted to its own points only, from 0, and its values at the others by the definition of f."""
    found = solver.solve(kernel, X[lane.index], at(lane.problem, C))
    return found, kernel(X[lane.held], X[lane.index]) @ found.beta + found.intercepts[0]


# Most points are solved on the whole matrix, few on a corner of it, and without memory each lane by itself.
PLACES = {"whole": (range(10, 90), None), "corner": (range(50, 90), None), "apart": (range(10, 90), 100_000)}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["svc", "svr"])
def test_every_cell_is_the_machine_fitted_to_its_points_alone(name, place, monkeypatch):
    X, y = data()
    index, memory = PLACES[place]
    index = np.random.default_rng(1).permutation(index)
    lane = lane_of(name, X, y, index, np.random.default_rng(2).uniform(0.3, 2.0, len(index)))
    kernels = [Gaussian(0.7), Gaussian(2.0)]
    visited = []
    for cls in (module._Shared, module._Apart):
        original = cls.solve

        def solve(self, *args, _original=original, **kwargs):
            visited.append({True: "whole", False: "corner"}.get(getattr(self, "whole", None), "apart"))
            return _original(self, *args, **kwargs)

        monkeypatch.setattr(cls, "solve", solve)
    found = list(solve_paths(SMO(tol=1e-6, memory=memory), kernels, X, [lane], PENALTIES))
    assert set(visited) == {place}
    for kernel, (cells,) in zip(kernels, found, strict=True):
        for C, cell in zip(PENALTIES, cells, strict=True):
            cold, values = alone(kernel, X, lane, C)
            assert cell.converged
            np.testing.assert_allclose(cell.values, values, atol=1e-4)
            # Both are below the maximum by their gaps at most; rounding of the kernel comes on top.
            slack = cell.duality_gap + cold.duality_gap + 1e-6 * max(1.0, abs(cold.dual))
            assert abs(cell.dual - cold.dual) <= slack


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6), n=st.integers(6, 40), share=st.floats(0.3, 0.9), scale=st.floats(0.2, 5.0),
    penalties=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=5).map(sorted), name=st.sampled_from(["svc", "svr"]),
)  # fmt: skip
def test_warm_starts_reach_the_same_objective_as_cold_ones(seed, n, share, scale, penalties, name):
    X, y = data(n, seed)
    y[:2] = 1.0, -1.0
    lane = lane_of(name, X, y, np.arange(max(2, int(share * n))))
    ((cells,),) = solve_paths(SMO(), [Gaussian(scale)], X, [lane], penalties)
    for C, cell in zip(penalties, cells, strict=True):
        cold, _ = alone(Gaussian(scale), X, lane, C, SMO())
        assert cell.converged
        slack = cell.duality_gap + cold.duality_gap + 1e-5 * max(1.0, abs(cold.dual), C)
        assert abs(cell.dual - cold.dual) <= slack


def test_permuting_lanes_changes_nothing():
    X, y = data()
    lanes = [lane_of("svc", X, y, np.flatnonzero(np.arange(90) % 5 != k)) for k in range(5)]
    lanes.append(lane_of("svc", X, y, np.arange(20)))
    (one,), (other,) = (list(solve_paths(SMO(), [Gaussian()], X, chosen, PENALTIES)) for chosen in (lanes, lanes[::-1]))
    for path, same in zip(one, other[::-1], strict=True):
        for cell, again in zip(path, same, strict=True):
            np.testing.assert_array_equal(cell.values, again.values)
            assert cell.n_iter == again.n_iter


def test_a_large_penalty_takes_values_in_float64_where_float32_cannot_reach_the_tolerance(monkeypatch):
    X, y = data()
    asked = []
    original = module.MachineMatrix.dense
    monkeypatch.setattr(module.MachineMatrix, "dense", lambda self, dtype: asked.append(dtype) or original(self, dtype))
    lane = lane_of("svc", X, y, np.arange(60))
    ((cells,),) = solve_paths(SMO(tol=1e-5), [Gaussian()], X, [lane], [0.1, 1e4])
    assert {np.float32, np.float64} <= set(asked)
    for C, cell in zip([0.1, 1e4], cells, strict=True):
        np.testing.assert_allclose(cell.values, alone(Gaussian(), X, lane, C)[1], atol=2e-3)
        assert cell.converged


def test_a_matrix_and_a_function_of_objects_are_evaluated_once():
    X, y = data(40)
    calls = []

    def linear(a, b):
        calls.append(1)
        return float(a @ b)

    lanes = [lane_of("svc", X, y, np.flatnonzero(np.arange(40) % 4 != k)) for k in range(4)]
    (expected,) = solve_paths(TIGHT, [Linear()], X, lanes, [0.1, 1.0])
    (function,) = solve_paths(TIGHT, [Custom(linear)], list(X), lanes, [0.1, 1.0])
    assert len(calls) <= 40**2 + 40  # all pairs, and the diagonal for its size
    (matrix,) = solve_paths(TIGHT, [Precomputed(X @ X.T)], np.arange(40), lanes, [0.1, 1.0])
    for path, other, third in zip(expected, function, matrix, strict=True):
        for cell, same, again in zip(path, other, third, strict=True):
            np.testing.assert_allclose(same.values, cell.values, atol=1e-5)
            np.testing.assert_allclose(again.values, cell.values, atol=1e-5)


def test_limits_are_reported_and_not_hidden():
    X, y = data()
    lane = lane_of("svc", X, y, np.arange(60))
    ((steps,),) = solve_paths(SMO(max_iter=3), [Gaussian()], X, [lane], PENALTIES)
    assert not any(cell.converged for cell in steps)
    assert all(cell.n_iter == 3 for cell in steps)
    ((late,),) = solve_paths(SMO(max_time=1e-9), [Gaussian()], X, [lane], PENALTIES)
    assert not any(cell.converged for cell in late)
    assert all(cell.duality_gap > 0 for cell in late)


def test_a_failure_in_one_machine_is_raised_and_ends_the_others():
    X, y = data()
    before = threading.active_count()
    lane = lane_of("svc", X, y, np.arange(60))

    def broken(a, b):
        if a is not b:  # so that machines find it, in their threads
            raise RuntimeError("no value")
        return 1.0

    with pytest.raises(ValueError, match="no value"):
        list(solve_paths(SMO(), [Custom(broken)], list(X), [lane] * 5, PENALTIES))
    paths = solve_paths(SMO(), [Gaussian(s) for s in (0.5, 1.0, 2.0)], X, [lane] * 5, PENALTIES)
    next(paths)
    paths.close()  # as an interrupted caller does
    assert threading.active_count() == before
