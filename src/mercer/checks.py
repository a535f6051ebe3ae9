"""What counts as a whole number, for everybody who asks for one, and what they say of others."""

from __future__ import annotations

import numbers
from typing import Any, TypeGuard


def is_whole(value: Any, least: int = 1) -> TypeGuard[int]:
    """Whether something is a whole number of at least so much, and no truth value.

    Examples
    --------
    >>> is_whole(3), is_whole(0), is_whole(0, least=0), is_whole(True), is_whole(2.0)
    (True, False, True, False, False)
    """
    return not isinstance(value, bool) and isinstance(value, numbers.Integral) and int(value) >= least


def check_count(owner: str, name: str, value: Any, least: int = 1) -> int:
    """Return a whole number of at least ``least``, or raise an error that says whose it is.

    Examples
    --------
    >>> check_count("plan", "n", 3)
    3
    >>> check_count("plan", "n", 0.5)
    Traceback (most recent call last):
        ...
    ValueError: plan: n must be a whole number of at least 1, got 0.5
    """
    if not is_whole(value, least):
        raise ValueError(f"{owner}: {name} must be a whole number of at least {least}, got {value!r}")
    return int(value)
