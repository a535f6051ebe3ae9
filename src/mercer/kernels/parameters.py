"""Checks of constructor arguments, and the comparison and printing of parameter values."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

SMALLEST_SCALE = 1e-150  # squares of smaller length scales vanish in float64


def check_positive(kernel: object, name: str, *, allow_zero: bool = False) -> None:
    """Raise unless a parameter is a finite positive (or non-negative) number."""
    value = getattr(kernel, name)
    bound = "finite number that is not negative" if allow_zero else "positive finite number"
    if not _is_real(value) or not math.isfinite(value) or value < 0 or (value == 0 and not allow_zero):
        raise ValueError(f"{type(kernel).__name__}: {name} must be a {bound}, got {value!r}")


def check_finite(kernel: object, name: str) -> None:
    """Raise unless a parameter is a finite number."""
    value = getattr(kernel, name)
    if not _is_real(value) or not math.isfinite(value):
        raise ValueError(f"{type(kernel).__name__}: {name} must be a finite number, got {value!r}")


def check_integer(kernel: object, name: str, minimum: int) -> None:
    """Raise unless a parameter is a whole number of at least ``minimum``."""
    value = getattr(kernel, name)
    whole = _is_real(value) and not isinstance(value, bool) and math.isfinite(value) and value == int(value)
    if not whole or value < minimum:
        raise ValueError(f"{type(kernel).__name__}: {name} must be a whole number of at least {minimum}, got {value!r}")


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
            f"got {value!r}"
        )
    if scales.min() < SMALLEST_SCALE or scales.max() > 1 / SMALLEST_SCALE:
        raise ValueError(
            f"{type(kernel).__name__}: {name} must lie between {SMALLEST_SCALE} and {1 / SMALLEST_SCALE}, where its "
            f"square is a number, got {value!r}; measure the data in other units"
        )


def is_vector(value: object) -> bool:
    """Whether a parameter holds one number for each feature."""
    return not _is_real(value)


def _is_real(value: object) -> bool:
    return isinstance(value, numbers.Real) or (isinstance(value, np.ndarray) and value.ndim == 0)


def canonical(value: Any) -> Any:
    """Return a hashable stand-in for a parameter value: equal stand-ins mean equal parameters."""
    if isinstance(value, np.ndarray):
        if value.ndim < 2:
            return canonical(value.tolist())
        return ("array", value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return tuple(canonical(item) for item in value)
    if isinstance(value, slice):
        return ("slice", value.start, value.stop, value.step)
    try:
        hash(value)
    except TypeError:
        return ("object", id(value))
    return value


def show(value: Any) -> str:
    """Return the text of a parameter value inside a kernel's expression."""
    if isinstance(value, np.ndarray):
        if value.ndim > 1 and value.size > 20:
            return f"<array of shape {value.shape}>"
        return show(value.tolist())
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, list):
        return "[" + ", ".join(show(item) for item in value) + "]"
    if type(value) is tuple:
        return "(" + "".join(show(item) + ", " for item in value).removesuffix(" " if len(value) == 1 else ", ") + ")"
    if isinstance(value, float) and math.isinf(value):
        return f"float('{value}')"
    name = getattr(value, "__name__", None)
    if name is not None and callable(value):
        return str(name)
    return repr(value)
