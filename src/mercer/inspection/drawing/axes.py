"""Which features of a kernel are drawn: those of its explicit map, or principal directions where there are too many."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer.features.polynomial import Monomials
from mercer.kernels import Kernel, Polynomial

MOST_LISTED = 24  # features that a message lists
ORDINALS = ("1st", "2nd", "3rd")


@dataclass(frozen=True)
class FeatureAxes:
    """The features that are drawn.

    ``transform`` takes points, shape (m, d), to them, shape (m, 1 to 3); ``names`` are formulas; ``whole`` says whether
    all other features are constants, so that what is linear in the space is so in the picture.
    """

    transform: Callable[[np.ndarray], np.ndarray]
    names: list[str]
    whole: bool


def choose_axes(
    owner: str, kernel: Kernel, points: np.ndarray, names: Sequence[str], axes: Sequence[int | str] | None
) -> FeatureAxes:
    r"""Return the features that were asked for, or if none were up to three explicit ones, or principal directions.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> found = choose_axes("example", Polynomial(degree=2, offset=1.0), X, ["x0"], None)
    >>> found.names, found.transform(X).round(2).tolist()
    (['$\\sqrt{2}\\,x_{0}$', '$x_{0}^{2}$'], [[0.0, 0.0], [1.41, 1.0], [4.24, 9.0]])
    """
    if axes is not None and (isinstance(axes, str) or not 1 <= len(axes) <= 3):
        raise ValueError(f"{owner}: axes are one, two or three features, such as axes=(0, 1); got {axes!r}")
    if kernel.feature_dim(len(names)) == math.inf:
        return _choose_directions(owner, kernel, points, axes)
    explicit: Any = kernel.feature_map(len(names))

    def transform(x: np.ndarray) -> np.ndarray:
        found = explicit.transform(x)
        return np.asarray(found.toarray() if sparse.issparse(found) else found, dtype=np.float64)

    plain = [str(name) for name in explicit.get_feature_names_out(list(names))]
    varying = np.flatnonzero(np.ptp(transform(points), axis=0) > 0).tolist()
    if axes is None and not 1 <= len(varying) <= 3:
        return _choose_directions(owner, kernel, points, None)
    chosen = varying if axes is None else [_find_feature(owner, axis, plain) for axis in axes]
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"{owner}: axes are different features, got {axes!r}")
    formulas = _write_features(kernel, plain, len(names))
    return FeatureAxes(
        lambda x: transform(x)[:, chosen], [formulas[i] for i in chosen], set(varying) <= set(chosen)
    )  # fmt: skip


def _find_feature(owner: str, axis: int | str, names: list[str]) -> int:
    if isinstance(axis, str) and axis in names:
        return names.index(axis)
    if isinstance(axis, int | np.integer) and -len(names) <= axis < len(names):
        return int(axis) % len(names)
    listed = ", ".join(f"{i}: {name!r}" for i, name in enumerate(names[:MOST_LISTED]))
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    raise ValueError(f"{owner}: the kernel has no feature {axis!r}; axes are names or positions of {listed}{more}")


def _choose_directions(owner: str, kernel: Kernel, points: np.ndarray, axes: Sequence[int | str] | None) -> FeatureAxes:
    """Return the directions of most variance, by kernel principal component analysis."""
    from mercer.models import KernelPCA

    places: list[int] = []
    for axis in range(min(3, len(points))) if axes is None else axes:
        if not isinstance(axis, int | np.integer) or not 0 <= axis < len(points):
            raise ValueError(
                f"{owner}: {kernel!r} has no finite list of features, so axes choose among its {len(points)} principal "
                f"directions, numbers from 0 to {len(points) - 1}; got {axis!r}"
            )
        places.append(int(axis))
    pca = KernelPCA(n_components=max(places) + 1, kernel=kernel, eigen_solver="dense").fit(points)
    if pca.eigenvalues_.shape[0] <= max(places):
        raise ValueError(
            f"{owner}: these points spread along {pca.eigenvalues_.shape[0]} principal directions only, so there is no "
            f"direction {max(places)}; axes are numbers below {pca.eigenvalues_.shape[0]}"
        )
    K = np.asarray(kernel(points))
    total = max(float(np.trace(K) - len(K) * K.mean()), np.finfo(np.float64).tiny)  # of the centred matrix
    names = []
    for place in places:
        word = ORDINALS[place] if place < len(ORDINALS) else f"{place + 1}th"
        names.append(f"{word} direction ({100 * pca.eigenvalues_[place] / total:.0f} %)")
    return FeatureAxes(lambda x: np.asarray(pca.transform(x))[:, places], names, False)


def _write_features(kernel: Kernel, plain: list[str], d: int) -> list[str]:
    """Return the names of features as formulas; monomials of a polynomial kernel with their weights."""
    found = [write_formula(name) for name in plain]
    if not isinstance(kernel, Polynomial):
        return found
    weights = Monomials(d, int(kernel.degree), float(kernel.offset)).weights()
    return [f"${_write_weight(w)}{text[1:]}" for w, text in zip(weights, found, strict=True)]


def _write_weight(weight: float) -> str:
    square = weight**2
    if math.isclose(square, 1.0):
        return ""
    return rf"\sqrt{{{round(square)}}}\," if math.isclose(square, round(square)) else rf"{weight:.3g}\,"


def write_formula(name: str) -> str:
    r"""Return a name such as ``x0^2`` as mathematics, if it is made of inputs without names of their own.

    Examples
    --------
    >>> write_formula("x0 x1"), write_formula("age^2")
    ('$x_{0} x_{1}$', '$\\mathrm{age}^{2}$')
    """
    text = re.sub(r"\bx(\d+)\b", r"x_{\1}", name)
    text = re.sub(r"\b([A-Za-z]{2,}\w*)", lambda m: rf"\mathrm{{{m[1]}}}".replace("_", r"\_"), text)
    return "$" + re.sub(r"\^(\d+)", r"^{\1}", text) + "$"
