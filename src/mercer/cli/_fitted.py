"""What a fitted automatic model says of itself, on a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mercer.words import round_number, show_number, show_seconds

from . import _show

if TYPE_CHECKING:
    from mercer.auto.report import Report

MOST_COLUMNS = 30  # of a table that are listed
MOST_IMPORTANT = 10  # columns whose importance is listed
BAR = 20  # characters of the largest
MOST_VALUES = 3  # of a list in a formula of a table
LONG = 300  # characters of a formula that is shown in full


def show_warnings(report: Report) -> None:
    """Print what has to be looked at before anything else."""
    if not report.warnings:
        return
    _show.alarm("Look at this first")
    for sentence in report.warnings:
        _show.bullet(sentence)


def show_columns(report: Report) -> None:
    """Print how each column was treated."""
    _show.heading(f"Columns, to predict {report.target} ({report.task}, {report.n_rows:,} rows)")
    shown = report.columns[:MOST_COLUMNS]
    rows = [[c.name, c.kind, f"{c.missing:,}", f"{c.distinct:,}", c.treatment] for c in shown]
    _show.table(["column", "kind", "missing", "distinct", "treatment"], rows, right=["missing", "distinct"])
    rest = len(report.columns) - len(shown)
    if rest:
        _show.paragraph(f"… and {rest} more column{'s' * (rest > 1)}; --json lists them all")


def show_candidates(report: Report) -> None:
    """Print the models that were tried."""
    if not report.candidates:
        return
    better = "lower" if report.lower_is_better else "higher"
    _show.heading(f"Models tried, by {report.metric} on training rows left out ({better} is better)")
    several = sum(c.chosen for c in report.candidates) > 1
    rows = []
    for c in report.candidates:
        name = f"{c.name} ({c.note})" if c.note else c.name
        mark = "" if not c.chosen else f"→ {c.weight:.0%}" if several else "→"
        rows.append([mark, name, shorten_formula(c.kernel), show_number(c.score), show_seconds(c.seconds)])
    first = "weight" if several else ""
    _show.table([first, "model", "kernel", report.metric, "time"], rows, right=["weight", report.metric, "time"])
    if several:
        _show.paragraph("The model is the mean of those with a weight (→), weighted so.")


def show_scores(report: Report) -> None:
    """Print the scores of the model and of the baselines on rows held out."""
    from mercer.auto.judging.comparison import write_comparison
    from mercer.auto.report import LOWER_IS_BETTER

    if not report.scores:
        _show.heading("No rows were held out, so there is no estimate of how well new rows are predicted")
        return
    _show.heading(f"On {report.n_test:,} rows held out, fitted to the other {report.n_train:,}")
    metrics = list(report.scores[0].values)
    rows = [
        [score.name, *(show_number(score.values[m]) if m in score.values else "" for m in metrics),
         show_seconds(score.seconds)]
        for score in report.scores
    ]  # fmt: skip
    names = [f"{m} {'↓' if m in LOWER_IS_BETTER else '↑'}" for m in metrics]
    _show.table(["model", *names, "time"], rows, right=[*names, "time"])
    if compared := write_comparison(report):
        _show.paragraph(compared)


def show_importances(report: Report) -> None:
    """Print which columns matter."""
    if not report.importances:
        return
    _show.heading(f"What permuting a column costs on the rows held out, in {report.metric}")
    shown = report.importances[:MOST_IMPORTANT]
    largest = max(max(each.value for each in shown), 1e-300)
    rows = [
        [each.name, "█" * round(BAR * max(each.value, 0.0) / largest), round_number(each.value),
         f"± {round_number(each.error)}"]
        for each in shown
    ]  # fmt: skip
    _show.table(["column", "", report.metric, "error"], rows, right=[report.metric, "error"])
    rest = len(report.importances) - len(shown)
    if rest:
        _show.paragraph(f"… and {rest} more column{'s' * (rest > 1)}, which matter less; --json lists them all")


def show_choice(report: Report) -> None:
    """Print the model, its kernel, why that is a kernel, and how it was solved."""
    _show.heading("The model")
    _show.facts(
        [
            ("model", report.model),
            ("kernel", report.kernel if len(report.kernel) <= LONG else shorten_formula(report.kernel)),
            ("certificate", report.certificate.splitlines()[0] if report.certificate else ""),
            ("plan", report.plan),
            ("time", show_seconds(report.seconds)),
        ]
    )


def show_advice(report: Report) -> None:
    """Print what to try next."""
    if not report.advice:
        return
    _show.heading("What to try next")
    for line in report.advice:
        _show.bullet(line)


def show_report(report: Report) -> None:
    """Print all of it."""
    parts = (
        show_warnings, show_columns, show_candidates, show_scores, show_importances, show_choice, show_advice
    )  # fmt: skip
    for part in parts:
        part(report)


def export_report(report: Report) -> dict[str, Any]:
    """Return a report for JSON, without predictions of single rows."""
    return {name: value for name, value in report.to_dict().items() if name != "held_out"}


def shorten_formula(formula: str) -> str:
    """Return a formula for a table: length scales without their name, and long lists of numbers only counted.

    Examples
    --------
    >>> shorten_formula("2.0 * Gaussian(length_scale=[1.0, 2.0, 3.0, 4.0, 5.0]).on([0, 1])")
    '2.0 * Gaussian([5 values]).on([0, 1])'
    """

    def count_values(found: re.Match[str]) -> str:
        values = found[1].count(",") + 1
        return f"[{values} values]" if values > MOST_VALUES else found[0]

    return re.sub(r"\[([^\[\]]*)\]", count_values, formula.replace("length_scale=", ""))
