"""How an object of a known type is taken apart into named values, and put together again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from mercer.arrays.shapes import SizeError, measure, read_notes
from mercer.arrays.standard import model_here
from mercer.kernels.limits import find_excess
from mercer.kernels.value import Value

from ._hints import ANY, SIMPLE, Kinds, find_kinds, is_needed, is_simple, read_fitted, read_hints, read_parameters
from .errors import ModelFileError

Values = dict[str, Any]
# What scikit-learn itself leaves on estimators.
ALWAYS: dict[str, Kinds] = {
    "n_features_in_": (int, np.integer), "feature_names_in_": (np.ndarray,), "_n_features_out": (int, np.integer),
    "_sklearn_output_config": (dict,),
}  # fmt: skip


class Entry(Protocol):
    """A type that files may hold."""

    @property
    def name(self) -> str:
        """What files call it."""

    @property
    def cls(self) -> type:
        """The type."""

    @property
    def sections(self) -> Mapping[str, Mapping[str, Kinds]]:
        """The values of such an object, in sections, with what each may be."""

    def split(self, value: Any) -> dict[str, Values]:
        """Return the values of an object."""

    def join(self, sections: dict[str, Values]) -> Any:
        """Return an object with these values, or raise if there is none."""


@dataclass(frozen=True)
class Record:
    """An object that is its fields: its constructor takes them by name and keeps them under the same names.

    Parameters
    ----------
    name : str
        What files call it.
    cls : type
        The type.
    kinds : dict
        Its fields, with what each may be.
    bare : bool
        Whether the constructor does work and is left out, the attributes being set directly.
    check : function of the fields, optional
        Raises where they do not go together; it may return changed fields.
    """

    name: str
    cls: type
    kinds: Mapping[str, Kinds]
    bare: bool = False
    check: Callable[[Values], Values] | None = None
    sections: Mapping[str, Mapping[str, Kinds]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sections", {"fields": self.kinds})

    def split(self, value: Any) -> dict[str, Values]:
        """Return the fields."""
        given = vars(value) if isinstance(value, Value) else {name: getattr(value, name) for name in self.kinds}
        check_limits(value)
        return {"fields": {name: given[name] for name in self.kinds}}

    def join(self, sections: dict[str, Values]) -> Any:
        """Return the object, by its constructor unless it is bare."""
        made: Any
        values = sections["fields"]
        check_kinds(self.name, values, self.kinds)
        if self.check is not None:
            values = self.check(values)
        check_sizes(self.name, self.cls, values)
        if not self.bare:
            made = self.cls(**values)
            check_limits(made)
            check_further(made)
            return made
        check_complete(self.name, values, self.kinds)
        made = object.__new__(self.cls)
        vars(made).update(values)
        check_further(made)
        return made


@dataclass(frozen=True)
class Fitted:
    """A fitted estimator: its parameters, and what a fit has learnt.

    Parameters
    ----------
    name : str
        What files call it.
    cls : type
        The type.
    kinds : dict
        What a fit may have set, with what each may be.  Attributes that someone else has added are left out.
    needed : tuple of str
        What there must be.
    """

    name: str
    cls: Any
    kinds: Mapping[str, Kinds]
    needed: tuple[str, ...]
    sections: Mapping[str, Mapping[str, Kinds]] = field(init=False)

    def __post_init__(self) -> None:
        hints = read_parameters(self.cls)
        params = {name: SIMPLE if is_simple(hints.get(name)) else ANY for name in self.cls._get_param_names()}
        object.__setattr__(self, "sections", {"params": params, "fitted": self.kinds})

    def split(self, value: Any) -> dict[str, Values]:
        """Return the parameters and the fitted attributes."""
        own = vars(model_here(value))
        return {
            "params": value.get_params(deep=False),
            "fitted": {name: own[name] for name in self.kinds if name in own},
        }

    def join(self, sections: dict[str, Values]) -> Any:
        """Return the estimator; scikit-learn's constructors only keep what they are given."""
        params, fitted = sections["params"], sections["fitted"]
        check_kinds(self.name, params, self.sections["params"])
        seed = params.get("random_state")
        if isinstance(seed, int) and not 0 <= seed < 2**32:
            raise ModelFileError(f"random_state of {self.name} is {seed}, and seeds are below 2**32")
        check_kinds(self.name, fitted, self.kinds)
        check_complete(self.name, fitted, self.needed)
        check_sizes(self.name, self.cls, fitted)
        made = self.cls(**params)
        vars(made).update(fitted)
        check_further(made)
        return made


def from_dataclass(cls: Any, name: str | None = None) -> Record:
    """Return the entry of a dataclass: its fields, with what annotations allow; kernels and losses check theirs."""
    hints = {} if issubclass(cls, Value) else read_hints(cls)
    kinds = {each.name: find_kinds(hints.get(each.name, Any)) for each in fields(cls) if each.init}
    return Record(name or cls.__name__, cls, kinds)


def from_estimator(name: str, cls: Any) -> Fitted:
    """Return the entry of an estimator: what its class annotates beside its parameters is what a fit leaves."""
    hints = read_fitted(cls)
    needed = tuple(attribute for attribute, hint in hints.items() if is_needed(hint))
    return Fitted(name, cls, {attribute: find_kinds(hint) for attribute, hint in hints.items()} | ALWAYS, needed)


def check_kinds(owner: str, values: Values, kinds: Mapping[str, Kinds]) -> None:
    """Raise if a value is not of its kind."""
    for name, value in values.items():
        if not isinstance(value, kinds[name]):
            raise ModelFileError(f"{name} of {owner} is of the type {type(value).__name__}")


def check_complete(owner: str, values: Values, needed: Any) -> None:
    """Raise if a value is missing."""
    missing = [name for name in needed if name not in values]
    if missing:
        raise ModelFileError(f"{owner} has no {missing[0]}")


def check_sizes(owner: str, cls: Any, values: Values) -> None:
    """Raise if what an object holds is not of the sizes that its class notes."""
    try:
        sizes = measure(read_notes(cls), values)
    except SizeError as error:
        raise ModelFileError(f"{owner}: {error}") from None
    if not all(isinstance(name, str) for name in values.get("feature_names_in_", ())):
        raise ModelFileError(f"{owner} has names of columns that are no texts")
    if "d" in sizes.exact | sizes.least and issubclass(cls, BaseEstimator) and "n_features_in_" not in values:
        raise ModelFileError(f"{owner} has columns, but no n_features_in_")


def check_further(made: Any) -> None:
    """Let an object check what annotations cannot say, where its class knows how."""
    check = getattr(made, "_check_fitted", None)
    if check is not None:
        check()


def check_limits(value: Any) -> None:
    """Raise if a kernel or loss would take forever, whoever asks it; no file holds one."""
    excess = find_excess(value) if isinstance(value, Value) else None
    if excess is not None:
        raise ModelFileError(excess)
