"""Loops over values that hold each other, however deep: no chain of calls grows with the depth."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def walk(root: T, inside: Callable[[T], Sequence[T]], key: Callable[[T], Hashable] = id) -> Iterator[T]:
    """Yield every distinct value inside a value before the value it is in, and the value itself last."""
    seen: set[Hashable] = set()
    left: list[tuple[T, bool]] = [(root, False)]
    while left:
        found, ready = left.pop()
        if ready:
            yield found
        elif key(found) not in seen:
            seen.add(key(found))
            left.append((found, True))
            left += [(inner, False) for inner in reversed(inside(found)) if key(inner) not in seen]


def are_equal(one: T, other: T, parts: Callable[[T], Iterable[Any]], kind: type[T]) -> bool:
    """Whether two values have the same parts; those that are of the kind are compared in the same way."""
    left, seen = [(one, other)], set()
    while left:
        a, b = left.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        seen.add((id(a), id(b)))
        mine, yours = tuple(parts(a)), tuple(parts(b))
        if len(mine) != len(yours):
            return False
        for x, y in zip(mine, yours, strict=True):
            if isinstance(x, kind) and isinstance(y, kind):
                left.append((x, y))
            elif x != y:
                return False
    return True
