"""Boxes of a formula as LaTeX, for MathJax, KaTeX and matplotlib, and as MathML, which browsers draw by themselves."""

from __future__ import annotations

import re
import unicodedata

from mercer.markup import text

from .layout import Box, Fenced, Over, Rooted, Row, Script, Token
from .tree import LONGEST_WORD

SIGNS = {  # characters that have a command; all three readers of LaTeX know these
    "−": "-", "·": r"\cdot", "×": r"\times", "∑": r"\sum", "⊤": r"\top", "⋯": r"\cdots", "∈": r"\in", "π": r"\pi",
    "θ": r"\theta", "σ": r"\sigma", "Γ": r"\Gamma", "‖": r"\|", "≥": r"\geq", "≤": r"\leq",
}  # fmt: skip
# Characters of names that mean something to LaTeX, or to a page it is written into.
IN_WORDS = {"_": r"\_", " ": r"\ ", "-": "{-}", "<": r"\langle ", ">": r"\rangle ", "%": r"\%", "#": r"\#", "$": r"\$"}
SAFE = ".,:;!?()[]+/=*|"
LARGE = Token("sign", "∑")
INVISIBLE_TIMES, APPLY = "\u2062", "\u2061"


def write_latex(box: Box) -> str:
    r"""Return LaTeX without the dollars around it.

    Examples
    --------
    >>> from mercer.formula.notation.layout import lay_out
    >>> from mercer.formula.notation.tree import Letter, Norm, exponential, minus, power, times, Number
    >>> distance = power(Norm(minus(Letter("x"), Letter("z"))), 2.0)
    >>> print(write_latex(lay_out(exponential(times(Number(-0.5), distance)))))
    \exp\left(-\frac{\left\|x - z\right\|^2}{2}\right)
    """
    match box:
        case Token():
            return _write_token(box)
        case Row():
            return _join([write_latex(part) for part in box.parts])
        case Over():
            return rf"\frac{{{write_latex(box.top)}}}{{{write_latex(box.bottom)}}}"
        case Script():
            below = "" if box.below is None else f"_{_brace(write_latex(box.below))}"
            above = "" if box.above is None else f"^{_brace(write_latex(box.above))}"
            blank = " " * (box.base == LARGE)
            return f"{write_latex(box.base)}{below}{above}{blank}"
        case Rooted():
            return rf"\sqrt{{{write_latex(box.inside)}}}"
        case Fenced():
            left, right = (SIGNS.get(end, end) for end in (box.left, box.right))
            return _join([rf"\left{left}", write_latex(box.inside), rf"\right{right}"])


def _write_token(token: Token) -> str:
    match token.kind:
        case "word":
            return rf"\mathrm{{{_write_word(token.text)}}}"
        case "function":
            return f"\\{token.text}"
        case "operator" if token.text == "·":
            return r"\cdot "
        case "operator":
            return f" {SIGNS.get(token.text, token.text)} "
        case "space":
            return r"\,"
        case "comma":
            return ", "
    return SIGNS.get(token.text, token.text)


def _write_word(name: str) -> str:
    """Return a name without anything that LaTeX would do something about."""
    shown = shorten_word(name)
    return "".join(
        IN_WORDS.get(letter, letter if letter.isalnum() or letter in SAFE else "?")
        for letter in unicodedata.normalize("NFC", shown)
    )


def shorten_word(name: str) -> str:
    """Return a name cut where it gets too long for a formula."""
    return name if len(name) <= LONGEST_WORD else name[: LONGEST_WORD - 3] + "..."


def _join(parts: list[str]) -> str:
    """Return parts in a row, with a blank where a command would run into a letter."""
    joined = ""
    for part in parts:
        joined += " " * bool(re.search(r"\\[A-Za-z]+$", joined) and re.match(r"[A-Za-z]", part)) + part
    return joined


def _brace(inside: str) -> str:
    return inside if len(inside) == 1 or inside == r"\top" else f"{{{inside}}}"


def write_mathml(box: Box) -> str:
    """Return presentation MathML, without the element ``math`` around it.

    Examples
    --------
    >>> from mercer.formula.notation.layout import lay_out
    >>> from mercer.formula.notation.tree import Letter, Word, Indexed
    >>> write_mathml(lay_out(Indexed(Letter("x"), Word("<age>"))))
    '<msub><mi>x</mi><mi mathvariant="normal">&lt;age&gt;</mi></msub>'
    """
    match box:
        case Token():
            return _mark_token(box)
        case Row():
            return f"<mrow>{''.join(map(write_mathml, _say_calls(box.parts)))}</mrow>"
        case Over():
            return f"<mfrac>{write_mathml(box.top)}{write_mathml(box.bottom)}</mfrac>"
        case Script():
            large = box.base == LARGE
            marks = [part for part in (box.below, box.above) if part is not None]
            kind = "underover" if box.below and box.above else "under" if box.below else "over"
            small = {"underover": "subsup", "under": "sub", "over": "sup"}[kind]
            name = f"m{kind if large else small}"
            return f"<{name}>{write_mathml(box.base)}{''.join(map(write_mathml, marks))}</{name}>"
        case Rooted():
            return f"<msqrt>{write_mathml(box.inside)}</msqrt>"
        case Fenced():
            ends = [(box.left, "prefix"), (box.right, "postfix")]
            left, right = (f'<mo fence="true" stretchy="true" form="{form}">{end}</mo>' for end, form in ends)
            return f"<mrow>{left}{write_mathml(box.inside)}{right}</mrow>"


def _say_calls(parts: tuple[Box, ...]) -> list[Box]:
    """Return parts of a row with the sign of a call, which is not seen, after the names of functions."""
    shown: list[Box] = []
    for part in parts:
        called = shown[-1].base if shown and isinstance(shown[-1], Script) else shown[-1] if shown else None
        if isinstance(called, Token) and called.kind == "function" and isinstance(part, Fenced):
            shown.append(Token("sign", APPLY))
        shown.append(part)
    return shown


def _mark_token(token: Token) -> str:
    shown = text(shorten_word(token.text) if token.kind == "word" else token.text)
    match token.kind:
        case "number":
            return f"<mn>{shown}</mn>"
        case "letter":
            return f"<mi>{shown}</mi>"
        case "word" | "function":
            return f'<mi mathvariant="normal">{shown}</mi>'
        case "space":
            return f'<mo>{INVISIBLE_TIMES}</mo><mspace width="0.17em"></mspace>'
        case "comma":
            return '<mo separator="true">,</mo>'
        case "sign" if shown == "−":
            return f'<mo form="prefix">{shown}</mo>'
    return f"<mo>{shown}</mo>"
