"""Ridge on Nyström centres, against dense solutions in float64."""

import tracemalloc

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.gram import MemoryBudgetError
from mercer.kernels import Constant, Custom, Gaussian, Laplacian
from mercer.solvers.base import Problem
from mercer.solvers.ridge.restricted.nystroem import Nystroem

N = 80


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(N, 2))


@pytest.fixture
def targets(points):
    rng = np.random.default_rng(1)
    return np.c_[np.sin(points[:, 0]) + 5, points[:, 1] ** 2] + 0.1 * rng.normal(size=(N, 2))


@pytest.fixture
def weights():
    return np.random.default_rng(2).uniform(0.2, 4.0, N)


def fit(problem, alpha, loo=False, **options):
    return Nystroem(random_state=0, **options).prepare(problem).solve(np.asarray(alpha, dtype=float), loo=loo)


def restricted(kernel, X, centers, y, weights, alpha, intercept):
    """c and b of one output from the normal equations of [K_nm 1], with K_mm as the penalty of c alone."""
    Knm, Kmm, m = kernel(X, centers), kernel(centers), len(centers)
    design = np.c_[Knm, np.ones(len(X))] if intercept else Knm
    penalty = np.zeros((design.shape[1],) * 2)
    penalty[:m, :m] = alpha * Kmm
    solved = np.linalg.solve(design.T @ (weights[:, None] * design) + penalty, design.T @ (weights * y))
    return solved[:m], solved[m] if intercept else 0.0


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("selection", ["rpcholesky", "uniform"])
@pytest.mark.parametrize("alpha", [1e-2, 1.0, 1e2])
def test_with_all_points_as_centres_it_is_the_exact_solution(points, targets, weights, intercept, selection, alpha):
    problem = Problem(Laplacian(), points, targets, weights, intercept)
    alphas = np.array([alpha, 2 * alpha])
    solution = fit(problem, alphas, n_centers=N, selection=selection)
    assert solution.converged
    assert solution.residual < 1e-8
    new = np.random.default_rng(3).normal(size=(20, 2))
    for j, a in enumerate(alphas):
        A = np.zeros((N + 1, N + 1))
        A[:N, :N] = Laplacian()(points) + a * np.diag(1 / weights)
        A[:N, N] = A[N, :N] = 1.0
        exact = (
            np.linalg.solve(A, np.append(targets[:, j], 0.0))
            if intercept
            else np.append(np.linalg.solve(A[:N, :N], targets[:, j]), 0.0)
        )
        expected = Laplacian()(new, points) @ exact[:N] + exact[N]
        found = Laplacian()(new, solution.centers) @ solution.coef[:, j] + solution.intercept[j]
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_few_centres_minimise_the_restricted_problem(points, targets, weights, intercept, weighted):
    problem = Problem(Gaussian(), points, targets, weights if weighted else None, intercept)
    solution = fit(problem, [0.1, 3.0], n_centers=15)
    assert solution.centers.shape == (15, 2)
    used = weights if weighted else np.ones(N)
    for j, a in enumerate(solution.alpha):
        c, b = restricted(Gaussian(), points, solution.centers, targets[:, j], used, a, intercept)
        np.testing.assert_allclose(
            Gaussian()(points, solution.centers) @ solution.coef[:, j],
            Gaussian()(points, solution.centers) @ c,
            atol=1e-7,
        )
        assert solution.intercept[j] == pytest.approx(b, abs=1e-7)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_equals_refitting_with_the_same_centres(points, targets, weights, intercept, weighted):
    problem = Problem(Laplacian(), points, targets, weights if weighted else None, intercept)
    solution = fit(problem, [0.1, 3.0], loo=True, n_centers=15)
    used = weights if weighted else np.ones(N)
    for i in range(N):
        rest = np.arange(N) != i
        for j, a in enumerate(solution.alpha):
            c, b = restricted(Laplacian(), points[rest], solution.centers, targets[rest, j], used[rest], a, intercept)
            left_out = targets[i, j] - Laplacian()(points[[i]], solution.centers)[0] @ c - b
            assert solution.loo[i, j] == pytest.approx(left_out, rel=1e-8, abs=1e-8)


