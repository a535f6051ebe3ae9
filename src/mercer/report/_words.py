"""Numbers, times and results in words."""

from __future__ import annotations

import math

from mercer.auto.report import Report, Score


def number(value: float) -> str:
    """Return a number with three digits that matter, large ones whole.

    Examples
    --------
    >>> number(0.41234), number(12345.6), number(float("nan"))
    ('0.412', '12,346', '–')
    """
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Return a time as people say it.

    Examples
    --------
    >>> duration(0.25), duration(75.0), duration(4000.0)
    ('0.25 s', '1 min 15 s', '1 h 7 min')
    """
    if not math.isfinite(seconds):
        return "–"
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 3600:
        return "{} min {} s".format(*divmod(int(seconds), 60))
    return "{} h {} min".format(*divmod(round(seconds / 60), 60))


def count(n: int, thing: str) -> str:
    """Return how many of something there are.

    Examples
    --------
    >>> count(1, "row"), count(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def own_score(report: Report) -> Score | None:
    """Return the score of the model itself, None if no rows were held out."""
    named = [score for score in report.scores if score.name.lower().startswith("mercer")]
    return next(iter(named or report.scores), None)


def best_baseline(report: Report) -> Score | None:
    """Return the strongest of the models it is compared with."""
    own = own_score(report)
    others = [score for score in report.scores if score is not own and _known(score, report.metric)]
    if not others:
        return None
    pick = min if report.lower_is_better else max
    return pick(others, key=lambda score: score.values[report.metric])


def headline(report: Report) -> str:
    """Return the result in one sentence.

    Examples
    --------
    >>> from mercer.auto.report import Report, Score
    >>> scores = Score("mercer Matern", {"RMSE": 0.41}, 1.0), Score("HistGradientBoosting", {"RMSE": 0.66}, 1.0)
    >>> headline(Report("regression", "y", 200, 46, 154, (), (), "RMSE", scores, "", "", "", "", (), 2.0, None))
    'RMSE 0.41 on 154 held-out rows: 38 % below HistGradientBoosting.'
    """
    own = own_score(report)
    if own is None or not _known(own, report.metric):
        return f"Fitted to {count(report.n_rows, 'row')}; none were held out, so there is no score."
    value = own.values[report.metric]
    metric = report.metric[:1].upper() + report.metric[1:]
    words = f"{metric} {number(value)} on {count(report.n_test, 'held-out row')}"
    rival = best_baseline(report)
    return f"{words}." if rival is None else f"{words}: {_compared(value, rival, report)}."


def _compared(value: float, rival: Score, report: Report) -> str:
    other = rival.values[report.metric]
    if number(value) == number(other):
        return f"as good as {rival.name}"
    side = "below" if value < other else "above"
    better = (value < other) == report.lower_is_better
    remark = "" if better else ", which is better here"
    if report.lower_is_better and other > 0:
        share = 100 * abs(other - value) / other
        return f"{share:.{0 if share >= 1 else 1}f} % {side} {rival.name}{remark}"
    return f"{number(abs(value - other))} {side} {rival.name}{remark}"


def _known(score: Score, metric: str) -> bool:
    return math.isfinite(score.values.get(metric, math.nan))
