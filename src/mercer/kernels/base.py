"""Kernels: what similarity means.

A kernel is an immutable value.  Kernels over vectors give one thing, a :meth:`Kernel.formula` over statistics of the
pair of points; kernels over other objects (:class:`ObjectKernel`) give a block of values instead.  Everything else,
from dense matrices and diagonals to gradients, tiles and programs for other backends, is derived from that, so that
a new kernel is a few lines and composes with all others.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import MISSING
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias, cast, overload

import numpy as np

from mercer.formula.data import Rows, Step, short
from mercer.formula.evaluation import Evaluation
from mercer.formula.expression import Expression, log_derivatives, parameters
from mercer.formula.notation.reading import VALUE, X, Z, read_formula, show_latex, show_mathml
from mercer.formula.notation.tree import Apply, Node, Word
from mercer.formula.pair import Pair
from mercer.formula.parameters import show
from mercer.formula.single import read_points, unwrap
from mercer.formula.slopes import slopes_of_pairs
from mercer.markup import Markup, show_card, show_code, show_fold, show_note, show_table, show_text
from mercer.words import shorten, show_number

from .theorem import UNDECIDED, Definiteness, Theorem
from .value import SHALLOW, Value

if TYPE_CHECKING:
    from mercer.certify.verdict import Verdict
    from mercer.features.base import FeatureMap
    from mercer.features.explicit import ExplicitMap

Number: TypeAlias = float | np.floating | np.integer
Operand: TypeAlias = "Kernel | Number"  # what a kernel is added to or multiplied by
Domain = Literal["real", "directions", "nonnegative", "bits", "categories", "indices", "objects"]
FEW, MOST_SHOWN = 6, 40  # hyperparameters in a notebook that are shown at once, and at all
LONGEST_NAME, LONGEST_CODE = 40, 300  # characters there
ATOM = 4  # precedence of an expression that never needs parentheses
OPERATORS = {  # of a kernel on the left, and on the right of something of NumPy
    "add": ("__add__", "__radd__"), "subtract": ("__sub__", "__rsub__"), "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", ""), "power": ("__pow__", ""), "negative": ("__neg__", ""),
    "equal": ("__eq__", "__eq__"), "not_equal": ("__ne__", "__ne__"),
}  # fmt: skip
COMPOSE: dict[str, Callable[..., Kernel]] = {}  # what operators make; algebra and pullback enter theirs on import


class Kernel(Value):
    """A symmetric function k(x, z) of two objects, meant to be an inner product of features.

    Subclasses become frozen dataclasses by themselves: annotated class attributes are the parameters, of which each
    kernel keeps a copy of its own that nothing changes.  See the guide page "Add a kernel".
    """

    precedence: ClassVar[int] = ATOM
    domain: ClassVar[Domain] = "real"
    because: ClassVar[str | None] = None  # why it is positive semi-definite
    lemmas: ClassVar[tuple[Theorem | None, ...]] = ()  # what the reason rests on, besides kernels inside
    definite: ClassVar[Definiteness] = UNDECIDED  # whether it is so strictly
    options: ClassVar[tuple[str, ...]] = ()  # parameters that are written down only where they are not as by default
    instead: ClassVar[str] = "another kernel"  # what learners name that need one that is

    def __init_subclass__(cls) -> None:
        own = vars(cls)
        if {"formula", "definite"} & own.keys() and "definiteness" not in own:
            # Of another formula than its parent's nothing is known but what the class says itself.
            cls.definite = own.get("definite", UNDECIDED)
            setattr(cls, "definiteness", Kernel.definiteness)  # noqa: B010  (to mypy a method is no attribute)
        super().__init_subclass__()

    # -- what a kernel says about itself ------------------------------------------------------------------------

    def formula(self, pair: Pair) -> Expression:
        """Return k(x, z) as an expression in statistics of the pair."""
        raise NotImplementedError(f"{type(self).__name__} defines no formula")

    def theorem(self) -> Theorem | None:
        """Return the reason why the kernel is positive semi-definite, or None if none is known.

        It is ``because``, which rests on ``lemmas`` and on the theorems of all kernels inside.
        """
        return None if self.because is None else self.prove(self.because, *self.lemmas)

    def prove(self, because: str, *lemmas: Theorem | None) -> Theorem | None:
        """Return the theorem with this reason, None if a lemma is missing or none is known for a kernel inside."""
        parts = [*lemmas, *(inner.theorem() for inner in self.inner_kernels().values())]
        proved = tuple(part for part in parts if part is not None)
        return Theorem(repr(self), because, proved) if len(proved) == len(parts) else None

    def definiteness(self, d: int | None) -> Definiteness:
        """Return what is known of Gram matrices at distinct points with d features (every number of them if None).

        It is ``definite``, and holds if the kernel and all kernels inside have a theorem.
        """
        return self.definite

    def feature_dim(self, d: int) -> float:
        """Return the dimension of the explicit feature space for d inputs, ``math.inf`` where there is none finite."""
        return math.inf

    def expression(self) -> str:
        """Return the text that rebuilds the kernel."""
        inside = ", ".join(f"{name}={show(value)}" for name, value in self.written_params().items())
        return f"{type(self).__name__}({inside})"

    def written_params(self) -> dict[str, Any]:
        """Return the parameters by name, without ``options`` that are as by default."""
        values = ((field, getattr(self, field.name)) for field in self._fields())
        return {f.name: v for f, v in values if f.name not in self.options or not np.array_equal(v, f.default)}

    # -- values -------------------------------------------------------------------------------------------------

    @overload
    def __call__(self, X: Rows, Z: None = None) -> np.ndarray: ...
    @overload
    def __call__(self, X: Rows, Z: Rows) -> Any: ...

    def __call__(self, X: Rows, Z: Rows | None = None) -> Any:
        """Return the dense matrix of k(x, z) for all x in X and z in Z (X again if Z is not given).

        Two single points give a number: two flat arrays or lists of numbers of the same length, two strings, two
        numbers, or two other objects without a length such as two graphs.  Where a number is an object of its own,
        as it is for ``Custom``, ``Overlap``, ``Precomputed`` and after a function, a flat array stays a collection.

        Examples
        --------
        >>> from mercer.kernels import Linear, Spectrum
        >>> Linear()([1.0, 2.0], [3.0, 4.0])
        11.0
        >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
        array([[11.]])
        >>> Spectrum(2)("ababa", "abba")
        4.0
        """
        formula = self.traced()
        points = None if Z is None else read_points(formula, X, Z, repr(self))
        if points is None:
            return Evaluation(formula, X, Z, repr(self)).dense()
        return float(Evaluation(formula, *points, repr(self)).dense()[0, 0])

    def diag(self, X: Rows) -> np.ndarray:
        """Return k(x, x) for all x in X."""
        return Evaluation(self.traced(), X, None, repr(self)).diag()

    def distance(self, X: Rows, Z: Rows | None = None) -> np.ndarray:
        """Return the squared distance of the features, k(x, x) + k(z, z) − 2 k(x, z), never below 0.

        It is derived from the formula rather than subtracted, so that points close to each other keep their digits.

        Examples
        --------
        >>> from mercer.kernels import Gaussian
        >>> Gaussian().distance([[0.0]], [[1e-9], [1.0]])
        array([[1.00000000e-18, 7.86938681e-01]])
        """
        return Evaluation(self.traced(), X, Z, repr(self)).squared_distances()

    def gradient(self, X: Rows, Z: Rows | None = None) -> dict[str, np.ndarray]:
        """Return ∂K/∂log θ for each hyperparameter θ, by name; the names are those of :meth:`hyperparameters`.

        Examples
        --------
        >>> from mercer.kernels import Gaussian
        >>> (2.0 * Gaussian(length_scale=1.5)).gradient([[0.0], [1.5]])["kernel__length_scale"].round(3)
        array([[0.   , 1.213],
               [1.213, 0.   ]])
        """
        formula = self.traced()
        own, slopes = repr(self), log_derivatives(formula)
        return {name: Evaluation(slopes[name], X, Z, own).dense() for name in parameters(formula)}

    def gradient_x(self, X: Rows, Z: Rows | None = None) -> np.ndarray:
        """Return ∂k(x, z)/∂x for all x in X and z in Z (X again if Z is not given), of shape (n, m, d).

        It is derived from the formula: Σ_s ∂k/∂s · ∇ₓ s(x, z) over the statistics s that k is written in, such as the
        squared distance, with ∇ₓ s = 2(x − z).  At a kink, as e^(−|x − z|) has one at x = z, it is the mean of the
        slopes on both sides.  Two single points give an array of shape (d,).

        Parameters
        ----------
        X, Z : arrays, frames or sparse matrices with d columns
            Columns that the kernel does not look at have slope 0.

        Raises
        ------
        ValueError
            If a part of the kernel has no slope: categories, strings, graphs, functions and matrices of your own, and
            whatever comes after a map that is not a :class:`~mercer.kernels.LinearMap`.

        See Also
        --------
        mercer.Expansion.gradient : Σ cⱼ ∇ₓ k(x, xⱼ), for which no array of shape (n, m, d) is formed.

        Examples
        --------
        >>> from mercer.kernels import Gaussian, Linear
        >>> Gaussian().gradient_x([1.0, 0.5], [0.0, 0.0]).round(4)
        array([-0.5353, -0.2676])
        >>> Linear().gradient_x([[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]])
        array([[[3., 4.],
                [5., 6.]]])
        """
        formula = self.traced()
        points = None if Z is None else read_points(formula, X, Z, repr(self))
        if points is None:
            return slopes_of_pairs(formula, X, Z, repr(self))
        return np.asarray(slopes_of_pairs(formula, *points, repr(self))[0, 0])

    def traced(self) -> Expression:
        """Return the formula of the whole kernel on the user's own data."""
        known = vars(self)
        if "_traced" not in known:
            pair = Pair(self)
            known["_traced"] = self.formula(pair) if self.depth <= SHALLOW else pair.formula()
        return cast(Expression, known["_traced"])

    def inner_formulas(self) -> dict[str, Step | None]:
        """Return the parameters that are kernels this formula is made of, and what is done to points before them."""
        return dict.fromkeys(self.inner_kernels(), self.step())

    def inner_kernels(self) -> dict[str, Kernel]:
        """Return the parameters that are kernels."""
        found = {field.name: getattr(self, field.name) for field in self._fields()}
        return {name: value for name, value in found.items() if isinstance(value, Kernel)}

    def step(self) -> Step | None:
        """Return what is done to points before kernels inside see them, None if nothing is."""
        return None

    # -- verdicts and features, which live in packages above this one -----------------------------------------

    def certificate(self, dim: int | None = None, sample: Rows | None = None) -> Verdict:
        """Return whether this is a kernel: Proved, Refuted or Unknown, each with ``explain()``.

        Parameters
        ----------
        dim : int, optional
            Number of features of the points to look at.  Without it, proofs hold for every dimension and
            refutations are looked for in one, two and three.
        sample : collection, optional
            Objects to look at, for kernels on other things than vectors.
        """
        from mercer.certify.search import certify_kernel

        return certify_kernel(self, dim=dim, sample=sample)

    def feature_map(self, d: int) -> FeatureMap:
        """Return the explicit map φ with k(x, z) = φ(x)ᵀφ(z) for d inputs, a transformer."""
        from mercer.features.explicit import explicit_map

        return explicit_map(self, d)

    def features(self) -> ExplicitMap:
        """Return the explicit map φ as a transformer that learns from data which features there are.

        k(x, z) = φ(x)ᵀφ(z) holds whenever x or z is in that data; words, subtrees or other features that none of it has
        are left out.

        Examples
        --------
        >>> from mercer.kernels import Graph, WeisfeilerLehman
        >>> water, hydrogen = Graph([[1, 2], [0], [0]], "OHH"), Graph([[1], [0]], "HH")
        >>> WeisfeilerLehman(1).features().fit([water]).transform([water, hydrogen]).toarray()
        array([[1., 2., 2., 1.],
               [0., 2., 0., 0.]])
        >>> from mercer.kernels import Spectrum
        >>> words = Spectrum(2).features().fit(["abab", "bac"])
        >>> words.transform(["abab", "cab"]).toarray()
        array([[2., 0., 1.],
               [1., 0., 0.]])
        """
        from mercer.features.explicit import ExplicitMap

        return ExplicitMap(self)

    # -- composition ----------------------------------------------------------------------------------------------

    def __add__(self, other: Operand) -> Kernel:
        return COMPOSE["add"](self, other)

    def __radd__(self, other: Operand) -> Kernel:
        return COMPOSE["add"](other, self)

    def __sub__(self, other: Operand) -> Kernel:
        given: object = other
        return COMPOSE["add"](
            self, -float(given) if isinstance(given, numbers.Real) else COMPOSE["multiply"](-1.0, given)
        )

    def __rsub__(self, other: Operand) -> Kernel:
        return COMPOSE["add"](other, -self)

    def __neg__(self) -> Kernel:
        return COMPOSE["multiply"](-1.0, self)

    def __mul__(self, other: Operand) -> Kernel:
        return COMPOSE["multiply"](self, other)

    def __rmul__(self, other: Operand) -> Kernel:
        return COMPOSE["multiply"](other, self)

    def __truediv__(self, other: Number) -> Kernel:
        given: object = other
        if not isinstance(given, numbers.Real):
            return NotImplemented
        if given == 0:
            raise ZeroDivisionError(f"cannot divide the kernel {self!r} by 0")
        return COMPOSE["multiply"](1.0 / float(given), self)

    def __pow__(self, exponent: int) -> Kernel:
        return COMPOSE["power"](self, exponent)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Let ``np.exp(k)`` be a kernel, and leave the operators of NumPy's numbers and arrays to the kernel."""
        first, *others = map(unwrap, inputs)
        own, reflected = OPERATORS.get(ufunc.__name__, ("", ""))
        if method == "__call__" and not kwargs:
            if ufunc is np.exp:
                return COMPOSE["exp"](self)
            left = isinstance(first, Kernel)
            known, kernel, rest = (own, first, others) if left else (reflected, self, [first])
            found = getattr(kernel, known)(*rest) if known else NotImplemented
            if found is not NotImplemented:
                return found
            if own in ("__eq__", "__ne__"):
                return own == "__ne__"
        raise TypeError(
            f"numpy.{ufunc.__name__} makes no kernel of {', '.join(map(short, inputs))}; kernels have +, - and * with "
            "kernels and numbers, / by numbers, ** with whole numbers, numpy.exp, normalize(), on(columns), after(map)"
        )

    def normalize(self) -> Kernel:
        """Return k(x, z) / √(k(x, x) k(z, z)), the cosine of the angle between features."""
        return COMPOSE["normalize"](self)

    def on(self, columns: Any) -> Kernel:
        """Return the kernel that only looks at some columns, given by position, name, slice or a list of them."""
        return COMPOSE["on"](self, columns)

    def after(self, map: Any) -> Kernel:  # noqa: A002  (the word of the lecture)
        """Return k(g(x), g(z)) for a function, fitted transformer or :class:`~mercer.kernels.LinearMap` g."""
        return COMPOSE["after"](self, map)

    # -- parameters -----------------------------------------------------------------------------------------------

    def hyperparameters(self) -> dict[str, float]:
        """Return the continuous parameters by name, one entry for each feature's length scale."""
        return parameters(self.traced())

    def with_hyperparameters(self, values: Mapping[str, float]) -> Self:
        """Return the kernel with some of its :meth:`hyperparameters` changed."""
        params: dict[str, Any] = {}
        for name, value in values.items():
            path, bracket, index = name.partition("[")
            if bracket:
                vector = params.setdefault(path, list(self.get_params()[path]))
                vector[int(index[:-1])] = float(value)
            else:
                params[path] = float(value)
        return self.with_params(**params)

    # -- what is shown ----------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return self.expression()

    def mathematics(self) -> Node:
        """Return k(x, z) as people write it, derived from the formula; long compositions end in dots."""
        try:
            return read_formula(self.traced())
        except NotImplementedError:  # a class that has no formula yet is still somebody's to look at
            return Apply(Word(type(self).__name__), (X, Z))

    def _repr_latex_(self) -> str:
        r"""Return k(x, z) as LaTeX, which notebooks draw.

        Examples
        --------
        >>> from mercer.kernels import Gaussian, Polynomial
        >>> print((2.0 * Gaussian(length_scale=1.5) + Polynomial(degree=2))._repr_latex_())
        $2\,\exp\left(-\frac{\left\|x - z\right\|^2}{2\cdot 1.5^2}\right) + \left(x^\top z + 1\right)^2$
        """
        return show_latex(self.mathematics())

    def _repr_html_(self) -> str:
        """Return the formula, the code, the hyperparameters, and what is proved at once, for a notebook."""
        return show_card(
            "Kernel",
            show_mathml(self.mathematics(), VALUE),
            show_text(show_code(shorten(repr(self), LONGEST_CODE))),
            self._show_hyperparameters(),
            self._show_theorem(),
        )

    def _show_hyperparameters(self) -> Markup:
        """Return a table of them, folded if it is long."""
        try:
            found = self.hyperparameters()
        except NotImplementedError:  # without a formula
            return Markup("")
        rows = [
            ("…" + name[-LONGEST_NAME:] if len(name) > LONGEST_NAME else name, show_number(value).replace("-", "−"))
            for name, value in list(found.items())[:MOST_SHOWN]
        ]
        if not rows:
            return Markup("")
        table = show_table(["hyperparameter", "value"], rows, numbers=[1])
        if len(found) <= FEW:
            return table
        more = show_note(f"and {len(found) - len(rows)} more in hyperparameters()") if len(found) > len(rows) else ""
        return show_fold(f"{len(found)} hyperparameters", table, more)

    def _show_theorem(self) -> Markup:
        """Return what is known without a search."""
        asked = show_code("k.certificate()")
        if self.depth > SHALLOW:  # where proofs are long
            return show_text(asked, " looks for a proof or a counterexample.")
        theorem = self.theorem()
        if theorem is None:
            return show_text("Not proved by composition. ", asked, " looks for a counterexample.")
        return show_fold(
            "Proved: this is a kernel.",
            show_text(f"because {theorem.because}"),
            show_note(asked, " has the whole proof."),
        )


def show_given(value: object) -> str:
    """Return the text of something that is no kernel, for a message: of a class, or a list with one, what was meant.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear, PairSum
    >>> show_given(Gaussian), show_given("abc")
    ('the class Gaussian: did you mean Gaussian()?', "'abc'")
    >>> show_given([PairSum, Linear()])
    'the class PairSum in a list: did you mean PairSum(base=…)?'
    """
    several = isinstance(value, list | tuple)
    for kind in value if several else [value]:  # type: ignore[attr-defined]
        if isinstance(kind, type) and issubclass(kind, Kernel):
            needed = ", ".join(f"{field.name}=…" for field in kind._fields() if field.default is MISSING)
            return f"the class {kind.__name__}{' in a list' * several}: did you mean {kind.__name__}({needed})?"
    return repr(value)


def check_kernel(kernel: object, name: str) -> None:
    """Raise unless a parameter is a kernel."""
    value = getattr(kernel, name)
    if not isinstance(value, Kernel):
        raise TypeError(f"{type(kernel).__name__}: {name} must be a kernel, got {show_given(value)}")


Inner = Annotated[Kernel, check_kernel]  # what parameters that are kernels are annotated with
