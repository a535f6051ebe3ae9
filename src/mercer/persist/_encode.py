"""A model as a tree of JSON and some tensors.

Numbers, texts, truth values and None stand for themselves; everything else is an object whose names say what it is:
``{"tuple": […]}``, ``{"array": "expansion_.coef", "as": "array"}``, ``{"type": "Gaussian", "fields": {…}}`` and so on.
What occurs several times is written once, in a list beside the tree, so that training data that parts of a model share
is shared again after loading.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Generator, Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer.arrays.tensors import host_array
from mercer.formula.data import short
from mercer.kernels import Graph
from mercer.kernels.graphs.table import is_networkx

from . import _arrays, _packing, _registry, _tables
from .errors import ModelFileError

FEW = 16  # plain items that are readable in JSON; more of them are packed
LEVELS = 16  # of descriptions inside descriptions; below, they go on among those that are shared
MOST_COLUMNS = 10_000  # of a slice

Node = dict[str, Any]  # a description
Steps = Generator[tuple[Any, str], Any, Any]  # asks for descriptions of values at places


@dataclass(frozen=True)
class Function:
    """Something that runs code, which a file can only name."""

    name: str
    qualified: str
    place: str


class Encoder:
    """Takes one model apart.

    Every way to describe something is a generator: it yields the values inside, each with its place, and is sent their
    descriptions.  One loop runs them all, so that sums of hundreds of kernels need no deeper stack than others.

    Attributes
    ----------
    tensors : dict
        Arrays by name.
    functions : list of Function
        What must be given to load.
    """

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}
        self.functions: list[Function] = []
        self._known: dict[Hashable, Node] = {}  # in the order in which they were completed
        self._shared: set[int] = set()  # identities of the descriptions that are needed elsewhere
        self._open: set[Hashable] = set()
        self._alive: list[Any] = []  # or the identity of something short-lived would be taken for another's
        self._named: dict[int, str] = {}

    def node(self, value: Any, place: str = "") -> Any:
        """Return a description of a value; ``place`` says where in the model it is, for names and messages."""
        stack = [self._describe(value, place, 0)]
        result = None
        while stack:
            try:
                inside, place = stack[-1].send(result)
            except StopIteration as done:
                stack.pop()
                result = done.value
            else:
                stack.append(self._describe(inside, place, len(stack)))
                result = None
        return result

    def finish(self) -> list[Node]:
        """Return what is needed several times, each after all that is inside it, and leave its number in its places."""
        shared: list[Node] = []
        for node in self._known.values():
            if id(node) in self._shared:
                content = dict(node)
                node.clear()  # the same object stands in all places
                node["shared"] = len(shared)
                shared.append(content)
        return shared

    def _describe(self, value: Any, place: str, depth: int) -> Steps:
        value = _as_kept(value)
        if value is None or _is_simple(value):
            return value
        key = _identity(value)
        if key in self._open:
            raise ModelFileError(f"{_at(place)} contains itself, which files cannot hold")
        if key not in self._known:
            self._open.add(key)
            self._alive.append(value)
            node = yield from self._compound(value, place)
            self._open.discard(key)
            self._known[key] = node
            if depth % LEVELS == LEVELS - 1:
                self._shared.add(id(node))
        else:
            self._shared.add(id(self._known[key]))
        return self._known[key]

    def _compound(self, value: Any, place: str) -> Steps:
        kind = type(value)
        entry, library = _registry.find_type(kind), _tables.package_of(value)
        node: Node
        if entry is not None:
            node = {"type": entry.name}
            for section, parts in entry.split(value).items():
                node[section] = yield from self._fields({}, parts, place)
        elif kind in (list, tuple, dict):
            node = yield from self._collection(value, place)
        elif isinstance(value, np.ndarray):
            node = yield from self._array(value, place)
        elif sparse.issparse(value):
            node = yield from self._fields({"sparse": kind.__name__}, _tables.split_sparse(value), place)
        elif library is not None:
            node = yield from self._fields({"frame": library}, _tables.split_frame(value, library), place)
        elif kind is np.random.RandomState:
            node = yield from self._fields({"random": "MT19937"}, _tables.split_random(value), place)
        elif kind is functools.partial:
            node = yield from self._fields({"partial": (yield value.func, place)}, _keywords(value, place), place)
        elif _is_code(value):
            node = {"function": self._function(value, place)}
        else:
            node = _atom(value, place)
        return node

    def _fields(self, node: Node, parts: Node, place: str) -> Steps:
        """Add named values to a description."""
        for name, part in parts.items():
            node[name] = yield part, f"{place}.{name}" if place else name
        return node

    def _items(self, parts: Any, place: str) -> Steps:
        found = []
        for i, part in enumerate(parts):
            found.append((yield part, f"{place}.{i}"))
        return found

    def _collection(self, value: Any, place: str) -> Steps:
        parts = [part for item in value.items() for part in item] if type(value) is dict else value
        nested = any(type(part) in (list, tuple, dict, Graph) for part in parts)
        if len(parts) >= FEW or nested:
            with suppress(_packing.NotPlainError):  # then part by part, and the message says which is not
                return self._pack(value, place)
        if type(value) is not dict:
            return {type(value).__name__: (yield from self._items(value, place))}
        pairs = []
        for key, part in value.items():
            pairs.append([(yield key, place), (yield part, f"{place}.{key}")])
        return {"dict": pairs}

    def _pack(self, value: Any, place: str) -> Node:
        arrays = _packing.pack(value)
        name = self._free(place, *arrays)
        self.tensors |= {f"{name}.{part}": array for part, array in arrays.items()}
        return {"objects": name}

    def _array(self, value: np.ndarray, place: str) -> Steps:
        if isinstance(value, np.ma.MaskedArray):
            mask = None if value.mask is np.ma.nomask else np.asarray(value.mask)
            return {"masked": (yield value.data, place), "mask": (yield mask, f"{place}.mask")}
        if value.dtype == object:
            return {"object array": (yield value.ravel().tolist(), place), "shape": (yield value.shape, place)}
        try:
            tensor, way = _arrays.to_tensor(np.asarray(value))
        except ModelFileError as error:
            raise ModelFileError(f"{_at(place)}: {error}") from None
        name = self._free(place)
        self.tensors[name] = tensor
        return {"array": name, "as": way}

    def _free(self, place: str, *endings: str) -> str:
        """Return a name for tensors that no other has: the place, with a number if need be."""
        base, count = place or "values", 1
        while any(f"{base}.{ending}" in self.tensors for ending in endings) or base in self.tensors:
            count += 1
            base = f"{place or 'values'} {count}"
        return base

    def _function(self, value: Any, place: str) -> str:
        if id(value) in self._named:
            return self._named[id(value)]
        base = str(getattr(value, "__name__", type(value).__name__)).strip("<>")
        taken, name = {function.name for function in self.functions}, base
        for count in range(2, len(taken) + 3):
            if name not in taken:
                break
            name = f"{base} {count}"
        owner = value if hasattr(value, "__qualname__") else type(value)
        qualified = f"{getattr(owner, '__module__', '?')}.{owner.__qualname__}"
        self.functions.append(Function(name, qualified, place))
        self._named[id(value)] = name
        return name


def _atom(value: Any, place: str) -> Node:
    """Return the description of a value without parts."""
    kind = type(value)
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind is slice:
        ends = [value.start, value.stop, value.step]
        if not all(is_end(end) for end in ends):
            raise ModelFileError(f"{_at(place)} is {value!r}, whose ends are not whole numbers up to {MOST_COLUMNS}")
        return {"slice": ends}
    if kind is int:
        return {"int": hex(value)}
    if kind is float:
        return {"float": repr(value)}
    if kind is np.str_:
        return {"scalar": "str", "value": str(value)}
    if isinstance(value, np.generic) and value.dtype.name in _arrays.SCALARS:
        plain = value.item()
        return {"scalar": value.dtype.name, "value": plain if _is_simple(plain) else _atom(plain, place)}
    raise ModelFileError(f"{_at(place)} is {short(value)}, {_why(value)}")


def is_end(end: Any) -> bool:
    """Whether a slice may end here: a kernel lists all columns of its slice."""
    return end is None or (type(end) is int and abs(end) <= MOST_COLUMNS)


def _is_simple(value: Any) -> bool:
    """Whether JSON writes a value as it is."""
    kind = type(value)
    return kind in (bool, str) or (kind is int and abs(value) < 2**63) or (kind is float and math.isfinite(value))


def _as_kept(value: Any) -> Any:
    """Return a value in the form that files hold, where models take either.

    It is a tensor as an array, a device as its name, a graph of networkx as ours, a sparse matrix in rows, and anything
    else as it is.
    """
    if type(value).__module__ == "torch" and type(value).__name__ == "device":
        return str(value)
    if sparse.issparse(value) and value.format not in ("csr", "csc"):
        return value.tocsr()
    return Graph.from_networkx(value) if is_networkx(value) else host_array(value)


def _identity(value: Any) -> Hashable:
    """Return what tells a value from all others; views of the same numbers are the same array."""
    if type(value) is np.ndarray and value.dtype != object and value.size:
        return value.__array_interface__["data"][0], value.shape, value.strides, value.dtype.str
    return id(value)


def _keywords(value: functools.partial[Any], place: str) -> dict[str, Any]:
    if value.args:
        raise ModelFileError(f"{_at(place)} is a partial function with positional arguments; use keywords")
    return {"keywords": value.keywords}


def _is_code(value: Any) -> bool:
    """Whether an object is one that only its owner can give again: a function, or what maps objects."""
    return callable(value) or hasattr(value, "transform")


def _why(value: Any) -> str:
    library = type(value).__module__.partition(".")[0]
    if library == "nltk" or hasattr(value, "label"):
        return "which files do not hold; fit on nested tuples such as (label, child, …), or on text in brackets"
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    return (
        f"of the type {kind}; files hold numbers, text, lists, tuples, dicts, arrays, frames, graphs and mercer's own "
        "objects"
    )


def _at(place: str) -> str:
    return place or "the model"
