"""What counts as a whole number, for everybody who asks for one."""

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
