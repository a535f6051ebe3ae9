"""The result in words."""

from __future__ import annotations

import math

from mercer.auto.report import ENOUGH, Report, Score
from mercer.words import count_things, round_number


def find_own_score(report: Report) -> Score | None:
    """Return the score of the model itself, None if no rows were held out."""
    named = [score for score in report.scores if score.name.lower().startswith("mercer")]
    return next(iter(named or report.scores), None)


def find_best_baseline(report: Report) -> Score | None:
    """Return the strongest of the models it is compared with."""
    own = find_own_score(report)
    others = [score for score in report.scores if score is not own and _is_known(score, report.metric)]
    if not others:
        return None
    pick = min if report.lower_is_better else max
    return pick(others, key=lambda score: score.values[report.metric])


def write_headline(report: Report) -> str:
    """Return the result in one sentence."""
    own = find_own_score(report)
    if own is None or not _is_known(own, report.metric):
        return f"Fitted to {count_things(report.n_rows, 'row')}; none were held out, so there is no score."
    value = own.values[report.metric]
    metric = report.metric[:1].upper() + report.metric[1:]
    words = f"{metric} {round_number(value)} on {count_things(report.n_test, 'held-out row')}"
    rival = find_best_baseline(report)
    return f"{words}." if rival is None else f"{words}: {_compare(value, rival, report)}."


def _compare(value: float, rival: Score, report: Report) -> str:
    other = rival.values[report.metric]
    found = report.comparison
    compared = found if found is not None and found.rival == rival.name else None
    if report.n_test < ENOUGH if compared is None else not compared.is_clear:
        return f"no difference from {rival.name} that these rows could show"
    if round_number(value) == round_number(other):
        return f"as good as {rival.name}"
    side = "below" if value < other else "above"
    better = (value < other) == report.lower_is_better
    remark = "" if better else ", which is better here"
    sizes = [abs(other - value), *(sorted(map(abs, (compared.low, compared.high))) if compared else [])]
    if report.lower_is_better and max(sizes) < other:
        digits = 0 if 100 * min(sizes) >= other else 1
        shown, unit = [f"{100 * size / other:.{digits}f}" for size in sizes], " %"
    else:  # more than all of it makes no sense to anybody
        shown, unit = [round_number(size) for size in sizes], ""
    sure = f" (90 % interval: {shown[1]} to {shown[2]}{unit})" if compared else ""
    return f"{shown[0]}{unit} {side} {rival.name}{sure}{remark}"


def _is_known(score: Score, metric: str) -> bool:
    return math.isfinite(score.values.get(metric, math.nan))
