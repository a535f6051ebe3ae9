"""The types that a model file may hold, derived from the library itself.

A name in a file is looked up here and nowhere else.  Kernels, losses and penalties are known because they are values,
subclasses of ``Value`` in this library, estimators because they are in ``models.__all__``, ``features.__all__`` or
``auto.__all__``; what a fit has left on an estimator is what its class annotates, and the records inside are the
dataclasses that annotations mention.  Only objects that are neither have a line of their own below.  Classes of your
own are given to ``load``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn.base import BaseEstimator
from sklearn.kernel_approximation import PolynomialCountSketch

from mercer import features, models
from mercer.arrays.budget import parse_memory
from mercer.certify import verdict
from mercer.expansion import Expansion, ExplicitFunction
from mercer.features import composition, polynomial
from mercer.features.graphs import Substructures
from mercer.features.params import KernelParams
from mercer.features.strings import Slopes, Vocabulary
from mercer.features.trees import Subtrees
from mercer.kernels import Fisher, Graph, Kernel, ObjectKernel, Subtree
from mercer.kernels.graphs.kernels import CountKernel
from mercer.kernels.strings.base import StringKernel
from mercer.kernels.trees.forest import Merger
from mercer.kernels.value import Value
from mercer.losses import Loss
from mercer.solvers.base import Problem
from mercer.solvers.evidence import Objective

from ._entries import ALWAYS, Entry, Fitted, Record, Values, from_dataclass, from_estimator
from ._hints import ANY, find_classes, read_fitted, read_hints
from .errors import ModelFileError

OWN = "own "  # before the names of classes that are not mercer's
SPLITTERS = {  # scikit-learn's ways to split data, which may be parameters
    model_selection.KFold: ("n_splits", "shuffle", "random_state"),
    model_selection.StratifiedKFold: ("n_splits", "shuffle", "random_state"),
    model_selection.GroupKFold: ("n_splits", "shuffle", "random_state"),
    model_selection.LeaveOneOut: (),
    model_selection.TimeSeriesSplit: ("n_splits", "max_train_size", "test_size", "gap"),
    model_selection.ShuffleSplit: ("n_splits", "test_size", "train_size", "random_state"),
    model_selection.StratifiedShuffleSplit: ("n_splits", "test_size", "train_size", "random_state"),
}


def _limit_memory(values: Values) -> Values:
    """A budget of the machine of the fit is not one of this machine."""
    return values | {"memory": min(int(values.get("memory", 2**62)), parse_memory(None))}


def _limit_monomials(values: Values) -> Values:
    """Counting monomials of an absurd degree alone would take forever."""
    if not (1 <= values["degree"] <= 1000 and 1 <= values["n_inputs"] < 2**31):
        raise ModelFileError(f"it has monomials of degree {values['degree']} in {values['n_inputs']} inputs")
    return values


def _fit_weights(values: Values) -> Values:
    """Weights of features are as many as there are, and have as many columns as there are constants."""
    shape, count = values["w"].shape, values["feature_map"]._count_features()
    if count != shape[0] or np.shape(values["intercept"]) not in ((), shape[1:]):
        raise ModelFileError(f"it has weights of the shape {shape} for {count} features")
    return values


ARRAY, TEXT, WHOLE, REAL = (np.ndarray,), (str,), (int, np.integer), (int, float)
SPECIAL: tuple[Entry, ...] = (
    Record(
        "Expansion", Expansion,
        {"kernel": (Kernel,), "centers": ANY, "coef": ARRAY, "intercept": (*ARRAY, int, float, np.number),
         "explicit": (ExplicitFunction, type(None))},
    ),
    Record(
        "ExplicitFunction", ExplicitFunction,
        {"feature_map": (features.FeatureMap,), "w": ARRAY, "intercept": (*ARRAY, int, float, np.number)},
        check=_fit_weights,
    ),
    Record(
        "Problem", Problem,
        {"kernel": (Kernel,), "X": ANY, "y": ARRAY, "weights": (*ARRAY, type(None)), "fit_intercept": (bool, np.bool_),
         "memory": WHOLE},
        check=_limit_memory,
    ),
    Record("Objective", Objective, {"loss": REAL, "penalty": REAL}),
    Record(
        "Monomials", polynomial.Monomials, {"n_inputs": WHOLE, "degree": WHOLE, "offset": (*WHOLE, float)},
        check=_limit_monomials,
    ),
    Record("Vocabulary", Vocabulary, {"kernel": (StringKernel,), "tokens": (dict,), "words": (list,)}, bare=True),
    Record("Slopes", Slopes, {"kernel": (Fisher,)}),
    Record("Subtrees", Subtrees, {"_kernel": (Subtree,), "_merger": (Merger,)}, bare=True),
    Record("Merger", Merger, {"labels": (dict,), "numbers": (dict,)}, bare=True),
    Record("Substructures", Substructures, {"_kernel": (CountKernel,), "_graphs": (list,), "width": WHOLE}, bare=True),
    Fitted("PolynomialCountSketch", PolynomialCountSketch, {"indexHash_": ARRAY, "bitHash_": ARRAY} | ALWAYS, ()),
    *(Record(cls.__name__, cls, dict.fromkeys(names, ANY)) for cls, names in SPLITTERS.items()),
)  # fmt: skip


@cache
def entries(automatic: bool = False) -> tuple[Entry, ...]:
    """Return all types; those of automatic models, whose import takes time, if asked."""
    found = {entry.cls: entry for entry in SPECIAL}
    cls: Any
    for cls in _subclasses(Value):
        if cls.__module__.startswith("mercer.") and cls not in (Kernel, ObjectKernel, Loss):
            found.setdefault(cls, from_dataclass(cls))
    estimators = {name: getattr(models, name) for name in models.__all__}
    estimators |= {f"features.{name}": getattr(features, name) for name in features.__all__}
    roots: list[type] = [Graph, *_nodes(), verdict.Proved, verdict.Refuted, verdict.Unknown]
    if automatic:
        from mercer import auto

        estimators |= {name: getattr(auto, name) for name in auto.__all__}
    for name, cls in estimators.items():
        if _is_estimator(cls):
            found[cls] = from_estimator(name, cls)
            roots += [part for hint in read_fitted(cls).values() for part in find_classes(hint)]
    while roots:
        cls = roots.pop()
        if cls not in found and _is_record(cls):
            found[cls] = from_dataclass(cls)
            roots += [part for hint in read_hints(cls).values() for part in find_classes(hint)]
            roots += _subclasses(cls)
    return tuple(found.values())


def _subclasses(cls: Any) -> Iterator[Any]:
    for each in cls.__subclasses__():
        yield each
        yield from _subclasses(each)


def _nodes() -> list[type]:
    """Return the nodes of explicit feature maps."""
    return list(filter(_is_record, vars(composition).values()))


def _is_estimator(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseEstimator)


def _is_record(thing: Any) -> bool:
    """Whether a class is a dataclass of ours, and no kernel, loss or penalty."""
    ours = isinstance(thing, type) and thing.__module__.startswith("mercer.") and is_dataclass(thing)
    return ours and not issubclass(thing, Value)


@cache
def _by_name(automatic: bool = False) -> dict[str, Entry]:
    return {entry.name: entry for entry in entries(automatic)}


@cache
def _by_type(automatic: bool = False) -> dict[type, Entry]:
    return {entry.cls: entry for entry in entries(automatic)}


def find_name(name: str, own: Mapping[str, Entry]) -> Entry:
    """Return the type that a file calls so, or raise; ``own`` are those that were given, by their names.

    Examples
    --------
    >>> find_name("Gaussian", {}).cls
    <class 'mercer.kernels.radial.Gaussian'>
    """
    found = own.get(name) or _by_name().get(name) or _by_name(automatic=True).get(name)
    if found is None and name.startswith(OWN):
        mine = name.removeprefix(OWN)[:60]
        raise ModelFileError(
            f"it holds an object of the class {mine}, which is not mercer's: pass the class to load, as "
            f"kernels=[{mine}], losses=[{mine}] or estimators=[{mine}]"
        )
    if found is None:
        raise ModelFileError(f"it holds an object of the type {name[:60]!r}, which this version lacks")
    return found


def find_type(cls: type) -> Entry | None:
    """Return how objects of exactly this type are taken apart, None if files do not hold them."""
    if cls.__module__.startswith("mercer."):
        return _by_type(automatic=cls.__module__.startswith("mercer.auto")).get(cls)
    return _by_type().get(cls) or (make_own_entry(cls) if issubclass(cls, Value | KernelParams) else None)


def make_own_entry(cls: Any) -> Entry:
    """Return the entry of a kernel, loss or estimator that is not mercer's; its name cannot be that of one of ours."""
    if isinstance(cls, type) and issubclass(cls, Value):
        return from_dataclass(cls, OWN + cls.__qualname__)
    if isinstance(cls, type) and issubclass(cls, KernelParams):
        return from_estimator(OWN + cls.__qualname__, cls)
    raise TypeError(
        "files hold kernels of your own, subclasses of mercer.kernels.Kernel, losses, subclasses of "
        "mercer.losses.Loss, and estimators, subclasses of mercer.features.params.KernelParams; "
        f"{cls!r} is neither"
    )
