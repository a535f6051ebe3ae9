"""What buttons do to the text of a kernel."""

from __future__ import annotations

import ast
import re

from mercer.formula.syntax import read

from ..limits import PlayError
from .reading import read_kernel

OPERATIONS = (
    "+ Linear()", "+ Gaussian(1.0)", "+ Constant(1.0)", "× Periodic()", "× Linear()", "exp", "normalize", "power",
    "on [0]",
)  # fmt: skip
_ATOMS = (ast.Call, ast.Name)
_COLUMNS = re.compile(r"on \[[01](, ?[01])?\]")


def combine(text: str, operation: str) -> str:
    """Return the text of a kernel with something done to it, and otherwise as it was typed.

    Parameters
    ----------
    text : str
        The kernel.
    operation : str
        One of "+ …" and "× …" with another kernel, "exp", "normalize", "power" and "on [0]".

    Returns
    -------
    str

    Examples
    --------
    >>> from mercer.playground.composing import combine
    >>> combine("Gaussian(1) + linear", "× Periodic()")
    '(Gaussian(1) + linear) * Periodic()'
    >>> combine("Gaussian(1) + linear", "on [0]")
    '(Gaussian(1) + linear).on([0])'
    """
    read_kernel(text)
    source = read(text)
    sign, _, other = operation.partition(" ")
    if sign in ("+", "×", "*") and other:
        read_kernel(other)
        addend = read(other)
        if sign == "+":
            made = f"{source.text} + {addend.text}"
        else:
            made = f"{_enclose(source.text, source.tree, product=True)} * {_enclose(addend.text, addend.tree)}"
    elif operation == "exp":
        made = f"exp({source.text})"
    elif operation == "normalize":
        made = f"{_enclose(source.text, source.tree)}.normalize()"
    elif operation == "power":
        made = f"{_enclose(source.text, source.tree)} ** 2"
    elif _COLUMNS.fullmatch(operation):
        made = f"{_enclose(source.text, source.tree)}.on({operation[3:]})"
    else:
        raise PlayError(f"there is no operation {operation[:60]!r}; there are {', '.join(OPERATIONS)}.")
    read_kernel(made)
    return made


def _enclose(text: str, tree: ast.expr, product: bool = False) -> str:
    """Return an expression in parentheses, unless it needs none where it is put."""
    plain = isinstance(tree, _ATOMS) or (
        product and isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult | ast.Div | ast.Pow)
    )
    return text if plain else f"({text})"
