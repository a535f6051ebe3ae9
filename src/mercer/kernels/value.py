"""What makes a kernel a value: parameters that never change, and equality, hashes, copies and names made of them.

A composition of kernels may be deep.  What is asked of a whole kernel is therefore asked of the kernels inside first,
deepest first, in a loop, so that no chain of calls grows with the depth.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, Self, cast, dataclass_transform, get_origin

from mercer.formula.deep import are_equal, walk
from mercer.formula.parameters import freeze, make_hashable
from mercer.messages import refuse_parameter, refuse_unknown

SHALLOW = 64  # depth up to which methods simply call themselves
FROM_BELOW = (
    "expression",
    "theorem",
    "definiteness",
    "feature_dim",
)  # what a composition makes of the same of its parts


class _Known(threading.local):
    """Answers of the kernels inside, while a question to a deep kernel is being answered in this thread."""

    answers: dict[tuple[Any, ...], tuple[Value, Any]] | None = None


_known = _Known()


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
class Value:
    """An object that is its parameters; subclasses become frozen dataclasses by themselves."""

    depth = 0  # how many values are inside each other
    _checks: ClassVar[dict[str, Callable[[object, str], None]]] = {}  # of parameters annotated with one

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, eq=False, repr=False)(cls)
        setattr(cls, "__init__", _freeze_arguments(cls.__init__))  # noqa: B010  (to mypy a method is no attribute)
        for name in FROM_BELOW:
            if name in vars(cls):
                setattr(cls, name, _answer_from_below(name, vars(cls)[name]))
        known: dict[Any, Any] = vars(sys.modules.get(cls.__module__, sys))
        kinds = {f.name: known.get(f.type, f.type) for f in cls._fields() if isinstance(f.type, Hashable)}
        own = {name: kind.__metadata__[0] for name, kind in kinds.items() if get_origin(kind) is Annotated}
        cls._checks = {**cls._checks, **own}

    def __post_init__(self) -> None:
        for name, check in self._checks.items():
            check(self, name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: freeze(value) for name, value in state.items()})
        _measure(self)

    def __reduce__(self) -> tuple[Any, ...]:
        order = list(inner_values(self))
        place = {id(value): i for i, value in enumerate(order)}
        parts = []
        for value in order:
            state = {name: found for name, found in vars(value).copy().items() if name not in _DERIVED}
            inside = {name: place[id(found)] for name, found in state.items() if id(found) in place}
            parts.append((type(value), {name: state[name] for name in state.keys() - inside.keys()}, inside))
        return _assemble, (parts,)

    def __copy__(self) -> Self:
        return self  # nothing in it can change

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self

    # -- equality ---------------------------------------------------------------------------------------------------

    def _key(self) -> tuple[Any, ...]:
        values = [value for _, value in _list_params(self, "")]
        # A value stands for itself: make_hashable() would hash it once more, and so double the work at each level.
        return (type(self), *(value if isinstance(value, Value) else make_hashable(value) for value in values))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value):
            return NotImplemented
        return are_equal(self, other, lambda value: value._key(), Value)

    def __hash__(self) -> int:
        if "_hash" not in vars(self):
            for value in inner_values(self):
                # Hashes of kernels inside are there already, so that none of these goes deep.
                vars(value)["_hash"] = hash(value._key())
        return cast(int, vars(self)["_hash"])

    # -- parameters -------------------------------------------------------------------------------------------------

    @classmethod
    def _fields(cls) -> tuple[Any, ...]:
        return tuple(sorted(fields(cast(Any, cls)), key=lambda field: field.kw_only))  # which follow all others

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; ``deep`` adds those of kernels inside, as ``name__parameter``."""
        found: dict[str, Any] = {}
        left: list[tuple[str, Any]] = list(reversed(_list_params(self, "")))
        while left:
            name, value = left.pop()
            found[name] = value
            if deep and isinstance(value, Value):
                left += reversed(_list_params(value, f"{name}__"))
        return found

    def with_params(self, **params: Any) -> Self:
        """Return a kernel with some parameters changed; nested names such as ``k1__length_scale`` work.

        Examples
        --------
        >>> from mercer.kernels import Gaussian, Linear
        >>> (Gaussian() + Linear()).with_params(k1__length_scale=2.0)
        Gaussian(length_scale=2.0) + Linear()
        """
        own = {field.name for field in self._fields()}
        nested: dict[str, dict[str, Any]] = {}
        changed: dict[str, Any] = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in own:
                raise ValueError(refuse_parameter(type(self).__name__, name, self.get_params()))
            if rest:
                nested.setdefault(name, {})[rest] = value
            else:
                changed[name] = value
        for name, inner in nested.items():
            child = changed.get(name, vars(self)[name])
            if not isinstance(child, Value):
                raise ValueError(f"{type(self).__name__}: {name} is {child!r}, which has no parameters of its own")
            changed[name] = child.with_params(**inner)
        return type(self)(**(self.get_params(deep=False) | changed))

    def set_params(self, **params: Any) -> Self:
        """Refuse, because kernels are immutable: an estimator rebuilds its kernel instead."""
        if not params:
            return self
        raise TypeError(f"kernels are immutable; k.with_params({', '.join(params)}=…) returns a changed copy")


_DERIVED = ("_hash", "depth", "_traced", "_entries")  # what is in the dictionary of a value and no parameter of it


def inner_values(value: Value) -> Iterator[Value]:
    """Yield every value in the parameters of a value, and in theirs, before the value they are in; itself last."""
    return walk(value, _list_inner)


def _list_params(value: Value, prefix: str) -> list[tuple[str, Any]]:
    given = vars(value)  # a loss of one's own has methods of the names of its parameters
    return [(prefix + field.name, given[field.name]) for field in value._fields()]


def _list_inner(value: Value) -> list[Value]:
    return [inner for field in value._fields() if isinstance(inner := vars(value).get(field.name), Value)]


def _measure(value: Value) -> None:
    vars(value)["depth"] = 1 + max((inner.depth for inner in _list_inner(value)), default=0)


def _freeze_arguments(init: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that keeps its own frozen copy of everything it is given."""

    @functools.wraps(init)
    def construct(self: Value, *args: Any, **kwargs: Any) -> None:
        try:
            init(self, *map(freeze, args), **{name: freeze(value) for name, value in kwargs.items()})
        except TypeError:
            refuse_unknown(type(self).__name__, init, kwargs)
            raise
        _measure(self)

    return construct


def _answer_from_below(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that a deep value answers after the values inside it have."""

    @functools.wraps(method)
    def answer(self: Value, *args: Any) -> Any:
        if self.depth <= SHALLOW:
            return method(self, *args)
        known = _known.answers
        if known is None:
            _known.answers = {}
            try:
                for inner in inner_values(self):
                    found = getattr(inner, name)(*args)
                return found
            finally:
                _known.answers = None
        kept, found = known.get((method, id(self), *args), (None, None))
        if kept is not self:
            found = method(self, *args)
            known[method, id(self), *args] = self, found
        return found

    return answer


def _assemble(parts: list[tuple[type[Value], dict[str, Any], dict[str, int]]]) -> Value:
    """Return the value that was taken apart into its own parameters and those of all values inside it."""
    made: list[Value] = []
    for kind, state, inside in parts:
        value = object.__new__(kind)
        value.__setstate__({**state, **{name: made[i] for name, i in inside.items()}})
        made.append(value)
    return made[-1]
