"""The parts of the page, each under its heading; what there is nothing to say about is empty."""

from __future__ import annotations

import math
from collections import Counter

from sklearn.base import BaseEstimator

from mercer.auto.judging.comparison import write_comparison
from mercer.auto.report import ENOUGH, Report, Score
from mercer.words import count_things, round_number, shorten, shorten_formula, show_duration

from . import _columns as columns
from . import _figures as pictures
from ._html import Markup, code, facts, section, side_by_side, table, tag
from ._words import find_own_score

SHORT, MIDDLE = 80, 200  # letters of a formula that is shown as it is, and of one that was shortened


def write_warnings(report: Report) -> Markup:
    """Return what has to be looked at before anything else."""
    if not report.warnings:
        return Markup("")
    listed = tag("ul", *(tag("li", sentence) for sentence in report.warnings))
    return tag("section", tag("h2", "Look at this first"), listed, class_="warning", role="alert")


def write_scores(report: Report) -> Markup:
    """Return the scores of the model and of the baselines, and how they compare."""
    if not report.scores:
        return Markup("")
    metrics = list(dict.fromkeys([report.metric, *(name for score in report.scores for name in score.values)]))
    rows = [
        [
            score.name,
            *(_show_score(score, m, report.metric) for m in metrics),
            show_duration(score.seconds),
        ]
        for score in report.scores
    ]
    own = next(i for i, score in enumerate(report.scores) if score is find_own_score(report))
    headings = ["model", *metrics, "time"]
    listed = table("Scores on held-out rows", headings, rows, numbers=range(1, len(headings)), best=[own])
    compared = write_comparison(report)
    words = tag("p", compared) if compared else Markup("")
    return section("Scores", words, side_by_side(pictures.draw_scores(report), listed))


def _show_score(score: Score, metric: str, main: str) -> str:
    """Return a score, with its standard error if it is the one that decides."""
    if metric not in score.values:
        return "–"
    error = f" ± {round_number(score.error)}" if metric == main and math.isfinite(score.error) else ""
    return round_number(score.values[metric]) + error


def write_held_out(report: Report) -> Markup:
    """Return pictures of what the model makes of rows it has not seen."""
    found = report.held_out
    if found is None or not len(found.truth):
        return Markup("")
    if report.task == "regression":
        parts = pictures.draw_predictions(found, report.target), pictures.draw_errors(found)
    else:
        parts = pictures.draw_confusion(found), pictures.draw_reliability(report.calibration)
    return section("On rows it has not seen", side_by_side(*parts))


def write_importances(report: Report) -> Markup:
    """Return which columns matter, or that the rows held out are too few to tell."""
    title = "Which columns matter"
    if not report.importances:
        return Markup("")
    if report.n_test < ENOUGH:
        few = f"{count_things(report.n_test, 'row')} held out cannot tell which columns matter."
        return section(title, tag("p", few))
    note = (
        f"By how much {report.metric} gets worse when the values of a column are dealt out anew among the rows held "
        "out, with its standard error. Columns that say the same share what they are worth."
    )
    return section(title, tag("p", note, class_="soft"), columns.draw_importances(report))


def write_dependences(report: Report) -> Markup:
    """Return how predictions depend on the columns that matter most."""
    if not report.dependences:
        return Markup("")
    rows = count_things(report.dependences[0].rows, "held-out row")
    note = (
        f"The mean prediction for {rows} if all had the same value in a column and kept their others. All pictures "
        "have the same scale; grey shows where rows are. This is what the model says, and not what causes what."
    )
    spread, shown = report.target_distribution, len(report.dependences[0].outputs)
    if spread is not None and shown > 1 and (classes := len(spread.levels) + spread.others) > shown:
        note += f" Of {classes} classes the {shown} most frequent are shown."
    return section("How predictions depend on them", tag("p", note, class_="soft"), columns.draw_dependences(report))


def write_data(report: Report) -> Markup:
    """Return what the table holds, and what was done with it."""
    kinds = Counter(column.kind for column in report.columns)
    missing = sum(column.missing for column in report.columns)
    pairs = [
        ("target", report.target),
        ("rows", f"{report.n_rows:,}"),
        ("to learn from", f"{report.n_train:,}"),
        ("held out", f"{report.n_test:,}"),
        ("columns", ", ".join(f"{n} {kind}" for kind, n in kinds.items()) or "none"),
        ("missing values", f"{missing:,}"),
    ]
    if stray := sum(column.n_stray for column in report.columns):
        pairs.append(("stray cells", f"{stray:,}, counted as missing"))
    listed = _list_columns(report) if report.columns else Markup("")
    return section("Data", facts(pairs), columns.draw_target(report.target_distribution), listed)


