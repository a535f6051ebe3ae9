"""What could come next in the text of a kernel."""

from __future__ import annotations

import functools
import re
from dataclasses import MISSING, dataclass, fields
from typing import Any, cast

from mercer.formula.parameters import show
from mercer.kernels import Kernel
from mercer.kernels.text import CLASSES

from ..limits import LONGEST_KERNEL

MOST = 24  # that fit into a menu
_WORD = re.compile(r"[A-Za-z_]\w*$")
_METHOD = re.compile(r"([\w)\]])\s*\.\s*([A-Za-z_]\w*)?$")
_OWNER = re.compile(r"(\w+)\s*\.\s*(\w+)?$")
METHODS = (
    ("normalize()", "normalize()", "the cosine of the angle between features: k(x, z) / √(k(x, x) k(z, z))"),
    ("on([0])", "on(columns)", "look at some inputs only"),
)
FROM_GAMMA = ("from_gamma(1.0)", "from_gamma(gamma)", "by γ in place of the length scale")


@dataclass(frozen=True)
class Completion:
    """Something to insert.

    Parameters
    ----------
    insert : str
        The text, in place of what stands between ``start`` and the cursor.
    title : str
        What a menu shows: a name with its signature.
    what : str
        What it is, in a few words.
    start : int
        Where the word begins that it completes.
    """

    insert: str
    title: str
    what: str
    start: int


def complete(text: str, cursor: int | None = None) -> list[Completion]:
    """Return what could come at the cursor: kernels, parameters inside parentheses, methods after a dot.

    Parameters
    ----------
    text : str
        What was typed so far.
    cursor : int, optional
        Where, at the end if not given.

    Examples
    --------
    >>> from mercer.playground.composing import complete
    >>> [found.title for found in complete("2*Gau")]
    ['Gaussian(length_scale=1.0)']
    >>> [found.insert for found in complete("Matern(2.5, ")]
    ['length_scale=']
    >>> [found.insert for found in complete("Linear().")]
    ['normalize()', 'on([0])']
    """
    before = text[: min(len(text) if cursor is None else max(cursor, 0), LONGEST_KERNEL)]
    if re.search(r"\d\.?$", before):  # of a number, or of a name that is written out
        return []
    method = _METHOD.search(before)
    if method is not None:
        return _complete_method(before, method[2] or "")
    found = _WORD.search(before)
    word, start = (found[0], found.start()) if found else ("", len(before))
    if before[:start].rstrip()[-1:].isalnum() or before[:start].rstrip()[-1:] == ")":
        return []  # an operator comes next
    owner, given = _find_call(before[:start])
    if owner is not None:
        return _complete_parameter(owner, given, word, start)
    return [each for each in _list_kernels(start) if each.insert.lower().startswith(word.lower())][:MOST]


@functools.cache
def list_classes() -> dict[str, type[Kernel]]:
    """Return the kernels of vectors that a text can make, by name.

    Examples
    --------
    >>> from mercer.playground.composing.completion import list_classes
    >>> "Gaussian" in list_classes(), "Spectrum" in list_classes()
    (True, False)
    """
    plain = {
        name: kind for name, kind in CLASSES.items()
        if kind.domain not in ("objects", "bits")
        and all(field.default is not MISSING for field in fields(cast(Any, kind)))
    }  # fmt: skip
    return {name: kind for name, kind in plain.items() if not any(map(callable, _defaults(kind).values()))}


def _defaults(kind: type[Kernel]) -> dict[str, Any]:
    return {field.name: field.default for field in fields(cast(Any, kind))}


def _list_kernels(start: int) -> list[Completion]:
    found = [
        Completion(f"{name}()", f"{name}({_sign(kind)})", _say(kind), start) for name, kind in list_classes().items()
    ]
    return [*found, Completion("exp(", "exp(k)", "the exponential of a kernel", start)]


def _sign(kind: type[Kernel]) -> str:
    return ", ".join(f"{name}={show(value)}" for name, value in _defaults(kind).items())


def _say(kind: type[Kernel]) -> str:
    """Return the first line of what a class says of itself."""
    return (kind.__doc__ or "").strip().partition("\n")[0].rstrip(".")


def _complete_method(before: str, word: str) -> list[Completion]:
    owner, start = _OWNER.search(before), len(before) - len(word)
    makes = owner is not None and hasattr(CLASSES.get(owner[1].capitalize(), Kernel), "from_gamma")
    known = (*METHODS, FROM_GAMMA) if makes else METHODS
    return [Completion(insert, title, what, start) for insert, title, what in known if insert.startswith(word)]


def _find_call(before: str) -> tuple[type[Kernel] | None, str]:
    """Return the class of the innermost call that is open, if it is one of a class, and what was given to it."""
    depth = 0
    for i in range(len(before) - 1, -1, -1):
        depth += (before[i] in ")]") - (before[i] in "([")
        if depth < 0:
            word = _WORD.search(before[:i].rstrip())
            plain = word[0].replace("_", "").lower() if word and before[i] == "(" else ""
            return next((kind for name, kind in list_classes().items() if name.lower() == plain), None), before[i + 1 :]
    return None, ""


def _complete_parameter(owner: type[Kernel], given: str, word: str, start: int) -> list[Completion]:
    if given.rstrip() and given.rstrip()[-1] != ",":  # a value comes here, or an operator
        return []
    flat = re.sub(r"\[[^\]]*\]?", "[]", given)
    parts = [part for part in flat.split(",")[:-1] if part.strip()]
    positional = sum("=" not in part for part in parts)
    named = {part.partition("=")[0].strip() for part in parts if "=" in part}
    left = [(name, value) for name, value in list(_defaults(owner).items())[positional:] if name not in named]
    return [
        Completion(f"{name}=", f"{name}={show(value)}", f"parameter of {owner.__name__}", start)
        for name, value in left if name.startswith(word)
    ]  # fmt: skip
