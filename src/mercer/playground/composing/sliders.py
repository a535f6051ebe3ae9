"""A slider for every parameter of whatever was composed."""

from __future__ import annotations

import ast
import numbers
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, cast

from mercer.formula.syntax import ExpressionError, Source, is_number, read
from mercer.kernels import Kernel
from mercer.kernels.text import CLASSES, parse_kernel

from ..limits import LONGEST_KERNEL, PlayError, round_number
from .reading import LARGEST_ORDER, read_kernel

RANGES: dict[str, tuple[float, float, bool]] = {  # low, high, and whether orders of magnitude matter
    "length_scale": (0.01, 100.0, True), "period": (0.05, 50.0, True), "gamma": (0.01, 100.0, True),
    "alpha": (0.01, 100.0, True), "weight": (0.01, 100.0, True), "value": (0.0, 10.0, False),
    "offset": (0.0, 10.0, False), "scale": (-5.0, 5.0, False), "frequency": (0.0, 20.0, False), "nu": (0.5, 5.0, False),
    "p": (0.1, 2.0, False), "q": (0.1, 4.0, False), "degree": (1.0, 12.0, False), "order": (1.0, 32.0, False),
    "exponent": (1.0, 6.0, False),
}  # fmt: skip
WHOLE = ("degree", "order", "exponent")
CALLED = {  # compositions
    "Sum": "the sum", "Product": "the product", "Scaled": "the multiple", "Power": "the power", "Exp": "exp",
    "Normalized": "the normalised", "On": "the part", "After": "the pull-back",
}  # fmt: skip
SIGNED = (-5.0, 5.0, False)  # of what can be negative
HARD = {"nu": (1e-3, 50.0), "order": (1.0, float(LARGEST_ORDER)), "degree": (1.0, 1000.0), "exponent": (1.0, 100.0)}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel.

    Parameters
    ----------
    path : str
        Where it is, such as ``k1__kernel__length_scale`` or ``length_scale[0]``.
    title : str
        What people read.
    value : float
        What it is.
    low, high : float
        A range that has the value in it.
    log : bool
        Whether it is felt by its order of magnitude.
    whole : bool
        Whether it is a whole number.
    """

    path: str
    title: str
    value: float
    low: float
    high: float
    log: bool
    whole: bool


def list_parameters(text: str) -> list[Parameter]:
    """Return every parameter of a kernel that is a number, in the order in which they are written.

    Examples
    --------
    >>> from mercer.playground.composing import list_parameters
    >>> for found in list_parameters("2*Gaussian([1, 3]) + Polynomial(3)"):
    ...     print(found.title, found.value)
    weight of Gaussian 2.0
    Gaussian length scale 1 1.0
    Gaussian length scale 2 3.0
    Polynomial degree 3.0
    Polynomial offset 1.0
    """
    kernel = read_kernel(text)
    found = [_describe(*item) for item in _walk(kernel, "")]
    times, seen = Counter(each.title for each in found), Counter[str]()
    numbered = []
    for each in found:
        seen[each.title] += 1
        again = f" ({seen[each.title]})" if times[each.title] > 1 else ""
        numbered.append(Parameter(**{**vars(each), "title": each.title + again}))
    return numbered


def set_parameter(text: str, path: str, value: float) -> str:
    """Return the text of a kernel with one parameter changed, and the rest as it was typed where that is possible.

    Parameters
    ----------
    text : str
        The kernel.
    path : str
        That of a :class:`Parameter` of it.
    value : float
        What it becomes.

    Returns
    -------
    str

    Examples
    --------
    >>> from mercer.playground.composing import set_parameter
    >>> set_parameter("2*gaussian(1)  +  linear", "k1__kernel__length_scale", 0.5)
    '2*gaussian(0.5)  +  linear'
    >>> set_parameter("gaussian + matern(2.5)", "k1__length_scale", 0.5)
    'gaussian(length_scale=0.5) + matern(2.5)'
    """
    kernel, known = read_kernel(text), {each.path: each for each in list_parameters(text)}
    if path not in known:
        raise PlayError(f"this kernel has no parameter {str(path)[:60]!r}; it has {', '.join(known) or 'none'}.")
    name = path.rpartition("__")[2].partition("[")[0]
    low, high = HARD.get(name, (-1e6, 1e6))
    if not (is_number(value) and low <= value <= high):
        raise PlayError(f"{known[path].title} lies between {low:g} and {high:g}; got {str(value)[:60]}")
    number = round(value) if known[path].whole else round_number(value)
    try:
        wanted = _replace(kernel, path, number)
    except (TypeError, ValueError) as error:
        raise PlayError(" ".join(str(error).split())) from None
    source = read(text)
    made = next((made for made in _edit(source, name, known[path].value, number) if _means(made, wanted)), repr(wanted))
    if len(made) > LONGEST_KERNEL:
        raise PlayError(f"with that the kernel has more than {LONGEST_KERNEL} characters. Make it shorter.")
    return made


def _walk(kernel: Kernel, prefix: str) -> Iterator[tuple[str, str, Kernel, float]]:
    """Yield the path, the name, the kernel and the value of each number, weights before what they weigh."""
    own = kernel.get_params(deep=False)
    for name in sorted(own, key=lambda name: name != "weight"):
        value: Any = own[name]
        if isinstance(value, Kernel):
            yield from _walk(value, f"{prefix}{name}__")
        elif name in RANGES and isinstance(value, numbers.Real):
            yield prefix + name, name, kernel, float(value)
        elif name in RANGES and isinstance(value, tuple):
            for i, each in enumerate(value):
                yield f"{prefix}{name}[{i}]", f"{name} {i + 1}", kernel, float(each)


def _describe(path: str, name: str, kernel: Kernel, value: float) -> Parameter:
    plain = name.partition(" ")[0]
    low, high, log = (
        SIGNED if value < 0 or (plain == "offset" and type(kernel).__name__ == "Sigmoid") else RANGES[plain]
    )
    if value == 0 and log:
        low, high, log = SIGNED
    inner = kernel.inner_kernels().get("kernel")
    title = f"{type(kernel).__name__} {name.replace('_', ' ')}"
    if inner is not None:
        title = f"{plain} of {CALLED.get(type(inner).__name__, type(inner).__name__)}"
    return Parameter(path, title, value, min(low, value), max(high, value), log, plain in WHOLE)


def _replace(kernel: Kernel, path: str, value: float) -> Kernel:
    name, bracket, index = path.partition("[")
    if not bracket:
        return kernel.with_params(**{name: value})
    vector = list(kernel.get_params()[name])
    vector[int(index[:-1])] = value
    return kernel.with_params(**{name: vector})


def _means(text: str, kernel: Kernel) -> bool:
    try:
        return bool(parse_kernel(text) == kernel)
    except ExpressionError:
        return False


def _edit(source: Source, name: str, old: float, new: float) -> Iterator[str]:
    """Yield texts in which one number is another, or in which a parameter that was left out is written."""
    data = source.text.encode()  # Python counts columns in bytes
    written = f"{new!r}"
    for node in ast.walk(source.tree):
        start, end = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0)
        if _read_literal(node) == old:
            yield (data[:start] + written.encode() + data[end:]).decode()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and _takes(node.func, name):
            comma = ", " if node.args or node.keywords else ""
            yield (data[: end - 1].rstrip(b", ") + f"{comma}{name}={written}".encode() + data[end - 1 :]).decode()
        elif isinstance(node, ast.Name) and _takes(node, name):
            yield (data[:end] + f"({name}={written})".encode() + data[end:]).decode()


def _takes(node: ast.Name, name: str) -> bool:
    plain = node.id.replace("_", "").lower()
    found = next((kind for known, kind in CLASSES.items() if known.lower() == plain), None)
    return found is not None and name in [field.name for field in fields(cast(Any, found))]


def _read_literal(node: ast.AST) -> float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _read_literal(node.operand)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) and is_number(node.value) else None  # type: ignore[return-value]
