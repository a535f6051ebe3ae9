"""A tree of JSON and some tensors as a model again.

Every description is checked before anything is made of it; what is made comes out of the table in ``_registry`` or is
plain data.  No name in a file is ever imported, called or looked up anywhere else.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import _arrays, _packing, _registry, _tables
from ._encode import is_end
from ._entries import Entry
from .errors import ModelFileError

MOST_DEPTH = 40  # of descriptions inside descriptions
MOST_PARTS = 5_000_000  # with what is shared counted wherever it occurs
FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class Decoder:
    """Puts one model together.

    Parameters
    ----------
    tensors : dict
        Arrays by name.
    shared : list
        Descriptions that others refer to.
    functions : mapping
        What the caller has given for the functions that the file only names.
    own : mapping
        Classes that are not mercer's and were given, by the names that files have for them.
    """

    def __init__(
        self,
        tensors: Mapping[str, np.ndarray],
        shared: Any,
        functions: Mapping[str, Any],
        own: Mapping[str, Entry] | None = None,
    ) -> None:
        if not isinstance(shared, list):
            raise ModelFileError("its list of shared values is no list")
        self.tensors, self.functions, self._own = tensors, functions, own or {}
        self._made: list[tuple[Any, int]] = []  # shared values, and how many parts each has
        self._depth = self._parts = 0
        self._ways: dict[frozenset[str], Callable[[dict[str, Any]], Any]] = {
            frozenset(names): way
            for names, way in (
                (("list",), lambda node: self._items(node["list"])),
                (("tuple",), lambda node: tuple(self._items(node["tuple"]))),
                (("dict",), self._dict),
                (("objects",), self._objects),
                (("array", "as"), lambda node: _arrays.from_tensor(self._tensor(node["array"]), node["as"])),
                (("object array", "shape"), self._object_array),
                (("masked", "mask"), self._join_masked),
                (("sparse", "shape", "data", "indices", "indptr"), self._sparse),
                (("frame", "names", "name", "columns", "index"), self._frame),
                (("random", "key", "position", "gauss"), lambda node: _tables.join_random(self._read_named(node))),
                (("partial", "keywords"), self._partial),
                (("bytes",), lambda node: bytes.fromhex(_text(node["bytes"]))),
                (("slice",), self._slice),
                (("int",), lambda node: int(_text(node["int"]), 16)),
                (("float",), lambda node: FLOATS[_text(node["float"])]),
                (("scalar", "value"), self._scalar),
                (("function",), self._function),
                (("type", "fields"), self._join_registered),
                (("type", "params", "fitted"), self._join_registered),
                (("shared",), self._recall_shared),
            )
        }

        for node in shared:  # which may refer to those before
            before = self._parts
            self._made.append((self.value(node), self._parts - before))

    def value(self, node: Any) -> Any:
        """Return what a description stands for."""
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise ModelFileError(f"it describes more than {MOST_PARTS} parts")
        if node is None or isinstance(node, bool | str | int):
            return node
        if isinstance(node, float):
            if not math.isfinite(node):  # which JSON has no word for, but 1e999 is one
                raise ModelFileError("a number of its description is not finite")
            return node
        way = self._ways.get(frozenset(node)) if isinstance(node, dict) else None
        if way is None:
            raise ModelFileError(f"a part of its description is unknown: {_short(node)}")
        if self._depth >= MOST_DEPTH:
            raise ModelFileError(f"its description is nested more than {MOST_DEPTH} deep")
        self._depth += 1
        try:
            return way(node)
        except ModelFileError:
            raise
        except Exception as error:  # constructors raise what they like
            raise ModelFileError(
                f"a part of its description makes no sense ({type(error).__name__}: {error}): {_short(node)}"
            ) from None
        finally:
            self._depth -= 1

    # -- plain values -----------------------------------------------------------------------------------------------

    def _items(self, nodes: Any) -> list[Any]:
        if not isinstance(nodes, list):
            raise ModelFileError(f"instead of a list there is {_short(nodes)}")
        return [self.value(node) for node in nodes]

    def _dict(self, node: dict[str, Any]) -> dict[Any, Any]:
        pairs = [self._items(pair) for pair in node["dict"]]
        found = {key: value for key, value in pairs}  # noqa: C416 (which checks that there are two)
        if len(found) != len(pairs):
            raise ModelFileError("a key of a dict occurs twice")
        return found

    def _read_named(self, node: dict[str, Any], *without: str) -> dict[str, Any]:
        return {name: self.value(part) for name, part in node.items() if name not in without}

    def _slice(self, node: dict[str, Any]) -> slice:
        start, stop, step = self._items(node["slice"])
        if not all(is_end(end) for end in (start, stop, step)):
            raise ModelFileError(f"a slice ends at {_short(stop)}")
        return slice(start, stop, step)

    def _scalar(self, node: dict[str, Any]) -> Any:
        value = self.value(node["value"])
        made = _arrays.SCALARS[_text(node["scalar"])](value)
        if made.ndim != 0 or (made != value and made == made):
            raise ModelFileError(f"a number of the type {node['scalar']} is given as {_short(value)}")
        return made

    # -- arrays and tables ------------------------------------------------------------------------------------------

    def _tensor(self, name: Any) -> np.ndarray:
        if not isinstance(name, str) or name not in self.tensors:
            raise ModelFileError(f"it has no tensor {_short(name)}")
        return self.tensors[name]

    def _objects(self, node: dict[str, Any]) -> Any:
        name = _text(node["objects"])
        return _packing.unpack({part: self._tensor(f"{name}.{part}") for part in _packing.PARTS})

    def _object_array(self, node: dict[str, Any]) -> np.ndarray:
        items, shape = self.value(node["object array"]), self.value(node["shape"])
        if not isinstance(items, list) or not isinstance(shape, tuple) or any(type(axis) is not int for axis in shape):
            raise ModelFileError("an array of objects has no list of objects, or no shape")
        array = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):  # at once, NumPy would make rows of lists
            array[i] = item
        return array.reshape(shape)

    def _join_masked(self, node: dict[str, Any]) -> Any:
        values, mask = self.value(node["masked"]), self.value(node["mask"])
        right = mask is None or (isinstance(mask, np.ndarray) and mask.dtype == np.bool_)
        if not isinstance(values, np.ndarray) or not right or (mask is not None and mask.shape != values.shape):
            raise ModelFileError("a masked array has no values, or a mask that does not fit")
        return np.ma.MaskedArray(values, mask=np.ma.nomask if mask is None else mask)

    def _sparse(self, node: dict[str, Any]) -> Any:
        return _tables.join_sparse(_text(node["sparse"]), self._read_named(node, "sparse"))

    def _frame(self, node: dict[str, Any]) -> Any:
        library = node["frame"]
        if library not in ("pandas", "polars"):
            raise ModelFileError(f"it holds a frame of {_short(library)}")
        return _tables.join_frame(library, self._read_named(node, "frame"))

    # -- objects ----------------------------------------------------------------------------------------------------

    def _join_registered(self, node: dict[str, Any]) -> Any:
        entry = _registry.find_name(_text(node["type"]), self._own)
        if {"type", *entry.sections} != set(node):
            raise ModelFileError(f"it holds an object of the type {_short(node['type'])}, which this version lacks")
        sections = {}
        for name in entry.sections:
            if not isinstance(node[name], dict):
                raise ModelFileError(f"the {name} of {entry.name} are {_short(node[name])}")
            unknown = sorted(set(node[name]) - set(entry.sections[name]))
            if unknown:
                raise ModelFileError(f"{entry.name} has no {unknown[0]!r}")
            sections[name] = self._read_named(node[name])
        return entry.join(sections)

    def _function(self, node: dict[str, Any]) -> Any:
        name = _text(node["function"])
        if name not in self.functions:
            raise ModelFileError(f"the function {name!r} is needed but not among those it lists")
        return self.functions[name]

    def _partial(self, node: dict[str, Any]) -> Any:
        function, keywords = self.value(node["partial"]), self.value(node["keywords"])
        if not any(function is known for known in self.functions.values()) or not isinstance(keywords, dict):
            raise ModelFileError("a partial function has no function, or no keywords")
        return functools.partial(function, **keywords)

    def _recall_shared(self, node: dict[str, Any]) -> Any:
        place = node["shared"]
        if type(place) is not int or not 0 <= place < len(self._made):
            raise ModelFileError(f"it refers to the shared value {_short(place)} before there is one")
        value, parts = self._made[place]
        self._parts += parts
        return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ModelFileError(f"instead of a text there is {_short(value)}")
    return value


def _short(value: Any) -> str:
    """Return a value as text that is never long to write."""
    if isinstance(value, dict):
        return "{" + ", ".join(_short(name) for name in list(value)[:8]) + "}"
    if isinstance(value, str | bytes):
        return repr(value[:60])
    return repr(value) if isinstance(value, int | float | bool | type(None)) else f"<{type(value).__name__}>"
