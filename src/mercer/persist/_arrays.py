"""Arrays of any type a model has, as tensors: text, bytes and dates are numbers seen in another way."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ._container import NAMES
from .errors import ModelFileError

DATES = re.compile(r"(datetime64|timedelta64)\[(Y|M|W|D|h|m|s|ms|us|ns)\]")
LAST_CHARACTER = 0x10FFFF
SCALARS: dict[str, Any] = {dtype.name: dtype.type for dtype in NAMES} | {"str": np.str_}


def to_tensor(array: np.ndarray) -> tuple[np.ndarray, str]:
    """Return a tensor, and as what it is to be read again.

    Examples
    --------
    >>> to_tensor(np.array(["ab", "c"]))
    (array([[97, 98],
           [99,  0]], dtype=uint32), 'text')
    >>> from_tensor(*to_tensor(np.array(["ab", "c"])))
    array(['ab', 'c'], dtype='<U2')
    """
    if array.dtype.kind in "US":
        contiguous = np.ascontiguousarray(array).reshape(array.shape)
        unit = np.uint32 if array.dtype.kind == "U" else np.uint8
        native = contiguous.astype(array.dtype.newbyteorder("="), copy=False)
        width = array.dtype.itemsize // np.dtype(unit).itemsize
        return native.reshape(-1).view(unit).reshape(*array.shape, width), "text" if unit is np.uint32 else "bytes"
    if DATES.fullmatch(array.dtype.name):
        return array.astype(array.dtype.newbyteorder("="), copy=False).view(np.int64), array.dtype.name
    if array.dtype.newbyteorder("<") not in NAMES:
        raise ModelFileError(f"model files hold real numbers, truth values, text and dates; this is {array.dtype}")
    if array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous:
        return array.T, "transposed"  # because products of matrices round differently in another order
    return array, "array"


def from_tensor(tensor: np.ndarray, way: Any) -> np.ndarray:
    """Return the array that a tensor stands for."""
    if way == "array":
        return tensor
    if way == "transposed":
        return tensor.T
    if way in ("text", "bytes"):
        unit, letter = (np.uint32, "U") if way == "text" else (np.uint8, "S")
        if tensor.dtype != unit or tensor.ndim == 0 or tensor.shape[-1] == 0:
            raise ModelFileError(f"a tensor of {tensor.dtype} with shape {tensor.shape} is no {way}")
        if way == "text" and tensor.max(initial=0) > LAST_CHARACTER:
            raise ModelFileError("a text has characters that do not exist")
        return tensor.reshape(-1).view(f"{letter}{tensor.shape[-1]}").reshape(tensor.shape[:-1])
    if isinstance(way, str) and DATES.fullmatch(way) and tensor.dtype == np.int64:
        return tensor.view(way)
    raise ModelFileError(f"a tensor of {tensor.dtype} cannot be read as {way!r}")