def test_many_alphas_by_eigenvalues_give_what_few_give_by_cholesky(points, targets):
    problem = Problem(Gaussian(), points, np.repeat(targets[:, :1], 8, axis=1), None, True)
    alphas = np.logspace(-3, 2, 8)
    together = fit(problem, alphas, loo=True, n_centers=20)
    for j, a in enumerate(alphas):
        alone = fit(Problem(Gaussian(), points, targets[:, :1], None, True), [a], loo=True, n_centers=20)
        np.testing.assert_allclose(together.loo[:, [j]], alone.loo, atol=1e-8)
        np.testing.assert_allclose(together.intercept[j], alone.intercept[0], atol=1e-8)


def test_blocks_of_rows_do_not_change_the_result(points, targets, monkeypatch):
    problem = Problem(Laplacian(), points, targets, None, True)
    whole = fit(problem, [0.1, 1.0], loo=True, n_centers=20)
    monkeypatch.setattr("mercer.solvers.ridge.restricted.rows.BLOCK_BYTES", 24 * 20 * 7)
    parts = fit(problem, [0.1, 1.0], loo=True, n_centers=20)
    np.testing.assert_allclose(parts.coef, whole.coef, rtol=1e-9)
    np.testing.assert_allclose(parts.loo, whole.loo, rtol=1e-9)


def test_repeated_points_are_centres_once(targets):
    X = np.repeat(np.linspace(0, 3, 8), 10).reshape(-1, 1)
    for selection in ("rpcholesky", "uniform"):
        solution = fit(Problem(Laplacian(), X, targets), [0.1, 0.1], n_centers=60, selection=selection)
        assert len(solution.centers) == 8
        assert solution.converged


def test_centres_are_objects_of_the_same_kind():
    rng = np.random.default_rng(4)
    words = ["".join(rng.choice(list("abcdefgh"), size=5)) for _ in range(40)]
    kernel = Custom(lambda x, z: float(len(set(x) & set(z))))
    solution = fit(Problem(kernel, words, rng.normal(size=(40, 1))), [0.5], n_centers=6)
    assert isinstance(solution.centers, list)
    assert len(solution.centers) == 6
    assert set(solution.centers) <= set(words)


def test_float32_data_keeps_its_type_in_the_centres(points, targets):
    solution = fit(Problem(Gaussian(), points.astype(np.float32), targets), [0.1, 0.1], n_centers=10)
    assert solution.centers.dtype == np.float32
    assert solution.coef.dtype == np.float64


