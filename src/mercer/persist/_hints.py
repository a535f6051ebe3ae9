"""What annotations say: of which types a value may be, and which of mercer's own classes are mentioned in them."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from mercer.features.params import SOMETIMES

Kinds = tuple[type, ...]  # what a value may be
ANY: Kinds = (object,)
SIMPLE: Kinds = (bool, int, float, str, np.generic, type(None))
NUMBERS: dict[Any, Kinds] = {
    bool: (bool, np.bool_),
    int: (int, np.integer),
    float: (int, float, np.number),
    None: (type(None),),
}


def read_hints(cls: type) -> dict[str, Any]:
    """Return the annotations of what objects of a class hold, by name."""
    hints = get_type_hints(cls, include_extras=True)
    return {name: hint for name, hint in hints.items() if hint is not ClassVar and get_origin(hint) is not ClassVar}


def read_fitted(cls: type) -> dict[str, Any]:
    """Return the annotations of what a fit leaves on an estimator: names that end, or begin, with an underscore.

    Examples
    --------
    >>> class Line:
    ...     slope_: float
    ...     degree: int
    >>> read_fitted(Line)
    {'slope_': <class 'float'>}
    """
    return {name: hint for name, hint in read_hints(cls).items() if "_" in (name[0], name[-1])}


def read_parameters(cls: Any) -> dict[str, Any]:
    """Return the annotations of the parameters of an estimator, by name; none where they cannot be read."""
    try:
        return get_type_hints(cls.__init__)
    except Exception:  # classes of others are annotated with anything
        return {}


def is_simple(hint: Any) -> bool:
    """Whether an annotation allows nothing but numbers, texts, truth values and None."""
    if get_origin(hint) in (Union, types.UnionType):
        return all(map(is_simple, get_args(hint)))
    return get_origin(hint) is Literal or hint in (bool, int, float, str, type(None))


def is_needed(hint: Any) -> bool:
    """Whether every fit sets an attribute of this annotation."""
    return not (get_origin(hint) is Annotated and SOMETIMES in get_args(hint))


def find_kinds(hint: Any) -> Kinds:
    """Return the types that an annotation allows, without what is inside of containers.

    Examples
    --------
    >>> find_kinds(list[int] | None)
    (<class 'list'>, <class 'NoneType'>)
    """
    origin = get_origin(hint)
    if origin is Annotated:
        return find_kinds(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        return tuple(kind for part in get_args(hint) for kind in find_kinds(part))
    if hint is Any:  # a class since Python 3.11
        return ANY
    found = NUMBERS.get(hint)
    if found is not None:
        return found
    kind = origin if origin is not None else hint
    plain = isinstance(kind, type) and getattr(kind, "_is_runtime_protocol", True)
    return (kind,) if plain else ANY  # literals, protocols, type variables


def find_classes(hint: Any) -> Iterator[type]:
    """Yield the classes that occur anywhere in an annotation."""
    if isinstance(hint, type):
        yield hint
    for part in get_args(hint):
        yield from find_classes(part)