def _list_columns(report: Report) -> Markup:
    """Return the table of columns, with small pictures of the first."""
    spreads = {found.name: found for found in report.distributions}
    headings = ["column", *(["values"] if spreads else []), "taken as", "what was done", "missing", "distinct"]
    rows = [
        [column.name, *([columns.draw_spread(spreads.get(column.name))] if spreads else []), column.kind,
         column.treatment, _show_missing(column.missing, report.n_rows), f"{column.distinct:,}"]
        for column in report.columns
    ]  # fmt: skip
    found = table("Columns", headings, rows, numbers=(len(headings) - 2, len(headings) - 1))
    last = max((i for i, column in enumerate(report.columns) if column.name in spreads), default=0)
    rest = sum(column.kind in ("numeric", "categorical") for column in report.columns[last + 1 :])
    note = tag("p", f"{count_things(rest, 'other column')} have no picture.", class_="soft") if spreads and rest else ""
    return Markup(found + note)


def _show_missing(missing: int, rows: int) -> str:
    return f"{missing:,} ({missing / rows:.0%})" if missing and rows else f"{missing:,}"


def write_candidates(report: Report) -> Markup:
    """Return what was tried, in the order of the score that it was chosen by."""
    if not report.candidates:
        return Markup("")
    chosen = [i for i, candidate in enumerate(report.candidates) if candidate.chosen]
    alone = " (chosen)" if len(chosen) == 1 else ""
    rows = [
        [
            candidate.name + alone * candidate.chosen,
            f"→ {candidate.weight:.0%}" if candidate.chosen else "",
            round_number(candidate.score),
            show_duration(candidate.seconds),
            _fold(candidate.kernel),
            candidate.note,
        ]
        for candidate in report.candidates
    ]
    note = (
        f"Compared by {report.metric} on training rows that were left out, never on the rows held out for the scores."
    )
    if not alone:
        note += " The model is the mean of those with a weight (→), weighted so."
    headings = ["model", "weight", report.metric, "time", "kernel", "note"]
    shown = [name for name in headings if name not in _find_empty(report, bool(alone))]
    rows = [[row[headings.index(name)] for name in shown] for row in rows]
    right = [i for i, name in enumerate(shown) if name in (report.metric, "time", "weight")]
    listed = table("Models that were tried", shown, rows, numbers=right, best=chosen)
    return section("What was tried", tag("p", note, class_="soft"), listed)


def _find_empty(report: Report, alone: bool) -> set[str]:
    """Return the columns of the table of candidates that would say nothing."""
    noted = any(candidate.note for candidate in report.candidates)
    return {name for name, empty in (("weight", alone), ("note", not noted)) if empty}


def _fold(formula: str) -> Markup:
    """Return a formula, all of it behind its beginning if it is long."""
    short = shorten(shorten_formula(formula), MIDDLE)
    if len(formula) <= SHORT or short == formula:
        return tag("span", formula, class_="formula")
    return tag("details", tag("summary", short), formula, class_="formula")


def write_kernel(report: Report) -> Markup:
    """Return the kernel, and why it is one."""
    parts = [_fold(report.kernel)] if report.kernel else []
    if parts and (name := _find_heaviest(report)):
        parts.insert(0, tag("p", f"Of the heaviest part, {name}; so is how it was solved, below.", class_="soft"))
    if report.certificate:
        proof = report.certificate if len(report.kernel) <= MIDDLE else shorten_formula(report.certificate)
        parts += [tag("h3", "Why it is a kernel"), code(proof)]
    return section("Kernel", *parts)


def _find_heaviest(report: Report) -> str:
    """Return the name of the heaviest part of a combination; nothing if the model is one alone."""
    parts = [candidate for candidate in report.candidates if candidate.chosen]
    return max(parts, key=lambda part: part.weight).name if len(parts) > 1 else ""


def write_solution(report: Report, model: BaseEstimator) -> Markup:
    """Return how the model was solved, with its spectrum and the path of its penalty."""
    plan = tag("p", report.plan) if report.plan else Markup("")
    if model is None:
        return section("How it was solved", plan)
    eigenvalues, freedom = pictures.draw_spectrum(model)
    return section("How it was solved", plan, side_by_side(pictures.draw_path(model), eigenvalues, freedom))


def write_advice(report: Report) -> Markup:
    """Return what to try next."""
    if not report.advice:
        return Markup("")
    return section("What to try next", tag("ul", *(tag("li", sentence) for sentence in report.advice)))
