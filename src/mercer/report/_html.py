"""Pieces of the report's page."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from mercer.markup import Cell, Markup, tag, text

__all__ = ["Cell", "Markup", "code", "facts", "figure", "section", "side_by_side", "table", "tag", "text"]


def section(title: str, *content: Cell) -> Markup:
    """Return a part of the page under a heading; nothing if there is no content."""
    parts = [part for part in content if part]
    return tag("section", tag("h2", title), *parts) if parts else Markup("")


def table(
    label: str, headings: Sequence[str], rows: Iterable[Sequence[Cell]], *, numbers: Iterable[int] = (),
    best: Container[int] = (),
) -> Markup:  # fmt: skip
    """Return a table that scrolls by itself where it is too wide or too long.

    The first cell of each row names it; columns of ``numbers`` are aligned on the right, the ``best`` rows stand out.
    """
    right = set(numbers)
    look = [{"class_": "number"} if i in right else {} for i in range(len(headings))]
    head = tag("tr", *(tag("th", name, scope="col", **look[i]) for i, name in enumerate(headings)))
    body = []
    for place, row in enumerate(rows):
        first, *others = row
        cells = [tag("th", first, scope="row"), *(tag("td", cell, **look[i]) for i, cell in enumerate(others, 1))]
        body.append(tag("tr", *cells, **({"class_": "best"} if place in best else {})))
    whole = tag("table", tag("thead", head), tag("tbody", *body))
    return tag("div", whole, class_="scroll", role="region", aria_label=label, tabindex="0")


def facts(pairs: Iterable[tuple[str, Cell]]) -> Markup:
    """Return names with values."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs))


def code(source: str) -> Markup:
    """Return a block of code, or of any text whose lines matter."""
    return tag("pre", tag("code", source), tabindex="0")


def figure(picture: Markup, caption: Cell) -> Markup:
    """Return a picture with its caption."""
    return tag("figure", picture, tag("figcaption", caption))


def side_by_side(*parts: Markup) -> Markup:
    """Return pictures or tables next to each other where there is room."""
    shown = [part for part in parts if part]
    return tag("div", *shown, class_="pair") if shown else Markup("")
