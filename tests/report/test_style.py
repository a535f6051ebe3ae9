"""The page can be read everywhere, whatever the data hold: on a phone, in the dark, on paper."""

import re
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mercer.report import render_report
from mercer.report._style import CSS

from .conftest import Outline

HOSTILE = st.text(st.sampled_from("<>&\"'/= \x00\u202e{}$;:#%script-onload!\n]"), max_size=40)


@given(names=st.lists(HOSTILE, min_size=8, max_size=8))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_name_changes_what_the_page_is_made_of(combined, names):
    def render(target, data, column, level, warning, advice, name, note):
        found = combined.report_
        report = replace(
            found, target=target, data=f"d{data}", warnings=(warning, "b"), advice=(advice,),
            columns=(replace(found.columns[0], name=column, treatment=note), *found.columns[1:]),
            candidates=(*found.candidates[:2], replace(found.candidates[2], name=name, note=f"n{note}")),
            importances=(replace(found.importances[0], name=column), *found.importances[1:]),
            dependences=(
                replace(found.dependences[0], name=column),
                replace(found.dependences[1], grid=("north", level, "south")),
            ),
            distributions=(
                replace(found.distributions[0], name=column), replace(found.distributions[1], levels=(level, "north"))
            ),
            target_distribution=replace(found.target_distribution, name=target),
        )  # fmt: skip
        page = render_report(SimpleNamespace(report_=report, model_=None), model_path=f"{data}.mercer")
        outline = Outline(page)
        return [(tag, sorted(attributes)) for tag, attributes in outline.tags], page

    plain, _ = render(*"abcdefgh")
    found, page = render(*names)
    assert found == plain
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg)


def test_nothing_is_wider_than_a_phone(combined):
    page = render_report(combined)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    widths = re.findall(r"(?<!max-)(?:min-)?width:\s*([\d.]+)(px|rem)", style + page)
    assert widths
    assert all(float(size) * (16 if unit == "rem" else 1) <= 390 - 32 for size, unit in widths)
    assert "minmax(min(100%, " in style
    assert all("width" not in attributes for attributes in Outline(page).all("svg"))


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_texts_can_be_read_on_their_paper(scheme):
    blocks = dict(zip(("light", "dark", "print"), re.findall(r":root \{(.*?)\}", CSS, re.DOTALL), strict=True))
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]+|\d+ \d+ \d+)", blocks[scheme]))

    def light(name):
        value = colours[name]
        if value.startswith("#"):
            digits = value[1:] if len(value) == 7 else "".join(2 * digit for digit in value[1:])
            parts = [int(digits[i : i + 2], 16) for i in (0, 2, 4)]
        else:
            parts = [int(part) for part in value.split()]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in parts)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(first, second):
        low, high = sorted((light(first), light(second)))
        return (high + 0.05) / (low + 0.05)

    assert min(contrast(text, paper) for text in ("ink", "soft") for paper in ("paper", "tint")) >= 4.5
    assert min(contrast(line, "paper") for line in "abc") >= 3.0
