"""The explicit feature map of any kernel that has a finite one, built by walking through its composition."""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Annotated, Self

import numpy as np

from mercer.arrays.shapes import Inside
from mercer.checks import is_whole
from mercer.formula.data import Columns, Rows, is_frame, pick
from mercer.kernels import Constant, Cosine, Fourier, FromFeatures, Kernel, Linear, Polynomial, Sinc
from mercer.kernels.algebra import Normalized, Power, Product, Scaled, Sum
from mercer.kernels.mapping import Mapped, Multiplied
from mercer.kernels.pullback import After, On
from mercer.kernels.trigonometric import SINC_NODES

from .base import KernelMap
from .composition import (
    AllProducts,
    Bias,
    Chain,
    Chosen,
    Image,
    Inputs,
    Node,
    SideBySide,
    Times,
    UnitLength,
    WithinReach,
)
from .polynomial import Monomials
from .sinc import build_quadrature
from .trigonometric import build_harmonics, build_wave


def explicit_map(kernel: Kernel, d: int) -> ExplicitMap:
    """Return the map φ with k(x, z) = φ(x)ᵀφ(z) for data with d columns, ready to transform without a fit.

    Examples
    --------
    >>> from mercer.features import explicit_map
    >>> from mercer.kernels import Linear, Polynomial
    >>> phi = explicit_map(Polynomial(degree=2, offset=0.0) + 4.0 * Linear(), 2)
    >>> phi.transform([[1.0, 3.0]]).round(3)
    array([[1.   , 4.243, 9.   , 2.   , 6.   ]])
    >>> phi.get_feature_names_out().tolist()
    ['x0^2', 'x0 x1', 'x1^2', 'x0', 'x1']
    """
    return ExplicitMap(kernel).prepare(d)


class ExplicitMap(KernelMap):
    """The explicit map φ of a kernel, k(x, z) = φ(x)ᵀφ(z), for any composition with a finite feature space.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; ``Linear()`` if not given.  Kernels with infinitely many features are refused.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel used.
    features_ : Node
        The composed map itself.

    Examples
    --------
    >>> from mercer.features import ExplicitMap
    >>> from mercer.kernels import Linear
    >>> k = (Linear() + 1) ** 2
    >>> X = [[-1.0], [0.0], [1.0]]
    >>> features = ExplicitMap(k).fit_transform(X)
    >>> (features @ features.T).round(12) + 0.0
    array([[4., 1., 0.],
           [1., 1., 1.],
           [0., 1., 4.]])
    """

    features_: Annotated[Node, Inside(d="d")]

    _node = "features_"
    _default = Linear()

    def __init__(self, kernel: Kernel | None = None) -> None:
        self.kernel = kernel

    def prepare(self, d: int) -> Self:
        """Make the map ready for data with d columns without looking at any.

        Parameters
        ----------
        d : int
            The number of columns.

        Returns
        -------
        self
        """
        if not is_whole(d):
            raise ValueError(f"a feature map needs the number of columns, a whole number of at least 1; got {d!r}")
        self._build(int(d), None)
        self.n_features_in_ = int(d)
        self.__dict__.pop("feature_names_in_", None)
        return self

    def _check(self, X: Rows, *, reset: bool) -> Rows:
        if reset or not is_frame(X) or hasattr(self, "feature_names_in_"):
            return super()._check(X, reset=reset)
        # A map made without data knows no names to compare with; scikit-learn would warn about that.
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but the feature map was made for {self.n_features_in_}; make it again "
                f"with k.feature_map({X.shape[1]}), or pass the columns it was made for"
            )
        return X

    def _learn(self, X: Rows) -> None:
        self._build(getattr(self, "n_features_in_", 1), X)  # lists of objects have no columns
        self.features_(pick(X, np.arange(1)))  # data the map cannot take is refused here rather than later

    def _build(self, d: int, X: Rows | None) -> None:
        self.kernel_ = self._choose_kernel()
        try:
            self.features_ = build(self.kernel_, d, X)
        except NoFiniteMapError as error:
            whole = "" if error.kernel == self.kernel_ else f"{self.kernel_!r} has no finite feature map: "
            raise ValueError(f"{whole}{error}") from None


