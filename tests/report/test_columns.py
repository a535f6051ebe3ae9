"""Columns are shown as they are: how predictions depend on them, and how their values are spread."""

import html
import re
from dataclasses import replace

import numpy as np
import pytest

from mercer.report import render_report

from .conftest import rows_of


def test_dependences_are_curves_over_a_common_range_with_the_rows_beneath(combined):
    page = render_report(combined)
    curve, dots, dates = (
        next(svg for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL) if f"by {name}." in svg)
        for name in (
            "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;\ufffd&quot;&amp;",
            "a_very_long_name_" * 12,
            "sold",
        )
    )
    heights = [float(pair.split(",")[1]) for pair in re.search(r'points="([^"]+)"', curve)[1].split()]
    assert heights == sorted(heights, reverse=True)  # y grows upwards on the page and downwards in SVG
    assert curve.count('class="shade"') == 3
    assert dots.count("<circle") == 3
    assert "north (50% of rows)" in dots
    assert re.findall(r">(\d{4})</text>", dates) == ["2017", "2019", "2021"]
    ends = [re.search(r'points="([^"]+)"', svg)[1].split() for svg in (curve, dates)]
    low, high = (np.array([float(line[0].split(",")[1]), float(line[-1].split(",")[1])]) for line in ends)
    assert (low[1] - low[0]) / (high[1] - high[0]) == pytest.approx(1.9 / 2.0, abs=0.01)


def test_columns_and_the_target_show_how_they_are_spread(combined):
    page = render_report(combined)
    rows = rows_of(page, "Columns")
    assert rows[0][1] == "-1e+09 to 1e+09, median 9"
    assert rows[1][1] == "north 50%, 8 more"
    assert rows[2][1] == ""
    assert rows[0][4] == "3 (3%)"
    strips = [
        re.findall(r'height="([\d.]+)"', svg) for svg in re.findall(r'class="strip"><svg.*?</svg>', page, re.DOTALL)
    ]
    assert [float(height) for height in strips[0]] == pytest.approx([28 * 0.2, 28 * 0.8, 28.0], abs=0.06)
    assert "price: 1 to 3, median 2.5." in page


def test_classes_have_keys_and_shares(classification):
    page = render_report(classification)
    keys = re.findall(r'<span class="key (.)">(.*?)</span>', page)
    assert [(style, html.unescape(words)) for style, words in keys][:2] == [("a", "good"), ("b", "bad")]
    assert "Of 5 classes the most frequent are shown." in page
    assert "Of 5 classes the 3 most frequent are shown." in page
    assert page.count('class="line b"') == 1


def test_columns_beyond_the_first_have_no_picture_and_are_counted(combined):
    more = tuple(replace(combined.report_.columns[0], name=f"c{j}") for j in range(50))
    combined.report_ = replace(combined.report_, columns=(*combined.report_.columns, *more))
    page = render_report(combined)
    assert "50 other columns have no picture." in page
    assert page.count('class="strip"') == 2
