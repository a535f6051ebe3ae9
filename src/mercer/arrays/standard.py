"""Arrays of other libraries that follow the array API standard: host arrays inside, what came back outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .tensors import host_array, is_tensor

ABROAD = "_abroad"  # the attribute of a model that holds its AttributesAbroad
KEPT = frozenset({"classes_"})  # labels may be texts, which no other library has


def is_foreign(data: object) -> bool:
    """Whether data is an array of the standard that is neither NumPy's nor torch's.

    Examples
    --------
    >>> import numpy as np
    >>> is_foreign(np.zeros(2)), is_foreign([0.0])
    (False, False)
    """
    ours = isinstance(data, np.ndarray | np.generic) or is_tensor(data)
    return hasattr(data, "__array_namespace__") and not ours


def bring_home(data: Any) -> Any:
    """Return a tensor or an array of another library as a NumPy array, copied if need be, and all else as it is."""
    if not is_foreign(data):
        return host_array(data)
    try:
        return np.from_dlpack(data)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
        pass  # it lives on a device, or its library does not share memory
    from array_api_compat import to_device

    try:
        return np.asarray(to_device(data, "cpu"))
    except (RuntimeError, TypeError, ValueError):  # libraries whose host has another name
        return np.asarray(to_device(data, data.__array_namespace__().__array_namespace_info__().default_device()))


@dataclass(frozen=True)
class ArrayKind:
    """A library of the array API standard, and a device of it.

    Examples
    --------
    >>> import numpy as np
    >>> ArrayKind.of(np.zeros(2)) is None
    True
    """

    namespace: Any
    device: Any

    @classmethod
    def of(cls, data: Any) -> ArrayKind | None:
        """Return the kind of an array of another library, and None for everything else."""
        if not (is_tensor(data) or is_foreign(data)):
            return None
        from array_api_compat import array_namespace, device

        return cls(array_namespace(data), device(data))

    def give(self, value: Any) -> Any:
        """Return numbers of the host as an array of this kind, also those in a list or tuple, and all else as it is."""
        if isinstance(value, tuple | list) and type(value) in (tuple, list):
            return type(value)(self.give(part) for part in value)
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
            return value
        plain = np.asarray(value, order="C")
        return self.namespace.asarray(plain if plain.flags.writeable else plain.copy(), device=self.device)

    def __str__(self) -> str:
        return f"{self.namespace.__name__.removeprefix('array_api_compat.')} on {self.device}"


@dataclass(frozen=True)
class AttributesAbroad:
    """Attributes of a model that its caller sees as arrays of another library, and what they are here."""

    kind: ArrayKind
    here: dict[str, np.ndarray]


def _complete(model: Any) -> None:
    """Let a model compute the attributes that it has postponed, before all of them are read."""
    if hasattr(model, "_complete"):
        model._complete()


def send_attributes(model: Any, kind: ArrayKind) -> None:
    """Let a model's fitted arrays be seen as arrays of a kind; methods go on with what they are here."""
    _complete(model)
    own, params = vars(model), set(model.get_params(deep=False))
    arrays = {name: value for name, value in own.items() if isinstance(value, np.ndarray) and name not in params | KEPT}
    sent = {name: kind.give(value) for name, value in arrays.items()}
    here = {name: arrays[name] for name, value in sent.items() if value is not arrays[name]}
    own.update(sent)
    own[ABROAD] = AttributesAbroad(kind, here)


def model_here(model: Any) -> Any:
    """Return a model with its arrays on the host: itself, or a shallow copy if its caller sees them elsewhere."""
    _complete(model)
    abroad = vars(model).get(ABROAD)
    if abroad is None:
        return model
    here = object.__new__(type(model))
    vars(here).update({name: value for name, value in vars(model).items() if name != ABROAD} | abroad.here)
    return here