class NoFiniteMapError(ValueError):
    """A kernel has no finite feature map."""

    def __init__(self, kernel: Kernel, reason: str) -> None:
        super().__init__(
            f"{kernel!r} {reason}; approximate it with mercer.features.Nystroem, or with "
            "mercer.features.RandomFourier if it is a Gaussian, Matern, Laplacian, PowerExponential or "
            "RationalQuadratic kernel"
        )
        self.kernel = kernel


def examples(kernel: Kernel, X: Rows | None, feature: str) -> Rows:
    """Return the data that features are learnt from, or say that there must be some."""
    if X is None:
        raise ValueError(
            f"{kernel!r} has one feature for each {feature}, and only data tells which there are; use "
            "k.features().fit(X) instead of k.feature_map(d)"
        )
    return X


@singledispatch
def build(kernel: Kernel, d: int, X: Rows | None) -> Node:
    """Return the map of a kernel for d inputs, learnt from X or centred on it where that is needed and there is data.

    Register a function for a new kernel here.
    """
    raise NoFiniteMapError(kernel, "has infinitely many features, or none that are known")


build.register(Linear, lambda k, d, X: Inputs(d, repr(k), allow_sparse=True))
build.register(Cosine, lambda k, d, X: Chain(Inputs(d, repr(k)), build_wave(d, float(k.frequency))))
build.register(Fourier, lambda k, d, X: Chain(Inputs(d, repr(k)), build_harmonics(d, int(k.order))))
build.register(Constant, lambda k, d, X: Bias(math.sqrt(k.value)))
build.register(Sum, lambda k, d, X: SideBySide(build(k.k1, d, X), build(k.k2, d, X)))
build.register(Product, lambda k, d, X: AllProducts(build(k.k1, d, X), build(k.k2, d, X)))
build.register(Normalized, lambda k, d, X: UnitLength(build(k.kernel, d, X)))


@build.register
def _(kernel: Polynomial, d: int, X: Rows | None) -> Node:
    monomials = Monomials(d, int(kernel.degree), float(kernel.offset))
    return Chain(Inputs(d, repr(kernel), allow_sparse=True), monomials)


@build.register
def _(kernel: Sinc, d: int, X: Rows | None) -> Node:
    inputs = Inputs(d, repr(kernel))
    centre = None
    if X is not None:
        A = inputs(X).astype(np.float64)
        centre = 0.5 * A.min(axis=0) + 0.5 * A.max(axis=0)
    return Chain(inputs, WithinReach(build_quadrature(d, SINC_NODES, centre)))


@build.register
def _(kernel: FromFeatures, d: int, X: Rows | None) -> Node:
    image = _build_image(kernel.step(), d, X)
    return Chain(image, Inputs(image.width, repr(kernel), allow_sparse=True))


@build.register
def _(kernel: Scaled, d: int, X: Rows | None) -> Node:
    if kernel.weight < 0:
        raise NoFiniteMapError(
            kernel, f"has the negative weight {kernel.weight}, which no features give: φ(x)ᵀφ(x) is never below 0"
        )
    return Times(build(kernel.kernel, d, X), math.sqrt(kernel.weight))


@build.register
def _(kernel: Power, d: int, X: Rows | None) -> Node:
    inner = build(kernel.kernel, d, X)
    return Chain(inner, Monomials(inner.width, int(kernel.exponent), 0.0))


@build.register
def _(kernel: On, d: int, X: Rows | None) -> Node:
    chosen = Chosen(Columns(kernel.chosen(d), repr(kernel)))
    beyond = [c for c in chosen.step.columns if not isinstance(c, str) and not -d <= c < d]
    if beyond:
        raise ValueError(f"{kernel!r}: there is no column {beyond[0]}; the data has {d} columns")
    return Chain(chosen, build(kernel.kernel, chosen.width, None if X is None else chosen(X)))


@build.register
def _(kernel: After, d: int, X: Rows | None) -> Node:
    image = _build_image(kernel.step(), d, X)
    return Chain(image, build(kernel.kernel, image.width, None if X is None else image(X)))


def _build_image(step: Mapped | Multiplied, d: int, X: Rows | None) -> Image:
    """Return the map of a user's function, its width found out by calling it."""
    images = step.apply(np.zeros((2, d)) if X is None else X)
    if len(getattr(images, "shape", ())) != 2:
        raise ValueError(
            f"{step.owner}: the map has no fixed number of features, because it does not turn {d} numbers into a row "
            "of numbers; fit mercer.features.ExplicitMap on the data itself if its objects are of another kind"
        )
    return Image(step, int(images.shape[1]))
