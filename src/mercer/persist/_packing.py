"""Plain objects as a few arrays: strings, numbers, lists, tuples, dicts, graphs and small arrays, in any nesting.

Data without vectors is many small objects, trees for instance, for which JSON would be long and as deep as they are.
Here a value is the list of the kinds of its parts, each before the parts inside it; what else there is to know of a
part, such as its number of parts or its place among the distinct texts, is the next entry of another list.  Both ways
are loops and not recursions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mercer.kernels import Graph
from mercer.kernels.graphs.table import is_networkx

from ._container import DTYPES, NAMES
from .errors import ModelFileError

MOST_DEPTH = 1000  # C code that walks through tuples, such as their hash, goes deeper and deeper into the stack
NONE, FALSE, TRUE, INT, FLOAT, TEXT, BYTES, LIST, TUPLE, DICT, GRAPH, ARRAY, LONG, RICH = range(14)
GRAPH_PARTS = {GRAPH: 3, RICH: 5}  # a graph with weights or attributes has those, too
CONSTANTS: dict[Any, int] = {None: NONE, False: FALSE, True: TRUE}
PARTS = ("kinds", "numbers", "floats", "text", "ends", "bytes")
CODES = list(DTYPES)


class NotPlainError(ModelFileError):
    """A value holds something that is not plain."""


def pack(value: Any) -> dict[str, np.ndarray]:
    """Return a plain value as arrays, or raise NotPlainError.

    Examples
    --------
    >>> arrays = pack([("S", "a", ("B", "a")), None])
    >>> arrays["kinds"].tolist(), arrays["numbers"].tolist(), arrays["text"].tobytes()
    ([7, 8, 5, 5, 8, 5, 5, 0], [2, 3, 0, 1, 2, 2, 1], b'SaB')
    >>> unpack(arrays)
    [('S', 'a', ('B', 'a')), None]
    """
    packer = _Packer()
    stack = [(value, 0)]
    while stack:
        part, depth = stack.pop()
        inside = packer.add(part)
        if depth > MOST_DEPTH:
            raise NotPlainError(f"objects are nested more than {MOST_DEPTH} deep, or contain themselves")
        stack.extend((child, depth + 1) for child in reversed(inside))
    return packer.arrays()


class _Packer:
    """The lists under construction."""

    def __init__(self) -> None:
        self.kinds = bytearray()
        self.numbers: list[int] = []
        self.floats: list[float] = []
        self.texts: dict[str, int] = {}
        self.bytes = bytearray()

    def add(self, part: Any) -> list[Any]:
        """Note one part, and return those inside it."""
        kind = type(part)
        if kind is str or kind is np.str_:
            self._note(TEXT, self.texts.setdefault(str(part), len(self.texts)))
        elif part is None or kind is bool or kind is np.bool_:
            self._note(CONSTANTS[part if part is None else bool(part)])
        elif kind is int or isinstance(part, np.integer):
            self._whole(int(part))
        elif kind is float or isinstance(part, np.float64 | np.float32 | np.float16):
            self._note(FLOAT)
            self.floats.append(float(part))
        elif kind is list or kind is tuple:
            self._note(LIST if kind is list else TUPLE, len(part))
            return list(part)
        elif kind is dict:
            self._note(DICT, len(part))
            return [each for item in part.items() for each in item]
        elif kind is Graph or is_networkx(part):
            graph = part if kind is Graph else Graph.from_networkx(part)  # as kernels read it
            plain = graph.weights is None and graph.attributes is None
            self._note(GRAPH if plain else RICH)
            more = [] if plain else [graph.weights, graph.attributes]
            return [graph.neighbours, graph.labels, graph.edge_labels, *more]
        elif kind is bytes:
            self._note(BYTES, len(part))
            self.bytes += part
        elif kind is np.ndarray and part.dtype in NAMES:
            self._note(ARRAY, CODES.index(NAMES[part.dtype]), part.ndim, *part.shape)
            self.bytes += part.astype(part.dtype.newbyteorder("<")).tobytes()
        else:
            raise NotPlainError(f"{kind.__module__}.{kind.__qualname__} is not a plain type")
        return []

    def _note(self, kind: int, *numbers: int) -> None:
        self.kinds.append(kind)
        self.numbers.extend(numbers)

    def _whole(self, value: int) -> None:
        if -(2**63) <= value < 2**63:
            self._note(INT, value)
        else:
            self._note(LONG, self.texts.setdefault(hex(value), len(self.texts)))

    def arrays(self) -> dict[str, np.ndarray]:
        encoded = [text.encode("utf-8", "surrogatepass") for text in self.texts]
        return {
            "kinds": np.frombuffer(bytes(self.kinds), dtype=np.uint8),
            "numbers": np.array(self.numbers, dtype=np.int64),
            "floats": np.array(self.floats, dtype=np.float64),
            "text": np.frombuffer(b"".join(encoded), dtype=np.uint8),
            "ends": np.cumsum([len(text) for text in encoded], dtype=np.int64),
            "bytes": np.frombuffer(bytes(self.bytes), dtype=np.uint8),
        }


def unpack(arrays: Mapping[str, np.ndarray]) -> Any:
    """Return the value that :func:`pack` has made arrays of, or raise ModelFileError if they are of no value."""
    wanted = dict.fromkeys(PARTS, np.dtype(np.uint8)) | {
        "numbers": np.dtype(np.int64), "ends": np.dtype(np.int64), "floats": np.dtype(np.float64),
    }  # fmt: skip
    if any(arrays[name].ndim != 1 or arrays[name].dtype != dtype for name, dtype in wanted.items()):
        raise ModelFileError("packed objects are arrays of the wrong type")
    try:
        return _Unpacker(arrays).value()
    except (StopIteration, IndexError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"packed objects do not fit together ({type(error).__name__}: {error})") from None


class _Unpacker:
    """Reads the lists from their beginnings to their ends."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.kinds: list[int] = arrays["kinds"].tolist()
        self.numbers: Iterator[int] = iter(arrays["numbers"].tolist())
        self.floats: Iterator[float] = iter(arrays["floats"].tolist())
        self.texts = _texts(arrays["text"].tobytes(), arrays["ends"].tolist())
        self.bytes, self.taken = arrays["bytes"].tobytes(), 0

    def value(self) -> Any:
        open_parts: list[tuple[int, int, list[Any]]] = []  # kind, number of parts inside, and those known so far
        for position, kind in enumerate(self.kinds):
            if kind in (LIST, TUPLE, DICT, GRAPH, RICH):
                open_parts.append((kind, self._inside(kind), []))
                if len(open_parts) > MOST_DEPTH + 1:
                    raise ValueError(f"they are nested more than {MOST_DEPTH} deep")
            elif not open_parts:
                return self._last(self._leaf(kind), position)
            else:
                open_parts[-1][2].append(self._leaf(kind))
            while open_parts and len(open_parts[-1][2]) == open_parts[-1][1]:
                whole = _whole(open_parts[-1][0], open_parts.pop()[2])
                if not open_parts:
                    return self._last(whole, position)
                open_parts[-1][2].append(whole)
        raise ValueError("they end too early")

    def _last(self, value: Any, position: int) -> Any:
        rest = (next(self.numbers, None), next(self.floats, None))
        if position + 1 != len(self.kinds) or self.taken != len(self.bytes) or rest != (None, None):
            raise ValueError("something is left over")
        return value

    def _inside(self, kind: int) -> int:
        """Return the number of parts inside one."""
        count = GRAPH_PARTS.get(kind) or next(self.numbers) * (2 if kind == DICT else 1)
        if not 0 <= count < len(self.kinds):
            raise ValueError(f"a part has {count} parts")
        return count

    def _leaf(self, kind: int) -> Any:
        if kind == TEXT:
            return self.texts[_place(next(self.numbers))]
        if kind == INT:
            return next(self.numbers)
        if kind == FLOAT:
            return next(self.floats)
        if kind in (NONE, FALSE, TRUE):
            return (None, False, True)[kind]
        if kind == BYTES:
            return self._take(next(self.numbers))
        if kind == LONG:
            return int(self.texts[_place(next(self.numbers))], 16)
        if kind == ARRAY:
            return self._array()
        raise ValueError(f"{kind} is no kind")

    def _array(self) -> np.ndarray:
        dtype = np.dtype(DTYPES[CODES[_place(next(self.numbers))]])
        axes = next(self.numbers)
        if not 0 <= axes <= 32:
            raise ValueError(f"an array has {axes} axes")
        shape = [_place(next(self.numbers)) for _ in range(axes)]
        count = 1
        for axis in shape:
            count *= axis
        data = np.frombuffer(self._take(count * dtype.itemsize), dtype=np.uint8)
        if dtype == np.bool_ and data.max(initial=0) > 1:
            raise ValueError("truth values are 0 and 1")
        return data.view(dtype).reshape(shape).astype(dtype.newbyteorder("="))

    def _take(self, count: int) -> bytes:
        end = self.taken + _place(count)
        if end > len(self.bytes):
            raise ValueError("there are too few bytes")
        piece, self.taken = self.bytes[self.taken : end], end
        return piece


def _texts(joined: bytes, ends: list[int]) -> list[str]:
    starts = [0, *ends[:-1]]
    if any(not 0 <= start <= end <= len(joined) for start, end in zip(starts, ends, strict=bool(ends))):
        raise ValueError("texts end before they start")
    return [joined[start:end].decode("utf-8", "surrogatepass") for start, end in zip(starts, ends, strict=bool(ends))]


def _place(number: int) -> int:
    if number < 0:  # which Python would count from the end
        raise ValueError(f"{number} is no place")
    return number


def _whole(kind: int, parts: list[Any]) -> Any:
    if kind == LIST:
        return parts
    if kind == TUPLE:
        return tuple(parts)
    if kind == DICT:
        found = dict(zip(parts[::2], parts[1::2], strict=True))
        if 2 * len(found) != len(parts):
            raise ValueError("a key occurs twice")
        return found
    return Graph(*parts)
