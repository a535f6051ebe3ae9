"""Where a task computes: on the host of its worker, or on a device there."""

from __future__ import annotations

from typing import Any

from mercer.arrays.tensors import DeviceError, device_memory, find_device

from ._graph import tasks_at_a_time, where_am_i


def place_here(device: Any, memory: int) -> tuple[Any, int]:
    """Return the device of this worker that was asked for, None for the host, and what a task may use there.

    Parameters
    ----------
    device : str, torch.device or None
        What was asked for.
    memory : int
        What a task may use of the host.

    Examples
    --------
    >>> place_here(None, 1000)
    (None, 1000)
    """
    if device is None:
        return None, memory
    try:
        found = find_device(device)
    except (DeviceError, ImportError) as error:
        error.add_note(f"This was found by {where_am_i()}; the device has to be there on every worker.")
        raise
    if found.type != "cuda":
        return found, memory
    return found, device_memory(found, None) // tasks_at_a_time()
