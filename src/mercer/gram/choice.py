"""Which backend computes an expression on data, and why."""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

import numpy as np
from numpy.typing import DTypeLike

from mercer.arrays.budget import parse_memory, require
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array, real_type
from mercer.formula.data import Rows, result_dtype
from mercer.formula.expression import Expression
from mercer.formula.program import UnsupportedError

from .backend import FEWER, Backend, require_row
from .native import NativeBackend
from .numpy import NumpyBackend
from .prepared import copied_bytes
from .torch.backend import MovedBackend, TorchBackend
from .torch.series import place_blocks

BackendName = Literal["auto", "numpy", "native", "torch"]


def choose_backend(
    expression: Expression,
    X: Rows,
    Z: Rows | None,
    owner: str,
    backend: BackendName = "auto",
    dtype: DTypeLike | None = None,
    place: Place | None = None,
) -> Backend:
    """Return the backend for an expression on data: the native one wherever it can, and torch on a device.

    Copies of the data that do not fit into the memory of the place are refused before they are made.
    """
    on_host = place is None or place.on_host
    if backend not in ("auto", "numpy", "native", "torch") or (on_host and backend == "torch"):
        raise ValueError(f"backend must be 'auto', 'numpy', 'native' or 'torch', got {backend!r}")
    if not on_host and backend not in ("auto", "torch"):
        raise ValueError(f"tensors and devices need backend 'auto' or 'torch', got {backend!r}")
    if dtype is None:
        dtype = (result_dtype if on_host else real_type)(X, X if Z is None else Z)
    if place is not None:
        needed = copied_bytes(expression, X, Z, np.dtype(dtype).itemsize)
        require(needed, place.memory, "the copy of the data that the kernel works on", FEWER)
    if place is not None and not on_host:
        try:
            return TorchBackend(expression, X, Z, owner, place.device, dtype)
        except UnsupportedError as reason:
            host, sides = Place(None, parse_memory(None)), (host_array(X), None if Z is None else host_array(Z))
            with suppress(UnsupportedError):
                return place_blocks(expression, *sides, owner, dtype, place)
            values = choose_backend(expression, *sides, owner, "auto", dtype, host)
            require_row(values, host.memory)
            return MovedBackend(values, place, f"the kernel is evaluated on the host and moved: {reason}")
    if backend == "numpy":
        return NumpyBackend(expression, X, Z, owner, "the NumPy backend was asked for", dtype)
    try:
        return NativeBackend(expression, X, Z, owner, "every statistic of the kernel has a native form", dtype)
    except UnsupportedError as reason:
        if backend == "native":
            raise ValueError(f"the native backend cannot evaluate {owner}: {reason}; use backend='auto'") from None
        return NumpyBackend(expression, X, Z, owner, f"the native backend cannot evaluate it: {reason}", dtype)
