"""What a fitted automatic model says of itself, on a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mercer.words import round_number, shorten_formula, show_number, show_seconds

from . import _show

if TYPE_CHECKING:
    from mercer.auto.report import Report

MOST_COLUMNS = 30  # of a table that are listed
MOST_IMPORTANT = 10  # columns whose importance is listed
BAR = 20  # characters of the largest
WIDE = 110  # characters of a line from which a table has room for formulas
LONG = 200  # characters of a formula that is shown in full


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
    several, wide = sum(c.chosen for c in report.candidates) > 1, _show.console().width >= WIDE
    rows = []
    for c in report.candidates:
        name = f"{c.name} ({c.note})" if c.note else c.name
        mark = "" if not c.chosen else f"→ {c.weight:.0%}" if several else "→"
        formula = [shorten_formula(c.kernel)] if wide else []
        rows.append([mark, name, show_number(c.score), show_seconds(c.seconds), *formula])
    names = ["weight" if several else "", "model", report.metric, "time", *(["kernel"] if wide else [])]
    _show.table(names, rows, right=["weight", report.metric, "time"])
    if several:
        _show.paragraph("The model is the mean of those with a weight (→), weighted so.")


def show_scores(report: Report) -> None:
    """Print the scores of the model and of the baselines on rows held out."""
    from mercer.auto.judging.calibration import describe_calibration
    from mercer.auto.judging.comparison import write_comparison
    from mercer.auto.report import LOWER_IS_BETTER

    if not report.scores:
        _show.heading("No rows were held out: how well new rows are predicted is not known")
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
    if report.calibration is not None:
        _show.paragraph(describe_calibration(report.calibration))


def show_importances(report: Report) -> None:
    """Print which columns matter."""
    from mercer.auto.report import ENOUGH

    if not report.importances or report.n_test < ENOUGH:
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
    about = [("model", report.model), ("time", show_seconds(report.seconds))]
    inner = [
        ("kernel", fold_formula(report.kernel)),
        ("certificate", report.certificate.splitlines()[0] if report.certificate else ""),
        ("plan", report.plan),
    ]
    parts = [c for c in report.candidates if c.chosen]
    if len(parts) > 1:
        _show.facts(about)
        _show.heading(f"Its heaviest part: {max(parts, key=lambda part: part.weight).name}")
        _show.facts(inner)
    else:
        _show.facts([about[0], *inner, about[1]])


def fold_formula(formula: str) -> str:
    """Return a formula with numbers of four digits, or shortened if it is long."""
    rounded = re.sub(r"\d+\.\d{4,}", lambda found: f"{float(found[0]):.4g}", formula)
    return rounded if len(rounded) <= LONG else shorten_formula(rounded)


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


def show_result(report: Report, path: str) -> None:
    """Print one line: where the model is, and what it scored next to the baselines."""
    scores = ", ".join(f"{score.name} {show_number(score.values[report.metric])}" for score in report.scores)
    judged = f"{report.metric} on {report.n_test:,} rows held out: {scores}" if scores else "no rows were held out"
    _show.line(f"{path}: {judged}")


def export_report(report: Report) -> dict[str, Any]:
    """Return a report for JSON, without predictions of single rows."""
    return {name: value for name, value in report.to_dict().items() if name != "held_out"}
