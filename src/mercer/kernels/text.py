"""Kernels from text: the names of :mod:`mercer.kernels`, their parameters, and the algebra."""

from __future__ import annotations

import ast
import math
from typing import Any, ClassVar, cast

import mercer.kernels
from mercer.formula.syntax import (
    FUNCTION_NAMES,
    OPERATORS,
    ConstructorReader,
    is_number,
    quote,
    read,
)
from mercer.messages import KERNELS, did_you_mean

from . import Kernel
from .algebra import exp as exp_of_kernel
from .limits import find_excess
from .mapping import LinearMap

LARGEST_SLICE = 100_000  # columns

_ABSTRACT = {"Kernel", "ObjectKernel"}
_CONSTRUCTORS = ("from_gamma",)
_METHODS = ("normalize", "on")
NOT_KNOWN = (
    " is no kernel; those for vectors are Gaussian, Laplacian, Matern, Linear, Polynomial and others of mercer.kernels"
)
CLASSES: dict[str, type[Kernel]] = {
    name: found
    for name in sorted(mercer.kernels.__all__)
    if isinstance(found := getattr(mercer.kernels, name), type) and issubclass(found, Kernel) and name not in _ABSTRACT
}
_PLAIN = {name.lower(): name for name in CLASSES}


def parse_kernel(text: str) -> Kernel:
    """Read a kernel from text, without running any of it.

    The text of a kernel with plain parameters, ``repr(kernel)``, is read back as an equal kernel.  Names may be written
    in lower case, and a name alone is the kernel with its defaults.

    Parameters
    ----------
    text : str
        The expression: names of kernels with numbers, texts, lists, True, False and None as parameters, put
        together with ``+ - * / **``, ``exp(k)``, ``k.normalize()``, ``k.on(columns)`` and
        ``k.after(LinearMap([[…]]))``.

    Returns
    -------
    Kernel
        The kernel.

    Raises
    ------
    ExpressionError
        If the text is something else; it says where.

    Examples
    --------
    >>> from mercer.kernels.text import parse_kernel
    >>> parse_kernel("2*Gaussian(1)+Polynomial(2,1)")
    2.0 * Gaussian(length_scale=1) + Polynomial(degree=2, offset=1)
    >>> parse_kernel("exp(matern).on(['age', 'height']).normalize()")
    exp(Matern(nu=1.5, length_scale=1.0)).on(['age', 'height']).normalize()
    >>> parse_kernel("Gausian(1)")
    Traceback (most recent call last):
    ...
    mercer.formula.syntax.ExpressionError: cannot read "Gausian(1)" at column 1: Gausian: did you mean Gaussian?
    """
    source = read(text)
    value = _KernelReader(source).read_all()
    if isinstance(value, Kernel):
        return value
    raise source.error(source.tree, f"{quote(value)} is a number; the constant kernel is written Constant({value:g})")


