"""Checks of constructor arguments, and the comparison and printing of parameter values."""

from __future__ import annotations

import contextlib
import copy
import functools
import math
import numbers
import types
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any

import numpy as np

SMALLEST_SCALE = 1e-150  # squares of smaller length scales vanish in float64
LARGEST_EXACT = 2**53  # whole number that is a float as well
LARGEST_WHOLE = 10_000  # degrees, orders and lengths that a kernel can still be evaluated with


def check_positive(kernel: object, name: str, *, allow_zero: bool = False) -> None:
    """Raise unless a parameter is a finite positive (or non-negative) number."""
    value = getattr(kernel, name)
    right = _is_finite(value) and (value > 0 or (value == 0 and allow_zero))
    _require(right, kernel, name, "finite number that is not negative" if allow_zero else "positive finite number")


def check_finite(kernel: object, name: str) -> None:
    """Raise unless a parameter is a finite number."""
    _require(_is_finite(getattr(kernel, name)), kernel, name, "finite number")


def check_integer(kernel: object, name: str, minimum: int) -> None:
    """Raise unless a parameter is a whole number of at least ``minimum``."""
    value = getattr(kernel, name)
    whole = _is_finite(value) and not isinstance(value, bool) and value == int(value)
    _require(whole and value >= minimum, kernel, name, f"whole number of at least {minimum}")


def _require(holds: bool, kernel: object, name: str, what: str) -> None:
    if not holds:
        raise ValueError(f"{type(kernel).__name__}: {name} must be a {what}, got {_show_given(kernel, name)}")


def _show_given(kernel: object, name: str) -> str:
    """Return the text of a parameter for a message; a table can only be data."""
    value: Any = getattr(kernel, name)
    if not isinstance(value, np.ndarray) or value.ndim < 2:
        return repr(value)
    own = type(kernel).__name__
    return f"an array of shape {value.shape}; data is given to a kernel that is made, as in {own}()(X)"


def _is_finite(value: Any) -> bool:
    return _is_real(value) and math.isfinite(value)


def check_length_scale(kernel: object, name: str = "length_scale") -> None:
    """Raise unless a parameter is one positive number or a one-dimensional collection of them."""
    value = getattr(kernel, name)
    if _is_real(value):
        check_positive(kernel, name)
    try:
        scales = np.asarray([value] if _is_real(value) else value, dtype=float)
    except (TypeError, ValueError):
        scales = np.empty(0)
    if scales.ndim != 1 or scales.size == 0 or not (np.isfinite(scales).all() and (scales > 0).all()):
        raise ValueError(
            f"{type(kernel).__name__}: {name} must be a positive number or one positive number for each feature, "
            f"got {_show_given(kernel, name)}"
        )
    if scales.min() < SMALLEST_SCALE or scales.max() > 1 / SMALLEST_SCALE:
        raise ValueError(
            f"{type(kernel).__name__}: {name} must lie between {SMALLEST_SCALE} and {1 / SMALLEST_SCALE}, where its "
            f"square is a number, got {value!r}; measure the data in other units"
        )


def check_flag(kernel: object, name: str) -> None:
    """Raise unless a parameter is True or False."""
    value = getattr(kernel, name)
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{type(kernel).__name__}: {name} must be True or False, got {value!r}")


