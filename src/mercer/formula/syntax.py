"""From text to a tree: bounded in length, depth and the size of numbers, with errors that say where."""

from __future__ import annotations

import ast
import math
import operator
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar

from mercer.arrays.threads import silence_warnings
from mercer.messages import refuse_parameter

from .parameters import LARGEST_EXACT, find_large

LONGEST = 20_000  # characters
DEEPEST = 100  # levels, well below what Python's own recursion allows
SHOWN = 60  # characters of an expression that a message repeats

CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf}
LARGEST = 1e300  # number

FUNCTION_NAMES = (
    "norm", "dot", "sum", "prod", "min", "max", "abs", "exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh",
    "tanh",
)  # fmt: skip

OPERATORS: dict[type[ast.operator], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
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
    """An expression cannot be read; the message is one line that says what and where (``column``, from 1 up)."""

    def __init__(self, message: str, column: int | None = None) -> None:
        super().__init__(message)
        self.column = column


@dataclass(frozen=True)
class Source:
    """A text in one line, and the tree that Python's grammar makes of it."""

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
        symbol = _SYMBOLS.get(type(getattr(node, "op", None)))
        if symbol is not None:
            return self.error(node, symbol)
        if isinstance(node, ast.Constant):
            return self.error(node, f"{quote(node.value)} is not a number")
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


def quote(value: object) -> str:
    """Return a value as a message shows it, cut if it is long."""
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "a number of more than 30 digits"
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def read(text: str, example: str = "2*Gaussian(1) + Linear()") -> Source:
    """Return the tree of a text, or raise an error of one line.

    Nothing is evaluated, and neither long nor deeply nested texts get past here.
    """
    if not isinstance(text, str):
        raise TypeError(f"an expression is a text, got {type(text).__name__}")
    if len(text) > LONGEST:
        raise ExpressionError(f"an expression has at most {LONGEST} characters, but this one has {len(text)}")
    line = text.translate(_ONE_LINE).strip()
    if not line:
        raise ExpressionError(f"the expression is empty; write for example {example}")
    too_deep = make_error(line, 1, f"it is nested more than {DEEPEST} levels deep")
    try:
        with silence_warnings():  # about escapes in strings: not what anyone asked here
            tree = ast.parse(line, mode="eval").body
    except SyntaxError as error:
        what = "a number has too many digits" if "digits" in error.msg else error.msg
        raise make_error(line, max(error.offset or 1, 1), what) from None
    except (MemoryError, RecursionError):
        raise too_deep from None
    except ValueError as error:  # null characters
        raise make_error(line, 1, str(error)) from None
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return Source(line, tree)
    raise too_deep


class SourceReader:
    """A walk over the nodes of a text; subclasses have a method ``read_…`` for each kind, others are refused."""

    def __init__(self, source: Source) -> None:
        self.source, self.error, self.refuse = source, source.error, source.refuse

    def read_all(self) -> Any:
        """Return what the whole text stands for."""
        try:
            return self.read(self.source.tree)
        except RecursionError:
            raise self.error(self.source.tree, "it is nested too deeply") from None

    def read(self, node: ast.expr) -> Any:
        """Return what a node stands for."""
        method = getattr(self, f"read_{type(node).__name__.lower()}", None)
        if method is None or (isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.USub | ast.UAdd)):
            raise self.refuse(node)
        return method(node)

    def literal(self, node: ast.Constant) -> int | float:
        """Return a number as it is written, unless it is no number or too large."""
        if not is_number(node.value):
            raise self.refuse(node)
        return self._check_size(node, node.value)  # type: ignore[arg-type]

    def combine(self, node: ast.BinOp, left: int | float, right: int | float) -> int | float:
        """Return left ∘ right, which can neither overflow nor take long."""
        operate = _raise_number if isinstance(node.op, ast.Pow) else OPERATORS.get(type(node.op))
        if operate is None:
            raise self.refuse(node)
        try:
            return self._check_size(node, operate(left, right))
        except ZeroDivisionError:
            raise self.error(node, "division by zero") from None
        except OverflowError:
            raise self.error(node, f"the number {quote(left)} ** {quote(right)} is too large") from None

    def _check_size(self, node: ast.AST, value: int | float) -> int | float:
        if isinstance(value, float) and math.isnan(value):
            raise self.error(node, "this is not a real number")
        if abs(value) > LARGEST and not (isinstance(value, float) and math.isinf(value)):
            raise self.error(node, f"the number is too large; numbers go up to {LARGEST:g}")
        return value if abs(value) <= LARGEST_EXACT else float(value)


