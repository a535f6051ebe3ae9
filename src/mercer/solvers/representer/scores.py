"""The loss of models on points left out, along a path of penalties.

One point is left out approximately, by one Newton step from the fit of all points, and some points really, to see how
near that is; or points are left out in folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.expansion import Expansion
from mercer.formula.data import pick

from ..base import Problem
from ..machines.path import Lane, solve_paths
from ..newton.intercept import find_intercept
from ..newton.left_out import approximate_loo
from ..newton.prepared import PreparedNewton
from ..newton.sums import WeightedLoss, weigh_loss
from .fit import choose_tolerance, prepare_loss
from .machines import has_boxes, make_smo, pose_machine
from .plan import plan_loss

TOLERANCE = 1e-6  # relative duality gap of fits that are only compared
PROBES = 10  # points that are really left out, to verify an approximation
OFF = 0.1  # share of their loss by which it may be off
WORST = -np.log(np.finfo(float).eps)  # loss of a class that the fit has never seen
LOO_LIMIT = 1500  # points times functions up to which one can be left out: it takes matrices of that size
PATH_LIMIT = 5000  # points up to which the path is computed from all of them
PATH_SAMPLE = 3000  # points it is computed from otherwise

Fold = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class ScoredPath:
    """Mean losses on points left out."""

    losses: np.ndarray  # (kernels, penalties)
    by: str  # "leave-one-out" or "folds"

    @property
    def best(self) -> tuple[int, int]:
        """The kernel and the penalty of least loss."""
        row, column = np.unravel_index(np.argmin(self.losses), self.losses.shape)
        return int(row), int(column)


def score_path(
    problems: Sequence[Problem],
    loss: WeightedLoss,
    alphas: np.ndarray,
    make_folds: Callable[[], Sequence[Fold]],
    report: Callable[[int, float], Any],
    *,
    leave_one_out: bool,
    max_iter: int | None = None,
    random_state: Any = None,
) -> ScoredPath:
    """Leave points out one at a time, if that is asked for and turns out to be accurate, and otherwise in folds.

    Losses with corners have no curvature to take a Newton step with, and are always judged by folds.
    """
    order = np.argsort(-alphas)

    def score(function: Callable[[Problem], np.ndarray], by: str) -> ScoredPath:
        losses = np.empty((len(problems), len(alphas)))
        for i, problem in enumerate(problems):
            losses[i, order] = function(problem)
            report(i, float(losses[i].min()))
        return ScoredPath(losses, by)

    if leave_one_out and loss.loss.smooth and len(loss.weights) * loss.outputs <= LOO_LIMIT:
        path = score(lambda problem: score_left_out(problem, loss, alphas[order], max_iter), "leave-one-out")
        row, column = path.best
        if is_loo_accurate(problems[row], loss, float(alphas[column]), max_iter):
            return path
    folds = make_folds()
    if has_boxes(problems[0], loss) and problems[0].place.on_host:
        losses = np.empty((len(problems), len(alphas)))
        for i, found in enumerate(_score_machines(problems, loss, alphas[order], folds, max_iter)):
            losses[i, order] = found
            report(i, float(found.min()))
        return ScoredPath(losses, "folds")
    return score(lambda problem: score_folds(problem, loss, alphas[order], folds, max_iter, random_state), "folds")


def sample_path(codes: np.ndarray | None, n: int, rng: np.random.RandomState) -> np.ndarray | None:
    """Return random points, if there are too many for a path, and None if all may take part.

    ``codes`` are the classes of the points, if there are such; two points at least of each are among them.
    """
    if n <= PATH_LIMIT:
        return None
    order = rng.permutation(n)
    classes = range(0 if codes is None else int(codes.max()) + 1)
    first = [order[np.flatnonzero(codes[order] == code)[:2]] for code in classes]  # type: ignore[index]
    return np.unique(np.concatenate([*first, order[:PATH_SAMPLE]]))


def find_level(problem: Problem, loss: WeightedLoss) -> float:
    """Return a penalty that is neither small nor large: the mean of k(x, x) times a typical curvature of the loss.

    That is ½ s²/ℓ of slopes s and losses ℓ, above the least they could be, of the best constant: 2 for squares, and in
    any unit of targets.
    """
    values = loss.zeros(problem.n, loss.outputs)
    constant = problem.fit_intercept and loss.loss.smooth
    outputs = values + find_intercept(loss, values, np.zeros(loss.outputs)) if constant else values
    squares = float((loss.weights @ loss.slopes(outputs) ** 2).sum())
    excess = loss.value(outputs) - loss.least
    level = float(np.mean(problem.kernel.diag(host_array(problem.X)))) * 0.5 * squares / excess if excess > 0 else 1.0
    return level if level > 0 and np.isfinite(level) else 1.0


def score_left_out(problem: Problem, loss: WeightedLoss, alphas: np.ndarray, max_iter: int | None = None) -> np.ndarray:
    """Return the mean loss, for each penalty, of points left out of the fit one at a time, approximately."""
    prepared = PreparedNewton(problem, loss, "newton")
    K = host_array(problem.gram(dtype=np.float64).dense())
    found = np.empty(len(alphas))
    for j, alpha in enumerate(alphas):
        outputs = prepared.solve(float(alpha), TOLERANCE, max_iter).state.outputs
        left_out = approximate_loo(K, outputs, loss, float(alpha), problem.fit_intercept)
        found[j] = np.average(loss.losses(left_out), weights=loss.weights)
    return found


def is_loo_accurate(problem: Problem, loss: WeightedLoss, alpha: float, max_iter: int | None = None) -> bool:
    """Whether the approximation holds where it matters most: at the points that change most when left out.

    Ten of them are really left out.  Their losses must agree with the approximate ones to a tenth in sum.
    """
    prepared = PreparedNewton(problem, loss, "newton")
    whole = prepared.solve(alpha, TOLERANCE, max_iter).state
    K = host_array(problem.gram(dtype=np.float64).dense())
    approximate = loss.losses(approximate_loo(K, whole.outputs, loss, alpha, problem.fit_intercept))
    change = loss.weights * np.abs(approximate - loss.losses(whole.outputs))
    probes = np.argsort(-change, kind="stable")[:PROBES]
    exact = np.empty(len(probes))
    for j, probe in enumerate(probes):
        rest = np.delete(np.arange(problem.n), probe)
        exact[j] = _score_fold(problem, loss, np.array([alpha]), (rest, np.array([probe])), max_iter, 0)[0, 0]
    weights, lowest = loss.weights[probes], -loss.part(probes).least
    return bool(abs(weights @ (exact - approximate[probes])) <= OFF * (weights @ exact + lowest))


def score_folds(
    problem: Problem, loss: WeightedLoss, alphas: np.ndarray, folds: Sequence[Fold], max_iter: int | None = None,
    random_state: Any = None,
) -> np.ndarray:  # fmt: skip
    """Return the mean loss, for each penalty, of the points of each fold under the fit of the others."""
    total, weight = np.zeros(len(alphas)), 0.0
    for fold in folds:
        held = fold[1]
        total += _score_fold(problem, loss, alphas, fold, max_iter, random_state) @ loss.weights[held]
        weight += float(loss.weights[held].sum())
    return total / weight


def _score_machines(
    problems: Sequence[Problem], loss: WeightedLoss, alphas: np.ndarray, folds: Sequence[Fold], max_iter: int | None
) -> Iterator[np.ndarray]:
    """Yield for each kernel the mean losses that :func:`score_folds` gives, of all folds along one path in the dual."""
    splits = [(fold, _split(loss, *fold)) for fold in folds]
    lanes = [
        Lane(*fold, pose_machine(split[0], 1.0, q)) for fold, split in splits if split for q in range(split[0].outputs)
    ]
    solver = make_smo(problems[0], choose_tolerance(loss.loss, None), max_iter)
    kernels, prices = [problem.kernel for problem in problems], (1 / (2 * alphas)).tolist()
    held = np.concatenate([fold[1] for fold in folds])
    for cells in solve_paths(solver, kernels, problems[0].X, lanes, prices):
        paths, total = iter(cells), np.zeros(len(alphas))
        for (_, out), split in splits:
            found = np.full((len(alphas), len(out)), WORST)
            if split is not None:
                part, judge, known = split
                own = [next(paths) for _ in range(part.outputs)]
                for j, here in enumerate(zip(*own, strict=True)):
                    outputs = np.column_stack([cell.values for cell in here])
                    found[j] = np.where(known, judge.losses(outputs), WORST)
            total += found @ loss.weights[out]
        yield total / float(loss.weights[held].sum())


def _score_fold(
    problem: Problem, loss: WeightedLoss, alphas: np.ndarray, fold: Fold, max_iter: int | None, random_state: Any
) -> np.ndarray:
    """Return the losses, shape (p, points), of the second part of a fold under fits of the first."""
    fit, held = fold
    split = _split(loss, fit, held)
    if split is None:
        return np.full((len(alphas), len(held)), WORST)
    part, judge, known = split
    inside = replace(problem, X=pick(problem.X, fit), y=np.zeros((len(fit), part.outputs)), weights=part.weights)
    plan = plan_loss(inside, part)
    prepared = prepare_loss(inside, part, plan, None, random_state)
    outside, tol = pick(problem.X, held), choose_tolerance(loss.loss, None)
    found = np.empty((len(alphas), len(held)))
    for j, alpha in enumerate(alphas):
        fitted = prepared.fit(float(alpha), tol, max_iter)
        function = Expansion(problem.kernel, fitted.centers, fitted.coef, fitted.intercept)
        outputs = host_array(function(outside, memory=problem.memory, device=problem.device))
        found[j] = np.where(known, judge.losses(outputs), WORST)
    return found


def _split(
    loss: WeightedLoss, fit: np.ndarray, held: np.ndarray
) -> tuple[WeightedLoss, WeightedLoss, np.ndarray] | None:
    """Return the loss of points to fit and of points to judge, and which of those have a class that is fitted.

    None if only one class is left to fit.
    """
    if loss.loss.task == "regression":
        return loss.part(fit), loss.part(held), np.ones(len(held), dtype=bool)
    codes = loss.codes
    seen, inside = np.unique(codes[fit], return_inverse=True)
    if len(seen) < 2:
        return None
    outputs = len(seen) if loss.joint or len(seen) > 2 else 1
    known = np.isin(codes[held], seen)
    place = np.searchsorted(seen, np.where(known, codes[held], seen[0]))
    part = weigh_loss(loss.loss, inside, loss.weights[fit], outputs)
    return part, weigh_loss(loss.loss, place, loss.weights[held], outputs), known
