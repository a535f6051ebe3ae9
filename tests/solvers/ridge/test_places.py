"""Ridge on a device solves the same problem: the same coefficients, intercepts, residuals and leave-one-out errors."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import MemoryBudgetError
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.solvers.base import Problem
from mercer.solvers.plan import plan_problem
from mercer.solvers.ridge.cg import ConjugateGradient
from mercer.solvers.ridge.cholesky import Cholesky
from mercer.solvers.ridge.restricted.nystroem import Nystroem
from mercer.solvers.ridge.spectral import Spectral

torch = pytest.importorskip("torch")
from mercer.linalg import device as triangles  # noqa: E402
from mercer.linalg import halves  # noqa: E402
from mercer.solvers.ridge import cholesky  # noqa: E402
from mercer.solvers.ridge.preconditioner import Preconditioner  # noqa: E402

pytestmark = pytest.mark.torch

CPU = torch.device("cpu")


def problems(fit_intercept, weighted, n=300, memory=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2 + 3.0], axis=1)
    weights = rng.uniform(0.5, 2.0, n) if weighted else None
    options = {} if memory is None else {"memory": memory}
    case = Problem(Gaussian(1.2), X, y, weights, fit_intercept, **options)
    return case, Problem(case.kernel, X, y, weights, fit_intercept, device=CPU, **options)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["origin", "intercept"])
@pytest.mark.parametrize(
    "solver", [Cholesky(), ConjugateGradient(tolerance=1e-9, random_state=0), Spectral()], ids=lambda s: s.name
)
def test_exact_solvers_give_the_solution_of_the_host(solver, fit_intercept, weighted):
    host, device = problems(fit_intercept, weighted)
    alpha = np.array([0.1, 0.01])
    truth = Spectral().prepare(host).solve(alpha)
    found = solver.prepare(device).solve(alpha)
    np.testing.assert_allclose(found.coef, truth.coef, atol=1e-6 * np.abs(truth.coef).max())
    np.testing.assert_allclose(found.intercept, truth.intercept, atol=1e-7)
    assert found.converged
    assert found.residual < 1e-7
    assert isinstance(found.coef, np.ndarray)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["origin", "intercept"])
def test_leave_one_out_errors_are_those_of_the_host(fit_intercept, weighted):
    host, device = problems(fit_intercept, weighted)
    alpha = np.array([0.1, 0.3])
    truth = Spectral().prepare(host).solve(alpha, loo=True).loo
    np.testing.assert_allclose(Cholesky().prepare(device).solve(alpha, loo=True).loo, truth, rtol=1e-7, atol=1e-9)


def test_a_single_precision_factor_is_refined_where_double_does_not_fit():
    host, device = problems(True, False, n=400, memory=2_500_000)
    alpha = np.array([0.05, 0.05])
    prepared = Cholesky().prepare(device)
    assert not prepared.double
    found = prepared.solve(alpha)
    truth = Spectral().prepare(Problem(host.kernel, host.X, host.y, None, True)).solve(alpha)
    np.testing.assert_allclose(found.coef, truth.coef, atol=1e-5 * np.abs(truth.coef).max())
    assert found.residual < 1e-8
    assert found.n_iter > 0
    exact = Spectral().prepare(Problem(host.kernel, host.X, host.y, None, True)).solve(alpha, loo=True)
    np.testing.assert_allclose(prepared.solve(alpha, loo=True).loo, exact.loo, atol=1e-3)


def test_too_little_memory_is_refused_with_the_number():
    _, device = problems(False, False, n=400, memory=100_000)
    with pytest.raises(MemoryBudgetError, match=r"the Cholesky factor of a 400 × 400 matrix on cpu needs 2\.0 MB"):
        Cholesky().prepare(device)


@pytest.mark.parametrize("fit_intercept", [False, True], ids=["origin", "intercept"])
@pytest.mark.parametrize("selection", ["uniform", "rpcholesky"])
def test_centres_on_a_device_give_the_restricted_solution(selection, fit_intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = np.sin(X[:, :1]) + 2.0
    weights = rng.uniform(0.5, 2.0, 500)
    problem = Problem(Gaussian(1.0), X, y, weights, fit_intercept, device=CPU)
    found = Nystroem(n_centers=25, selection=selection, random_state=0).prepare(problem).solve(np.array([0.1]))
    K, L = Gaussian(1.0)(X, found.centers), Gaussian(1.0)(found.centers)
    b = found.intercept[0]
    if fit_intercept:
        assert weights @ (y[:, 0] - K @ found.coef[:, 0] - b) == pytest.approx(0.0, abs=1e-6 * weights.sum())
    # The gradient of the restricted problem, in the norm that it was solved in.
    gradient = K.T @ (weights * (y[:, 0] - b - K @ found.coef[:, 0])) - 0.1 * L @ found.coef[:, 0]
    assert np.abs(gradient).max() < 1e-3 * np.abs(K.T @ (weights * y[:, 0])).max()
    assert found.converged
    assert len(found.centers) == 25


def test_a_nystroem_model_on_a_device_that_cannot_do_something_says_so():
    problem = Problem(Gaussian(), np.zeros((5, 1)), np.zeros((5, 1)), device=CPU)
    prepared = Nystroem(n_centers=2, selection="uniform", random_state=0).prepare(problem)
    with pytest.raises(ValueError, match="computed on the host; fit without a device"):
        prepared.solve(np.array([1.0]), loo=True)
    with pytest.raises(ValueError, match="one positive alpha"):
        prepared.solve(np.array([0.0]))


def test_the_preconditioner_explains_the_matrix_and_inverts_itself():
    X = np.linspace(0.0, 4.0, 60).reshape(-1, 1)
    problem = Problem(Gaussian(), X, X, device=CPU)
    gram = problem.gram(dtype=np.float64)
    noise = torch.linspace(0.5, 2.0, 60, dtype=torch.float64)
    P = Preconditioner(gram, noise, 5, np.random.RandomState(0))
    P.grow(14)
    assert P.rank == 14
    assert P.pivoted.residual_trace < 1e-4
    F = P.pivoted.factor
    np.testing.assert_allclose((F @ F.T).numpy(), Gaussian()(X), atol=1e-4)
    alpha = np.array([0.1, 2.0])
    V = torch.tensor(np.random.default_rng(0).normal(size=(60, 2)))
    solved = P.solve(V, alpha)
    for j in range(2):
        A = F @ F.T + alpha[j] * torch.diag(noise)
        np.testing.assert_allclose((A @ solved[:, j]).numpy(), V[:, j].numpy(), atol=1e-8)
    P.grow(60)
    assert P.exhausted
    assert P.rank < 60


def test_a_matrix_that_is_not_positive_definite_has_no_factor():
    problem = Problem(Linear(), np.ones((6, 1)), np.ones((6, 1)), device=CPU)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite in float64 for alpha = 1e-200"):
        Cholesky().prepare(problem).solve(np.array([1e-200]))


def test_the_inverse_factor_in_pieces_is_the_inverse_factor(monkeypatch):
    monkeypatch.setattr(triangles, "BLOCK", 8)
    rng = np.random.default_rng(0)
    A = rng.normal(size=(101, 101))
    A = torch.tensor(A @ A.T + 10.0 * np.eye(101))
    X = triangles.invert_factor(A.clone())
    np.testing.assert_allclose((X @ A @ X.T).numpy(), np.eye(101), atol=1e-10)
    np.testing.assert_array_equal(X.triu(1).numpy(), 0.0)
    assert triangles.invert_factor(-A) is None


@pytest.mark.parametrize(
    ("n", "kernel", "alpha", "memory", "name"),
    [
        (1000, Gaussian(), 0.1, 10**9, "cholesky"),
        (1000, Gaussian(), 0.0, 10**9, "spectral"),
        (100_000, Gaussian(), 0.1, 10**11, "cg"),
        (50_000, Gaussian(), 1e-9, 10**11, "cholesky"),
        (50_000, Polynomial(2, 1.0), 0.1, 10**11, "primal"),
        (4_000_000, Gaussian(), 0.1, 10**11, "nystroem"),
    ],
)
def test_the_plan_on_a_device_says_what_and_where(n, kernel, alpha, memory, name):
    X = np.broadcast_to(np.zeros((1, 3)), (n, 3))
    y = np.broadcast_to(np.zeros((1, 1)), (n, 1))
    chosen = plan_problem(Problem(kernel, X, y, memory=memory, device=CPU), np.array([alpha]))
    assert chosen.solver == name
    assert "on cpu" in chosen.reason or "on the host" in chosen.reason
    assert chosen.memory <= memory


def test_an_iteration_that_stops_early_warns():
    _, device = problems(False, False)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations"):
        ConjugateGradient(max_iter=1, rank=3, random_state=0).prepare(device).solve(np.array([1e-3, 1e-3]))


@pytest.mark.parametrize("fit_intercept", [False, True], ids=["origin", "intercept"])
def test_a_factor_in_halves_leads_to_the_same_solution(monkeypatch, fit_intercept):
    monkeypatch.setattr(cholesky, "ROUGH", 100)
    monkeypatch.setattr(halves, "PANEL", 64)
    monkeypatch.setattr(halves, "STRIP", 100)
    host, device = problems(fit_intercept, weighted=True)
    alpha = np.array([0.1, 0.01])
    prepared, truth = Cholesky().prepare(device), Spectral().prepare(host).solve(alpha)
    found = prepared.solve(alpha)
    assert prepared._rough
    assert 1 < found.n_iter < 8
    np.testing.assert_allclose(found.coef, truth.coef, atol=1e-6 * np.abs(truth.coef).max())
    # Leave-one-out residuals need the diagonal of the inverse, which is not refined.
    np.testing.assert_allclose(
        prepared.solve(alpha, loo=True).loo, Spectral().prepare(host).solve(alpha, loo=True).loo, atol=1e-7
    )


def test_where_halves_are_too_coarse_the_factor_is_in_float64(monkeypatch):
    monkeypatch.setattr(cholesky, "ROUGH", 100)
    host, device = problems(fit_intercept=False, weighted=False)
    alpha = np.full(2, 1e-9)
    prepared = Cholesky().prepare(device)
    found = prepared.solve(alpha)
    assert not prepared._rough
    truth = Spectral().prepare(host).solve(alpha)
    np.testing.assert_allclose(found.coef, truth.coef, rtol=1e-3, atol=1e-3 * np.abs(truth.coef).max())
