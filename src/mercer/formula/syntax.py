"""From text to a tree: bounded in length and depth, with errors that say where."""

from __future__ import annotations

import ast
import difflib
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST = 20_000  # characters
DEEPEST = 100  # levels, well below what Python's own recursion allows
SHOWN = 60  # characters of an expression that a message repeats

FUNCTION_NAMES = (
    "norm", "dot", "sum", "prod", "min", "max", "abs", "exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh",
    "tanh",
)  # fmt: skip

_ONE_LINE = str.maketrans("\t\n\r\f\v", "     ")
_SYMBOLS: dict[type, str] = {
    ast.BitXor: "^ is not an operator here; a power is written **",
    ast.FloorDiv: "// is not an operator here; a quotient is written /",
    ast.Mod: "% is not an operator here",
}
_KINDS: dict[type, str] = {
    ast.Compare: "a comparison",
    ast.BoolOp: "'and' or 'or'",
    ast.IfExp: "'if'",
    ast.Lambda: "'lambda'",
    ast.NamedExpr: "an assignment",
    ast.JoinedStr: "an f-string",
    ast.Dict: "a dictionary",
    ast.Set: "a set",
    ast.Starred: "a starred argument",
    ast.ListComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.Slice: "a slice",
    ast.Subscript: "an index",
    ast.List: "a list",
    ast.Tuple: "a list in parentheses",
    ast.Attribute: "a name with a dot",
    ast.Call: "a call",
}


class ExpressionError(ValueError):
    """An expression cannot be read; the message is one line that says what and where.

    Parameters
    ----------
    message : str
        The line.
    column : int, optional
        Where in the text, from 1 up.
    """

    def __init__(self, message: str, column: int | None = None) -> None:
        super().__init__(message)
        self.column = column


@dataclass(frozen=True)
class Source:
    """A text with its tree.

    Parameters
    ----------
    text : str
        The text in one line.
    tree : ast.expr
        What Python's grammar makes of it.
    """

    text: str
    tree: ast.expr

    def error(self, node: ast.AST, what: str) -> ExpressionError:
        """Return the error that points to a part of the tree."""
        offset = getattr(node, "col_offset", 0)
        if isinstance(node, ast.Attribute):  # the name after the dot, not all that is before it
            offset = (node.end_col_offset or 0) - len(node.attr.encode())
        before = self.text.encode()[:offset].decode(errors="ignore")  # Python counts columns in bytes of UTF-8
        return make_error(self.text, len(before) + 1, what)

    def refuse(self, node: ast.AST) -> ExpressionError:
        """Return the error for something that has no place in an expression."""
        operator = getattr(node, "op", None)
        if type(operator) in _SYMBOLS:
            return self.error(node, _SYMBOLS[type(operator)])
        if isinstance(node, ast.Constant):
            return self.error(node, f"{show(node.value)} is not a number")
        what = _KINDS.get(type(node), f"{type(node).__name__}")
        return self.error(node, f"{what} is not allowed here")


def make_error(text: str, column: int, what: str) -> ExpressionError:
    """Return an error of one line."""
    excerpt = text if len(text) <= SHOWN else _around(text, column)
    return ExpressionError(f'cannot read "{excerpt}" at column {column}: {" ".join(what.split())}', column)


def _around(text: str, column: int) -> str:
    start = max(0, min(column - SHOWN // 2, len(text) - SHOWN))
    end = min(len(text), start + SHOWN)
    return "…" * (start > 0) + text[start:end] + "…" * (end < len(text))


def show(value: object) -> str:
    """Return a value as a message shows it, cut if it is long."""
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "a number of more than 30 digits"
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def read(text: str) -> Source:
    """Return the tree of a text, or raise an error of one line.

    Nothing is evaluated, and neither long nor deeply nested texts get past here.

    Examples
    --------
    >>> from mercer.formula.syntax import read
    >>> type(read("1 + 2").tree).__name__
    'BinOp'
    >>> read("2*(3")
    Traceback (most recent call last):
    ...
    mercer.formula.syntax.ExpressionError: cannot read "2*(3" at column 3: '(' was never closed
    """
    if not isinstance(text, str):
        raise TypeError(f"an expression is a text, got {type(text).__name__}")
    if len(text) > LONGEST:
        raise ExpressionError(f"an expression has at most {LONGEST} characters, but this one has {len(text)}")
    line = text.translate(_ONE_LINE).strip()
    if not line:
        raise ExpressionError("the expression is empty; write for example 2*Gaussian(1) + Linear()")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in strings: not what anyone asked here
            tree = ast.parse(line, mode="eval").body
    except SyntaxError as error:
        what = "a number has too many digits" if "digits" in error.msg else error.msg
        raise make_error(line, max(error.offset or 1, 1), what) from None
    except (MemoryError, RecursionError):
        raise _too_deep(line) from None
    except ValueError as error:  # null characters
        raise make_error(line, 1, str(error)) from None
    _check_depth(line, tree)
    return Source(line, tree)


def _check_depth(line: str, tree: ast.expr) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise _too_deep(line)


def _too_deep(line: str) -> ExpressionError:
    return make_error(line, 1, f"it is nested more than {DEEPEST} levels deep")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the question that helps with a misspelt name, or nothing if no known name is near.

    Examples
    --------
    >>> from mercer.formula.syntax import did_you_mean
    >>> did_you_mean("Gausian", ["Gaussian", "Linear"])
    ': did you mean Gaussian?'
    >>> did_you_mean("q", ["Gaussian", "Linear"])
    ''
    """
    plain = {item.lower(): item for item in known}
    near = difflib.get_close_matches(name.lower()[:SHOWN], plain, n=1, cutoff=0.6)
    return f": did you mean {plain[near[0]]}?" if near else ""
