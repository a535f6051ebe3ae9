"""Small charts as inline SVG: sharp at any size, with the colours of the page, and without a drawing library.

Charts are 380 units wide with texts of 12, so that they can be read on a phone of about as many pixels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from mercer.words import shorten

from ._html import Markup, text

WIDTH, HEIGHT = 380.0, 270.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 12.0, 12.0, 44.0
SHADED = 34.0  # the height of a histogram along an axis
STRIP_WIDTH, STRIP_HEIGHT = 120.0, 28.0
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
Interval = tuple[float, float]


class Chart:
    """A picture with two axes over ranges x and y, logarithmic or of dates perhaps; ``label`` tells what it shows."""

    def __init__(
        self, label: str, x: Interval, y: Interval, xlabel: str, ylabel: str, *, xlog: bool = False, ylog: bool = False,
        dates: bool = False,
    ) -> None:  # fmt: skip
        self.label = label
        self._x = Scale(*x, LEFT, WIDTH - RIGHT, log=xlog, dates=dates)
        self._y = Scale(*y, HEIGHT - BOTTOM, TOP, log=ylog)
        self._parts: list[str] = []
        self._draw_axes(xlabel, ylabel)

    def draw_line(self, x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray, css: str = "a") -> None:
        """Draw a line through points, in one of the styles of the page."""
        places = " ".join(f"{a:.1f},{b:.1f}" for a, b in self._place_points(x, y))
        self._parts.append(f'<polyline class="line {css}" points="{places}"/>')

    def draw_points(self, x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray, css: str = "a") -> None:
        """Draw dots, all of them as one path of lines without a length."""
        path = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in self._place_points(x, y))
        self._parts.append(f'<path class="dots {css}" d="{path}"/>')

    def draw_columns(self, edges: np.ndarray, heights: np.ndarray) -> None:
        """Draw the columns of a histogram."""
        floor = self._y(0.0)
        for left, right, height in zip(edges[:-1], edges[1:], heights, strict=True):
            a, b, top = self._x(left), self._x(right), self._y(height)
            box = f'x="{a + 0.5:.1f}" y="{top:.1f}" width="{max(b - a - 1, 0.5):.1f}" height="{floor - top:.1f}"'
            self._parts.append(f'<rect class="fill a" {box}/>')

    def shade(self, spans: Iterable[Interval], shares: Sequence[float]) -> None:
        """Draw flat bars along the axis that show where rows are, of what lies within it."""
        floor, most = HEIGHT - BOTTOM, max(shares)
        for (left, right), share in zip(spans, shares, strict=True):
            a, b, height = self._x(left), self._x(right), SHADED * share / most
            if b > a:
                box = f'x="{a:.1f}" y="{floor - height:.1f}" width="{b - a:.1f}" height="{height:.1f}"'
                self._parts.append(f'<rect class="shade" {box}/>')

    def draw_spans(self, x: Sequence[float], low: Sequence[float], high: Sequence[float]) -> None:
        """Draw how sure the height of each point is."""
        for at, below, above in zip(x, low, high, strict=True):
            a = f"{self._x(at):.1f}"
            ends = f'y1="{self._y(below):.1f}" y2="{self._y(above):.1f}"'
            self._parts.append(f'<line class="span" x1="{a}" x2="{a}" {ends}/>')

    def mark(self, x: float, y: float, words: str) -> None:
        """Mark a point, and say what it is."""
        a, b = self._x(x), self._y(y)
        end = a > (LEFT + WIDTH) / 2
        side = f'x="{a + (-9 if end else 9):.1f}" text-anchor="{"end" if end else "start"}"'
        self._parts.append(f'<circle class="fill b" cx="{a:.1f}" cy="{b:.1f}" r="5"/>')
        self._parts.append(f'<text class="halo" {side} y="{max(b - 9, TOP + 10):.1f}">{text(words)}</text>')

    def draw_level(self, y: float, words: str) -> None:
        """Draw a horizontal line, and say what it is."""
        b = self._y(y)
        self._parts.append(f'<line class="dash" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{b:.1f}" y2="{b:.1f}"/>')
        at = f'x="{LEFT + 6}" y="{max(b - 5, TOP + 10):.1f}"'
        self._parts.append(f'<text class="halo" {at}>{text(words)}</text>')

    def render(self) -> Markup:
        """Return the picture."""
        return wrap_svg(self.label, HEIGHT, self._parts)

    def _place_points(self, x: Iterable[float], y: Iterable[float]) -> Iterable[tuple[float, float]]:
        pairs = zip(np.asarray(x, dtype=float), np.asarray(y, dtype=float), strict=True)
        return [(self._x(a), self._y(b)) for a, b in pairs if math.isfinite(a) and math.isfinite(b)]

    def _draw_axes(self, xlabel: str, ylabel: str) -> None:
        low = HEIGHT - BOTTOM
        for value, words in self._x.ticks():
            a = self._x(value)
            self._parts.append(f'<line class="grid" x1="{a:.1f}" x2="{a:.1f}" y1="{TOP}" y2="{low}"/>')
            self._parts.append(f'<text x="{a:.1f}" y="{low + 16}" text-anchor="middle">{words}</text>')
        for value, words in self._y.ticks():
            b = self._y(value)
            self._parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{b:.1f}" y2="{b:.1f}"/>')
            self._parts.append(f'<text x="{LEFT - 6}" y="{b + 4:.1f}" text-anchor="end">{words}</text>')
        self._parts.append(f'<path class="axis" d="M{LEFT} {TOP}V{low}H{WIDTH - RIGHT}"/>')
        middle = (TOP + low) / 2
        self._parts.append(
            f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{text(xlabel)}</text>'
            f'<text x="12" y="{middle:.1f}" text-anchor="middle" transform="rotate(-90 12 {middle:.1f})">'
            f"{text(ylabel)}</text>"
        )


class Scale:
    """A map from values to places along an axis, linear, logarithmic or of dates, which are days since 1970.

    Examples
    --------
    >>> scale = Scale(1.0, 100.0, 0.0, 50.0, log=True)
    >>> scale(10.0), scale.ticks()
    (25.0, [(1.0, '10⁰'), (10.0, '10¹'), (100.0, '10²')])
    """

    def __init__(
        self, low: float, high: float, start: float, stop: float, *, log: bool = False, dates: bool = False
    ) -> None:
        self.low, self.high = (low, high) if high > low else (low - 0.5, low + 0.5) if not log else (low / 2, low * 2)
        self.start, self.stop, self.log, self.dates = start, stop, log, dates

    def __call__(self, value: float) -> float:
        """Return the place of a value; those beyond the ends stay at them."""
        low, high, value = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return self.start + (self.stop - self.start) * (value - low) / (high - low)

    def ticks(self) -> list[tuple[float, str]]:
        """Return values to write at the axis, and how."""
        if self.dates:
            return list_dates(self.low, self.high)
        if not self.log:
            return [(value, shorten_number(value)) for value in round_values(self.low, self.high)]
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        step = max(1, math.ceil((last - first) / 5))
        exponents = range(first, last + 1, step)
        if len(exponents) < 2:
            return [(value, shorten_number(value)) for value in (self.low, self.high)]
        return [(10.0**power, "10" + str(power).translate(SUPERSCRIPTS)) for power in exponents]


def wrap_svg(label: str, height: float, parts: Iterable[str], width: float = WIDTH) -> Markup:
    """Return an SVG image with a text for those who do not see it, and its beginning for those who point at it."""
    return Markup(
        f'<svg role="img" aria-label="{text(label)}" viewBox="0 0 {width:g} {height:g}" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{text(label.split(". ")[0])}</title>{"".join(parts)}</svg>'
    )


def draw_strip(label: str, shares: Sequence[float]) -> Markup:
    """Return bars without axes, small enough for a cell of a table."""
    most, step = max([*shares, 0.0]) or 1.0, STRIP_WIDTH / max(1, len(shares))
    parts = []
    for i, share in enumerate(shares):
        height = max(STRIP_HEIGHT * share / most, 1.0 if share else 0.0)
        box = f'x="{i * step:.1f}" y="{STRIP_HEIGHT - height:.1f}" width="{max(step - 1, 0.5):.1f}"'
        parts.append(f'<rect class="fill a" {box} height="{height:.1f}"/>')
    parts.append(f'<path class="axis" d="M0 {STRIP_HEIGHT}H{STRIP_WIDTH}"/>')
    return wrap_svg(label, STRIP_HEIGHT + 1, parts, STRIP_WIDTH)


def draw_dots(
    label: str, names: Sequence[str], values: Sequence[Sequence[float]], styles: Sequence[str], span: Interval,
    xlabel: str,
) -> Markup:  # fmt: skip
    """Return a line for each name with dots at its values, one of each style, over a common axis."""
    scale, row = Scale(*span, 8.0, WIDTH - 12.0), 34.0
    low = row * len(names) + 4
    parts = []
    for value, words in scale.ticks():
        a = f"{scale(value):.1f}"
        parts.append(f'<line class="grid" x1="{a}" x2="{a}" y1="0" y2="{low}"/>')
        parts.append(f'<text x="{a}" y="{low + 15}" text-anchor="middle">{words}</text>')
    for i, name in enumerate(names):
        y = i * row + 24
        parts.append(f'<line class="grid" x1="8" x2="{WIDTH - 12}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="over" x="8" y="{y - 9}">{text(shorten(name, 52))}</text>')
        for style, line in zip(styles, values, strict=True):
            parts.append(f'<circle class="fill {style}" cx="{scale(line[i]):.1f}" cy="{y}" r="5"/>')
    parts.append(f'<text x="{WIDTH / 2}" y="{low + 33}" text-anchor="middle">{text(xlabel)}</text>')
    return wrap_svg(label, low + 40, parts)


def draw_bars(
    label: str, names: Sequence[str], values: Sequence[float], shown: Sequence[str], own: int,
    errors: Sequence[float] = (),
) -> Markup:  # fmt: skip
    """Return horizontal bars under their names, with their values; those of the ``own`` model stand out.

    With ``errors`` all bars are of one kind, and a line shows how sure each is.
    """
    spread = [error if math.isfinite(error) else 0.0 for error in errors] or [0.0] * len(values)
    ends = [value + side * error for value, error in zip(values, spread, strict=True) for side in (-1, 1)]
    finite = [end for end in ends if math.isfinite(end)]
    low, high = min([0.0, *finite]), max([0.0, *finite])
    scale = Scale(low, high if high > low else low + 1.0, 4.0, WIDTH - (116.0 if errors else 76.0))
    parts, row = [], 42.0
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        top, here = i * row, scale(value) if math.isfinite(value) else scale(0.0)
        a, b = sorted((scale(0.0), here))
        parts.append(f'<text x="4" y="{top + 13}">{text(shorten(name, 46))}</text>')
        box = f'x="{a:.1f}" y="{top + 19}" width="{max(b - a, 1.0):.1f}" height="16"'
        parts.append(f'<rect class="fill {"a" if i == own or errors else "c"}" rx="2" {box}/>')
        if errors and math.isfinite(value):
            start, to = scale(value - spread[i]), scale(value + spread[i])
            parts.append(f'<line class="error" x1="{start:.1f}" x2="{to:.1f}" y1="{top + 27}" y2="{top + 27}"/>')
            b = max(b, to)
        parts.append(f'<text class="value" x="{b + 6:.1f}" y="{top + 32}">{text(shown[i])}</text>')
    return wrap_svg(label, row * len(names) + 4, parts)


def round_values(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers between two values, some five of them."""
    rough = (high - low) / about
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1.0, 2.0, 5.0, 10.0) if size * factor >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(step * i, 12 - math.floor(math.log10(step))) for i in range(first, last + 1)]


