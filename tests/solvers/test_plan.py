"""The plan: which solver, why, and at what cost."""

from contextlib import suppress

import numpy as np
import pytest

from mercer import MemoryBudgetError
from mercer.kernels import Custom, FromFeatures, Gaussian, Linear, Polynomial, Precomputed
from mercer.models import KernelRidge
from mercer.solvers.base import Problem
from mercer.solvers.costs import HOST, Sizes
from mercer.solvers.plan import SOLVERS, SPECTRAL_LIMIT, Comparison, make_solver, plan, plan_problem

from ..page import read_page


@pytest.mark.parametrize(
    ("kernel", "n", "options", "solver"),
    [
        (Polynomial(2), 200_000, {}, "primal"),
        (Linear(), 10, {}, "cholesky"),  # as many features as points: nothing is gained
        (Gaussian(), 5_000, {"loo": True}, "cholesky"),
        (Gaussian(), 5_000, {"alphas": 2}, "cholesky"),
        (Gaussian(), 5_000, {"alphas": 20, "loo": True}, "spectral"),
        (Gaussian(), 5_000, {}, "cholesky"),
        (Gaussian(), 20_000, {}, "partial"),
        (Gaussian(), 60_000, {}, "cg"),
        (Gaussian(), 60_000, {"loo": True}, "nystroem"),
        (Gaussian(), 10_000_000, {}, "nystroem"),
        (Polynomial(4), 200_000, {"memory": "8GB"}, "primal"),  # 10,626 features are many, but all pairs are more
        (Polynomial(4), 200_000, {"memory": "2GB"}, "cg"),
    ],
)
def test_the_ladder_goes_by_features_path_memory_and_time(monkeypatch, kernel, n, options, solver):
    monkeypatch.setattr("mercer.solvers.costs.default_threads", lambda: 8)
    d = 20 if isinstance(kernel, Polynomial) else 10
    chosen = plan(kernel, n, d, **{"memory": "4GB", **options})
    assert chosen.solver == solver
    assert 0 < chosen.memory <= 8e9
    assert chosen.flops > 0
    assert chosen.seconds > 0


def test_every_choice_fits_its_budget():
    for n in (10, 1_000, 30_000, 1_000_000):
        for memory in (10**8, 10**9, 10**10):
            for loo in (False, True):
                assert plan(Gaussian(), n, 5, memory=memory, loo=loo).memory <= memory


def test_a_plan_reads_as_a_sentence():
    text = str(plan(Gaussian(), 3_000, 8, memory="4GB"))  # few enough points for any number of processors
    assert text.startswith("cholesky, because the 3000 × 3000 matrix in float32 fits into the budget of 4.0 GB")
    assert "103.5 MB" in text


def test_objects_without_columns_are_never_primal():
    assert plan(FromFeatures(lambda x: [1.0, len(x)]), 100, None).solver == "cholesky"
    assert plan(Custom(max), 100, None).solver == "cholesky"


def test_a_solver_that_is_asked_for_is_taken():
    for solver in SOLVERS:
        assert plan(Linear(), 100, 3, solver=solver).solver == solver


def test_a_solver_that_does_not_fit_is_refused_with_what_would():
    with pytest.raises(MemoryBudgetError, match=r"needs 60\.0 GB.*budget is 500\.0 MB; solver='cg' would fit.*points"):
        plan(Gaussian(), 50_000, 20, memory="500MB", solver="spectral")
    with pytest.raises(MemoryBudgetError, match=r"solver='cholesky' for 50000 points needs"):
        plan(Gaussian(), 50_000, 20, memory="500MB", solver="cholesky")


