"""The pictures of a report."""

from __future__ import annotations

import math

import numpy as np
from sklearn.base import BaseEstimator

from mercer.auto.figures import Calibration
from mercer.auto.judging.calibration import judge_calibration
from mercer.auto.report import ENOUGH, HeldOut, Report
from mercer.inspection.eigen import decompose_estimator
from mercer.inspection.path import read_path
from mercer.words import count_things, round_number, shorten

from ._html import Markup, figure, table, tag
from ._svg import Chart, draw_bars
from ._words import find_own_score

MOST_POINTS = 1000  # of a kernel matrix whose eigenvalues are drawn
MOST_CLASSES = 20  # of a table of confusions


def draw_scores(report: Report) -> Markup:
    """Return the main score of the model and of what it is compared with, if the rows can tell them apart at all."""
    if not report.scores or report.n_test < ENOUGH:
        return Markup("")
    own = find_own_score(report)
    names = [score.name for score in report.scores]
    values = [score.values.get(report.metric, math.nan) for score in report.scores]
    shown = [round_number(value) for value in values]
    better = "lower" if report.lower_is_better else "higher"
    said = "; ".join(f"{name}: {value}" for name, value in zip(names, shown, strict=True))
    place = next(i for i, score in enumerate(report.scores) if score is own)
    picture = draw_bars(f"{report.metric} on held-out rows. {said}.", names, values, shown, place)
    return figure(picture, f"{report.metric} on the rows held out; {better} is better.")


def draw_predictions(found: HeldOut, target: str) -> Markup:
    """Return the targets of held-out rows against what was predicted."""
    truth, answer = _keep_finite(found)
    if not len(truth):
        return Markup("")
    low, high = float(min(truth.min(), answer.min())), float(max(truth.max(), answer.max()))
    edge = 0.03 * (high - low)
    span = (low - edge, high + edge)
    spread = float(np.std(truth)) * float(np.std(answer))
    shared = float(np.mean((truth - truth.mean()) * (answer - answer.mean())))
    r = shared / spread if spread > 0 else math.nan
    words = f"Predicted against true {target} of {len(truth)} held-out rows; their correlation is {round_number(r)}."
    chart = Chart(words, span, span, f"true {target}"[:46], "predicted")
    chart.draw_points(truth, answer)
    chart.draw_line(span, span, "dash")
    return figure(chart.render(), "Held-out rows, predicted against true. On the dashed line they are equal.")


def draw_errors(found: HeldOut) -> Markup:
    """Return how errors on held-out rows are distributed."""
    truth, answer = _keep_finite(found)
    if len(truth) < 2 or np.ptp(truth - answer) == 0:
        return Markup("")
    heights, edges = np.histogram(truth - answer, bins=int(np.clip(math.sqrt(len(truth)), 5, 30)))
    middle, half = float(np.median(truth - answer)), float(np.median(np.abs(truth - answer)))
    words = f"half of them are smaller than {round_number(half)}"
    label = f"Histogram of errors; {words}, and their median is {round_number(middle)}."
    chart = Chart(label, (edges[0], edges[-1]), (0.0, 1.05 * heights.max()), "true − predicted", "rows")
    chart.draw_columns(edges, heights)
    return figure(chart.render(), f"Errors on held-out rows; {words}.")


def draw_confusion(found: HeldOut) -> Markup:
    """Return how often each class was taken for which, as a table."""
    truth, answer = np.asarray(found.truth), np.asarray(found.prediction)
    labels = _sort_labels(truth, answer)
    note = ""
    if len(labels) > MOST_CLASSES:
        frequency = np.array([np.sum(truth == label) for label in labels])
        note = f" The {MOST_CLASSES} most frequent of {len(labels)} classes are shown."
        labels = labels[np.sort(np.argsort(-frequency, kind="stable")[:MOST_CLASSES])]
    counts = np.array([[np.sum((truth == t) & (answer == p)) for p in labels] for t in labels])
    totals = np.maximum([np.sum(truth == t) for t in labels], 1)
    looks = ("cell", "cell right")  # a colour as strong as its share
    rows = [
        [
            label,
            *(tag("span", f"{n:,}", class_=looks[t == p], style=f"--share:{n / total:.2f}") for p, n in enumerate(row)),
        ]
        for t, (label, row, total) in enumerate(zip(labels, counts.tolist(), totals.tolist(), strict=True))
    ]
    picture = table("Confusions of classes", ["true \\ predicted", *labels], rows, numbers=range(1, len(labels) + 1))
    return figure(picture, f"Held-out rows by their true class (down) and the predicted one (across).{note}")


