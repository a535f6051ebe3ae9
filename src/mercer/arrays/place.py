"""Where numbers are computed: the host or a torch device, and how much memory there is."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import Array
from .budget import parse_memory
from .tensors import DeviceError, device_memory, find_device, host_array, is_tensor, load_torch, on_device


@dataclass(frozen=True)
class Place:
    """The host or a device, with a budget of memory.  This class alone asks which of them it is.

    Parameters
    ----------
    device : torch.device, optional
        The device; the host if not given.
    memory : int
        Budget in bytes there.

    Examples
    --------
    >>> place = Place.find(None, "1GB", np.zeros((3, 2)))
    >>> place.kind, place.memory, place.put([1, 2])
    ('host', 1000000000, array([1., 2.]))
    """

    device: Any
    memory: int

    @classmethod
    def find(cls, device: Any, memory: float | str | None, *data: object) -> Place:
        """Return the place that is asked for, or where the tensors among the data are; by default the host."""
        refuse_several(device)
        if device is None and not any(map(is_tensor, data)):
            return cls(None, parse_memory(memory))
        found = find_device(device, *data)
        return cls(found, device_memory(found, memory))

    @property
    def on_host(self) -> bool:
        """Whether this is the host."""
        return self.device is None

    @property
    def kind(self) -> str:
        """The word "host", or the type of the device, such as "cuda"."""
        return "host" if self.on_host else str(self.device.type)

    def __str__(self) -> str:
        return "the host" if self.on_host else str(self.device)

    def be_current(self) -> AbstractContextManager[Any]:
        """Return a context in which Triton, which launches on the current device of a thread, launches here."""
        return load_torch().cuda.device(self.device) if self.kind == "cuda" else nullcontext()

    @property
    def namespace(self) -> Any:
        """The array namespace of this place."""
        from .namespace import namespace

        return namespace(np if self.on_host else load_torch())

    def put(self, values: Any, dtype: Any = np.float64) -> Array:
        """Return numbers in an array of this place, a contiguous one on a device."""
        if self.on_host:
            return np.asarray(host_array(values), dtype=dtype)
        return on_device(values, self.device, dtype)


def list_devices(device: Any) -> list[Any] | None:
    """Return several devices in a list, and None where one or none is asked for.

    Examples
    --------
    >>> list_devices(["cuda:0", "cuda:1"]), list_devices("cuda"), list_devices(None)
    (['cuda:0', 'cuda:1'], None, None)
    """
    if not isinstance(device, list | tuple):
        return None
    if not device:
        raise DeviceError("device is an empty list; give at least one name such as 'cuda:0', or leave it out")
    return list(device)


def refuse_several(device: Any) -> None:
    """Raise if several devices are asked for, where nothing shares its work among them.

    Examples
    --------
    >>> refuse_several("cuda")
    >>> refuse_several(["cuda:0", "cuda:1"])
    Traceback (most recent call last):
    ...
    mercer.arrays.tensors.DeviceError: device=['cuda:0', 'cuda:1'] names several devices, ...
    """
    several = list_devices(device)
    if several is not None:
        raise DeviceError(
            f"device={several!r} names several devices, which only fits of KernelRidge and KernelRidgeClassifier to "
            f"data in memory share; give one, such as device={several[0]!r}"
        )