def test_a_budget_too_small_for_anything_is_refused_with_the_number_needed():
    with pytest.raises(MemoryBudgetError, match=r"a fit of 50000 points needs at least .* budget is 1\.0 MB"):
        plan(Gaussian(), 50_000, 20, memory="1MB")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be a whole number"),
        ({"n": 2.5}, "n must be a whole number"),
        ({"d": 0}, "d must be a whole number"),
        ({"alphas": 0}, "alphas must be"),
        ({"solver": "magic"}, "solver must be 'auto' or one of"),
        ({"solver": "primal"}, "finitely many explicit features"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        plan(Gaussian(), **{"n": 100, "d": 3, **arguments})


def test_a_problem_without_a_penalty_is_left_to_solvers_that_take_none():
    X = np.arange(12.0).reshape(6, 2)
    y, one = np.ones((6, 1)), np.ones(1)
    assert plan_problem(Problem(Gaussian(), X, y), one).solver == "cholesky"
    assert "singular" in plan_problem(Problem(Gaussian(), X, y), 0 * one).reason
    assert plan_problem(Problem(Linear(), X, y), 0 * one).solver == "primal"
    # A kernel without a proof may well have a factor; the ladder goes on to eigenvalues if it has none.
    assert plan_problem(Problem(Custom(np.dot), X, y), one).solver == "cholesky"
    assert plan_problem(Problem(Linear(), X, y), 0 * one, "cholesky").solver == "cholesky"
    assert plan_problem(Problem(Precomputed(np.eye(6)), np.arange(6), y), one).solver == "cholesky"


@pytest.mark.parametrize("name", SOLVERS)
def test_every_name_makes_its_solver(name):
    assert make_solver(name, random_state=0).name == name


def test_many_points_with_a_large_penalty_are_left_to_conjugate_gradients():
    X, y = np.zeros((9000, 8)), np.zeros((9000, 1))
    problem = Problem(4.0 * Gaussian(), X, y)
    assert plan_problem(problem, np.array([1.0])).solver == "cg"
    assert plan_problem(problem, np.array([0.01])).solver == "partial"
    assert plan_problem(problem, np.array([1e-5])).solver == "cholesky"
    assert plan_problem(problem, np.array([1.0]), loo=True).solver == "cholesky"
    assert plan_problem(problem, np.array([1.0]), "cholesky").solver == "cholesky"
    weighted = Problem(4.0 * Gaussian(), X, y, weights=np.full(9000, 100.0))
    assert plan_problem(weighted, np.array([1.0])).solver == "partial"
    assert plan_problem(Problem(Custom(np.dot), X, y), np.array([1.0])).solver == "cholesky"


def test_the_smaller_the_penalty_the_more_iterations_are_expected():
    X, y = np.zeros((20_000, 8)), np.zeros((20_000, 1))
    problem = Problem(3.0 * Gaussian(), X, y, memory=8 * 10**9)
    plans = [plan_problem(problem, np.array([3.0 * share]), "cg") for share in (1.0, 1e-1, 1e-2, 1e-3, 1e-6, 1e-30)]
    steps = [plan.steps for plan in plans]
    assert steps == sorted(steps)
    assert steps[1:4] == [25, 63, 158]
    assert [plan.seconds for plan in plans] == sorted(plan.seconds for plan in plans)
    assert plan_problem(problem, np.array([0.3])).solver == "cg"
    assert plan_problem(problem, np.array([3e-6])).solver == "cholesky"
    assert plan_problem(problem, np.array([0.3]), "cholesky").steps == 0


@pytest.mark.parametrize("n", [9_000, 20_000, 36_000, 57_000, 500_000])
@pytest.mark.parametrize("budget", [20 * 10**9, 100 * 10**9])
def test_blocks_of_a_device_wait_for_each_other_and_are_left_to_those_who_ask(n, budget):
    choice = Comparison(Sizes(n, 8, np.inf, 1, 1, budget, loo=False, native=True, share=1e-3, on_host=False))
    assert choice.best().solver in ("cholesky", "cg")
    assert choice.costs["blocks"].seconds > 10 * choice.costs["cg"].seconds


def test_wide_data_with_a_large_penalty_is_stored_in_part_and_iterated_on():
    X, y, alpha = np.zeros((13_500, 26)), np.zeros((13_500, 1)), np.array([0.1])
    enough = plan_problem(Problem(Gaussian(4.0), X, y, memory=4 * 10**9), alpha)
    assert enough.solver == "cg"
    assert enough.memory > 2 * 13_500**2  # half of the matrix in float32
    tight = plan_problem(Problem(Gaussian(4.0), X, y, memory=10**9), alpha)
    assert tight.memory <= 10**9


def test_centres_that_are_given_are_what_a_plan_counts():
    few, many = (plan(Gaussian(), 10**6, 10, solver="nystroem", n_centers=m, memory="4GB") for m in (100, 1000))
    assert 50 < many.flops / few.flops < 100  # n m² and the kernel values, which are n m
    assert plan(Gaussian(), 50, 10, solver="nystroem", n_centers=1000).flops < 1e7  # no more centres than points
    with pytest.raises(ValueError, match="n_centers must be a whole number of at least 1, got 0"):
        plan(Gaussian(), 100, 10, n_centers=0)


def exact_plans(kernel, n, d, options):
    """Return the plan of each exact solver that fits, by its own estimate."""
    found = {}
    for name in ("primal", "spectral", "cholesky", "partial", "cg"):
        if name in ("partial", "cg") and options.get("loo"):
            continue  # they have no leave-one-out residuals
        with suppress(ValueError, MemoryBudgetError):
            found[name] = plan(kernel, n, d, solver=name, **options)
    return found


@pytest.mark.parametrize("memory", ["100MB", "2GB", "64GB"])
@pytest.mark.parametrize("alphas", [1, 2, 20, 200])
@pytest.mark.parametrize("outputs", [1, 10])
@pytest.mark.parametrize("loo", [False, True])
def test_no_exact_solver_is_much_quicker_by_the_plans_own_estimate(memory, alphas, outputs, loo):
    options = {"memory": memory, "alphas": alphas, "outputs": outputs, "loo": loo}
    for n in (10, 300, 999, 1_001, 5_000, 5_001, 30_000, 200_000, 3_000_000):
        for kernel, d in ((Gaussian(), 1), (Gaussian(), 500), (Linear(), 3), (Linear(), 990), (Polynomial(3), 17)):
            others = exact_plans(kernel, n, d, options)
            try:
                chosen = plan(kernel, n, d, **options)
            except MemoryBudgetError:
                assert not others
                continue
            if chosen.solver == "nystroem":  # only where nothing exact fits, or all of it would take too long
                assert all(other.seconds > HOST.patience for other in others.values())
            else:
                assert chosen.seconds <= 2 * min(other.seconds for other in others.values())
                assert chosen.solver in others


def test_alpha_zero_is_solved_in_explicit_features_however_many_points_there_are():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(SPECTRAL_LIMIT + 1000, 2))
    y = X @ [1.0, -2.0] + 0.1 * rng.normal(size=len(X))
    with pytest.warns(UserWarning, match="least-squares fit of smallest norm"):
        model = KernelRidge(0.0, kernel=Linear()).fit(X, y)
    assert model.plan_.solver == "primal"
    np.testing.assert_allclose(model.predict(np.eye(2)), np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-10)


def test_a_notebook_shows_the_solver_its_reason_and_its_cost():
    chosen = plan(Gaussian(), 1_000, 4, memory="1GB")
    page = read_page(chosen)
    for known in (chosen.solver, chosen.reason, f"{chosen.flops:.1e}"):
        assert known in page.text
