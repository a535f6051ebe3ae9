"""Many rows say more than those that candidates were compared on: learn chosen kernels again, and their penalties."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.formula.data import Rows, pick

from .search.base import TableSearch
from .search.encodings import EncodedRows, Encodings
from .search.members import TableMember
from .search.trials import Trial
from .splitting import sample_rows
from .tables.encoder import TableEncoder

MORE = 1.5  # times the rows that were compared on, from which kernels are learned again
LEARNED_ROWS = 12_000  # that they are learned from, at most
LEAST_ROWS, FITTED, JUDGED = 1400, 5000, 2000  # from which penalties are chosen again; then fitted and judged at most
FACTORS = (0.1, 0.3, 1.0, 3.0)  # of the penalty
PLAIN = ("one scale", "")  # families of which nothing is learned


def refine_trials(
    search: TableSearch, trials: list[Trial], weights: np.ndarray, encoder: TableEncoder, X: Rows, targets: np.ndarray,
    seconds: float,
) -> list[Trial]:  # fmt: skip
    """Return the trials, those with a weight refined by more rows while time lasts, heaviest first."""
    found, n, deadline = list(trials), len(targets), search.clock.elapsed + seconds
    if n < LEAST_ROWS or search.given is not None or search.loss is not None:
        return found
    some = sample_rows(np.arange(n), targets, LEARNED_ROWS, search.task, 0)
    encodings = Encodings(encoder, pick(X, some), search.make_goals(targets[some]))
    factor = 0.0  # of the penalty of the heaviest, which those of the others are multiplied by as well

    def is_over() -> bool:
        return search.tasks.step() or search.clock.elapsed >= deadline

    for i in np.argsort(-weights, kind="stable"):
        if weights[i] == 0 or is_over():
            break
        trial = found[i]
        if not trial.name.startswith(search.noun):
            continue  # another model that was asked for, with parameters of its own
        view = encodings.encode(trial.way)
        shown = search.show_targets(targets[some], trial.extra)
        if trial.family not in PLAIN and n >= MORE * len(search.y):
            seen = search.scale_targets(shown if search.task == "regression" else targets[some])
            kernel = search.learn_from(view, trial.family, seen, [np.arange(len(some) // 4)], is_over).kernel
            if not is_over():  # then what was learned before is better than what is half learned
                trial = replace(trial, kernel=kernel, estimator=clone(trial.estimator).set_params(kernel=kernel))
        if not factor and not is_over():
            factor = _choose_factor(search, trial, view, shown, targets[some], is_over)
        if factor:
            alpha = float(f"{trial.estimator.get_params()['alpha'] * factor:.4g}")
            trial = replace(trial, estimator=clone(trial.estimator).set_params(alpha=alpha))
        found[i] = trial
    return found


def _choose_factor(
    search: TableSearch, trial: Trial, view: EncodedRows, shown: np.ndarray, targets: np.ndarray, is_over: Any
) -> float:
    """Return the factor of a penalty that makes the error on rows that are not fitted least."""
    n, most = len(targets), round(FITTED / search.functions**0.5)
    order = np.random.RandomState(0).permutation(n)
    judged, fitted = order[: min(JUDGED, n // 4)], order[min(JUDGED, n // 4) :][:most]
    lost = np.setdiff1d(targets, targets[fitted]) if search.task == "classification" else np.empty(0)
    fitted = np.concatenate([fitted, *(np.flatnonzero(targets == code)[:1] for code in lost)]).astype(int)
    scores: dict[float, float] = {}
    for factor in sorted(FACTORS, reverse=True):
        model: Any = clone(trial.estimator)
        model.set_params(alpha=factor * model.alpha)
        member = TableMember(trial.name, 1.0, model.fit(view.rows[fitted], shown[fitted]), view.encoder, trial.extra)
        outputs = search.predict_member(member, view.rows[judged])
        scores[factor] = search.score(targets[judged], outputs)[search.metric]
        if scores[factor] > min(scores.values()) or is_over():
            break
    return min(scores, key=lambda factor: scores[factor])
