"""Principal components in the feature space of a kernel."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.arrays.shapes import Axes, Inside
from mercer.arrays.tensors import host_array, is_tensor, on_device
from mercer.estimators.engine import in_the_kind_given, where_the_data_lives
from mercer.estimators.kernel_argument import KernelArgument, MatrixArgument, kernel_argument
from mercer.estimators.kernels import KernelLike, default_gaussian
from mercer.estimators.primal import PrimalForm
from mercer.estimators.targets import check_positive, check_whole
from mercer.estimators.transaction import all_or_nothing
from mercer.expansion import Expansion, evaluate_expansion
from mercer.features.params import SOMETIMES, KernelParams
from mercer.features.validate import takes_vectors
from mercer.formula.data import Rows, length
from mercer.kernels import Kernel
from mercer.messages import warn_caller
from mercer.solvers.eigen import Components, EigenSolver, PrincipalComponents

from .ridge import KernelRidge

SOLVERS = ("auto", "dense", "arpack", "randomized", "nystroem")


class AnyMatrix(MatrixArgument):
    """kernel="precomputed" of a matrix that need not be symmetric, as in scikit-learn: its symmetric part counts."""

    def resolve(self, X: Rows, *, assume_psd: bool = False, **options: Any) -> Kernel:
        """Return the symmetric part as a kernel on row numbers."""
        return super().resolve((X + X.T) / 2 if X.shape[0] == X.shape[1] else X)


class KernelPCA(PrimalForm, KernelParams, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel principal component analysis: the directions in feature space along which the points vary most.

    With HKH = Σⱼ λⱼ vⱼvⱼᵀ, H = I − 11ᵀ/n, the j-th component of a point x is Σᵢ vⱼᵢ k̃(xᵢ, x)/√λⱼ, where k̃ is the kernel
    of centred features; at the training points it is √λⱼ vⱼ.  Parameters, defaults and attributes are scikit-learn's
    where it has them.

    Parameters
    ----------
    n_components : int, optional
        How many; all with an eigenvalue above 0 if not given.
    kernel : Kernel, str or callable, default="linear"
        A mercer kernel, on any objects; a name of ``sklearn.metrics.pairwise``; a function of two rows; or
        "precomputed", and then X is the Gram matrix: (n, n) to fit, (m, n) to transform.
    gamma : float, optional
        Of the kernels "rbf", "laplacian", "poly" and "sigmoid"; one over the number of features if not given.
    degree : float, default=3
        Of the kernel "poly".
    coef0 : float, default=1
        Of the kernels "poly" and "sigmoid".
    kernel_params : dict, optional
        Keyword arguments for a function given as kernel.
    alpha : float, default=1.0
        The penalty of the ridge regression that learns the inverse.
    fit_inverse_transform : bool, default=False
        Whether to learn to get back from components to points, which must be vectors: with the same kernel, or with a
        Gaussian if that is one of chosen columns, or with a length scale for each.
    eigen_solver : {"auto", "dense", "arpack", "randomized", "nystroem"}, default="auto"
        "dense" decomposes the whole matrix; "arpack" and "randomized" find leading eigenvectors, without storing the
        matrix where it does not fit, or there are more than 5,000 points of a kernel that is quickly evaluated;
        "nystroem" takes the components of features from ``n_centers`` centres.  "auto" is "arpack" for less than 10
        components of more than 200 points, "randomized" if the matrix does not fit into memory, and "dense" otherwise.
    tol : float, default=0
        Of "arpack"; 0 is machine precision.
    max_iter : int, optional
        Of "arpack".
    iterated_power : int or "auto", default="auto"
        How many products "randomized" takes: 7 for few components and 4 for many if "auto".
    remove_zero_eig : bool, default=False
        Whether to drop components of eigenvalue 0; done in any case if ``n_components`` is not given.
    random_state : int, RandomState or None, default=None
        The seed of "arpack", "randomized" and "nystroem".
    copy_X : bool, default=True
        Whether to keep a copy of the training points, which later changes of X do not touch.
    n_jobs : int, optional
        Without effect, here because scikit-learn has it.
    n_centers : int, optional
        Of "nystroem"; ten for each component and at least 200 if not given.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are, and everything else on the host, as
        are the features of "nystroem".

    Attributes
    ----------
    eigenvalues_ : array of shape (components,)
        λⱼ, in decreasing order.
    eigenvectors_ : array of shape (n, components)
        vⱼ.
    dual_coef_, X_transformed_fit_ : array of shape (n, d), array of shape (n, components)
        Coefficients of the inverse and where they belong, if it was learnt.
    X_fit_ : data
        The training points.
    gamma_ : float
        γ of a kernel given by name.
    kernel_ : Kernel
        The kernel used.
    eigen_solver_ : str
        The solver used.
    expansion_ : Expansion
        The components as functions, one output for each.
    coef_primal_ : array of shape (D, components)
        Their weights in the explicit features of the kernel, if it has finitely many.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from mercer.kernels import Gaussian
    >>> from mercer.models.pca import KernelPCA
    >>> X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> first = KernelPCA(1, kernel=Gaussian(0.5)).fit_transform(X)[:, 0]  # the inner circle against the outer one
    >>> bool(max(first[y == 0]) < min(first[y == 1]) or min(first[y == 0]) > max(first[y == 1]))
    True
    """

    kernel_: Kernel
    X_fit_: Annotated[Rows, Axes("n …")]
    eigenvalues_: Annotated[np.ndarray, Axes("m")]
    eigenvectors_: Annotated[np.ndarray, Axes("n m")]
    eigen_solver_: str
    expansion_: Annotated[Expansion, Inside(q="m")]
    gamma_: Annotated[float, SOMETIMES]
    inverse_: Annotated[KernelRidge, SOMETIMES, Inside(d="m")]
    dual_coef_: Annotated[np.ndarray, SOMETIMES]
    X_transformed_fit_: Annotated[np.ndarray, SOMETIMES]

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: KernelLike = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: EigenSolver = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        iterated_power: Any = "auto",
        remove_zero_eig: bool = False,
        random_state: Any = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
        n_centers: int | None = None,
        memory: float | str | None = None,
        device: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs
        self.n_centers = n_centers
        self.memory = memory
        self.device = device

    @where_the_data_lives
    def fit(self, X: Rows, y: object = None) -> Self:
        """Find the components; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points, of whatever kind the kernel takes.
        y : ignored
            Here because pipelines pass it.
        """
        with all_or_nothing(self):
            argument = self._check_parameters()
            X = argument.check(X, reset=True)
            if self.fit_inverse_transform:
                _check_invertible(self.kernel, X)
            for name in ("gamma_", "inverse_", "dual_coef_", "X_transformed_fit_"):
                self.__dict__.pop(name, None)
            if not isinstance(self.kernel, Kernel):
                self.gamma_ = 1.0 / X.shape[1] if self.gamma is None else self.gamma
            options: dict[str, Any] = {name: getattr(self, name) for name in ("degree", "coef0", "kernel_params")}
            gamma = getattr(self, "gamma_", None)
            kernel = argument.resolve(X, assume_psd=True, gamma=gamma, **options)
            if self.copy_X and (is_tensor(X) or hasattr(X, "copy")):
                X = X.clone() if is_tensor(X) else X.copy()
            search = PrincipalComponents(
                self.n_components, self.eigen_solver, self.tol, self.max_iter, self.iterated_power, self.n_centers,
                self.remove_zero_eig, self.random_state,
            )  # fmt: skip
            place = argument.place(X)
            found = search.fit(kernel, argument.points(X), place)
            self._keep(found, X)
            if self.fit_inverse_transform:
                self._learn_inverse(X, place.device)
        if found.missing:
            warn_caller(
                f"KernelPCA: {length(found.expansion.centers)} centres have only {len(found.eigenvalues)} features, so "
                f"that there are as many components and not {self.n_components}; use more centres, n_centers, or ask "
                "for fewer components"
            )
        return self

    @in_the_kind_given
    def fit_transform(self, X: Rows, y: object = None, **params: Any) -> np.ndarray:
        """Find the components and return those of the training points, of shape (n, components).

        Parameters
        ----------
        X : collection of n objects
            The training points.
        y : ignored
            Here because pipelines pass it.
        **params : ignored
            Here because pipelines pass them.
        """
        self.fit(X)
        scores = _cast_like(self.eigenvectors_ * np.sqrt(self.eigenvalues_), self.X_fit_)
        return on_device(scores, X.device, scores.dtype) if is_tensor(X) else scores

    @where_the_data_lives
    def transform(self, X: Rows) -> np.ndarray:
        """Return the components of points.

        Parameters
        ----------
        X : collection of m objects
            The points; with a precomputed kernel its values between them and all training points, shape (m, n).

        Returns
        -------
        array of shape (m, components)
        """
        check_is_fitted(self)
        argument = self._argument()
        points = argument.new_points(X)
        if len(self.eigenvalues_) == 0:
            return np.empty((length(points), 0))
        f, place = self.expansion_, argument.place(points, self.expansion_.centers)
        values = evaluate_expansion(
            f.kernel, points, f.centers, f.coef, f.intercept, place.memory, place.device, np.float64
        )
        return _cast_like(values, X)

    @in_the_kind_given
    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return points whose components are about those given, by kernel ridge regression.

        Parameters
        ----------
        X : array of shape (m, components)
            The components.

        Returns
        -------
        array of shape (m, d)
        """
        check_is_fitted(self)
        if not hasattr(self, "inverse_"):
            raise NotFittedError(
                "KernelPCA: fit_inverse_transform was False when the model was fitted, so that there is no inverse; "
                "set it to True and fit again"
            )
        return _cast_like(self.inverse_.predict(X), self.X_fit_)

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def _argument(self) -> KernelArgument:
        return kernel_argument(self, matrix=AnyMatrix)

    def _keep(self, found: Components, X: Rows) -> None:
        self.eigenvalues_, self.eigenvectors_ = found.eigenvalues, found.eigenvectors
        self.expansion_, self.kernel_ = found.expansion, found.expansion.kernel
        self.X_fit_, self.eigen_solver_ = X, found.solver

    def _learn_inverse(self, X: Rows, device: Any) -> None:
        scores = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
        # Names and functions mean the same for components, as in scikit-learn.
        kernel = kernel_of_scores(self.kernel_, scores) if isinstance(self.kernel, Kernel) else self.kernel_
        ridge = KernelRidge(
            self.alpha, kernel=kernel, memory=self.memory, random_state=self.random_state, assume_psd=True,
            device=device,
        )  # fmt: skip
        self.inverse_ = ridge.fit(scores, np.asarray(host_array(X), dtype=np.float64))
        self.dual_coef_, self.X_transformed_fit_ = self.inverse_.dual_coef_, scores

    def _check_parameters(self) -> KernelArgument:
        """Raise unless solver and counts are what they may be; return the kernel argument."""
        argument = self._argument()
        if self.eigen_solver not in SOLVERS:
            raise ValueError(f"KernelPCA: eigen_solver must be one of {SOLVERS}, got {self.eigen_solver!r}")
        if self.eigen_solver == "nystroem" and argument.is_matrix:
            raise ValueError("KernelPCA: eigen_solver='nystroem' needs a kernel, not kernel='precomputed'")
        for name in ("n_components", "max_iter", "n_centers"):
            check_whole(self, name, getattr(self, name), none=True)
        if self.iterated_power != "auto":
            check_whole(self, "iterated_power", self.iterated_power, least=0)
        check_positive(self, "tol", self.tol, zero=True)
        if self.fit_inverse_transform and argument.is_matrix:
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel; give the points and a kernel")
        return argument

    def __sklearn_tags__(self) -> Tags:
        tags = self._argument().describe(super().__sklearn_tags__())
        tags.input_tags.sparse = tags.input_tags.sparse and not self.fit_inverse_transform
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def kernel_of_scores(kernel: Kernel, scores: np.ndarray) -> Kernel:
    """Return the kernel of the map from components back to points.

    The kernel itself serves if it takes all vectors of any length, as in scikit-learn.  One that looks at chosen
    columns, has a length scale for each, or takes no negative numbers means columns of X, which components are not:
    then it is the Gaussian that adapts to the scale and the number of the components.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> kernel_of_scores(Gaussian(3.0), np.eye(2)), kernel_of_scores(Gaussian([1.0, 2.0, 3.0]), np.eye(2))
    (Gaussian(length_scale=3.0), Gaussian(length_scale=0.5))
    """
    return kernel if takes_vectors(kernel) and _takes_any(kernel) else default_gaussian(scores, None)


def _takes_any(kernel: Kernel) -> bool:
    """Whether no kernel of a composition asks for signs, or has a parameter with an entry for each column."""
    values = kernel.get_params(deep=False).values()
    parts = [value for value in values if isinstance(value, Kernel)]
    columns = any(np.ndim(value) > 0 for value in values if not isinstance(value, Kernel | str))
    return kernel.domain == "real" and not columns and all(map(_takes_any, parts))


def _check_invertible(kernel: Any, X: Rows) -> None:
    """Raise unless the points are vectors, which a regression can give back."""
    if sparse.issparse(X):
        raise TypeError("KernelPCA: the inverse is not implemented for sparse matrices; use X.toarray()")
    if not isinstance(kernel, Kernel):
        return
    try:
        table = np.asarray(host_array(X))
    except ValueError:
        table = np.empty(0)
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        raise ValueError(
            f"KernelPCA: fit_inverse_transform gives points back, so that they must be rows of numbers; {kernel!r} was "
            "given others. Leave fit_inverse_transform out."
        )


def _cast_like(values: Array, X: Rows) -> Array:
    """Return results in single precision for data in single precision."""
    if str(getattr(X, "dtype", None)).rpartition(".")[2] != "float32":
        return values
    return values.float() if is_tensor(values) else values.astype(np.float32)
