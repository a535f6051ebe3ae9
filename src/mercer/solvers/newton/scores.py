"""The log-loss of a logistic model on points left out, along a path of penalties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.expansion import Expansion
from mercer.formula.data import pick
from mercer.losses.logistic import LogisticLoss, make_loss

from ..base import Problem
from .loo import approximate_loo
from .plan import PreparedLogistic, plan_logistic

TOLERANCE = 1e-6  # relative duality gap of fits that are only compared
PROBES = 10  # points that are really left out, to verify an approximation
OFF = 0.1  # share of their log-loss by which it may be off
WORST = -np.log(np.finfo(float).eps)  # log-loss of a class that the fit has never seen

Folds = Sequence[tuple[np.ndarray, np.ndarray]]


def by_leaving_one_out(problem: Problem, loss: LogisticLoss, alphas: np.ndarray, max_iter: int = 100) -> np.ndarray:
    """Return the mean log-loss, for each penalty, of points left out of the fit one at a time, approximately.

    Parameters
    ----------
    problem : Problem
        Kernel, points and memory.
    loss : LogisticLoss
        The labels and weights.
    alphas : array of shape (p,)
        The penalties, best in falling order, as each fit starts from the last.
    max_iter : int
        The most Newton steps of a fit.
    """
    prepared = PreparedLogistic(problem, loss, "newton")
    K = host_array(problem.gram(dtype=np.float64).dense())
    found = np.empty(len(alphas))
    for j, alpha in enumerate(alphas):
        outputs = prepared.solve(float(alpha), TOLERANCE, max_iter).state.outputs
        left_out = approximate_loo(K, outputs, loss, float(alpha), problem.fit_intercept)
        found[j] = _mean(loss, loss.losses(left_out))
    return found


def loo_is_accurate(problem: Problem, loss: LogisticLoss, alpha: float, max_iter: int = 100) -> bool:
    """Whether the approximation holds where it matters most: at the points that change most when left out.

    Ten of them are really left out.  Their log-losses must agree with the approximate ones to a tenth in sum.
    """
    prepared = PreparedLogistic(problem, loss, "newton")
    whole = prepared.solve(alpha, TOLERANCE, max_iter).state
    K = host_array(problem.gram(dtype=np.float64).dense())
    approximate = loss.losses(approximate_loo(K, whole.outputs, loss, alpha, problem.fit_intercept))
    change = loss.weights * np.abs(approximate - loss.losses(whole.outputs))
    probes = np.argsort(-change, kind="stable")[:PROBES]
    exact = np.empty(len(probes))
    for j, probe in enumerate(probes):
        rest = np.delete(np.arange(problem.n), probe)
        exact[j] = _held_out(problem, loss, np.array([alpha]), (rest, np.array([probe])), max_iter, 0)[0, 0]
    weights = loss.weights[probes]
    return bool(abs(weights @ (exact - approximate[probes])) <= OFF * (weights @ exact))


def by_folds(
    problem: Problem,
    loss: LogisticLoss,
    alphas: np.ndarray,
    folds: Folds,
    max_iter: int = 100,
    random_state: Any = None,
) -> np.ndarray:
    """Return the mean log-loss, for each penalty, of the points of each fold under the fit of the others.

    Parameters
    ----------
    problem : Problem
        Kernel, points and memory.
    loss : LogisticLoss
        The labels and weights.
    alphas : array of shape (p,)
        The penalties, best in falling order.
    folds : sequence of pairs of positions
        Points to fit and to predict.
    max_iter : int
        The most Newton steps of a fit.
    random_state : int, RandomState or None
        The seed of preconditioners and centres.
    """
    total, weight = np.zeros(len(alphas)), 0.0
    for fold in folds:
        held = fold[1]
        total += _held_out(problem, loss, alphas, fold, max_iter, random_state) @ loss.weights[held]
        weight += float(loss.weights[held].sum())
    return total / weight


def _held_out(
    problem: Problem,
    loss: LogisticLoss,
    alphas: np.ndarray,
    fold: tuple[np.ndarray, np.ndarray],
    max_iter: int,
    random_state: Any,
) -> np.ndarray:
    """Return the log-losses, shape (p, points), of the second part of a fold under fits of the first."""
    fit, held = fold
    seen, codes = np.unique(loss.codes[fit], return_inverse=True)
    if len(seen) < 2:
        return np.full((len(alphas), len(held)), WORST)
    part = make_loss(codes, len(seen), loss.weights[fit])
    inside = replace(problem, X=pick(problem.X, fit), y=np.zeros((len(fit), part.outputs)), weights=loss.weights[fit])
    prepared = PreparedLogistic(inside, part, plan_logistic(inside).solver, None, random_state)
    outside, known = pick(problem.X, held), np.isin(loss.codes[held], seen)
    place = np.searchsorted(seen, np.where(known, loss.codes[held], seen[0]))
    judge = make_loss(place, len(seen), np.ones(len(held)))
    found = np.empty((len(alphas), len(held)))
    for j, alpha in enumerate(alphas):
        state = prepared.solve(float(alpha), TOLERANCE, max_iter).state
        centers, _, coef = prepared.expansion(state)
        function = Expansion(problem.kernel, centers, coef, state.intercept)
        outputs = host_array(function(outside, memory=problem.memory, device=problem.device))
        found[j] = np.where(known, judge.losses(outputs), WORST)
    return found


def _mean(loss: LogisticLoss, losses: np.ndarray) -> float:
    return float(np.average(losses, weights=loss.weights))
