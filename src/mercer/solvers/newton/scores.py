"""The log-loss of logistic models on points left out, along a path of penalties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.expansion import Expansion
from mercer.formula.data import pick

from ..base import Problem
from .fit import PreparedLogistic
from .labels import LabelledLoss, make_loss
from .loo import approximate_loo
from .plan import plan_logistic

TOLERANCE = 1e-6  # relative duality gap of fits that are only compared
PROBES = 10  # points that are really left out, to verify an approximation
OFF = 0.1  # share of their log-loss by which it may be off
WORST = -np.log(np.finfo(float).eps)  # log-loss of a class that the fit has never seen
LOO_LIMIT = 1500  # points times functions up to which one can be left out: it takes matrices of that size
PATH_LIMIT = 5000  # points up to which the path is computed from all of them
PATH_SAMPLE = 3000  # points it is computed from otherwise

Fold = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class ScoredPath:
    """Mean log-losses on points left out.

    Parameters
    ----------
    losses : array of shape (kernels, penalties)
        The log-losses.
    by : {"leave-one-out", "folds"}
        Which points were left out.
    """

    losses: np.ndarray
    by: str

    @property
    def best(self) -> tuple[int, int]:
        """The kernel and the penalty of least log-loss."""
        row, column = np.unravel_index(np.argmin(self.losses), self.losses.shape)
        return int(row), int(column)


def score_path(
    problems: Sequence[Problem],
    loss: LabelledLoss,
    alphas: np.ndarray,
    make_folds: Callable[[], Sequence[Fold]],
    report: Callable[[int, float], Any],
    *,
    leave_one_out: bool,
    max_iter: int = 100,
    random_state: Any = None,
) -> ScoredPath:
    """Leave points out one at a time, if that is asked for and turns out to be accurate, and otherwise in folds.

    Parameters
    ----------
    problems : sequence of Problem
        One for each kernel, on the same points.
    loss : LabelledLoss
        The labels and weights.
    alphas : array of shape (p,)
        The penalties; fits follow them downwards, because a strong one is an easy start.
    make_folds : callable
        Returns pairs of positions, of points to fit and to predict.
    report : callable
        Told of each kernel, and the least log-loss with it.
    leave_one_out : bool
        Whether to try it; it is used up to 1,500 points times functions.
    max_iter : int
        The most Newton steps of a fit.
    random_state : int, RandomState or None
        The seed of preconditioners and centres.
    """
    order = np.argsort(-alphas)

    def score(function: Callable[[Problem], np.ndarray], by: str) -> ScoredPath:
        losses = np.empty((len(problems), len(alphas)))
        for i, problem in enumerate(problems):
            losses[i, order] = function(problem)
            report(i, float(losses[i].min()))
        return ScoredPath(losses, by)

    if leave_one_out and len(loss.codes) * loss.outputs <= LOO_LIMIT:
        path = score(lambda problem: score_left_out(problem, loss, alphas[order], max_iter), "leave-one-out")
        row, column = path.best
        if is_loo_accurate(problems[row], loss, float(alphas[column]), max_iter):
            return path
    folds = make_folds()
    return score(lambda problem: score_folds(problem, loss, alphas[order], folds, max_iter, random_state), "folds")


def sample_path(codes: np.ndarray, classes: int, rng: np.random.RandomState) -> np.ndarray | None:
    """Return random points that hold every class, if there are too many for a path, and None if all may take part."""
    if len(codes) <= PATH_LIMIT:
        return None
    order = rng.permutation(len(codes))
    first = [order[np.flatnonzero(codes[order] == code)[:2]] for code in range(classes)]
    return np.unique(np.concatenate([*first, order[:PATH_SAMPLE]]))


def score_left_out(problem: Problem, loss: LabelledLoss, alphas: np.ndarray, max_iter: int = 100) -> np.ndarray:
    """Return the mean log-loss, for each penalty, of points left out of the fit one at a time, approximately."""
    prepared = PreparedLogistic(problem, loss, "newton")
    K = host_array(problem.gram(dtype=np.float64).dense())
    found = np.empty(len(alphas))
    for j, alpha in enumerate(alphas):
        outputs = prepared.solve(float(alpha), TOLERANCE, max_iter).state.outputs
        left_out = approximate_loo(K, outputs, loss, float(alpha), problem.fit_intercept)
        found[j] = np.average(loss.losses(left_out), weights=loss.weights)
    return found


def is_loo_accurate(problem: Problem, loss: LabelledLoss, alpha: float, max_iter: int = 100) -> bool:
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
        exact[j] = _score_fold(problem, loss, np.array([alpha]), (rest, np.array([probe])), max_iter, 0)[0, 0]
    weights = loss.weights[probes]
    return bool(abs(weights @ (exact - approximate[probes])) <= OFF * (weights @ exact))


def score_folds(
    problem: Problem, loss: LabelledLoss, alphas: np.ndarray, folds: Sequence[Fold], max_iter: int = 100,
    random_state: Any = None,
) -> np.ndarray:  # fmt: skip
    """Return the mean log-loss, for each penalty, of the points of each fold under the fit of the others."""
    total, weight = np.zeros(len(alphas)), 0.0
    for fold in folds:
        held = fold[1]
        total += _score_fold(problem, loss, alphas, fold, max_iter, random_state) @ loss.weights[held]
        weight += float(loss.weights[held].sum())
    return total / weight


def _score_fold(
    problem: Problem, loss: LabelledLoss, alphas: np.ndarray, fold: Fold, max_iter: int, random_state: Any
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
        centers, _, coef = prepared.expand(state)
        function = Expansion(problem.kernel, centers, coef, state.intercept)
        outputs = host_array(function(outside, memory=problem.memory, device=problem.device))
        found[j] = np.where(known, judge.losses(outputs), WORST)
    return found
