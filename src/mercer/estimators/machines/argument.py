"""The kernel of a support vector machine: names with γ, functions of two collections, matrices, and mercer kernels."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Tags

from mercer.arrays.budget import parse_memory, require
from mercer.arrays.place import Place
from mercer.arrays.tensors import check_finite, host_array, is_tensor
from mercer.certify.verdict import Refuted
from mercer.expansion import Expansion
from mercer.formula.data import Rows, length, pick
from mercer.kernels import Custom, Gaussian, Kernel, Precomputed
from mercer.solvers.machines.fit import MachineFit

from ..kernel_argument import KernelArgument, MatrixArgument
from ..kernels import check_rows, variance

EXAMINED = 300  # rows of a matrix whose eigenvalues are computed: a small part of the time of a fit
NOISE = 1e-6  # of the norm: a matrix computed in float32 may have eigenvalues this far below 0


def machine_argument(owner: Any, options: Any = None) -> MachineArgument:
    """Return the kernel argument of a machine, or of a search for one, which has its options from a machine."""
    value = Gaussian() if owner.kernel is None else owner.kernel
    if callable(value) and not isinstance(value, Kernel | type):
        return FunctionArgument(owner, value, options)
    matrix = isinstance(value, str) and value == "precomputed"
    return (MachineMatrixArgument if matrix else MachineArgument)(owner, value, options)


def with_weight(X: Rows, kept: np.ndarray) -> Rows:
    """Return the points that have a weight, which are all that a kernel is guessed and judged by."""
    return X if len(kept) == length(X) else pick(X, kept)


class MachineArgument(KernelArgument):
    """A kernel or one of scikit-learn's names, with γ as its machines have it.

    ``options`` is the machine whose γ, degree, offset and ``assume_psd`` are meant; the owner if not given.
    """

    has_scale = True  # whether a length scale may be put into the kernel
    is_function = False
    uncut = ""  # why the data cannot be in partitions

    def __init__(self, owner: Any, value: Any, options: Any = None) -> None:
        super().__init__(owner, value)
        self._options = owner if options is None else options

    @property
    def name(self) -> str:
        """The name of the estimator in messages."""
        return type(self.owner).__name__

    def check(self, X: Rows, *, reset: bool) -> Rows:
        """Return data as the kernel takes it, by the rules of scikit-learn's machines."""
        rows = super().check(X, reset=reset)
        if reset and is_tensor(rows):
            check_finite(rows, self.name)
        if not reset:
            trained = self.owner.support_vectors_
            if sparse.issparse(rows) and not sparse.issparse(trained):
                raise ValueError(
                    f"cannot use sparse input in {self.name!r} trained on dense data; use X.toarray() if it fits"
                )
            if sparse.issparse(trained) and not sparse.issparse(rows):
                rows = type(trained)(rows)
        return rows

    def train(self, X: Rows, kept: np.ndarray, spread: float | None = None) -> Kernel:
        """Return the kernel of the problems, at checked training points of which some are kept.

        ``spread`` is the variance of all entries, if X has only some of them.
        """
        options, rows = self._options, with_weight(X, kept)
        options._gamma = self._find_gamma(rows, spread)
        return self.resolve(
            rows, assume_psd=options.assume_psd, gamma=options._gamma, degree=options.degree, coef0=options.coef0
        )

    def show(self, kernel: Kernel) -> Kernel:
        """Return the kernel of new points, given that of training points."""
        return kernel

    def finish(self, fit: MachineFit, X: Rows) -> MachineFit:
        """Return a fit of the problems as one with the kernel of new points."""
        return fit

    def pick_vectors(self, X: Rows, support: np.ndarray) -> tuple[Rows, Rows]:
        """Return the support vectors as a model shows them, and as its kernel takes them."""
        vectors = pick(X, support)
        return vectors, vectors

    def evaluate(self, function: Expansion, X: Rows) -> np.ndarray:
        """Return values at new points, as a model is given them."""
        points = self.new_points(X)
        device = None if sparse.issparse(points) else self.place(points).device
        return np.asarray(host_array(function(points, memory=self.owner.memory, device=device)))

    def place(self, *data: object) -> Place:
        """Return where to compute; sparse data stays on the host."""
        return Place.find(None, self.owner.memory) if any(map(sparse.issparse, data)) else super().place(*data)

    def _find_gamma(self, X: Any, spread: float | None) -> float:
        """Return γ: "scale" is 1 / (d·Var(X)), "auto" is 1/d; 0 where it has no meaning."""
        gamma = self._options.gamma
        given = isinstance(gamma, numbers.Real) and 0 <= float(gamma) < np.inf
        if not given and not (isinstance(gamma, str) and gamma in ("scale", "auto")):
            name = type(self._options).__name__
            raise ValueError(
                f"{name}: gamma must be 'scale', 'auto' or a finite number that is not negative; got {gamma!r}"
            )
        if given or not isinstance(self.value, str) or self.is_matrix:
            return float(gamma) if given else 0.0
        if gamma == "auto":
            return 1.0 / int(X.shape[1])
        if spread is None:
            with np.errstate(over="ignore", invalid="ignore"):
                spread = variance(X if is_tensor(X) else X.astype(np.float64, copy=False), None)
        if not np.isfinite(spread):
            raise ValueError(
                f"{self.name}: The dual coefficients or intercepts are not finite, because the variance of X, which "
                "gamma='scale' divides by, overflows. Divide the data first, for example by StandardScaler."
            )
        return 1.0 / (int(X.shape[1]) * spread) if spread > 0 else 1.0


