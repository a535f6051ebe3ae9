"""The representer theorem as an object: f = Σ cᵢ k(xᵢ, ·) + b."""

from __future__ import annotations

import math
import numbers
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse

from mercer.arrays import Array
from mercer.arrays.budget import parse_memory, require
from mercer.arrays.namespace import namespace
from mercer.arrays.place import Place
from mercer.arrays.shapes import Axes, Inside
from mercer.arrays.tensors import host_array, is_tensor, on_device, real_type
from mercer.formula.data import Rows, concatenate, length, pick, short, take
from mercer.formula.notation.reading import VALUE, X, show_latex, show_mathml
from mercer.formula.notation.tree import ONE, Apply, Indexed, Letter, Node, Relation, Total, given, plus, times
from mercer.formula.program import UnsupportedError, lower
from mercer.gram import Gram
from mercer.gram.slopes import sum_slopes
from mercer.gram.torch.points import is_matrix
from mercer.gram.torch.stream import send_blocks
from mercer.kernels import Kernel
from mercer.kernels.base import show_given
from mercer.markup import Markup, show_card, show_facts, show_note, show_table
from mercer.words import count_things, show_number

if TYPE_CHECKING:
    from mercer.features.base import FeatureMap
    from mercer.features.collapsed import Collapsed

BLOCK_BYTES = 2**26  # of features at a time
LARGEST_SHOWN = 5  # coefficients in a notebook
FEW = 200  # centres of which a norm is computed only to be shown
MANY = 16  # centres from which on f may be worth collapsing to weights of sparse features


