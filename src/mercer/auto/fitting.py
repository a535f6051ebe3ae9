"""The last fits of an automatic model, in the time there is, and how long everything may take."""

from __future__ import annotations

import math

import numpy as np

from mercer.formula.data import Rows, pick

from .search.base import TableSearch
from .search.encodings import Encodings
from .search.members import TableMember, fit_member, plan_last_fit
from .search.trials import Trial
from .splitting import sample_rows
from .tables.encoder import TableEncoder

PER_ROW, LEAST_SECONDS, MOST_SECONDS = 0.008, 12.0, 150.0  # seconds that a fit may take if none are given
MANY, MOST_MEMBERS = 6000, (3, 2)  # rows from which fewer candidates are combined
TUNING_ROWS, LEAST_ROWS = 2500, 150  # that candidates are compared on, at most and at least
ROWS_PER_SECOND = 100  # of the budget, that candidates are compared on
PER_PAIR = 40.0  # bytes of each pair of these
SHARE = 0.7  # of the time left that the last fits may take


def default_budget(n: int) -> float:
    """Return the seconds that a fit of n rows may take.

    Examples
    --------
    >>> default_budget(500), default_budget(5000), default_budget(10**6)
    (16.0, 52.0, 150.0)
    """
    return min(MOST_SECONDS, LEAST_SECONDS + PER_ROW * n)


def count_members(n: int) -> int:
    """Return how many candidates are combined at most for n rows, those of each function counted."""
    return MOST_MEMBERS[int(n >= MANY)]


def count_search_rows(seconds: float, memory: float = math.inf) -> int:
    """Return how many rows candidates are compared on in a budget of time and of bytes.

    Examples
    --------
    >>> count_search_rows(12.0), count_search_rows(12.0, 1e7)
    (1200, 500)
    """
    affordable = math.sqrt(memory / PER_PAIR)
    return int(min(TUNING_ROWS, max(LEAST_ROWS, min(ROWS_PER_SECOND * seconds, affordable))))


def fit_members(
    search: TableSearch, trials: list[Trial], weights: np.ndarray, encoder: TableEncoder, X: Rows, targets: np.ndarray,
    seconds: float,
) -> tuple[list[TableMember], list[str]]:  # fmt: skip
    """Fit the chosen candidates, heaviest first, to many rows, and return them with notes on how that was done."""
    chosen = [i for i in np.argsort(-weights, kind="stable") if weights[i] > 0]
    members: list[TableMember] = []
    notes: list[str] = []
    goals = search.make_goals(targets)
    encodings: dict[int, Encodings] = {}  # of as many rows as a member is fitted to
    for i in chosen:
        trial, n = trials[i], len(targets)
        columns = max(1, len(trial.encoder.get_feature_names_out()))
        how = plan_last_fit(
            trial.kernel, search.noun, n, columns, search.functions, search.memory, SHARE * seconds / len(chosen)
        )
        some = sample_rows(np.arange(n), targets, how.rows, search.task, 0)
        if len(some) not in encodings:
            encodings[len(some)] = Encodings(encoder, pick(X, some) if len(some) < n else X, goals[some])
        seen = encodings[len(some)].encode(trial.way)
        members.append(fit_member(trial, float(weights[i]), how, seen, search.show_targets(targets[some], trial.extra)))
        if len(some) < n:
            notes.append(f"{len(some):,} of {n:,} rows were fitted in the time there was; a larger budget takes more.")
        elif how.centers is not None and how.centers < n and members[-1].is_approximate:
            notes.append(
                f"{how.centers:,} Nyström centres stand for all {n:,} rows, because {how.why}: a "
                "larger budget takes more."
            )
    return members, list(dict.fromkeys(notes))