class MachineMatrixArgument(MatrixArgument, MachineArgument):
    """kernel="precomputed", checked by scikit-learn's rules for machines."""

    has_scale = False

    def check(self, X: Rows, *, reset: bool) -> Rows:
        """Return the matrix as numbers; scikit-learn's message about columns needs a word on rows."""
        if sparse.issparse(X):
            raise TypeError(f"{self.name}: Sparse precomputed kernels are not supported. Use X.toarray() if it fits.")
        try:
            return check_rows(self.owner, host_array(X), self.value, reset=reset)
        except ValueError as error:
            if reset or "features" not in str(error):
                raise
            raise ValueError(
                f"{error} With kernel='precomputed', X holds the kernel between the new points and all training "
                "points, of which only the columns in support_ matter."
            ) from None

    def train(self, X: Rows, kept: np.ndarray, spread: float | None = None) -> Kernel:
        """Return the matrix as a kernel on its row numbers, if it is one at the points kept, or at some of many."""
        self._options._gamma = self._find_gamma(X, spread)
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"{self.name}: Precomputed matrix must be a square matrix, the kernel between all pairs of training "
                f"points; got shape {X.shape}"
            )
        kernel = Precomputed(X)
        if self._options.assume_psd:
            return kernel
        n = len(kept)
        chosen = kept if n <= EXAMINED else kept[np.arange(EXAMINED) * n // EXAMINED]
        eigenvalues = np.linalg.eigvalsh(np.asarray(kernel.matrix, dtype=np.float64)[np.ix_(chosen, chosen)])
        if eigenvalues[0] < -NOISE * np.abs(eigenvalues).max():
            verdict = kernel.certificate(sample=chosen)
            if isinstance(verdict, Refuted):  # by more than rounding
                raise ValueError(
                    f"{self.name} needs a positive semi-definite matrix. {verdict.explain()}\nUse another kernel, or "
                    "pass assume_psd=True to go on to a local optimum of a problem that is not convex."
                )
        return kernel

    def pick_vectors(self, X: Rows, support: np.ndarray) -> tuple[Rows, Rows]:
        """Return nothing to show, and the row numbers."""
        return np.empty((0, 0)), support

    def describe(self, tags: Tags) -> Tags:
        """Say that sparse matrices are not taken."""
        tags = super().describe(tags)
        tags.input_tags.sparse = False
        return tags


class FunctionArgument(MachineArgument):
    """A plain function of two collections, called once for all data, which is scikit-learn's promise to it."""

    has_scale = False
    is_function = True
    uncut = (
        "a function given as kernel is called once for all rows, which is not possible in partitions; wrap it as "
        "mercer.kernels.Custom(function, vectorized=True)"
    )

    def check(self, X: Rows, *, reset: bool) -> Rows:
        """Return data as the function takes it, on the host."""
        return check_rows(self.owner, host_array(X), Custom(self.value, vectorized=True), reset=reset)

    def train(self, X: Rows, kept: np.ndarray, spread: float | None = None) -> Kernel:
        """Return the matrix of all training points."""
        self._options._gamma = self._find_gamma(X, spread)
        return Precomputed(self._compute_matrix(X, X))

    def points(self, X: Rows) -> Rows:
        """Return the row numbers of that matrix."""
        return np.arange(length(X))

    def show(self, kernel: Kernel) -> Kernel:
        """Return the function as a kernel."""
        return Custom(self.value, vectorized=True)

    def place(self, *data: object) -> Place:
        """Return the host, where functions are called."""
        return Place.find(None, self.owner.memory)

    def pass_on(self, kernel: Kernel) -> Any:
        """Return the function again."""
        return self.value

    def evaluate(self, function: Expansion, X: Rows) -> np.ndarray:
        """Return values at new points from the function's values with all training points."""
        K = self._compute_matrix(self.new_points(X), self.owner._X_fit)[:, self.owner.support_]
        return np.asarray(K @ function.coef[: K.shape[1]] + function.intercept)

    def _compute_matrix(self, X: Rows, Z: Rows) -> np.ndarray:
        shape = (length(X), length(Z))
        require(
            8 * shape[0] * shape[1],
            parse_memory(self.owner.memory),
            f"the {shape[0]} × {shape[1]} matrix of the function given as kernel",
            "pass mercer.kernels.Custom(function, vectorized=True), which is called for blocks of it",
        )
        name = f"{self.name}: the function given as kernel"
        wanted = (
            f"takes two collections and returns the matrix of all pairs; for {shape[0]} and {shape[1]} points it must "
            f"have shape {shape} and hold numbers"
        )
        try:
            returned = self.value(X, Z)
        except Exception as error:
            raise ValueError(
                f"{name} {wanted}, but it raised {type(error).__name__}: {error}. {self._find_remedy(X)}"
            ) from error
        values = np.asarray(returned.toarray() if sparse.issparse(returned) else returned)
        if values.shape != shape or values.dtype.kind not in "biuf":
            raise ValueError(
                f"{name} {wanted}, but has shape {values.shape} and dtype {values.dtype}. {self._find_remedy(X)}"
            )
        values = values.astype(np.float64, copy=False)
        if not np.isfinite(values).all():
            i, j = np.argwhere(~np.isfinite(values))[0]
            raise ValueError(f"{name} returned {values[i, j]} for points {i} and {j}; it must be finite")
        return values

    def _find_remedy(self, X: Rows) -> str:
        """Return what to do about a function that is none of two collections; one of two points is found by trying."""
        wrapped = "kernel=mercer.kernels.Custom(function)"
        try:
            value = np.asarray(self.value(*(pick(X, [0, length(X) - 1])[i] for i in (0, 1))))
        except Exception:
            return f"Wrap a function of two points as {wrapped}."
        if value.size == 1 and value.dtype.kind in "biuf":
            return (
                f"It is a function of two points, and returned {value.item():g} for two of them: wrap it as {wrapped}."
            )
        return f"Wrap a function of two points as {wrapped}."
