"""The best of a table is the best of the whole table, and rounding noise is not among it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.learning.choice import Curves, choose, find_best
from mercer.models.ridge_cv import KernelRidgeCV
from mercer.solvers.base import Problem

VALUES = st.sampled_from([0.0, 1.0, 2.0, -3.0, np.nan, np.inf, -np.inf])
TABLES = st.tuples(st.integers(1, 4), st.integers(1, 5)).flatmap(lambda shape: arrays(float, shape, elements=VALUES))


def by_brute_force(scores, alphas):
    """Every pair against every other."""
    values = [
        (-np.inf if np.isnan(score) else score, alphas[j], -i, i, j)
        for i, row in enumerate(scores.tolist())
        for j, score in enumerate(row)
    ]
    return max(values)[3:]


@given(TABLES, st.randoms(use_true_random=False))
def test_the_best_place_is_that_of_the_whole_table_and_ties_go_to_the_largest_penalty(scores, random):
    alphas = np.logspace(-2, 2, scores.shape[1])
    random.shuffle(alphas)
    assert find_best(scores, alphas) == by_brute_force(scores, alphas)


class Table(Curves):
    """Scores that are known."""

    scores_given: np.ndarray

    def scores(self, alphas):
        return self.scores_given

    def refined(self, row, alphas):
        return np.full(len(alphas), -np.inf)


@settings(max_examples=40)
@given(arrays(float, (3, 4), elements=st.sampled_from([1.0, 2.0, 3.0])))
def test_what_is_chosen_has_the_score_that_it_is_said_to_have(scores):
    X, kernels, alphas = np.arange(6.0)[:, None], [Gaussian(s) for s in (1.0, 2.0, 3.0)], np.array([1.0, 2.0, 3.0, 4.0])

    def curves(*arguments):
        found = Table(*arguments)
        found.scores_given = scores
        return found

    found = choose(Problem(Gaussian(), X, X), kernels, alphas, curves=curves)
    assert found.score == scores.max() == scores[kernels.index(found.kernel), alphas.tolist().index(found.alpha)]


def test_a_constant_target_is_given_the_largest_penalty():
    X = np.linspace(0.0, 1.0, 12)[:, None]
    alphas = np.array([1e-3, 1.0, 1e3])
    assert choose(Problem(Gaussian(), X, np.zeros((12, 1))), [Gaussian(), Linear()], alphas).alpha == 1e3


@pytest.mark.parametrize("weight", [1e-8, 1.0, 1e8])
def test_penalties_follow_the_size_of_the_weights(weight):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1))
    problem = Problem(Gaussian(), X, np.sin(2.0 * X) + 0.1 * rng.normal(size=(40, 1)), np.full(40, weight), True)
    far = choose(problem, [Gaussian()])
    near = choose(Problem(Gaussian(), X, problem.y, None, True), [Gaussian()])
    assert far.score == pytest.approx(near.score, rel=1e-8)
    assert far.alpha / weight == pytest.approx(near.alpha, rel=1e-8)


# -- rounding ---------------------------------------------------------------------------------------------------------


def refit(kernel, X, y, new, alpha, dtype=np.longdouble):
    """Ridge with an intercept, in extended precision: K + α = LLᵀ column by column, and what it predicts."""
    n = len(X)
    A = np.asarray(kernel(X), dtype=dtype)
    A[np.diag_indices(n)] += dtype(alpha)
    L = np.zeros_like(A)
    for j in range(n):
        rest = A[j:, j] - L[j:, :j] @ L[j, :j]
        if not rest[0] > 0:
            return np.full(len(new), np.nan)
        L[j:, j] = rest / np.sqrt(rest[0])
    right = np.column_stack([y, np.ones(n)]).astype(dtype)
    for i in range(n):
        right[i] = (right[i] - L[i, :i] @ right[:i]) / L[i, i]
    for i in reversed(range(n)):
        right[i] = (right[i] - L[i + 1 :, i] @ right[i + 1 :]) / L[i, i]
    b = right[:, 0].sum() / right[:, 1].sum()
    return np.asarray(kernel(new, X) @ (right[:, 0] - b * right[:, 1]) + b, dtype=float)


ALPHAS = 10.0 ** np.arange(-16.0, 15.0, 2.0)
CASES = [
    (Gaussian(1.0), 1.0, 0.1),
    (Gaussian(1.0), 1.0, 0.0),
    (Gaussian(0.02), 1.0, 0.1),
    (Polynomial(6, 1.0), 5.0, 0.1),
    (Polynomial(4, 1.0), 300.0, 0.1),
    (Polynomial(2, 0.0), 1e4, 0.1),
    (Linear(), 1e6, 0.1),
    (1e12 * Gaussian(0.5), 1.0, 0.1),
]


@pytest.mark.parametrize(("kernel", "size", "noise"), CASES, ids=str)
@pytest.mark.parametrize("n", [60, 150])
def test_the_model_chosen_is_about_as_good_as_the_best_refit_in_extended_precision(kernel, size, noise, n):
    rng = np.random.default_rng(n)
    X, new = (size * rng.uniform(-1.0, 1.0, size=(count, 2)) for count in (n, 200))
    truth = [np.sin(2.0 * points[:, 0] / size) + points[:, 1] / size for points in (X, new)]
    y = truth[0] + noise * rng.normal(size=n)
    model = KernelRidgeCV(ALPHAS, kernel=kernel).fit(X, y)
    exact, plain = ([refit(kernel, X, y, new, a, dtype) for a in ALPHAS] for dtype in (np.longdouble, np.float64))
    errors = np.mean((np.array(exact) - truth[1]) ** 2, axis=1)
    rounding = np.mean((np.array(plain) - exact) ** 2, axis=1)
    honest = errors[rounding < 1e-4 * errors]
    assert errors[model.alpha_ == ALPHAS][0] <= 2.0 * honest.min() + 1e-8


def test_penalties_that_are_all_rounding_are_said_to_be():
    X = np.linspace(0.0, 1.0, 40)[:, None]
    problem = Problem(Gaussian(3.0), X, np.sin(X) + 0.1 * np.random.default_rng(0).normal(size=X.shape))
    with pytest.warns(UserWarning, match="can be told from rounding.*try alphas from 4e-10 on"):
        assert choose(problem, [Gaussian(3.0)], np.array([1e-17, 1e-16])).alpha == 1e-16


def test_a_tiny_penalty_is_fine_where_the_matrix_is_well_conditioned():
    X = np.arange(30.0)[:, None]
    y = np.sin(X)
    found = choose(Problem(Gaussian(0.3), X, y), [Gaussian(0.3)], np.array([1e-18, 1e-16]))
    expected = 0.0
    K = Gaussian(0.3)(X)
    for i in range(30):
        rest = np.arange(30) != i
        expected += (y[i, 0] - K[i, rest] @ np.linalg.solve(K[np.ix_(rest, rest)], y[rest, 0])) ** 2 / 30
    assert -found.score == pytest.approx(expected, rel=1e-10)