def evaluate_expansion(
    kernel: Kernel,
    X: Rows,
    centers: Rows,
    coef: np.ndarray,
    intercept: np.ndarray | float = 0.0,
    memory: float | str | None = None,
    device: Any = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return Σ cᵢ k(xᵢ, x) + b for all x, as a tensor if X is one, and as an array otherwise.

    Kernel values are in ``dtype``, by default as precise as the points; points are sent to a device in blocks.
    """
    place = Place.find(device, memory, X, centers)
    if is_matrix(centers) and not place.on_host:
        centers = place.put(centers, real_type(centers))  # once for all blocks
    weights, shift = place.put(coef), place.put(intercept)
    if length(centers) == 0:  # a sum of nothing is 0
        values = place.put(np.zeros((length(X), *weights.shape[1:]))) + shift
        return values if is_tensor(X) else host_array(values)
    parts = []
    for block in send_blocks(X, place):
        values = Gram(kernel, block, centers, memory=place.memory, dtype=dtype, device=place.device) @ weights + shift
        parts.append(values if is_tensor(X) else host_array(values))
    return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts)


class ExplicitFunction:
    """f(x) = φ(x)ᵀw + b, for functions that were found in the space of explicit features.

    Parameters
    ----------
    feature_map : FeatureMap
        φ.
    w : array of shape (D,) or (D, q)
        Weights.
    intercept : float or array of shape (q,)
        b.
    """

    w: Annotated[np.ndarray, Axes("D+ q?")]

    def __init__(self, feature_map: FeatureMap, w: np.ndarray, intercept: ArrayLike) -> None:
        self.feature_map = feature_map
        self.w = w
        self.intercept = intercept

    def features(self, X: Rows) -> np.ndarray:
        """Return φ(x) for all x."""
        phi: Any = self.feature_map.transform(X)
        return np.asarray(phi.toarray() if sparse.issparse(phi) else phi, dtype=np.float64)

    def __call__(self, X: Rows) -> np.ndarray:
        """Return f(x) for all x, in blocks of rows."""
        n, step = length(X), max(1, BLOCK_BYTES // (16 * len(self.w)))
        parts = [self.features(take(X, i, min(i + step, n))) @ self.w for i in range(0, n, step)]
        return np.asarray(np.concatenate(parts) + self.intercept)

    def shares_features(self, other: ExplicitFunction, X: Rows) -> bool:
        """Whether the other function has the same φ, as far as some points tell."""
        if self.feature_map is other.feature_map:
            return True
        some = take(X, 0, min(3, length(X)))
        return len(self.w) == len(other.w) and np.array_equal(self.features(some), other.features(some))


class Expansion:
    """A function of the reproducing kernel Hilbert space, plus an intercept.

    f(x) = Σᵢ cᵢ k(xᵢ, x) + b.  Every fitted model is one, or one with several outputs.  A function that was found in
    explicit features is computed from its weights there, however it is asked: for a small penalty or features of very
    different size, coefficients of kernel values have far fewer digits of f than weights of features have.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    centers : collection of n objects
        The points xᵢ.
    coef : array of shape (n,) or (n, q)
        The coefficients cᵢ, one column for each of q outputs.
    intercept : float or array of shape (q,), default=0.0
        The constant b, which is not part of the space: norms and inner products leave it out.
    explicit : ExplicitFunction, optional
        The same function in explicit features.

    Examples
    --------
    Linear functions wᵀx are the space of the linear kernel, with ‖f‖ = ‖w‖:

    >>> from mercer import Expansion
    >>> from mercer.kernels import Linear
    >>> f = Expansion(Linear(), [[3.0, 4.0]], [1.0])
    >>> f([[1.0, 0.0], [0.0, 1.0]])
    array([3., 4.])
    >>> f.norm()
    5.0
    """

    centers: Annotated[Rows, Axes("n …")]
    coef: Annotated[np.ndarray, Axes("n q?")]
    explicit: Annotated[ExplicitFunction, Inside(q="q")] | None

    __slots__ = ("__dict__", "__weakref__", "_collapsed")  # what can be made again is no part of the state

    __array_ufunc__ = None  # so that np.float64(2) * f comes here

    def __init__(
        self,
        kernel: Kernel,
        centers: Rows,
        coef: ArrayLike,
        intercept: ArrayLike = 0.0,
        explicit: ExplicitFunction | None = None,
    ) -> None:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"Expansion: kernel must be a mercer kernel, got {show_given(kernel)}")
        coef = np.asarray(coef, dtype=np.float64)
        if coef.ndim not in (1, 2) or coef.shape[0] != length(centers):
            raise ValueError(
                f"Expansion: there are {length(centers)} centers, so coef must have shape ({length(centers)},) or "
                f"({length(centers)}, outputs); got {coef.shape}"
            )
        intercept = np.asarray(intercept, dtype=np.float64)
        if intercept.shape not in ((), coef.shape[1:]):
            raise ValueError(
                f"Expansion: intercept must be one number or one for each of the outputs {coef.shape[1:]}, "
                f"got shape {intercept.shape}"
            )
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError("Expansion: coefficients and intercept must be finite, but there is NaN or infinity")
        self.kernel = kernel
        self.centers = centers
        self.coef = coef
        self.intercept = intercept
        self.explicit = explicit

    def __call__(self, X: Rows, memory: float | str | None = None, device: Any = None) -> Array:
        """Return f(x) for all x in X, of shape (len(X),) or (len(X), q), within a memory budget.

        Tensors give a tensor where they are.  With a device the values are computed there, and arrays give an array.
        """
        if self.explicit is not None:
            values = self.explicit(host_array(X))
            return on_device(values, X.device, values.dtype) if is_tensor(X) else values
        collapsed = self._collapse(X, memory, device)
        if collapsed is not None:
            values = collapsed(X)
            return np.asarray((values if self.coef.ndim == 2 else values[:, 0]) + self.intercept)
        return evaluate_expansion(self.kernel, X, self.centers, self.coef, self.intercept, memory, device)

    def _collapse(self, X: Rows, memory: float | str | None, device: Any) -> Collapsed | None:
        """Return this function without its centres, where that is quicker; it is made when first asked for."""
        if length(X) == 0 or length(self.centers) < MANY or not Place.find(device, memory, X, self.centers).on_host:
            return None
        if not hasattr(self, "_collapsed"):
            from mercer.features.collapsed import collapse  # which takes time to import

            coef = self.coef.reshape(len(self.coef), -1)
            evaluate = partial(_sum_values, memory=parse_memory(memory))
            found = collapse(self.kernel, self.centers, coef, parse_memory(memory), evaluate)
            self._collapsed: Collapsed | None = found
        return self._collapsed

    def __getstate__(self) -> dict[str, Any]:
        return vars(self)  # what was collapsed is made again where it is asked for

    def gradient(self, X: Rows, memory: float | str | None = None, device: Any = None) -> Array:
        """Return ∇f(x) = Σᵢ cᵢ ∇ₓ k(x, xᵢ) for all x in X, of shape (len(X), d), or (len(X), q, d) for q outputs.

        It is derived from the kernel's formula, and computed as values are: within a memory budget, on a device if one
        is given, and as a tensor if X is one.  At a kink it is the mean of the slopes on both sides: at a centre,
        e^(−‖x − z‖) adds nothing of its own.  Kernels without slopes say so, as ``kernel.gradient_x`` does.  A function
        that was found in explicit features is differentiated by its coefficients, too.

        Examples
        --------
        >>> from mercer import Expansion
        >>> from mercer.kernels import Gaussian, Linear
        >>> Expansion(Linear(), [[3.0, 0.0], [0.0, 4.0]], [1.0, 1.0]).gradient([[7.0, 7.0]])
        array([[3., 4.]])
        >>> Expansion(Gaussian(), [[0.0]], [1.0]).gradient([[0.0], [1.0]]).round(4)
        array([[ 0.    ],
               [-0.6065]])
        """
        return sum_slopes(self.kernel, X, self.centers, self.coef, memory, device)

    def outputs(self) -> list[Expansion]:
        """Return each output as an expansion of its own; they share the centres.

        Examples
        --------
        >>> from mercer import Expansion
        >>> from mercer.kernels import Linear
        >>> [g([[2.0]]).tolist() for g in Expansion(Linear(), [[1.0]], [[1.0, 3.0]], [0.0, 1.0]).outputs()]
        [[2.0], [7.0]]
        """
        if self.coef.ndim == 1:
            return [self]
        intercepts = np.broadcast_to(self.intercept, self.coef.shape[1:])
        forms: list[ExplicitFunction | None] = [None] * len(intercepts)
        if self.explicit is not None:
            columns = zip(self.explicit.w.T, intercepts, strict=True)
            forms = [ExplicitFunction(self.explicit.feature_map, w, b) for w, b in columns]
        parts = zip(self.coef.T, intercepts, forms, strict=True)
        return [Expansion(self.kernel, self.centers, c, b, form) for c, b, form in parts]

    def in_features(self) -> ExplicitFunction:
        """Return the same function in the explicit features of the kernel, f(x) = φ(x)ᵀw + b with w = Σ cᵢ φ(xᵢ).

        It is the one that was found there, if it was.  Words and other features that only data tells are those of the
        centres; others add nothing to f.

        Returns
        -------
        ExplicitFunction
            With ``feature_map`` φ and weights ``w`` of shape (D,) or (D, q), whose length is ‖f‖.

        Raises
        ------
        ValueError
            If the kernel has infinitely many features, or none that are known.
        MemoryBudgetError
            If there are more than memory holds.

        Examples
        --------
        >>> from mercer import Expansion
        >>> from mercer.kernels import Linear
        >>> Expansion(Linear(), [[3.0, 0.0], [0.0, 1.0]], [1.0, 4.0]).in_features().w
        array([3., 4.])
        """
        if self.explicit is not None:
            return self.explicit
        centers: Any = host_array(self.centers)
        shape: Any = getattr(centers, "shape", ())
        count = self.kernel.feature_dim(int(shape[1])) if len(shape) == 2 else math.inf
        if count < math.inf:  # words are not counted before they are looked for
            D = float(min(count, 10**100))  # whole numbers may be larger than any float
            size = 8.0 * D * (2 + self.coef.size // len(self.coef))
            require(size, parse_memory(None), f"the weights of {D:g} features", "use expansion_, which needs none")
        feature_map = self.kernel.features().fit(centers)
        n, width = length(centers), feature_map.features_.width
        w, step = np.zeros((width, *self.coef.shape[1:])), max(1, BLOCK_BYTES // (16 * width))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            phi = feature_map.transform(take(centers, rows.start, rows.stop))
            w += phi.T.astype(np.float64) @ self.coef[rows]
        return ExplicitFunction(feature_map, w, self.intercept)

    def inner(self, other: Expansion) -> float | np.ndarray:
        """Return ⟨f, g⟩ = Σ cᵢ dⱼ k(xᵢ, zⱼ): a number, or one for each output."""
        self._check_same_space(other)
        if self.explicit is not None:
            other_form, w = other.explicit, self.explicit.w
            if other_form is not None and self.explicit.shares_features(other_form, self.centers):
                result = np.einsum("i...,i...->...", w, other_form.w)
            else:
                values = ExplicitFunction(self.explicit.feature_map, w, 0.0)(host_array(other.centers))
                result = np.einsum("i...,i...->...", values, other.coef)
            return _as_number(result)
        if other.explicit is not None:
            return other.inner(self)
        if 0 in (length(self.centers), length(other.centers)):
            return _as_number(np.zeros(self.coef.shape[1:]))
        cross = Gram(self.kernel, self.centers, None if other.centers is self.centers else other.centers) @ other.coef
        return _as_number(np.einsum("i...,i...->...", self.coef, cross))

    def norm(self) -> float | np.ndarray:
        """Return ‖f‖ = √(cᵀKc): a number, or one for each output."""
        return _as_number(np.sqrt(np.maximum(self.inner(self), 0.0)))

    def __add__(self, other: object) -> Expansion:
        if isinstance(other, numbers.Real):
            moved = self.intercept + float(other)
            return Expansion(self.kernel, self.centers, self.coef, moved, self._explicit_form(1.0, moved))
        if not isinstance(other, Expansion):
            return NotImplemented
        self._check_same_space(other)
        intercept = self.intercept + other.intercept
        one, two, form = self.explicit, other.explicit, None
        if one is not None and two is not None and one.shares_features(two, self.centers):
            form = ExplicitFunction(one.feature_map, one.w + two.w, intercept)
        if other.centers is self.centers:
            return Expansion(self.kernel, self.centers, self.coef + other.coef, intercept, form)
        centers = concatenate(self.centers, other.centers)
        return Expansion(self.kernel, centers, np.concatenate([self.coef, other.coef]), intercept, form)

    __radd__ = __add__

    def __mul__(self, factor: object) -> Expansion:
        if not isinstance(factor, numbers.Real):
            return NotImplemented
        times = float(factor)
        coef, intercept = times * self.coef, times * self.intercept
        return Expansion(self.kernel, self.centers, coef, intercept, self._explicit_form(times, intercept))

    __rmul__ = __mul__

    def __neg__(self) -> Expansion:
        return -1.0 * self

    def __sub__(self, other: object) -> Expansion:
        if isinstance(other, Expansion | numbers.Real):
            return self + (-1.0) * other
        return NotImplemented

    def __rsub__(self, other: object) -> Expansion:
        return (-1.0) * self + other

    def __truediv__(self, factor: object) -> Expansion:
        return self * (1.0 / factor) if isinstance(factor, numbers.Real) else NotImplemented

    def __repr__(self) -> str:
        outputs = "" if self.coef.ndim == 1 else f", {self.coef.shape[1]} outputs"
        return f"<Expansion of {self.kernel!r} at {length(self.centers)} centers{outputs}>"

    def _repr_latex_(self) -> str:
        r"""Return f(x) = Σ cᵢ k(xᵢ, x) + b as LaTeX, with the number of terms and the intercept.

        Examples
        --------
        >>> from mercer import Expansion
        >>> from mercer.kernels import Linear
        >>> print(Expansion(Linear(), [[3.0], [4.0]], [1.0, 2.0], intercept=-0.5)._repr_latex_())
        $f\left(x\right) = \sum_{i = 1}^2 c_i\,k\left(x_i, x\right) - 0.5$
        """
        return show_latex(self._equation())

    def _equation(self) -> Node:
        i, several = Letter("i"), self.coef.ndim == 2
        term = times(Indexed(Letter("c"), i), Apply(Letter("k"), (Indexed(X, i), X)))
        shift = Letter("b") if several else given(float(self.intercept))
        terms = Total(term, Relation(i, "=", ONE), given(length(self.centers)))
        return Relation(Apply(Letter("f"), (X,)), "=", plus(terms, shift))

    def _repr_html_(self) -> str:
        """Return the function, its kernel and its largest coefficients for a notebook."""
        n, sizes = length(self.centers), np.abs(self.coef).reshape(len(self.coef), -1).max(axis=1)
        order = np.argsort(-sizes, kind="stable")[:LARGEST_SHOWN]
        zeros = n - np.count_nonzero(sizes)
        facts = [("terms", f"{n:,}" + f", of which {zeros:,} are 0" * bool(zeros))]
        if self.coef.ndim == 2:
            facts.append(("outputs", f"{self.coef.shape[1]:,}"))
            facts.append(("b", _list_numbers(np.broadcast_to(self.intercept, self.coef.shape[1:]))))
        if self.explicit is not None:
            facts.append(("found in", count_things(len(self.explicit.w), "explicit feature")))
        if self._has_cheap_norm():
            facts.append(("‖f‖", _list_numbers(np.atleast_1d(self.norm()))))
        rows = [(int(i), _list_numbers(np.atleast_1d(self.coef[i])), _show_center(self.centers, int(i))) for i in order]
        return show_card(
            "Expansion",
            show_mathml(self._equation()),
            show_mathml(self.kernel.mathematics(), VALUE),
            show_facts(facts),
            show_table(["row", "cᵢ", "xᵢ"], rows, numbers=[0, 1]),
            show_note(f"the largest {len(rows)} of {n:,} coefficients") if n > len(rows) else Markup(""),
        )

    def _has_cheap_norm(self) -> bool:
        """Whether ‖f‖ takes next to nothing: of weights of features, or of few centres and a compiled formula."""
        if self.explicit is not None or length(self.centers) > FEW:
            return self.explicit is not None
        try:
            lower(self.kernel.traced())
        except UnsupportedError:
            return False
        return True

    def _explicit_form(self, factor: float, intercept: ArrayLike) -> ExplicitFunction | None:
        """Return the explicit form of a multiple of this function with another intercept."""
        if self.explicit is None:
            return None
        return ExplicitFunction(self.explicit.feature_map, factor * self.explicit.w, intercept)

    def _check_same_space(self, other: Expansion) -> None:
        if not isinstance(other, Expansion):
            raise TypeError(f"expected another Expansion, got {other!r}")
        if other.kernel != self.kernel:
            raise ValueError(
                f"the expansions live in different spaces, of the kernels {self.kernel!r} and {other.kernel!r}"
            )
        if other.coef.shape[1:] != self.coef.shape[1:]:
            raise ValueError(f"the expansions have different outputs: {self.coef.shape[1:]} and {other.coef.shape[1:]}")


def _sum_values(kernel: Kernel, X: Rows, centers: Rows, coef: np.ndarray, memory: int) -> np.ndarray:
    """Return Σ cᵢ k(xᵢ, x) by kernel values."""
    return np.asarray(evaluate_expansion(kernel, X, centers, coef, memory=memory))


def _as_number(values: np.ndarray) -> float | np.ndarray:
    """Return one value as a number, and several as they are."""
    return float(values) if values.ndim == 0 else values


def _list_numbers(values: np.ndarray) -> str:
    """Return a few numbers with commas, and dots for the rest."""
    shown = ", ".join(map(show_number, values[:LARGEST_SHOWN])) + ", …" * (len(values) > LARGEST_SHOWN)
    return shown.replace("-", "−")


def _show_center(centers: Rows, i: int) -> str:
    """Return the text of one centre, cut where it gets long."""
    row: Any = host_array(pick(centers, [i]))
    if sparse.issparse(row):
        row = row.toarray()
    found = row.to_numpy()[0] if hasattr(row, "to_numpy") else row[0]
    if isinstance(found, np.ndarray) and found.ndim == 1 and found.dtype.kind in "biuf":
        return f"({_list_numbers(found)})"
    return short(found)
