"""Triton functions from printed source, where Triton is."""

from __future__ import annotations

import functools
import hashlib
import linecache
import os
from typing import Any


def compile_source(text: str, name: str) -> Any:
    """Return a function of a Triton source; what Triton makes of it is kept on disk and found again by the source."""
    place = f"<mercer {name} {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
    # Triton reads the source of a function through linecache; an entry without a time is never looked for on disk.
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    namespace: dict[str, Any] = {"__name__": "mercer_generated", "__file__": place}
    exec(compile(text, place, "exec"), namespace)  # our own text, printed from a checked program
    return namespace[name]


@functools.lru_cache(maxsize=1)
def _has_triton() -> bool:
    try:
        import triton  # noqa: F401
    except ImportError:
        return False
    return True


def fusable(device: Any) -> bool:
    """Whether kernels on a device run as Triton functions: on CUDA, or anywhere in Triton's interpreter."""
    return _has_triton() and (device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1")
