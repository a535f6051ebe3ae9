"""Pieces of HTML: texts are escaped, cards carry all they need with them."""

import pytest

from mercer.markup import (
    Markup,
    show_card,
    show_code,
    show_facts,
    show_fold,
    show_note,
    show_table,
    show_text,
    tag,
    text,
)

from .page import Page

NASTY = "<script>alert('\"&')</script>\x00"


@pytest.mark.parametrize(
    "piece",
    [
        show_card(NASTY),
        show_text(NASTY),
        show_note(NASTY),
        show_code(NASTY),
        show_facts([(NASTY, NASTY)]),
        show_table([NASTY], [[NASTY]]),
        show_fold(NASTY, NASTY),
        tag("p", NASTY, title=NASTY),
    ],
)
def test_whatever_is_given_is_shown_and_never_run(piece):
    page = Page(piece)
    assert "script" not in page.tags
    assert "<script>alert('\"&')</script>\ufffd" in page.text


def test_what_is_html_already_is_not_escaped_again():
    assert text(text("a < b")) == "a &lt; b"
    assert tag("p", Markup("<b></b>")) == "<p><b></b></p>"


def test_a_card_leaves_out_what_is_empty_and_a_table_may_be_without_headings():
    assert show_card("a", Markup(""), show_text("b")) == show_card("a", show_text("b"))
    assert "th" not in Page(show_table([], [["a", "b"]])).tags
    assert show_facts([]) == ""


def test_only_a_fold_that_is_open_says_so():
    assert ("open", "") in Page(show_fold("a", "b", is_open=True)).attributes
    assert "open" not in dict(Page(show_fold("a", "b")).attributes)
