"""The bytes of a model file: the layout of safetensors, read with limits.

    8 bytes    n, the length of the header, as a little-endian integer
    n bytes    JSON: {"__metadata__": {"format": …, "checksum": …, "document": …}, name: tensor, name: tensor, …}
    the rest   the tensors, one after the other without gaps

A tensor is {"dtype": …, "shape": […], "data_offsets": [begin, end]}.  Any tool that reads safetensors can list and read
them; all else there is to say stands in the document, which is JSON in a string.  The checksum is the SHA-256 of the
whole file with zeros in its own place.

Nothing that a file says about itself is believed: lengths are compared with the size of the file, and shapes with the
bytes there are, before memory is taken for them.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

import numpy as np

from .errors import ModelFileError

MOST_HEADER = 2**24  # bytes; what is long is a tensor
MOST_ITEMS = 1_000_000  # of lists and objects in a header
MOST_AXES = 32
MOST_NUMBERS = 2**56  # of a tensor, axes of length 0 aside: NumPy cannot count the bytes of more
DTYPES = {
    "F64": "<f8", "I64": "<i8", "U64": "<u8", "F32": "<f4", "I32": "<i4", "U32": "<u4",
    "F16": "<f2", "I16": "<i2", "U16": "<u2", "I8": "|i1", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}
OPENING = b'{"__metadata__":{"format":"mercer-model","checksum":"'
DIGITS = 64  # of the checksum
ZEROS = b"0" * DIGITS


class ReadableBinary(Protocol):
    """A file opened for reading, or bytes in memory that behave like one."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to a byte."""

    def read(self, size: int = -1, /) -> bytes:
        """Return some bytes."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill memory, and return how many bytes there were."""