class ConstructorReader(SourceReader):
    """A walk over calls of classes that are their parameters, such as ``Gaussian(length_scale=2)``."""

    example: ClassVar[str]  # of a call
    hold_functions: ClassVar[tuple[str, ...]]  # classes with parameters that no text can hold
    examples: ClassVar[dict[str, str]] = {}  # of parameters without defaults

    def find_class(self, node: ast.Name) -> type:
        """Return the class of a name, or raise."""
        raise NotImplementedError

    def read_constant(self, node: ast.Constant) -> int | float:
        """Return a number."""
        return self.literal(node)

    def read_unaryop(self, node: ast.UnaryOp) -> Any:
        """Return what is behind a sign, with it."""
        inner = self.read(node.operand)
        return -inner if isinstance(node.op, ast.USub) else inner

    def read_name(self, node: ast.Name) -> Any:
        """Return a constant, or what a class makes without parameters."""
        if node.id in CONSTANTS:
            return CONSTANTS[node.id]
        return self.build(node, self.find_class(node), (), {})

    def read_call(self, node: ast.Call) -> Any:
        """Return what a class makes of its parameters."""
        if not isinstance(node.func, ast.Name):
            raise self.error(node, f"only names can be called, as in {self.example}")
        if node.func.id == "float":
            return self._read_float(node)
        if node.func.id in CONSTANTS:
            raise self.error(node, f"{node.func.id} is a number; to multiply, write *")
        return self.build(node, self.find_class(node.func), *self.arguments(node))

    def argument(self, node: ast.expr) -> Any:
        """Return a parameter."""
        return self.read(node)

    def arguments(self, node: ast.Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the parameters of a call by position, and by name."""
        for item in (*node.args, *node.keywords):
            if isinstance(item, ast.Starred) or (isinstance(item, ast.keyword) and item.arg is None):
                raise self.error(item, "starred arguments are not allowed here")
        positional = tuple(self.argument(item) for item in node.args)
        return positional, {str(item.arg): self.argument(item.value) for item in node.keywords}

    def _read_float(self, node: ast.Call) -> float:
        """``float('inf')``, which is how the text of a value shows infinity."""
        only = node.args[0] if len(node.args) == 1 and not node.keywords else None
        if isinstance(only, ast.Constant) and only.value in ("inf", "-inf"):
            return float(only.value)
        raise self.error(node, "float is only for float('inf'); write other numbers as they are")

    def build(self, node: ast.expr, kind: type, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Make an object, with errors about its parameters in the words of this language."""
        name = kind.__name__
        if name in self.hold_functions:
            raise self.error(node, f"{name} takes a Python function, which an expression cannot hold")
        known = sorted(fields(kind), key=lambda field: bool(field.kw_only))  # which follow
        names = [field.name for field in known]
        has = f"it has {', '.join(names)}" if names else "it has none"
        for key in named:
            if key not in names:
                raise self.error(node, refuse_parameter(name, key, names))
        if len(positional) > len(names):
            raise self.error(node, f"{name} got {len(positional)} parameters; {has}")
        given = dict(zip(names, positional, strict=False))
        twice = sorted(given.keys() & named.keys())
        if twice:
            raise self.error(node, f"{name} got {twice[0]} twice")
        missing = [field.name for field in known if field.default is MISSING and field.name not in given | named]
        if missing:
            raise self.error(node, f"{name} needs {missing[0]}, as in {name}({self.examples.get(name, '…')})")
        excess = find_large(kind, given | named)
        if excess is not None:
            raise self.error(node, excess)
        return self.guard(node, kind, positional, named)

    def guard(self, node: ast.expr, make: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Return what a function makes, with its errors at the place of a node."""
        try:
            return make(*positional, **named)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise self.error(node, str(error).removeprefix("Kernel.")) from None


def is_number(value: object) -> bool:
    """Whether a value is a number and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _raise_number(base: int | float, exponent: int | float) -> int | float:
    # In floats, so that no whole number of a million digits is ever computed.
    value = float(base) ** float(exponent)
    if isinstance(value, complex):
        return math.nan
    whole = isinstance(base, int) and isinstance(exponent, int) and exponent >= 0 and abs(value) <= LARGEST_EXACT
    return base**exponent if whole else value
