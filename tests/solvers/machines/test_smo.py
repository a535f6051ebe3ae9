"""Sequential minimal optimisation: optimality, certificates, and the same answer however it is computed."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize
from sklearn.svm import SVC, SVR

from mercer import Gram, _native
from mercer.kernels import Custom, Gaussian, Linear, Precomputed
from mercer.solvers.machines import matrix as _smo_matrix
from mercer.solvers.machines import rounds as module
from mercer.solvers.machines import smo as _smo
from mercer.solvers.machines.dual import DualProblem, DualSolution
from mercer.solvers.machines.rows import DenseRows, FusedRows, KeptRows, TwiceRows
from mercer.solvers.machines.smo import SMO

MACHINES = ("svc", "svr", "one-class", "nu-svc", "nu-svr")


def data(n=80, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sign(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n))


def fill(upper, total):
    """Return a point of the box [0, upper] whose sum is ``total``, filled from the front."""
    return np.clip(total - np.concatenate([[0.0], np.cumsum(upper)[:-1]]), 0.0, upper)


def machine(name, X, y, C=5.0, nu=0.3):
    """Return points and dual problem of each machine, as the table in mercer.solvers.machines.dual has them."""
    n = len(y)
    if name == "svc":
        return X, DualProblem(y, np.minimum(0, C * y), np.maximum(0, C * y), np.zeros(n))
    if name == "svr":
        return X, DualProblem(X[:, 0] ** 2, np.full(n, -C), np.full(n, C), np.zeros(n), 0.1)
    if name == "one-class":
        return X, DualProblem(np.zeros(n), np.zeros(n), np.ones(n), fill(np.ones(n), nu * n))
    if name == "nu-svc":
        order = np.argsort(-y, kind="stable")
        X, y = X[order], y[order]
        half = int((y > 0).sum())
        start = np.concatenate([fill(np.ones(half), nu * n / 2), -fill(np.ones(n - half), nu * n / 2)])
        return X, DualProblem(np.zeros(n), np.minimum(0, y), np.maximum(0, y), start, second=half)
    both = np.concatenate([fill(np.full(n, C), C * nu * n / 2), -fill(np.full(n, C), C * nu * n / 2)])
    lower, upper = np.repeat([0.0, -C], n), np.repeat([C, 0.0], n)
    return X, DualProblem(np.tile(X[:, 0] ** 2, 2), lower, upper, both, second=n)


def matrix_of(kernel, X, problem):
    K = kernel(X)
    return K if len(K) == problem.n else np.tile(K, (2, 2))


@pytest.mark.parametrize("name", MACHINES)
def test_the_optimality_conditions_hold_for_a_recomputed_gradient(name):
    X, problem = machine(name, *data())
    found = SMO().solve(Gaussian(), X, problem)
    K = matrix_of(Gaussian(), X, problem)
    assert problem.violation(found.beta, K @ found.beta) <= 1.01e-3
    assert found.converged
    assert (found.beta >= problem.lower).all()
    assert (found.beta <= problem.upper).all()
    for group in problem.groups:
        np.testing.assert_allclose(found.beta[group].sum(), problem.start[group].sum(), atol=1e-10)


@pytest.mark.parametrize("name", MACHINES)
def test_the_objective_is_that_of_a_generic_solver(name):
    X, problem = machine(name, *data(24))
    found = SMO(tol=1e-8).solve(Gaussian(), X, problem)
    K = matrix_of(Gaussian(), X, problem)
    # β = p − q with p, q ≥ 0 makes the problem smooth.
    n = problem.n
    signs = np.concatenate([np.ones(n), -np.ones(n)])

    def objective(v):
        beta = v[:n] - v[n:]
        gradient = K @ beta - problem.target
        value = 0.5 * beta @ K @ beta - problem.target @ beta + problem.epsilon * v.sum()
        return value, np.concatenate([gradient, -gradient]) + problem.epsilon

    rows = np.zeros((len(problem.groups), 2 * n))
    for row, group in zip(rows, problem.groups, strict=True):
        row[group], row[n:][group] = 1.0, -1.0
    sums = rows @ np.concatenate([np.maximum(problem.start, 0), np.maximum(-problem.start, 0)])
    bounds = [*zip(np.zeros(n), problem.upper, strict=True), *zip(np.zeros(n), -problem.lower, strict=True)]
    start = np.concatenate([np.maximum(problem.start, 0), np.maximum(-problem.start, 0)])
    best = minimize(objective, start, jac=True, bounds=bounds, method="SLSQP", options={"maxiter": 2000, "ftol": 1e-14},
                    constraints=LinearConstraint(rows, sums, sums))  # fmt: skip
    assert signs.sum() == 0
    np.testing.assert_allclose(-found.dual, best.fun, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", MACHINES)
def test_the_gap_bounds_the_distance_to_the_optimum(name):
    X, problem = machine(name, *data())
    rough, fine = (SMO(tol=tol).solve(Gaussian(), X, problem) for tol in (0.3, 1e-9))
    assert fine.duality_gap < 1e-6
    assert 0 <= fine.dual - rough.dual <= rough.duality_gap + 1e-9
    assert rough.primal >= fine.primal - 1e-9


@pytest.mark.parametrize("C", [1e-5, 0.1, 10.0, 1e5])
def test_the_objective_is_no_worse_than_that_of_libsvm(C):
    X, y = data(150)
    _, problem = machine("svc", X, y, C=C)
    found = SMO().solve(Gaussian(), X, problem)
    peer = SVC(C=C, gamma=0.5).fit(X, y)
    beta = np.zeros(len(y))
    beta[peer.support_] = peer.dual_coef_[0]
    theirs = DualSolution(problem, beta, Gaussian()(X) @ beta, 0, 1e-3)
    assert found.dual >= theirs.dual * (1 - 1e-7) - found.duality_gap  # kernel values are float32
    assert found.relative_gap <= 10 * theirs.relative_gap + 1e-6
    assert found.converged


def test_many_points_are_solved_by_working_sets_as_well_as_at_once(monkeypatch):
    X, y = data(700)
    _, problem = machine("svc", X, y)
    at_once = SMO(tol=1e-6).solve(Gaussian(), X, problem)
    monkeypatch.setattr(module, "LEAST", 32)
    monkeypatch.setattr(module, "MOST", 64)
    rounds = []
    in_sets = SMO(tol=1e-6).solve(Gaussian(), X, problem, lambda *seen: rounds.append(seen))
    assert len(rounds) > 5
    np.testing.assert_allclose(in_sets.dual, at_once.dual, rtol=1e-9)
    np.testing.assert_allclose(in_sets.values, at_once.values, atol=1e-4)


@pytest.mark.parametrize("name", ["svc", "svr", "one-class", "nu-svc"])
def test_leaving_variables_alone_for_a_while_changes_nothing_in_the_end(name, monkeypatch):
    X, problem = machine(name, *data(600), C=2.0)
    monkeypatch.setattr(module, "LEAST", 64)
    monkeypatch.setattr(module, "MOST", 128)
    monkeypatch.setattr(module, "LOOK", 2)
    shrunk = []
    original = module.Run._shrink
    monkeypatch.setattr(
        module.Run, "_shrink", lambda run, rows, active: (shrunk.append(len(active)), original(run, rows, active))
    )
    with_, without = (SMO(tol=1e-4, shrinking=s).solve(Gaussian(), X, problem) for s in (True, False))
    assert shrunk
    assert max(shrunk) < 600
    np.testing.assert_allclose(with_.dual, without.dual, rtol=1e-5, atol=1e-4)
    assert with_.converged


@pytest.mark.parametrize("name", MACHINES)
def test_working_sets_serve_every_machine(name, monkeypatch):
    X, problem = machine(name, *data(120))
    whole = SMO(tol=1e-6).solve(Gaussian(), X, problem)
    monkeypatch.setattr(module, "LEAST", 16)
    monkeypatch.setattr(module, "MOST", 32)
    np.testing.assert_allclose(SMO(tol=1e-6).solve(Gaussian(), X, problem).dual, whole.dual, rtol=1e-8)


def test_the_number_of_threads_changes_nothing(monkeypatch):
    X, y = data(3000)
    _, problem = machine("svc", X, y)
    answers = []
    for threads in (1, 2, 5):
        monkeypatch.setattr("mercer.gram.native.default_threads", lambda t=threads: t)
        for place in (_smo, _smo_matrix):
            monkeypatch.setattr(place, "default_threads", lambda t=threads: t)
        answers.append(SMO().solve(Gaussian(), X, problem).beta)
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])


def test_kernels_in_python_and_precomputed_ones_give_the_same_machine():
    X, y = data(60)
    _, problem = machine("svc", X, y)
    native = SMO(tol=1e-6).solve(Gaussian(), X, problem)
    python = SMO(tol=1e-6).solve(Custom(lambda x, z: float(np.exp(-((x - z) ** 2).sum() / 2))), X, problem)
    given_ = SMO(tol=1e-6).solve(Precomputed(Gaussian()(X)), np.arange(60), problem)
    np.testing.assert_allclose(python.beta, native.beta, atol=1e-3)
    np.testing.assert_allclose(given_.beta, native.beta, atol=1e-3)


def test_many_problems_are_solved_as_one_after_the_other():
    X, _ = data(200)
    rng = np.random.default_rng(1)
    parts = []
    for size in (2, 50, 120, 199):
        index = rng.permutation(200)[:size]
        y = np.where(np.arange(size) % 2, 1.0, -1.0)
        parts.append((index, machine("svc", X[index], y)[1]))
    heard = []
    together = SMO().solve_many(Gaussian(), X, parts, lambda *seen: heard.append(seen))
    for (index, problem), found in zip(parts, together, strict=True):
        alone = SMO().solve(Gaussian(), X[index], problem)
        np.testing.assert_allclose(found.dual, alone.dual, rtol=1e-5)
        assert found.converged
    assert len(heard) == 4
    assert heard[-1][0] == sum(found.n_iter for found in together)


@pytest.mark.parametrize("width", [2, 70])  # rows computed anew, and kept ones
def test_large_problems_are_solved_side_by_side_as_one_after_the_other(width, monkeypatch):
    monkeypatch.setattr(_smo_matrix, "MOST", 20)  # so that these are large
    monkeypatch.setattr(_smo_matrix, "default_threads", lambda: 2)
    monkeypatch.setattr(module, "MOST", 32)
    X = np.random.default_rng(2).normal(size=(160, width))
    parts = []
    for start in range(0, 160, 32):
        index = np.arange(start, min(start + 48, 160))
        parts.append((index, machine("svc", X[index], np.where(X[index, 0] > 0, 1.0, -1.0))[1]))
    kernel = Gaussian(float(np.sqrt(width)))
    assert _smo_matrix.MachineMatrix(kernel, X, 10**9).count_beside([48] * 5) == 2
    assert _smo_matrix.MachineMatrix(kernel, X, 10**9).count_beside([48] * 3) == 1
    assert _smo_matrix.MachineMatrix(kernel, X, 10**4).count_beside([48] * 5) == 1
    for (index, problem), found in zip(parts, SMO().solve_many(kernel, X, parts), strict=True):
        np.testing.assert_allclose(found.dual, SMO().solve(kernel, X[index], problem).dual, rtol=1e-4)
        assert found.converged


def test_unscaled_features_are_solved_in_float64():
    X, y = data(80)
    X = 1e4 * X + 1e5
    found = SMO().solve(Linear(), X, machine("svc", X, y, C=1e-6)[1])
    assert found.converged
    np.testing.assert_allclose(found.values, Linear()(X) @ found.beta, atol=1e-6)
    assert found.relative_gap < 1e-4


def test_limits_stop_the_work_and_the_solution_says_so():
    X, y = data(200)
    _, problem = machine("svc", X, y)
    few = SMO(max_iter=7).solve(Gaussian(), X, problem)
    assert few.n_iter == 7
    assert not few.converged
    none = SMO(max_time=0.0).solve(Gaussian(), X, problem)
    assert not none.converged
    assert none.violation > 1e-3


@pytest.mark.parametrize("many", [False, True])
def test_an_interrupt_ends_the_work(many, monkeypatch):
    monkeypatch.setattr(module, "LEAST", 8)
    monkeypatch.setattr(module, "MOST", 16)
    X, y = data(100)
    _, problem = machine("svc", X, y)

    def stop(n_iter, violation):
        raise KeyboardInterrupt

    solve = SMO().solve_many if many else SMO().solve
    with pytest.raises(KeyboardInterrupt):
        solve(Gaussian(), X, [(np.arange(100), problem)] * 3 if many else problem, stop)


def test_regression_equals_that_of_libsvm():
    X, y = data(150)
    target = X[:, 0] ** 2 + 0.1 * y
    found = SMO(tol=1e-6).solve(Gaussian(), X, DualProblem(target, np.full(150, -3.0), np.full(150, 3.0),
                                                           np.zeros(150), 0.05))  # fmt: skip
    peer = SVR(C=3.0, epsilon=0.05, gamma=0.5, tol=1e-6).fit(X, target)
    np.testing.assert_allclose(found.values + found.intercepts[0], peer.predict(X), atol=1e-4)


@given(st.integers(0, 10_000), st.integers(2, 9))
@settings(max_examples=30, deadline=None)
def test_kept_rows_add_up_like_the_matrix_whatever_the_order(seed, capacity):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2))
    K, gram = Gaussian()(X), Gram(Gaussian(), X, dtype=np.float32)
    kept = KeptRows(gram, capacity * 20 * 4, 1)
    for _ in range(6):
        index = rng.permutation(20)[: rng.integers(1, 20)]
        weights = rng.normal(size=len(index))
        for rows, dtype in ((kept, np.float32), (FusedRows(gram), np.float32), (DenseRows(K, 2), np.float64)):
            out = np.ones(20)
            rows.add(index, weights, out)
            np.testing.assert_allclose(out, 1 + weights @ K[index], atol=1e-5)
            corner = rows.corner(index, np.empty((len(index), len(index)), dtype=dtype))
            np.testing.assert_allclose(corner, K[np.ix_(index, index)], atol=1e-6)
        twice = np.zeros(40)
        both = np.concatenate([index, index + 20])
        TwiceRows(kept, 20).add(both, np.tile(weights, 2), twice)
        np.testing.assert_allclose(twice, np.tile(2 * weights @ K[index], 2), atol=1e-5)


@pytest.mark.parametrize("isa", _native.isas())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 7, 31, 32, 33, 100])
def test_every_instruction_set_solves_the_same_problem(isa, dtype, n):
    X, _ = data(n, seed=3)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    _, problem = machine("svr", X, y)
    K = Gaussian()(X).astype(dtype)
    beta, slope = np.zeros(n), problem.target.copy()
    steps, violation = _native.smo(K, problem.lower, problem.upper, beta, slope, 0.1, n, 1e-6, 100_000, isa)
    assert violation <= 1e-6
    np.testing.assert_allclose(slope, problem.target - K.astype(float) @ beta, atol=1e-9)
    assert problem.violation(beta, problem.target - slope) == pytest.approx(violation)
    assert (steps > 0) == (n > 1)


@pytest.mark.parametrize("isa", _native.isas())
@pytest.mark.parametrize("second", [0, 41, 100])
def test_coarse_steps_leave_exact_slopes_and_fixed_sums(isa, second):
    X, y = data(100, seed=3)
    K = Gaussian()(X).astype(np.float32)
    beta, slope = np.zeros(100), y.copy()
    box = np.minimum(0, 10 * y), np.maximum(0, 10 * y)
    steps, violation = _native.smo(K, *box, beta, slope, 0.0, second, 1e-3, 100_000, isa)
    assert steps > 100
    assert violation <= 1e-3
    np.testing.assert_allclose(slope, y - K.astype(float) @ beta, atol=1e-9)
    np.testing.assert_allclose([beta[:second].sum(), beta[second:].sum()], 0, atol=1e-9)
    assert (box[0] <= beta).all()
    assert (beta <= box[1]).all()


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12, 1e30])
def test_steps_go_on_in_double_where_single_precision_ends(scale):
    X, y = data(60, seed=4)
    K = Gaussian()(X).astype(np.float32)
    beta, slope = np.zeros(60), scale * y
    box = scale * np.minimum(0, 10 * y), scale * np.maximum(0, 10 * y)
    assert _native.smo(K, *box, beta, slope, 0.0, 60, 1e-3 * scale, 100_000)[1] <= 1e-3 * scale
    np.testing.assert_allclose(slope, scale * y - K.astype(float) @ beta, atol=1e-9 * scale)


@pytest.mark.parametrize("seed", [3, 5, 33])
def test_steps_that_go_in_circles_in_single_precision_go_on_in_double(seed):
    rng = np.random.default_rng(seed)  # points of very different size: slopes grow far beyond what they start with
    n, C = 12, 1e4
    X = np.exp(2.6 * rng.standard_normal((n, 1))) * rng.standard_normal((n, 3)) + 100.0
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    K, box = (X @ X.T).astype(np.float32), (np.minimum(0, C * y), np.maximum(0, C * y))
    single, double = (
        _native.smo(matrix, *box, np.zeros(n), y.copy(), 0.0, n, 1e-3, 100_000) for matrix in (K, K.astype(float))
    )
    assert max(single[1], double[1]) <= 1e-3
    assert single[0] <= 3 * double[0] + 3000


def test_limits_count_coarse_steps_too():
    X, y = data(100, seed=3)
    box = np.minimum(0, 10 * y), np.maximum(0, 10 * y)
    beta, slope = np.zeros(100), y.copy()
    assert _native.smo(Gaussian()(X).astype(np.float32), *box, beta, slope, 0.0, 100, 1e-3, 7)[0] == 7


@pytest.mark.skipif(len(_native.isas()) == 1, reason="there is one instruction set only")
def test_the_environment_may_name_a_lesser_instruction_set():
    names = _native.isas()
    code = "from mercer import _native; print(*_native.isas())"
    for wanted, left in ((names[1], names[1:]), ("", names)):
        environment = {**os.environ, "MERCER_ISA": wanted}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.split() == list(left)


def test_an_unknown_instruction_set_in_the_environment_is_an_error_that_lists_the_known_ones():
    environment = {**os.environ, "MERCER_ISA": "avx3"}
    done = subprocess.run(
        [sys.executable, "-c", "import mercer._native"], env=environment, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "'avx3'" in done.stderr
    assert ", ".join(_native.isas()) in done.stderr


def test_the_native_core_refuses_what_does_not_fit():
    K, b = np.eye(3), np.zeros(3)
    with pytest.raises(ValueError, match="shape"):
        _native.smo(K, b[:2], b, b.copy(), b.copy(), 0.0, 3, 1e-3, 10)
    with pytest.raises(ValueError, match="second"):
        _native.smo(K, b, b, b.copy(), b.copy(), 0.0, 4, 1e-3, 10)
    with pytest.raises(ValueError, match=r"0\.\.2"):
        _native.add_kept_rows(K, np.array([3]), np.ones(1), b.copy(), 1)


def test_a_function_in_python_is_called_once_for_each_pair_in_whatever_precision():
    X, _ = data(30)
    calls = []

    def linear(x, z):
        calls.append(1)
        return float(x @ z)

    matrix = _smo_matrix.MachineMatrix(Custom(linear), X, 10**8)
    calls.clear()  # of the diagonal
    single, double = matrix.dense(np.float32), matrix.dense(np.float64)
    assert len(calls) <= 30 * 30
    np.testing.assert_array_equal(single, double.astype(np.float32))
    np.testing.assert_allclose(double, X @ X.T)
