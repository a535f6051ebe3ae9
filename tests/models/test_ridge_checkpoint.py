"""Fits to data in memory that are killed and started again."""

import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.models import KernelRidge, KernelRidgeClassifier
from mercer.solvers import BlockDescent, Problem
from mercer.solvers.products import RATES, Products
from mercer.solvers.ridge.cg import ConjugateGradient
from mercer.solvers.ridge.cholesky import Cholesky
from mercer.solvers.ridge.iteration import Iteration
from mercer.solvers.ridge.preconditioner import Preconditioner
from mercer.stored import checkpoint as module

ALPHA = np.array([0.1])


def make_problem(n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return Problem(Gaussian(), X, np.sin(X[:, :1]) + 0.1 * rng.normal(size=(n, 1)), fit_intercept=True)


class Interruption(BaseException):
    """What a signal raises."""


class Memory:
    """A place for states that keeps every one, and stops the fit at some of them."""

    def __init__(self, stop=None):
        self.states, self.stop, self.is_due = {}, stop, True

    def read(self, key):
        return self.states.get(key)

    def write(self, key, count, total):
        self.states[key] = count, total
        if self.stop is not None and count >= self.stop:
            self.stop = None
            raise Interruption


@pytest.mark.parametrize("stop", [1, 17])
def test_a_resumed_descent_is_the_uninterrupted_one(stop):
    def solve(saves):
        return BlockDescent(block=60, random_state=0, saves=saves).prepare(make_problem()).solve(ALPHA)

    whole, saves = solve(None), Memory(stop)
    with pytest.raises(Interruption):
        solve(saves)
    resumed = solve(saves)
    np.testing.assert_array_equal(resumed.coef, whole.coef)
    assert (resumed.n_iter, resumed.residual) == (whole.n_iter, whole.residual)


def test_a_resumed_iteration_of_conjugate_gradients_is_the_uninterrupted_one():
    problem = make_problem()

    def begin():
        products = Products(problem)
        P = Preconditioner(products.gram, problem.noise, 20, np.random.default_rng(0))
        return Iteration(products, P, problem.y, problem.noise, ALPHA, True, 1e-6)

    whole, first = begin(), begin()
    for _ in range(9):
        first.step()
    first.certify()
    state = first.snapshot()
    second = begin()
    second.restore(state)
    for _ in range(9):
        whole.step()
    whole.certify()
    for _ in range(6):
        assert whole.step() == second.step()
    whole.certify()
    second.certify()
    np.testing.assert_array_equal(whole.coef, second.coef)
    assert whole.residual == second.residual


@pytest.mark.parametrize("stop", [1, 12])
def test_conjugate_gradients_that_were_stopped_go_on_to_the_same_digits(stop):
    def solve(saves):
        solver = ConjugateGradient(rank=3, random_state=0, saves=saves)
        return solver.prepare(make_problem()).solve(ALPHA)

    whole, saves = solve(None), Memory(stop)
    assert whole.n_iter > 12
    with pytest.raises(Interruption):
        solve(saves)
    resumed = solve(saves)
    np.testing.assert_array_equal(resumed.coef, whole.coef)
    assert (resumed.n_iter, resumed.residual) == (whole.n_iter, whole.residual)


def grow_at_once(monkeypatch):
    """Let preconditioners of few pivots grow whenever somebody looks."""
    monkeypatch.setitem(RATES, "host", replace(RATES["host"], first_rank=0.5, flops=1e20))


def test_preconditioners_that_had_grown_do_so_again(monkeypatch):
    grow_at_once(monkeypatch)

    def prepare(saves):
        return ConjugateGradient(random_state=0, saves=saves).prepare(make_problem())

    first, last = prepare(None), prepare(Memory(stop=21))
    begun, whole = first.preconditioner.rank, first.solve(ALPHA)
    with pytest.raises(Interruption):
        last.solve(ALPHA)
    assert last.preconditioner.rank > begun
    resumed = prepare(last.solver.saves).solve(ALPHA)
    np.testing.assert_array_equal(resumed.coef, whole.coef)
    assert resumed.n_iter == whole.n_iter


def test_states_of_another_preconditioner_are_taken_up_without_its_directions():
    saves = Memory(stop=6)
    with pytest.raises(Interruption):
        ConjugateGradient(rank=3, random_state=0, saves=saves).prepare(make_problem()).solve(ALPHA)
    counts = []
    other = ConjugateGradient(
        rank=5, random_state=1, saves=saves, on_iteration=lambda count, _: counts.append(count)
    ).prepare(make_problem())
    truth = Cholesky().prepare(make_problem()).solve(0.1)
    np.testing.assert_allclose(other.solve(ALPHA).coef, truth.coef, atol=1e-5)
    assert counts[0] == 7


SCRIPT = """
import os, signal, sys
import numpy as np
from mercer.kernels import Gaussian
from mercer.models import KernelRidge
from mercer.stored import checkpoint
checkpoint.EVERY = 0.0
rng = np.random.default_rng(0)
X = rng.normal(size=(900, 3)); y = np.sin(X[:, 0])
write, count = checkpoint.Checkpoint.write, 0
def kill(self, *given):
    global count
    write(self, *given); count += 1
    if count == 5:
        os.kill(os.getpid(), signal.SIGKILL)
checkpoint.Checkpoint.write = kill
KernelRidge(0.1, kernel=Gaussian(), solver=sys.argv[2]).fit(X, y, checkpoint=sys.argv[1])
"""


@pytest.mark.cluster
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal here")
@pytest.mark.parametrize("solver", ["blocks", "cg"])
def test_a_fit_that_was_killed_goes_on_and_leaves_nothing(solver, tmp_path, monkeypatch):
    source = str(Path(module.__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(tmp_path), solver]
    done = subprocess.run(command, env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(tmp_path.glob(".mercer-fit-*/*.sum"))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = np.sin(X[:, 0])
    seen = []
    read = module.Checkpoint.read
    monkeypatch.setattr(module.Checkpoint, "read", lambda self, key: seen.append(read(self, key)) or seen[-1])
    model = KernelRidge(0.1, kernel=Gaussian(), solver=solver)
    other = KernelRidge(0.2, kernel=Gaussian(), solver=solver).fit(X, y, checkpoint=tmp_path)
    assert seen == [None]  # the states of another penalty are another fit's
    model.fit(X, y, checkpoint=tmp_path)
    assert seen[1][0] == 5
    assert not list(tmp_path.iterdir())
    assert model.random_state is None
    assert other.converged_
    truth = KernelRidge(0.1, kernel=Gaussian(), solver="cholesky").fit(X, y)
    np.testing.assert_allclose(model.predict(X), truth.predict(X), atol=1e-4)


@pytest.mark.parametrize("solver", ["blocks", "cg", "cholesky"])
def test_classifiers_and_solvers_without_states_take_a_folder_too(solver, tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 2))
    model = KernelRidgeClassifier(0.1, kernel=Gaussian(), solver=solver).fit(
        X, X[:, 0] > 0, checkpoint=tmp_path / "new"
    )
    assert model.score(X, X[:, 0] > 0) > 0.9
    assert not list((tmp_path / "new").iterdir())


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(NotADirectoryError, match="is no folder"):
        KernelRidge().fit([[1.0], [2.0]], [1.0, 2.0], checkpoint=tmp_path / "taken")
