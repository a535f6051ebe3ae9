"""Names of what is computed: hashes of all that goes into it, so that equal names are equal sums."""

from __future__ import annotations

import hashlib
import sys
import uuid
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from joblib.hashing import NumpyHasher  # type: ignore[import-untyped]

KNOWN = sys.stdlib_module_names - {"__main__"} | {"joblib", "mercer", "numpy", "pandas", "scipy", "sklearn"}
PROCESS = uuid.uuid4().hex  # for functions that were typed in: in another process they may be others


def name_value(value: Any) -> str:
    """Return a hash of a value, or any name if it holds a function that has none.

    Functions and classes of the caller's own have the bytes of their file as part of their name: a kernel that was
    edited is another one.

    Examples
    --------
    >>> name_value([1, "a"]) == name_value([1, "a"]), name_value([1]) == name_value([2])
    (True, False)
    >>> name_value(lambda x: x) == name_value(lambda x: x)
    False
    """
    try:
        return str(_Namer("sha1").hash(value))
    except Exception:  # pickle has many
        return uuid.uuid4().hex


class _Namer(NumpyHasher):  # type: ignore[misc]
    def save(self, obj: Any) -> None:
        if isinstance(obj, type | FunctionType) and "<" not in obj.__qualname__:
            module = obj.__module__ or ""
            if module.partition(".")[0] not in KNOWN:
                obj = "own", module, obj.__qualname__, _stamp(module)
        super().save(obj)


@cache
def _stamp(module: str) -> str:
    """Return a hash of the file of a module, as it is when it is first asked for."""
    path = Path(getattr(sys.modules.get(module), "__file__", None) or "")
    return hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest() if path.is_file() else PROCESS
