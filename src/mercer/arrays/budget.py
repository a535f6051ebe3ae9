"""The memory budget: how many bytes a computation may take, and what fits into them.

A budget bounds what a call takes at its peak beyond what there was before: matrices, tiles, vectors, copies of points
and the fitted model.  The data itself does not count, nor its conversion if it is no array of floats yet, nor what the
C library keeps of memory that was freed.  What does not fit is done in smaller pieces, or refused with
:class:`MemoryBudgetError`, which says how much it needs.
"""

from __future__ import annotations

import math
import numbers
import os
import re
from pathlib import Path
from typing import Any

SHARE = 0.6  # of what is free, when no budget is given
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


class MemoryBudgetError(MemoryError):
    """Something would not fit into the memory budget; raised before anything is allocated."""


def parse_memory(memory: float | str | None) -> int:
    """Return a budget in bytes, from a number, a text such as ``"2GB"``, or 60 % of what is free.

    Examples
    --------
    >>> from mercer.arrays.budget import parse_memory
    >>> parse_memory("1.5 GB"), parse_memory(2**20)
    (1500000000, 1048576)
    """
    if memory is None:
        return int(SHARE * available_memory())
    if isinstance(memory, str):
        found = re.fullmatch(r"\s*([0-9.]+(?:[eE][0-9]+)?)\s*([A-Za-z]*)\s*", memory)
        unit = _UNITS.get(found.group(2).upper()) if found else None
        if found is None or unit is None:
            raise ValueError(f"memory must be a number of bytes or a text such as '2GB' or '500 MB', got {memory!r}")
        return int(float(found.group(1)) * unit)
    given: Any = memory
    if not (isinstance(given, numbers.Real) and 0 < float(given) < math.inf):
        raise ValueError(f"memory must be a positive number of bytes, got {memory!r}")
    return int(memory)


def show_bytes(count: float) -> str:
    """Return a number of bytes as people write it.

    Examples
    --------
    >>> from mercer.arrays.budget import show_bytes
    >>> show_bytes(3_200_000_000), show_bytes(12)
    ('3.2 GB', '12 bytes')
    """
    for unit in ("TB", "GB", "MB", "KB"):
        if count >= _UNITS[unit]:
            return f"{count / _UNITS[unit]:.1f} {unit}"
    return f"{int(count)} bytes"


def require(needed: float, budget: int, what: str, remedy: str) -> None:
    """Raise unless ``needed`` bytes fit into the budget."""
    if needed > budget:
        raise MemoryBudgetError(
            f"{what} needs {show_bytes(needed)}, but the memory budget is {show_bytes(budget)}; {remedy}"
        )


def available_memory() -> int:
    """Return the bytes this process may still use: free memory, or less where a container sets a limit."""
    free = _free_memory()
    limit = _read_number(Path("/sys/fs/cgroup/memory.max"))
    used = _read_number(Path("/sys/fs/cgroup/memory.current"))
    if limit is not None and used is not None:
        free = min(free, max(limit - used, 0))
    return free


def _free_memory() -> int:
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        found = re.search(r"MemAvailable:\s+(\d+) kB", meminfo.read_text())
        if found:
            return int(found.group(1)) * 1024
    if hasattr(os, "sysconf"):
        # Elsewhere free pages exclude caches that the system would give back: half of all is a fair guess.
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return 4 * 2**30


def _read_number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
