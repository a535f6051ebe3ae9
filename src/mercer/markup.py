"""Pieces of HTML: every text from outside is escaped, and what objects show of themselves in a notebook looks alike.

A notebook is a page of somebody else's, light or dark, and may show the same object twice.  Cards therefore take their
colours from the text around them, carry their style with them, have no names that could clash, and ask for nothing.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

Cell = Any  # a text to be escaped, or Markup that is HTML already

LINE = "1px solid rgba(128, 128, 128, 0.35)"  # seen on white and on black
WIDEST = "56em"
CARD = f"max-width: {WIDEST}; border: {LINE}; border-radius: 6px; padding: 0.7em 1em; margin: 0.3em 0; line-height: 1.5"
CELL = "padding: 0.15em 1.2em 0.15em 0; border: 0; background: none; vertical-align: top; white-space: nowrap; "
MUTED = "opacity: 0.7"
CODE = "font-family: ui-monospace, monospace; font-size: 0.9em; background: none; color: inherit; padding: 0; border: 0"


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


def text(value: object) -> Markup:
    """Return any value as HTML that shows it; what HTML cannot hold becomes a replacement character.

    Examples
    --------
    >>> text("<script>"), text(Markup("<b>"))
    ('&lt;script&gt;', '<b>')
    """
    if isinstance(value, Markup):
        return value
    shown = "".join(
        letter if letter in "\n\t" or unicodedata.category(letter) not in ("Cc", "Cs") else "\ufffd"
        for letter in str(value)
    )
    return Markup(html.escape(shown, quote=True))


def tag(name: str, *content: Cell, **attributes: object) -> Markup:
    """Return an element; ``class_`` stands for ``class`` and ``aria_label`` for ``aria-label``.

    Examples
    --------
    >>> tag("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{text(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{given}>{''.join(text(part) for part in content)}</{name}>")


def show_card(title: Cell, *parts: Markup) -> str:
    """Return what an object shows in a notebook: a title, and parts below each other that are not empty.

    Examples
    --------
    >>> show_card("Kernel", show_note("a < b"))[-21:]
    '>a &lt; b</div></div>'
    """
    head = tag("div", title, style="font-weight: 600; overflow-wrap: anywhere")
    return str(tag("div", head, *(part for part in parts if part), style=CARD))


def show_wide(part: Cell) -> Markup:
    """Return a part that scrolls by itself where the page is narrow."""
    return tag("div", part, style="overflow-x: auto; overflow-y: hidden; padding: 0.35em 0")


def show_text(*content: Cell) -> Markup:
    """Return a paragraph."""
    return tag("div", *content, style="padding: 0.2em 0; overflow-wrap: anywhere")


def show_note(*content: Cell) -> Markup:
    """Return a paragraph that matters less than what is above it."""
    return tag("div", *content, style=f"padding: 0.2em 0; font-size: 0.92em; {MUTED}")


def show_code(source: Cell) -> Markup:
    """Return what somebody may write in Python, broken where the page is narrow."""
    return tag("code", source, style=f"{CODE}; overflow-wrap: anywhere; white-space: pre-wrap")


def show_facts(pairs: Iterable[tuple[str, Cell]]) -> Markup:
    """Return names with values in two columns, of which the second is broken where the page is narrow."""
    name, value = CELL + "text-align: left; " + MUTED, CELL.replace("nowrap", "normal") + "text-align: left"
    rows = [tag("tr", tag("td", key, style=name), tag("td", shown, style=value)) for key, shown in pairs]
    return show_wide(_make_table(rows)) if rows else Markup("")


def show_table(headings: Sequence[Cell], rows: Sequence[Sequence[Cell]], numbers: Iterable[int] = ()) -> Markup:
    """Return a table, in which columns of ``numbers`` are aligned on the right."""
    right = set(numbers)
    sides = ["text-align: right" if i in right else "text-align: left" for i in range(max(map(len, [headings, *rows])))]
    head = [tag("th", name, style=f"{CELL}{sides[i]}; font-weight: 600") for i, name in enumerate(headings)]
    body = [tag("tr", *(tag("td", cell, style=CELL + sides[i]) for i, cell in enumerate(row))) for row in rows]
    return show_wide(_make_table([tag("tr", *head), *body] if head else body))


def _make_table(rows: list[Markup]) -> Markup:
    style = "border-collapse: collapse; border: 0; margin: 0; font-size: 0.92em; font-variant-numeric: tabular-nums"
    return tag(
        "table",
        tag("tbody", *(Markup(row.replace("<tr>", '<tr style="background: none">')) for row in rows)),
        style=style,
    )


def show_fold(title: Cell, *parts: Cell, is_open: bool = False) -> Markup:
    """Return parts that are folded away below their title.

    Examples
    --------
    >>> show_fold("Why?", "Because.", is_open=True)[:14]
    '<details open='
    """
    head = tag("summary", title, style="cursor: pointer; overflow-wrap: anywhere")
    inside = tag("div", *parts, style=f"border-left: {LINE}; margin-left: 0.3em; padding-left: 1em")
    return tag("details", head, inside, **({"open": ""} if is_open else {}))
