"""Charts put points where they belong."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.report._svg import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Chart,
    Scale,
    draw_bars,
    draw_dots,
    list_dates,
    round_values,
)

finite = st.floats(-1e9, 1e9)


@given(finite, st.floats(1e-6, 1e3), st.floats(0, 1))
def test_a_linear_scale_keeps_proportions(low, size, share):
    high = low + size * max(1.0, abs(low))
    assert Scale(low, high, 10.0, 110.0)(low + share * (high - low)) == pytest.approx(10 + 100 * share, abs=0.1)


@given(st.floats(1e-9, 1e9), st.floats(1.1, 1e6), st.floats(0, 1))
def test_a_logarithmic_scale_keeps_ratios(low, ratio, share):
    place = Scale(low, low * ratio, 10.0, 110.0, log=True)(low * ratio**share)
    assert place == pytest.approx(10 + 100 * share, abs=1e-3)


@given(finite, st.floats(1e-6, 1e9))
def test_ticks_are_few_and_inside(low, size):
    high = low + size
    if high - low < 1e-9 * max(abs(low), 1.0):
        return
    ticks = round_values(low, high)
    assert 1 <= len(ticks) <= 7
    slack = 1e-6 * (high - low)
    assert all(low - slack <= tick <= high + slack for tick in ticks)


@given(st.floats(1e-12, 1e12), st.floats(1.01, 1e12))
def test_ticks_of_a_logarithmic_axis_are_few_and_at_least_two(low, ratio):
    assert 2 <= len(Scale(low, low * ratio, 0.0, 1.0, log=True).ticks()) <= 7


def test_an_axis_of_one_value_still_has_a_width():
    assert Scale(3.0, 3.0, 0.0, 10.0)(3.0) == 5.0
    assert Scale(3.0, 3.0, 0.0, 10.0, log=True)(3.0) == pytest.approx(5.0)


def test_lines_and_dots_stand_at_their_values():
    chart = Chart("corners", (0.0, 10.0), (0.0, 1.0), "x", "y")
    chart.draw_line([0.0, 10.0], [0.0, 1.0])
    chart.draw_points([0.0, np.nan, 10.0], [1.0, 0.5, 0.0])
    root = ET.fromstring(chart.render())
    line = next(e for e in root if e.tag.endswith("polyline")).get("points")
    assert line == f"{LEFT},{HEIGHT - BOTTOM} {WIDTH - RIGHT},{TOP}"
    dots = next(e for e in root if "dots" in e.get("class", "")).get("d")
    assert re.findall(r"M(\S+) (\S+)h0", dots) == [
        (str(LEFT), str(TOP)), (str(WIDTH - RIGHT), str(HEIGHT - BOTTOM))
    ]  # fmt: skip


def test_texts_are_escaped_and_the_picture_is_described():
    chart = Chart("a <b> & 'c'", (0.0, 1.0), (0.0, 1.0), "<x>", "y & z")
    root = ET.fromstring(chart.render())
    assert root.get("aria-label") == "a <b> & 'c'"
    assert root.get("role") == "img"
    assert {"<x>", "y & z"} <= {e.text for e in root.iter()}


def test_bars_are_as_long_as_their_values():
    picture = draw_bars("scores", ["a", "b", "c"], [1.0, 2.0, float("nan")], ["1", "2", "–"], 0)
    one, two, none = [float(e.get("width")) for e in ET.fromstring(picture) if e.tag.endswith("rect")]
    assert two == pytest.approx(2 * one, abs=0.2)
    assert none == 1.0


def test_bars_below_zero_go_the_other_way():
    picture = draw_bars("R²", ["a", "b"], [-1.0, 1.0], ["-1", "1"], 0)
    below, above = [e for e in ET.fromstring(picture) if e.tag.endswith("rect")]
    end = float(below.get("x")) + float(below.get("width"))
    assert end == pytest.approx(float(above.get("x")), abs=0.2)


@pytest.mark.parametrize(
    ("low", "high", "first"),
    [
        ("1969-07-20", "2026-01-01", "1970"),
        ("2020-01-15", "2020-12-24", "2020-02"),
        ("2020-01-15", "2020-02-01", "2020-01-15"),
    ],
)
def test_dates_on_an_axis_are_few_inside_and_where_they_say(low, high, first):
    start, stop = (float(np.datetime64(day, "D").astype(int)) for day in (low, high))
    ticks = list_dates(start, stop)
    assert ticks[0][1] == first
    assert 2 <= len(ticks) <= 6
    for value, words in ticks:
        assert start <= value <= stop
        assert np.datetime64(words).astype("datetime64[D]").astype(int) == value


def test_dots_stand_at_their_values_in_rows_of_their_names():
    picture = draw_dots("levels", ["<a>", "b"], [[0.0, 10.0], [5.0, 5.0]], ["a", "b"], (0.0, 10.0), "x")
    dots = [e for e in ET.fromstring(picture) if e.tag.endswith("circle")]
    places = [(e.get("class"), float(e.get("cx")), e.get("cy")) for e in dots]
    assert places == [
        ("fill a", 8.0, "24.0"),
        ("fill b", 188.0, "24.0"),
        ("fill a", 368.0, "58.0"),
        ("fill b", 188.0, "58.0"),
    ]
    assert "<a>" in [e.text for e in ET.fromstring(picture).iter()]
