"""Canonical correlations in the feature spaces of two kernels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.arrays.shapes import Axes, Inside
from mercer.arrays.tensors import host_array, is_tensor
from mercer.estimators.engine import where_the_data_lives
from mercer.estimators.kernel_argument import KernelArgument, kernel_argument
from mercer.estimators.kernels import KernelLike, default_gaussian
from mercer.estimators.targets import check_positive, check_whole
from mercer.estimators.transaction import all_or_nothing
from mercer.expansion import Expansion, evaluate_expansion
from mercer.features.params import SOMETIMES, KernelParams
from mercer.features.validate import takes_vectors
from mercer.formula.data import Rows, length
from mercer.kernels import Gaussian, Kernel
from mercer.messages import warn_caller
from mercer.solvers.correlations import Side, correlate

COLUMNS = ("n_features_in_", "feature_names_in_")  # what is known of the columns of X, and kept of those of y


class KernelCCA(KernelParams, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel canonical correlation analysis: what two sides of pairs, of any two kinds of objects, have in common.

    It finds functions f of the one and g of the other whose values at pairs are most correlated,

        max  1/n Σ f(xᵢ) g(yᵢ)   with   1/n (Σ f(xᵢ)² + α‖f‖²) = 1  and  1/n (Σ g(yᵢ)² + α‖g‖²) = 1,

    both of mean 0, and then others that are not correlated with those before.  Without a penalty the functions of
    kernels such as the Gaussian correlate perfectly at whatever pairs: ``score`` of other pairs tells what there is.
    See Hardoon, Szedmak and Shawe-Taylor, Neural Computation 16 (2004).

    Parameters
    ----------
    n_components : int, default=2
        How many functions of each side.
    kernel : Kernel, str or callable, optional
        Of X: a mercer kernel, on any objects; a name of ``sklearn.metrics.pairwise``; a function of two rows; or
        "precomputed", and then X is the Gram matrix.  If not given, a Gaussian of the data's own scale.
    kernel_y : Kernel, str or callable, optional
        Of y, in the same way.
    alpha : float, default=1.0
        The penalty of both sides, in units of the eigenvalues of the Gram matrices; 0 for none.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    assume_psd : bool, default=False
        Whether to take kernels as positive semi-definite without a look.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are, and everything else on the host.

    Attributes
    ----------
    correlations_ : array of shape (components,)
        The largest values of the problem above, in decreasing order, between 0 and 1.
    expansion_ : Expansion
        f, one output for each component.
    expansion_y_ : Expansion
        g.
    kernel_ : Kernel
        The kernel of X used.
    kernel_y_ : Kernel
        The kernel of y used.
    n_features_in_, feature_names_in_ : int, array of str
        Of X, if it is a table.
    n_features_in_y_, feature_names_in_y_ : int, array of str
        Of y, if it is a table.

    Examples
    --------
    Texts in which letters alternate, and numbers that are larger for those:

    >>> import numpy as np
    >>> from mercer import KernelCCA
    >>> from mercer.kernels import Linear, Spectrum
    >>> texts = ["abab", "aabb", "baba", "bbaa", "abba", "aaab"] * 5
    >>> changes = np.array([[sum(a != b for a, b in zip(text, text[1:]))] for text in texts])
    >>> model = KernelCCA(1, kernel=Spectrum(2), kernel_y=Linear(), alpha=0.1).fit(texts, changes)
    >>> model.correlations_.round(2)
    array([1.])
    >>> f, g = model.transform(["ababab", "aaabbb"], [[5], [1]])
    >>> f.shape, bool((f[0] > f[1]) == (g[0] > g[1]))
    ((2, 1), True)
    """

    kernel_: Kernel
    kernel_y_: Kernel
    correlations_: Annotated[np.ndarray, Axes("q")]
    expansion_: Annotated[Expansion, Inside(q="q")]
    expansion_y_: Annotated[Expansion, Inside(q="q")]
    n_features_in_y_: Annotated[int, SOMETIMES]
    feature_names_in_y_: Annotated[np.ndarray, SOMETIMES]

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: KernelLike | None = None,
        kernel_y: KernelLike | None = None,
        alpha: float = 1.0,
        memory: float | str | None = None,
        assume_psd: bool = False,
        device: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_y = kernel_y
        self.alpha = alpha
        self.memory = memory
        self.assume_psd = assume_psd
        self.device = device

    @where_the_data_lives
    def fit(self, X: Rows, y: Rows | None = None) -> Self:
        """Find the functions; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The first of each pair, of whatever kind the kernel takes.
        y : collection of n objects
            The second of each pair, of whatever kind ``kernel_y`` takes; an array of n numbers is one column.
        """
        with all_or_nothing(self):
            count = check_whole(self, "n_components", self.n_components)
            alpha = check_positive(self, "alpha", self.alpha, zero=True)
            _require_other(y)
            argument = self._argument()
            X = argument.check(X, reset=True)
            device = argument.place(X).device
            other = self._make_other(self.device if device is None else device)
            with _naming_y():
                y = other._argument().check(_make_column(y, self.kernel_y), reset=True)
            if length(X) != length(y):
                raise ValueError(
                    f"KernelCCA compares pairs, the i-th of X with the i-th of y, but X has {length(X)} points and y "
                    f"has {length(y)}; give as many of both"
                )
            if length(X) < 2:
                raise ValueError(f"KernelCCA needs at least 2 pairs, got n_samples={length(X)}; give more")
            first = self._make_side(X, "X")
            with _naming_y():
                second = other._make_side(y, "y")
            found = correlate(first, second, count, alpha)
            self.kernel_, self.kernel_y_ = found.functions_x.kernel, found.functions_y.kernel
            self.correlations_ = found.values
            self.expansion_, self.expansion_y_ = found.functions_x, found.functions_y
            for name in COLUMNS:
                self.__dict__.pop(f"{name}y_", None)
                if name in vars(other):
                    setattr(self, f"{name}y_", getattr(other, name))
        if len(found.values) < count:
            warn_caller(
                f"KernelCCA: the kernels have only {len(found.values)} independent functions of these points on one "
                f"side, so that there are as many components and not {count}; ask for fewer, n_components"
            )
        return self

    @where_the_data_lives
    def transform(self, X: Rows, y: Rows | None = None) -> Any:
        """Return the components of points of X, and with y those of points of y, too.

        Both sides need not be pairs here.  ``fit_transform`` returns the components of X alone, as pipelines want it.

        Parameters
        ----------
        X : collection of m objects
            Points of the first side; with a precomputed kernel its values between them and all training points.
        y : collection of objects, optional
            Points of the second side.

        Returns
        -------
        array of shape (m, components), or two of them
        """
        check_is_fitted(self)
        first = _evaluate(self.expansion_, self._argument(), self._argument().new_points(X))
        return first if y is None else (first, self._transform_other(y))

    @where_the_data_lives
    def score(self, X: Rows, y: Rows) -> float:
        """Return the mean over components of the correlation of f and g at pairs, 0 where one of them is constant.

        Parameters
        ----------
        X : collection of m objects
            The first of each pair.
        y : collection of m objects
            The second of each pair.
        """
        check_is_fitted(self)
        _require_other(y)
        f, g = (np.asarray(host_array(values), dtype=np.float64) for values in self.transform(X, y))
        if len(f) != len(g) or len(f) < 2:
            raise ValueError(
                f"KernelCCA.score compares pairs, at least 2 of them, but X has {len(f)} points and y has {len(g)}; "
                "give as many of both"
            )
        f, g = f - f.mean(axis=0), g - g.mean(axis=0)
        sizes = np.linalg.norm(f, axis=0) * np.linalg.norm(g, axis=0)
        return float(np.divide((f * g).sum(axis=0), sizes, out=np.zeros_like(sizes), where=sizes > 0).mean())

    @property
    def _n_features_out(self) -> int:
        return len(self.correlations_)

    def _make_other(self, device: Any) -> KernelCCA:
        """Return a model that has our y as its X, which is checked as ours is."""
        return KernelCCA(kernel=self.kernel_y, memory=self.memory, assume_psd=self.assume_psd, device=device)

    def _transform_other(self, y: Rows) -> Array:
        other = self._make_other(self.device)
        for name in COLUMNS:
            if hasattr(self, f"{name}y_"):
                setattr(other, name, getattr(self, f"{name}y_"))
        with _naming_y():
            points = other._argument().new_points(_make_column(y, self.kernel_y))
        return _evaluate(self.expansion_y_, other._argument(), points)

    def _make_side(self, X: Rows, name: str) -> Side:
        argument = self._argument()
        place = argument.place(X)
        if self.kernel is None:
            kernel: Kernel = default_gaussian(X, None, place.device)
        else:
            kernel = argument.resolve(X, assume_psd=self.assume_psd)
        return Side(kernel, argument.points(X), place, name)

    def _argument(self) -> KernelArgument:
        return kernel_argument(self, Gaussian() if self.kernel is None else self.kernel)

    def __sklearn_tags__(self) -> Tags:
        tags = self._argument().describe(super().__sklearn_tags__())
        tags.target_tags.required = True
        return tags


def _require_other(y: object) -> None:
    if y is None:
        raise ValueError("KernelCCA requires y to be passed, but the target y is None; give the second of each pair")


@contextmanager
def _naming_y() -> Iterator[None]:
    """Add to errors about data, which name X, that it is that of the second side."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error} (This is about y, the second side of the pairs.)") from None


def _make_column(y: Any, kernel: object) -> Any:
    """Return numbers, one for each pair, as a table of one column, and all else as it is."""
    if is_tensor(y):
        return y[:, None] if y.ndim == 1 else y
    if isinstance(kernel, Kernel) and not takes_vectors(kernel):
        return y
    try:
        flat = getattr(y, "ndim", None) or np.asarray(y).ndim
    except ValueError:  # rows of different lengths, about which the check of numbers says more
        return y
    return np.asarray(y).reshape(-1, 1) if flat == 1 else y


def _evaluate(f: Expansion, argument: KernelArgument, points: Rows) -> Array:
    place = argument.place(points, f.centers)
    return evaluate_expansion(f.kernel, points, f.centers, f.coef, f.intercept, place.memory, place.device, np.float64)