def test_the_matrix_of_all_rows_and_centres_is_never_held():
    n, m, budget = 12_000, 100, 3_000_000
    X = np.random.default_rng(5).normal(size=(n, 2))
    problem = Problem(Gaussian(), X, np.sin(X[:, :1]), memory=budget)
    whole = 8 * n * m  # 9.6 MB
    tracemalloc.start()
    try:
        prepared = Nystroem(n_centers=m, random_state=0).prepare(problem)
        solution = prepared.solve(np.array([1e-3]), loo=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert solution.converged
    assert np.sqrt(np.mean(solution.loo**2)) < 0.01
    assert peak < whole / 2


def test_more_centres_than_the_budget_holds_are_refused_with_the_number_that_fits():
    X = np.zeros((5000, 1))
    with pytest.raises(MemoryBudgetError, match="ask for at most 88 centres"):
        Nystroem(n_centers=1000).prepare(Problem(Gaussian(), X, X, memory=1_000_000))


def test_growing_stops_when_the_leave_one_out_error_does():
    X = np.linspace(0, 3, 1500).reshape(-1, 1)
    y = np.sin(X) + 0.1 * np.random.default_rng(6).normal(size=X.shape)
    prepared = Nystroem(random_state=0).prepare(Problem(Laplacian(), X, y))
    solution = prepared.solve(np.array([1.0]))
    sizes = [size for size, _ in prepared.history]
    assert sizes == [256, 512]  # 256 are already enough, which the next doubling shows
    assert len(solution.centers) == 512


def test_growing_goes_on_while_it_pays_up_to_the_cap_and_keeps_the_centres():
    X = np.random.default_rng(7).uniform(size=(1000, 2))
    y = np.sin(40 * X[:, :1]) * np.sin(40 * X[:, 1:])
    problem = Problem(Gaussian(0.03), X, y)
    prepared = Nystroem(max_centers=600, random_state=0).prepare(problem)
    before = {tuple(z) for z in prepared.centers}
    solution = prepared.solve(np.array([1e-3]))
    assert [size for size, _ in prepared.history] == [256, 512, 600]
    errors = [error for _, error in prepared.history]
    assert errors[0] > errors[1] > errors[2]
    assert before <= {tuple(z) for z in solution.centers}


def test_a_number_of_centres_that_is_given_does_not_grow(points, targets):
    prepared = Nystroem(n_centers=5, random_state=0).prepare(Problem(Gaussian(0.1), points, targets))
    assert len(prepared.solve(np.array([1e-3, 1e-3])).centers) == 5
    assert prepared.history == []


def test_more_centres_than_points_are_all_points(points, targets):
    assert len(fit(Problem(Laplacian(), points, targets), [0.1, 0.1], n_centers=500).centers) == N


def test_a_constant_kernel_has_one_centre(points, targets):
    solution = fit(Problem(Constant(2.0), points, targets), [0.1, 0.1], loo=True)
    assert len(solution.centers) == 1
    fitted = 2.0 * solution.coef[0]
    np.testing.assert_allclose(fitted, 2.0 * targets.sum(axis=0) / (2.0 * N + 0.1))


def test_constant_targets_are_the_intercept(points):
    solution = fit(Problem(Gaussian(), points, np.full((N, 1), 2.5), None, True), [0.1], n_centers=10, loo=True)
    np.testing.assert_allclose(solution.intercept, 2.5)
    np.testing.assert_allclose(solution.loo, 0.0, atol=1e-12)


def test_an_alpha_below_rounding_is_warned_of_or_solved(points, targets):
    problem = Problem(Gaussian(3.0), points, 1e3 * targets)
    with pytest.warns(ConvergenceWarning, match="raise alpha, or take fewer centres"):
        assert not fit(problem, [1e-30, 1e-30], n_centers=N).converged


@pytest.mark.parametrize("alpha", [[0.0], [-1.0], [np.inf], [1.0, 1.0]])
def test_alpha_must_be_positive_and_one_for_each_output(points, targets, alpha):
    with pytest.raises(ValueError, match="one positive alpha for each of the 1 outputs"):
        fit(Problem(Gaussian(), points, targets[:, :1]), alpha, n_centers=5)


@pytest.mark.parametrize(
    "options", [{"n_centers": 0}, {"n_centers": 2.5}, {"max_centers": 0}, {"max_centers": None}, {"selection": "best"}]
)
def test_options_are_checked(options):
    with pytest.raises(ValueError, match=f"Nystroem: {next(iter(options))} must be"):
        Nystroem(**options)


@pytest.mark.parametrize("weight", [1.0, 1e4, 1e7])
def test_a_residual_that_rounding_keeps_large_is_no_reason_to_sum_up_again(weight):
    rng = np.random.default_rng(0)
    points, targets = rng.normal(size=(60, 3)), rng.normal(size=(60, 2))
    # Weights stand for many rows: with n of them the residual is about nε of what α leaves, however good the solution.
    weights = np.full(len(points), weight)
    problem = Problem(Gaussian(1.0), points, targets, weights, True)
    prepared = Nystroem(n_centers=40, random_state=0).prepare(problem)
    alpha = np.full(targets.shape[1], 1e-3)
    solution = prepared.solve(alpha)
    assert prepared.system._raw  # the sums of the first pass were good enough
    assert solution.converged
    assert solution.residual <= 1e-9
    # The same problem by orthogonal factors, which square no condition number.
    K, M = problem.kernel(points, solution.centers), problem.kernel(solution.centers)
    L = np.linalg.cholesky(M + 1e-14 * np.eye(len(M)))
    Phi = np.linalg.solve(L, K.T).T
    rows = np.vstack([Phi - Phi.mean(axis=0), np.sqrt(1e-3 / weight) * np.eye(len(M))])
    right = np.vstack([targets - targets.mean(axis=0), np.zeros((len(M), targets.shape[1]))])
    beta = np.linalg.lstsq(rows, right, rcond=None)[0]
    expected = Phi @ beta + targets.mean(axis=0) - Phi.mean(axis=0) @ beta
    np.testing.assert_allclose(K @ solution.coef + solution.intercept, expected, atol=1e-8)