@dataclass(frozen=True)
class Tensor:
    """Where a tensor stands among the bytes after the header, and how they are to be read."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class Header:
    """All that stands before the tensors, checked.

    Parameters
    ----------
    raw : bytes
        The bytes themselves, the length in front included.
    checksum : str
        What the file says its checksum is.
    document : dict
        What the file is about.
    entries : dict
        The tensors as described, not yet checked.
    size : int
        Bytes that follow.
    """

    raw: bytes
    checksum: str
    document: dict[str, Any]
    entries: dict[str, Any]
    size: int

    def tensors(self) -> list[Tensor]:
        """Return the tensors in the order of the file, which they fill without gaps."""
        found = sorted((check_tensor(*entry) for entry in self.entries.items()), key=lambda t: (t.begin, t.end))
        reached = 0
        for tensor in found:
            if tensor.begin != reached:
                raise ModelFileError(f"the tensor {tensor.name!r} starts at byte {tensor.begin} instead of {reached}")
            reached = tensor.end
        if reached != self.size:
            raise ModelFileError(
                f"the tensors need {reached} bytes, but the file has {self.size} for them; it was cut off or added to"
            )
        return found


# -- writing --------------------------------------------------------------------------------------------------------


def write(stream: BinaryIO, document: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
    """Write a document and tensors to a file that was opened for writing and can seek.

    Examples
    --------
    >>> import io
    >>> stream = io.BytesIO()
    >>> write(stream, {"version": 1}, {"a": np.arange(3.0)})
    >>> size = stream.seek(0, io.SEEK_END)
    >>> header = read(stream, size)
    >>> header.document, read_tensors(stream, header)
    ({'version': 1}, {'a': array([0., 1., 2.])})
    """
    # Wide numbers first: then all are aligned although nothing stands between them.
    order = sorted(tensors, key=lambda name: -tensors[name].dtype.itemsize)
    raw = _header(document, {name: tensors[name] for name in order})
    digest = hashlib.sha256(raw)
    stream.write(raw)
    for name in order:
        data = np.ascontiguousarray(tensors[name], dtype=_choose_stored(tensors[name])).reshape(-1).view(np.uint8).data
        digest.update(data)
        stream.write(data)
    stream.seek(8 + len(OPENING))
    stream.write(digest.hexdigest().encode())


def _header(document: dict[str, Any], tensors: dict[str, np.ndarray]) -> bytes:
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    parts = [OPENING, ZEROS, b'","document":', json.dumps(text).encode(), b"}"]
    begin = 0
    for name, tensor in tensors.items():
        end = begin + tensor.size * tensor.dtype.itemsize
        entry = {"dtype": NAMES[_choose_stored(tensor)], "shape": list(tensor.shape), "data_offsets": [begin, end]}
        parts.append(f",{json.dumps(name)}:{json.dumps(entry, separators=(',', ':'))}".encode())
        begin = end
    joined = b"".join([*parts, b"}"])
    joined += b" " * (-len(joined) % 8)
    items = _items(joined)
    if len(joined) > MOST_HEADER or items > MOST_ITEMS:
        raise ModelFileError(
            f"the description of the model has {len(joined)} bytes and {items} items, and files are limited to "
            f"{MOST_HEADER} and {MOST_ITEMS}; what is long must be an array, a table, or a list of plain objects"
        )
    return len(joined).to_bytes(8, "little") + joined


def _choose_stored(tensor: np.ndarray) -> np.dtype[Any]:
    return tensor.dtype.newbyteorder("<") if tensor.dtype.itemsize > 1 else tensor.dtype


def _items(header: bytes) -> int:
    """Return a bound of the number of values in JSON."""
    return sum(header.count(mark) for mark in (b",", b"[", b"{"))


# -- reading --------------------------------------------------------------------------------------------------------


def read(stream: ReadableBinary, size: int) -> Header:
    """Read and check the header of a file of known size; the tensors are left alone."""
    stream.seek(0)
    start = stream.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or length > size - 8:
        raise ModelFileError(f"this is no model file, or it was cut off: it has only {size} bytes")
    if length > MOST_HEADER:
        raise ModelFileError(f"its header claims {length} bytes, and no model has more than {MOST_HEADER}")
    text = stream.read(length)
    if len(text) != length:
        raise ModelFileError("it ends inside its header")
    if not text.startswith(OPENING):
        raise ModelFileError("this is no model file of mercer; mercer.save writes those")
    if _items(text) > MOST_ITEMS:
        raise ModelFileError(f"its header has more than {MOST_ITEMS} items")
    entries = parse_json(text, "its header")
    metadata = entries.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get("document"), str):
        raise ModelFileError("its header has no document")
    document = parse_json(metadata["document"], "its document")
    checksum = text[len(OPENING) : len(OPENING) + DIGITS].decode("ascii", "replace")
    return Header(start + text, checksum, document, entries, size - 8 - length)


def read_tensors(stream: ReadableBinary, header: Header) -> dict[str, np.ndarray]:
    """Read all tensors, and compare the checksum."""
    tensors = header.tensors()
    place = 8 + len(OPENING)
    digest = hashlib.sha256(header.raw[:place] + ZEROS + header.raw[place + DIGITS :])
    stream.seek(len(header.raw))
    found = {}
    for tensor in tensors:
        values = np.empty(tensor.shape, dtype=tensor.dtype)
        octets = values.reshape(-1).view(np.uint8)
        if stream.readinto(octets.data) != len(octets):
            raise ModelFileError(f"it ends inside the tensor {tensor.name!r}")
        digest.update(octets.data)
        if tensor.dtype == np.bool_ and octets.max(initial=0) > 1:
            raise ModelFileError(f"the tensor {tensor.name!r} holds truth values other than 0 and 1")
        found[tensor.name] = values.astype(tensor.dtype.newbyteorder("="), copy=False)
    if digest.hexdigest() != header.checksum:
        raise ModelFileError("its checksum is wrong: the file was damaged or changed after it was written")
    return found


def check_tensor(name: str, entry: Any) -> Tensor:
    """Return what the header says of a tensor, if it makes sense."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"the tensor {name!r} is not described by dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ModelFileError(f"the tensor {name!r} has the dtype {dtype!r}; known are {', '.join(DTYPES)}")
    if not _whole(shape) or len(shape) > MOST_AXES or not _whole(offsets) or len(offsets) != 2:
        raise ModelFileError(f"the tensor {name!r} has a shape or offsets that are no lists of whole numbers")
    needed = math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize
    if offsets[1] - offsets[0] != needed or math.prod(max(axis, 1) for axis in shape) >= MOST_NUMBERS:
        raise ModelFileError(
            f"the tensor {name!r} needs {needed} bytes for the shape {tuple(shape)} of {dtype}, but has "
            f"{offsets[1] - offsets[0]}"
        )
    return Tensor(name, np.dtype(DTYPES[dtype]), tuple(shape), offsets[0], offsets[1])


def _whole(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def parse_json(text: str | bytes, what: str) -> dict[str, Any]:
    """Return a JSON object, strictly: numbers are finite and no name occurs twice."""
    try:
        value = json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse)
    except RecursionError:
        raise ModelFileError(f"{what} is nested too deeply") from None
    except ValueError as error:  # of syntax, of UTF-8, and of our own
        raise ModelFileError(f"{what} is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise ModelFileError(f"{what} is not a JSON object")
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")
