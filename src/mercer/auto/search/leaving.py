"""What ridge and logistic regression say of rows left out, along their penalties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mercer.formula.data import Rows, length, pick
from mercer.kernels import Kernel
from mercer.learning.choice import find_best
from mercer.solvers.base import Problem
from mercer.solvers.newton.left_out import approximate_loo
from mercer.solvers.newton.prepared import PreparedNewton
from mercer.solvers.newton.sums import WeightedLoss, label_loss
from mercer.solvers.ridge.banded import loo_path
from mercer.solvers.rounding import outweighs_rounding

from ..chances import measure_log_losses

JUDGED = 1600  # rows that are fitted where some of them are left out
PENALTIES = np.logspace(-6.0, 2.0, 25)  # of ridge, times the mean of k(x, x)
START = -2  # half powers of ten: the penalty of logistic regression that is tried first
CLASSES = 5  # up to which so many rows are fitted; fewer for more
TOLERANCE = 1e-4  # relative gap of a fit that is only compared


@dataclass(frozen=True)
class JudgedRows:
    """The penalty of least error, and what it says of the rows that were judged, in their order."""

    alpha: float
    outputs: np.ndarray


def leave_out_ridge(
    kernels: Sequence[Kernel], rows: Rows, goals: np.ndarray, folds: Sequence[np.ndarray], memory: int
) -> JudgedRows:
    """Return the exact leave-one-out predictions of ridge, each fold with a kernel of its own, of least squared error.

    Parameters
    ----------
    kernels : sequence of Kernel
        One for each fold.
    rows : array of shape (n, d), or a frame
        All rows.
    goals : array of shape (n, q)
        Targets.
    folds : sequence of int arrays
        The rows to judge.
    memory : int
        Bytes.
    """
    level = float(np.mean(kernels[0].diag(rows))) or 1.0
    alphas, left = PENALTIES * level, []
    for kernel, fold in zip(kernels, folds, strict=True):
        beside = _take_beside(length(rows), fold, JUDGED)
        problem = Problem(kernel, pick(rows, beside), goals[beside], None, True, memory)
        path = loo_path(problem)(alphas)
        sure = outweighs_rounding(problem, alphas, path)
        left.append(np.where(sure[:, None, None], path, np.nan)[:, : len(fold)])
    residuals = np.concatenate(left, axis=1)
    best = find_best(-np.mean(residuals**2, axis=(1, 2))[None], alphas)[1]
    truth = goals[np.concatenate(folds)]
    return JudgedRows(float(f"{alphas[best]:.4g}"), truth - np.nan_to_num(residuals[best]))


def leave_out_logistic(
    kernels: Sequence[Kernel], rows: Rows, codes: np.ndarray, classes: int, folds: Sequence[np.ndarray],
    memory: int, on_step: Callable[[], bool],
) -> JudgedRows:  # fmt: skip
    """Return the chances that logistic regression gives to rows left out; its penalty is the best of the first fold.

    Parameters are those of :func:`leave_out_ridge`, but that targets are codes of classes, counted from 0, every one of
    which occurs; ``on_step`` is asked after each penalty whether to end.
    """
    level = float(np.mean(kernels[0].diag(rows))) or 1.0
    most = round(JUDGED * min(1.0, CLASSES / classes) ** 0.5)
    fits = []
    for kernel, fold in zip(kernels, folds, strict=True):
        beside = _take_beside(length(rows), fold, most, codes)
        problem = Problem(kernel, pick(rows, beside), np.zeros((len(beside), 1)), None, True, memory)
        fits.append(_LogisticFit(problem, label_loss(codes[beside], classes, np.ones(len(beside)))))
    truth, tried = codes[folds[0]], dict[int, tuple[float, np.ndarray]]()

    def try_penalty(power: int) -> float:
        """Return the log-loss of the first fold with the penalty 10^(power/2)."""
        if power not in tried:
            chances = fits[0].leave_out(level * 10.0 ** (power / 2), len(folds[0]))
            tried[power] = float(measure_log_losses(truth, chances).mean()), chances
        return tried[power][0]

    # Powers of ten down and up from the first as far as they get better, and then halfway to the next.
    for power, before in ((START, START), (START - 2, START), (START - 4, START - 2), (START + 2, START)):
        if not tried or (min(tried, key=try_penalty) == before and not on_step()):
            try_penalty(power)
    middle = min(tried, key=try_penalty)
    for power in (middle - 1, middle + 1):
        if not on_step():
            try_penalty(power)
    best = min(tried, key=try_penalty)
    alpha = float(f"{level * 10.0 ** (best / 2):.4g}")
    others = [fit.leave_out(alpha, len(fold)) for fit, fold in zip(fits[1:], folds[1:], strict=True)]
    return JudgedRows(alpha, np.vstack([tried[best][1], *others]))


class _LogisticFit:
    """Logistic regression of some rows, for one penalty after another."""

    def __init__(self, problem: Problem, loss: WeightedLoss) -> None:
        self._prepared, self._loss = PreparedNewton(problem, loss, "newton-cg", random_state=0), loss
        self._K = problem.gram(dtype=np.float64).dense()

    def leave_out(self, alpha: float, count: int) -> np.ndarray:
        """Return the chances of the first rows, each from a fit without it."""
        found = self._prepared.solve(alpha, TOLERANCE)
        left = approximate_loo(self._K, found.state.outputs, self._loss, alpha, True, together=False)
        return self._loss.loss.predict_proba(left[:count])  # type: ignore[attr-defined]


def _take_beside(n: int, fold: np.ndarray, most: int, codes: np.ndarray | None = None) -> np.ndarray:
    """Return the rows of a fold, and after them others, as many as pay; of every class one at least."""
    others = np.setdiff1d(np.arange(n), fold)
    room = max(0, most - len(fold))
    if len(others) > room:
        some = others[np.unique(np.linspace(0, len(others) - 1, max(1, room)).astype(int))]
        if codes is not None:
            known = np.concatenate([codes[fold], codes[some]])
            first = [np.flatnonzero(codes == code)[0] for code in np.setdiff1d(codes, known)]
            some = np.concatenate([some, np.array(first, dtype=int)])
        others = some
    return np.concatenate([fold, others])