def find_large(kind: type, values: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a degree, order or length that no evaluation would come to the end of, if one is so."""
    for field in fields(kind):
        value: Any = values.get(field.name)
        if str(field.type).startswith(("int", "Natural", "Count")) and _is_real(value) and value > LARGEST_WHOLE:
            return f"{kind.__name__}: {field.name} goes up to {LARGEST_WHOLE} here, got {show(value)[:60]}"
        if isinstance(value, int) and abs(value) > LARGEST_EXACT:
            return f"{kind.__name__}: {field.name} is a whole number that is no float; write it with a decimal point"
    return None


# What parameters are annotated with: their type, and the check that a kernel makes of them when it is constructed.
Positive = Annotated[float, check_positive]
NotNegative = Annotated[float, functools.partial(check_positive, allow_zero=True)]
Finite = Annotated[float, check_finite]
Natural = Annotated[int, functools.partial(check_integer, minimum=1)]
Count = Annotated[int, functools.partial(check_integer, minimum=0)]
# A positive number, or one for each feature.
LengthScale = Annotated[float | np.floating | Sequence[float] | np.ndarray, check_length_scale]
Flag = Annotated[bool, check_flag]


def is_vector(value: object) -> bool:
    """Whether a parameter holds one number for each feature."""
    return not _is_real(value)


def _is_real(value: object) -> bool:
    return isinstance(value, numbers.Real) or (isinstance(value, np.ndarray) and value.ndim == 0)


_COPIES: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()  # objects that kernels alone hold
_ATOMS = (bool, int, float, complex, str, bytes, np.generic, type(None), range, slice)


def freeze(value: Any) -> Any:
    """Return a parameter value that nothing done to the given one later changes.

    Arrays become copies that cannot be written to, lists tuples, sets frozen sets, and iterators what they yield.
    Functions stay what they are; anything else, such as a fitted transformer, is copied as a whole, once.
    """
    if isinstance(value, _ATOMS) or _COPIES.get(id(value)) is value:
        return value
    if isinstance(value, np.ma.MaskedArray):
        raise ValueError(
            f"a kernel's parameters have no missing values, got the masked array {value!r}; fill it with "
            "value.filled(…) first"
        )
    if isinstance(value, list | tuple | Iterator):
        items = tuple(freeze(item) for item in value)
        return type(value)._make(items) if hasattr(value, "_make") else items
    if isinstance(value, set | frozenset):
        return frozenset(value)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, np.ndarray) or (hasattr(value, "to_numpy") and not hasattr(value, "transform")):
        return _freeze_array(np.asarray(value))
    try:
        copied = copy.deepcopy(value)
    except Exception:  # it cannot be copied, in whatever way it says so
        return value
    if copied is not value:
        with contextlib.suppress(TypeError):  # not every object can be referred to weakly
            _COPIES[id(copied)] = copied
    return copied


def _freeze_array(array: np.ndarray) -> Any:
    if array.ndim == 0:
        return array[()]
    if array.dtype.hasobject:
        return freeze(array.tolist())
    if type(array) is np.ndarray and _owner(array) is bytes:
        return array
    # Memory of bytes, unlike that of an array, cannot be made writable again.
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)


def _owner(array: Any) -> type:
    while isinstance(array, np.ndarray):
        array = array.base
    return type(array)


def make_hashable(value: Any) -> Any:
    """Return a hashable stand-in for a parameter value: equal stand-ins mean equal parameters."""
    if isinstance(value, np.ndarray):
        if value.ndim < 2:
            return make_hashable(value.tolist())
        return ("array", value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return tuple(make_hashable(item) for item in value)
    if isinstance(value, dict):
        return ("dict", frozenset((make_hashable(name), make_hashable(item)) for name, item in value.items()))
    if isinstance(value, slice):
        return ("slice", value.start, value.stop, value.step)
    if isinstance(value, types.MethodType):
        return ("method", value.__func__, make_hashable(value.__self__))
    if isinstance(value, functools.partial):
        return ("partial", make_hashable(value.func), make_hashable(value.args), make_hashable(value.keywords))
    if _is_its_attributes(value):
        try:
            return ("attributes", type(value), make_hashable(vars(value)))
        except RecursionError:  # it holds itself
            return ("object", id(value))
    try:
        hash(value)
    except TypeError:
        return ("object", id(value))
    return value


def _is_its_attributes(value: Any) -> bool:
    """Whether an object, such as a fitted transformer, is told from others by nothing but its attributes."""
    kind = type(value)
    methods = ("__eq__", "__hash__", "__reduce__", "__reduce_ex__")
    plain = all(getattr(kind, name) is getattr(object, name) for name in methods)
    return plain and hasattr(value, "__dict__") and not isinstance(value, type | types.FunctionType | types.ModuleType)


def show(value: Any) -> str:
    """Return the text of a parameter value inside a kernel's expression."""
    if isinstance(value, np.ndarray):
        if value.ndim > 1 and value.size > 20:
            return f"<array of shape {value.shape}>"
        return show(value.tolist())
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, list) or type(value) is tuple:
        return "[" + ", ".join(_show_item(item) for item in value) + "]"
    if isinstance(value, float) and math.isinf(value):
        return f"float('{value}')"
    name = getattr(value, "__name__", None)
    if name is not None and callable(value):
        return str(name)
    return repr(value)


def _show_item(value: Any) -> str:
    """Inside a sequence a tuple may be one thing, such as a token, and stays a tuple."""
    if type(value) is not tuple:
        return show(value)
    return "(" + "".join(_show_item(item) + ", " for item in value).removesuffix(" " if len(value) == 1 else ", ") + ")"