class _KernelReader(ConstructorReader):
    """A walk over the nodes that kernels are made of."""

    example = "Gaussian(1) or exp(k)"
    hold_functions = ("Custom", "FromFeatures")
    examples: ClassVar[dict[str, str]] = {
        "PairSum": "Gaussian()", "MeanEmbedding": "Gaussian()", "Precomputed": "[[2, 1], [1, 3]]",
        "LinearMap": "[[1, 0], [0, 2]]", "Coregionalization": "[[2, 1], [1, 3]]", "Diffusion": "[[1], [0]]",
        "RegularizedLaplacian": "[[1], [0]]",
    }  # fmt: skip

    def read_attribute(self, node: ast.Attribute) -> Any:
        raise self.error(node, f".{node.attr} alone is not allowed; write k.normalize() or k.on([0, 3])")

    def argument(self, node: ast.expr) -> Any:
        """Return a parameter: a number, text, truth value, None, list of them, or kernel."""
        if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool | str)):
            return node.value
        if isinstance(node, ast.List | ast.Tuple):
            items = [self.argument(item) for item in node.elts]
            return items if isinstance(node, ast.List) else tuple(items)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "slice":
            return self._slice(node)
        return self.read(node)

    def read_name(self, node: ast.Name) -> Any:
        if node.id == "exp":
            raise self.error(node, "exp needs a kernel in parentheses, as in exp(Linear())")
        return super().read_name(node)

    def find_class(self, node: ast.Name) -> type[Kernel]:
        plain = node.id.replace("_", "").lower()
        if plain in _PLAIN:
            return CLASSES[_PLAIN[plain]]
        if node.id in ("x", "z"):
            raise self.error(node, "x and z have no place in a kernel expression, only in a function of x and z")
        if node.id == "LinearMap":
            raise self.error(node, "LinearMap is no kernel; write k.after(LinearMap([[1, 0], [0, 2]]))")
        if node.id == "Graph":
            raise self.error(node, "Graph is data; a kernel on graphs is for example WeisfeilerLehman()")
        if node.id in FUNCTION_NAMES:
            raise self.error(node, f"{node.id} is for functions of x and z, and here neither x nor z is mentioned")
        raise self.error(node, f"{quote(node.id)[1:-1]}{did_you_mean(node.id, CLASSES, KERNELS) or NOT_KNOWN}")

    def read_binop(self, node: ast.BinOp) -> Any:
        left, right = self.read(node.left), self.read(node.right)
        if is_number(left) and is_number(right):
            return self.combine(node, left, right)
        operate = self._power if isinstance(node.op, ast.Pow) else OPERATORS.get(type(node.op))
        if operate is None:
            raise self.refuse(node)
        try:
            return operate(left, right)
        except (TypeError, ValueError, ArithmeticError) as error:
            divided = isinstance(node.op, ast.Div) and isinstance(right, Kernel)
            reason = "a kernel divides nothing; only a number can stand below the line" if divided else str(error)
            raise self.error(node, reason) from None

    def _power(self, base: Any, exponent: Any) -> Kernel:
        if not isinstance(base, Kernel) or isinstance(exponent, Kernel):
            raise ValueError("the exponent must be a whole number; e to the power of k is written exp(k)")
        power = base**exponent
        excess = find_excess(power)
        if excess is not None:
            raise ValueError(excess)
        return power

    def read_call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func)
        if isinstance(node.func, ast.Name) and node.func.id == "exp":
            return self._exp(node)
        return super().read_call(node)

    def _exp(self, node: ast.Call) -> Any:
        inner = [self.read(item) for item in node.args]
        if len(inner) != 1 or node.keywords:
            raise self.error(node, "exp takes one kernel or number")
        if isinstance(inner[0], Kernel):
            return exp_of_kernel(inner[0])
        try:
            return math.exp(inner[0])
        except OverflowError:
            raise self.error(node, f"exp({quote(inner[0])}) is too large") from None

    def _slice(self, node: ast.Call) -> slice:
        bounds, keywords = self.arguments(node)
        whole = all(item is None or (isinstance(item, int) and abs(item) <= LARGEST_SLICE) for item in bounds)
        if keywords or not 1 <= len(bounds) <= 3 or not whole:
            raise self.error(node, f"slice takes up to three whole numbers of at most {LARGEST_SLICE}")
        return slice(*bounds)

    def _method(self, node: ast.Call, function: ast.Attribute) -> Kernel:
        name, owner = function.attr, function.value
        if name in _CONSTRUCTORS and isinstance(owner, ast.Name):
            return self._construct(node, owner, name)
        kernel = self.read(owner)
        if not isinstance(kernel, Kernel):
            raise self.error(node.func, f"{quote(kernel)} is a number, which has no .{name}()")
        if name == "after":
            return cast(Kernel, self.guard(node.func, kernel.after, (self._linear_map(node),), {}))
        if name not in _METHODS:
            hint = did_you_mean(name, _METHODS) or " is not there; kernels have .normalize() and .on(columns)"
            raise self.error(node.func, f".{name}{hint}")
        positional, keywords = self.arguments(node)
        return self.guard(node.func, getattr(kernel, name), positional, keywords)

    def _linear_map(self, node: ast.Call) -> LinearMap:
        only = node.args[0] if len(node.args) == 1 and not node.keywords else None
        if isinstance(only, ast.Call) and isinstance(only.func, ast.Name) and only.func.id == "LinearMap":
            return cast(LinearMap, super().build(only, LinearMap, *self.arguments(only)))
        raise self.error(
            node.func,
            "after takes a Python function, which an expression cannot hold; a linear map is written "
            "LinearMap([[1, 0], [0, 2]])",
        )

    def _construct(self, node: ast.Call, owner: ast.Name, name: str) -> Kernel:
        found = self.find_class(owner)
        if not hasattr(found, name):
            raise self.error(node, f"{found.__name__} has no {name}; Gaussian and Laplacian have")
        positional, keywords = self.arguments(node)
        if not all(is_number(item) for item in (*positional, *keywords.values())):
            raise self.error(node, f"{name} takes a number")
        return self.guard(node, getattr(found, name), positional, keywords)

    def build(self, node: ast.expr, kind: type, positional: tuple[Any, ...], named: dict[str, Any]) -> Kernel:
        """Make a kernel, unless its evaluation would take forever."""
        kernel = super().build(node, kind, positional, named)
        excess = find_excess(kernel)
        if excess is not None:
            raise self.error(node, excess)
        return cast(Kernel, kernel)