def draw_reliability(found: Calibration | None) -> Markup:
    """Return how often something comes true that was given some chance, with how sure that is."""
    if found is None:
        return Markup("")
    if found.rows < ENOUGH:
        return tag("p", f"{count_things(found.rows, 'row')} held out cannot tell whether probabilities are true.")
    name = shorten(found.label, 24)
    ends = (*found.said, *found.low, *found.high)
    low = 0.0 if found.label else max(0.0, min(ends) - 0.03)
    groups = zip(found.said, found.seen, found.low, found.high, found.counts, strict=True)
    listed = "; ".join(f"{p:.2f}: {k:.2f} ({a:.2f} to {b:.2f}) of {n} rows" for p, k, a, b, n in groups)
    what = f"share that is {name}" if found.label else "share that is right"
    axis = f"probability of {name}" if found.label else "probability of the predicted class"
    chart = Chart(f"Reliability, {what} by {axis}. {listed}.", (low, 1.0), (low, 1.0), axis, what)
    chart.draw_line((low, 1.0), (low, 1.0), "dash")
    chart.draw_spans(found.said, found.low, found.high)
    if len(found.said) > 1:
        chart.draw_line(found.said, found.seen)
    chart.draw_points(found.said, found.seen, "a large")
    least, most = min(found.counts), max(found.counts)
    sizes = count_things(least, "row") if least == most else f"{least:,} to {most:,} rows"
    many = f"{len(found.counts)} groups of {sizes}" if len(found.counts) > 1 else f"one group of {sizes}"
    caption = (
        f"Reliability on held-out rows, in {many}, with 90 % intervals. On the dashed line probabilities are true; the "
        f"mean gap is {round_number(found.error)}. {judge_calibration(found)}"
    )
    return figure(chart.render(), caption)


def draw_spectrum(model: BaseEstimator) -> tuple[Markup, Markup]:
    """Return the eigenvalues of the kernel matrix and the degrees of freedom, if the model keeps its points."""
    try:
        found = decompose_estimator(model, None, None, MOST_POINTS, 0)
    except ValueError:  # a support vector machine keeps only its vectors
        return Markup(""), Markup("")
    values, alpha = found["eigenvalues"], found["alpha"]
    above = values[values > len(values) * np.finfo(np.float64).eps * max(float(values[0]), 0.0)]
    if len(above) < 2:
        return Markup(""), Markup("")
    sample = "" if found["total"] is None else f", estimated from {len(values):,} of {found['total']:,} points"
    top, bottom = float(above[0]), float(above[-1])
    low = bottom if alpha is None else min(bottom, alpha)
    words = f"Eigenvalues of the kernel matrix from {round_number(top)} down to {round_number(bottom)}{sample}."
    left = Chart(words, (1.0, float(len(above))), (low, 2 * top), "number j", "eigenvalue", xlog=True, ylog=True)
    left.draw_line(np.arange(1, len(above) + 1), above)
    if alpha is not None:
        left.draw_level(alpha, f"α = {round_number(alpha)}")
    alphas, freedom = found["alphas"], found["effective_dof"]
    words = f"Effective degrees of freedom against the penalty{sample}."
    right = Chart(
        words, (alphas[0], alphas[-1]), (0.0, 1.05 * float(freedom[0])), "penalty α", "degrees of freedom", xlog=True
    )
    right.draw_line(alphas, freedom)
    caption = "Effective degrees of freedom Σ λⱼ/(λⱼ + α) against the penalty."
    if alpha is not None:
        here = float(np.interp(math.log(alpha), np.log(alphas), freedom))
        right.mark(alpha, here, round_number(here))
        caption = f"The penalty leaves {round_number(here)} effective degrees of freedom, Σ λⱼ/(λⱼ + α)."
    if hasattr(model, "predict_proba"):  # chances have curvatures of their own: the sum is one of least squares
        return figure(left.render(), f"Eigenvalues λⱼ of the kernel matrix{sample}."), Markup("")
    return (
        figure(left.render(), f"Eigenvalues λⱼ of the kernel matrix{sample}. Those above the penalty are fitted."),
        figure(right.render(), caption),
    )


def draw_path(model: BaseEstimator) -> Markup:
    """Return how the penalty was chosen, if the model keeps its path."""
    try:
        found = read_path(model)
    except ValueError:  # the penalty was given
        return Markup("")
    order = np.argsort(found["penalties"])
    penalties = np.asarray(found["penalties"])[order]
    curve = np.asarray(found["errors"])[found.get("chosen_kernel", 0)][order]
    finite = curve[np.isfinite(curve)]
    if len(finite) < 2 or penalties[0] <= 0:
        return Markup("")
    larger = found.get("larger_is_better", False)
    name, error = found.get("penalty_name", "penalty α"), found.get("error_name", "leave-one-out squared error")
    at, value = found["chosen"]
    positive = not larger and min(float(finite.min()), value) > 0
    low, high = min(float(finite.min()), value), float(finite.max())
    high = min(high, 100 * low) if positive else high
    edge = 0.0 if positive else 0.05 * (high - low or 1.0)
    span = (low / 1.3, high * 1.3) if positive else (low - edge, high + edge)
    words = f"{error} against {name}; chosen: {round_number(at)} with {round_number(value)}."
    chart = Chart(words, (penalties[0], penalties[-1]), span, name, error[:40], xlog=True, ylog=positive)
    chart.draw_line(penalties, curve)
    chart.mark(at, value, f"{name.split()[-1]} = {round_number(at)}")
    return figure(chart.render(), f"How the penalty was chosen: {error} of the chosen kernel.")


def _sort_labels(truth: np.ndarray, answer: np.ndarray) -> np.ndarray:
    """Return the classes in their own order, or in that of their names if they have none."""
    everything = np.concatenate([truth, answer])
    try:
        return np.unique(everything)
    except TypeError:  # labels of several kinds
        return np.array(sorted(set(everything.tolist()), key=str), dtype=object)


def _keep_finite(found: HeldOut) -> tuple[np.ndarray, np.ndarray]:
    truth, answer = np.asarray(found.truth, dtype=np.float64), np.asarray(found.prediction, dtype=np.float64)
    there = np.isfinite(truth) & np.isfinite(answer)
    return truth[there], answer[there]
