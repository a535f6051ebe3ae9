"""Levels of quantiles and expectiles: numbers between 0 and 1."""

from __future__ import annotations

import numbers
from typing import Annotated


def check_level(loss: object, name: str) -> None:
    """Raise unless a parameter is a number between 0 and 1."""
    value = getattr(loss, name)
    if not isinstance(value, numbers.Real) or not 0 < float(value) < 1:
        raise ValueError(
            f"{type(loss).__name__}: {name} must be a number between 0 and 1, ends excluded, such as 0.9; got {value!r}"
        )


Level = Annotated[float, check_level]