def list_dates(low: float, high: float) -> list[tuple[float, str]]:
    """Return beginnings of years, months or days between two times in days since 1970, some four of them.

    Examples
    --------
    >>> list_dates(0.0, 1500.0)
    [(0.0, '1970'), (365.0, '1971'), (730.0, '1972'), (1096.0, '1973'), (1461.0, '1974')]
    >>> list_dates(10.25, 12.0)
    [(11.0, '1970-01-12'), (12.0, '1970-01-13')]
    """
    first, last = (np.datetime64(math.floor(day), "D") for day in (low, high))
    for unit, days in (("Y", 365.0), ("M", 30.0), ("D", 1.0)):
        if high - low >= 2 * days or unit == "D":
            start, stop = (int(day.astype(f"datetime64[{unit}]").astype(np.int64)) for day in (first, last))
            every = np.arange(start, stop + 1).astype(f"datetime64[{unit}]")
            places = every.astype("datetime64[D]").astype(float)
            inside = (places >= low) & (places <= high)
            few = max(1, math.ceil(int(inside.sum()) / (5 if unit == "Y" else 4)))
            pairs = zip(places[inside][::few].tolist(), every[inside][::few].astype(str).tolist(), strict=True)
            return list(pairs)
    return []


def shorten_number(value: float) -> str:
    """Return a number as short as an axis wants it.

    Examples
    --------
    >>> shorten_number(250000.0), shorten_number(0.5), shorten_number(3e9)
    ('250k', '0.5', '3e9')
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if 10 * size <= abs(value) < 1000 * size:
            return f"{value / size:g}{letter}"
    return f"{value:.4g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
