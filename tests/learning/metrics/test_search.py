"""The search for a metric sees a sample of all rows, ends when it is told to, and keeps what it has."""

from __future__ import annotations

import numpy as np

from mercer.kernels import Matern
from mercer.learning.metrics import search
from mercer.learning.metrics.metric import Structure
from mercer.learning.metrics.search import learn_metric
from mercer.solvers.base import Problem


def learn(X, y, **options):
    problem = Problem(Matern(), X, y.reshape(len(y), -1), fit_intercept=True)
    return learn_metric(problem, [Matern(1.5)], rng=np.random.RandomState(0), **options)


def test_rows_that_come_sorted_are_learned_from_as_others_are(monkeypatch):
    # By the first rows in the order they come in, the second feature would have no say.
    monkeypatch.setattr(search, "ROUND_ROWS", 80)
    monkeypatch.setattr(search, "SCALE_ROWS", (80, 80))
    X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(400, 2))
    X = X[np.argsort(X[:, 0])]
    y = np.where(X[:, 0] > 0, np.sin(6.0 * X[:, 1]), np.sin(6.0 * X[:, 0]))
    found = learn(X, y, metric="diagonal", refine=False, rounds=1)
    (after,) = [one for one in found.tried if one.rounds == 1]
    assert 0.3 < after.metric.root[1] / after.metric.root[0] < 3.0


def test_a_search_that_is_told_to_end_keeps_what_it_has():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    seen = []
    found = learn(X, np.sin(X[:, 0]), on_step=lambda step, error: seen.append(error) or len(seen) == 1)
    assert len(seen) == len(found.tried) == 1
    assert found.tried[0].origin == "isotropic"


def test_seeds_decide_alone_what_is_found():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, 3))
    y = np.sin(X[:, 0] + X[:, 1])
    one, two = (learn(X, y).metric.root for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_metrics_are_learned_from_rows_that_do_not_judge_them():
    X, y = np.random.default_rng(0).normal(size=(90, 3)), np.arange(90.0)[:, None]
    judged = np.arange(0, 90, 3)
    found = search.Search(
        Problem(Matern(), X, y, None, True), [Matern()], [Structure("diagonal")], refine=True, rounds=1,
        rng=np.random.RandomState(0), judged=judged,
    )  # fmt: skip
    assert set(found.judge.problem.y[: found.judge.count, 0]) == set(judged)
    assert set(found.rest.y[:, 0]) == set(range(90)) - set(judged)
