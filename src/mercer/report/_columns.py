"""The pictures of columns: which matter, how predictions depend on them, and how their values are spread."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mercer.auto.figures import Dependence, Distribution
from mercer.auto.judging.importance import find_clear
from mercer.auto.report import Report
from mercer.words import count_things, round_number, shorten

from ._html import Cell, Markup, figure, side_by_side, tag
from ._svg import Chart, draw_bars, draw_dots, draw_strip

MOST_COLUMNS = 12  # whose importance is drawn
STYLES = ("a", "b", "c")  # of the lines of classes
LONG = 24  # letters of a name within a picture


def draw_importances(report: Report) -> Markup:
    """Return how much the columns matter, the most important ones, with their standard errors."""
    shown = report.importances[:MOST_COLUMNS]
    names = [each.name for each in shown]
    words = [f"{round_number(each.value)} ± {round_number(each.error)}" for each in shown]
    said = "; ".join(f"{name}: {value}" for name, value in zip(names, words, strict=True))
    values, errors = [each.value for each in shown], [each.error for each in shown]
    picture = draw_bars(f"Importance of columns. {said}.", names, values, words, -1, errors)
    rest = len(report.importances) - len(shown)
    others = f" {count_things(rest, 'other column')} matter less." if rest else ""
    sure = "" if find_clear(report.importances, report.n_test) else " None is clearly above 0."
    return figure(picture, f"{report.metric} lost by permuting a column; lines are standard errors.{others}{sure}")


def draw_dependences(report: Report) -> Markup:
    """Return how predictions depend on columns, all over the same range, so that flat lines are flat."""
    every = [value for found in report.dependences for line in found.values for value in line]
    edge = 0.05 * (max(every) - min(every) or abs(max(every)) or 1.0)
    span = (min(every) - edge, max(every) + edge)
    if report.task == "classification":
        span = (max(0.0, span[0]), min(1.0, span[1]))
    spreads = {found.name: found for found in report.distributions}
    return side_by_side(
        *(_draw_dependence(found, spreads.get(found.name), report, span) for found in report.dependences)
    )


def _draw_dependence(
    found: Dependence, spread: Distribution | None, report: Report, span: tuple[float, float]
) -> Markup:
    styles = STYLES[: len(found.values)]
    axis = f"predicted {shorten(report.target, LONG)}"
    if found.outputs:
        axis = f"probability of {shorten(found.outputs[0], LONG)}" if len(found.outputs) == 1 else "probability"
    shown = [
        shorten(str(value), LONG) if isinstance(value, str) else show_value(value, found.dates) for value in found.grid
    ]
    lines = [
        (f"{label}: " if label else "")
        + ", ".join(f"{at} → {round_number(y)}" for at, y in zip(shown, line, strict=True))
        for label, line in zip(found.outputs or ("",), found.values, strict=True)
    ]
    label = f"Mean {axis} by {found.name}. {'; '.join(lines)}."
    if isinstance(found.grid[0], str):
        shares = {} if spread is None else dict(zip(spread.levels, spread.shares, strict=True))
        names = [f"{shorten(str(at), 40)}{_show_share(shares.get(str(at)))}" for at in found.grid]
        picture = draw_dots(label, names, found.values, styles, span, axis)
    else:
        grid = np.array(found.grid, dtype=np.float64)
        picture = _draw_curve(label, grid, found, spread, span, axis)
    keys: list[Cell] = []
    if len(found.outputs) > 1:
        keys = [tag("span", name, class_=f"key {style}") for name, style in zip(found.outputs, styles, strict=True)]
    return figure(picture, Markup(tag("b", found.name) + "".join(keys)))


def _draw_curve(
    label: str, grid: np.ndarray, found: Dependence, spread: Distribution | None, span: tuple[float, float], axis: str
) -> Markup:
    ends, spans = (grid[0], grid[-1]), []
    if spread is not None and spread.edges:
        spans = list(pairwise(spread.edges))
        if (np.histogram(grid, spread.edges)[0] == 1).all():  # few values, each with a bin of its own
            ends = (spread.edges[0], spread.edges[-1])
            half = 0.02 * (ends[1] - ends[0])
            spans = [(at - half, at + half) for at in grid.tolist()]
    chart = Chart(label, ends, span, shorten(found.name, 46), axis, dates=found.dates)
    if spread is not None and spans:
        chart.shade(spans, spread.shares)
    for style, line in zip(STYLES, found.values, strict=False):
        chart.draw_line(grid, line, style)
        chart.draw_points(grid, line, style)
    return chart.render()


def draw_target(found: Distribution | None) -> Markup:
    """Return how the target is spread."""
    if found is None or not found.shares:
        return Markup("")
    if found.levels:
        shown = [f"{share:.1%}" for share in found.shares]
        said = "; ".join(f"{level}: {share}" for level, share in zip(found.levels, shown, strict=True))
        picture = draw_bars(f"Shares of the classes of {found.name}. {said}.", found.levels, found.shares, shown, -1)
        rest = f" Of {found.others + len(shown)} classes the most frequent are shown." if found.others else ""
        return figure(picture, f"{found.name}: the share of rows of each class.{rest}")
    words = _describe_numbers(found)
    label = f"Histogram of {found.name}, {words}."
    chart = Chart(
        label, (found.edges[0], found.edges[-1]), (0.0, 105 * max(found.shares)), shorten(found.name, 46), "% of rows"
    )
    chart.draw_columns(np.array(found.edges), 100 * np.array(found.shares))
    return figure(chart.render(), f"{found.name}: {words}.")


def draw_spread(found: Distribution | None) -> Markup:
    """Return how a column is spread, for a cell of a table: small bars, and what they are about."""
    if found is None or not found.shares:
        return Markup("")
    if found.levels:
        parts = [
            f"{shorten(level, LONG)} {_show_percent(share)}"
            for level, share in zip(found.levels, found.shares, strict=True)
        ]
        others = f", {count_things(found.others, 'other')}" if found.others else ""
        words, shares = f"{parts[0]}, {len(parts) + found.others - 1} more" if parts[1:] else parts[0], found.shares
        label = f"Shares of the levels of {found.name}: {', '.join(parts)}{others}."
    else:
        words, shares = _describe_numbers(found), found.shares
        label = f"Histogram of {found.name}, {words}."
    return tag("div", draw_strip(label, shares), tag("small", words), class_="strip")


def show_value(value: float, dates: bool) -> str:
    """Return a number, or the date of so many days since 1970.

    Examples
    --------
    >>> show_value(12345.6, False), show_value(366.0, True)
    ('12,346', '1971-01-02')
    """
    return str(np.datetime64(int(value // 1), "D")) if dates else round_number(value)


def _describe_numbers(found: Distribution) -> str:
    least, middle, most = (show_value(value, found.dates) for value in found.summary)
    return f"{least} to {most}, median {middle}"


def _show_share(share: float | None) -> str:
    return "" if share is None else f" ({_show_percent(share)} of rows)"


def _show_percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.005 else "under 1%"
