"""Principal components in the feature space of a kernel."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import _check_psd_eigenvalues, check_is_fitted

from mercer.arrays.tensors import host_array, is_tensor, on_device
from mercer.estimators.components import check_invertible, check_parameters, kernel_of_scores, square
from mercer.estimators.engine import where_the_data_lives
from mercer.estimators.kernels import (
    accepts_sparse,
    all_or_nothing,
    checked_rows,
    cross_kernel,
    device_among,
    is_precomputed,
    place_of,
    resolve_kernel,
)
from mercer.expansion import Expansion, evaluate_expansion
from mercer.features.params import KernelParams
from mercer.formula.data import Rows, length
from mercer.gram import Gram
from mercer.kernels import Kernel, Precomputed
from mercer.solvers.eigen import decompose, fits, from_features

from .ridge import KernelRidge


class KernelPCA(KernelParams, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
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
        matrix where there are more than 5,000 points or it does not fit; "nystroem" takes the components of features
        from ``n_centers`` centres.  "auto" is "arpack" for less than 10 components of more than 200 points,
        "randomized" if the matrix does not fit into memory, and "dense" otherwise.
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
        The kernel used, None if it was precomputed.
    eigen_solver_ : str
        The solver used.
    expansion_ : Expansion
        The components as functions, one output for each.

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

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: Literal["auto", "dense", "arpack", "randomized", "nystroem"] = "auto",
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
            self._fit(X)
        return self

    def fit_transform(self, X: Rows, y: object = None, **params: Any) -> Any:
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
        scores = self._typed(self.eigenvectors_ * np.sqrt(self.eigenvalues_), self.X_fit_)
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
        if is_precomputed(self.kernel):
            X = cross_kernel(self, X)
            return self._typed(np.asarray(X @ self._coef + self._offset), X)
        X = checked_rows(self, X, self.kernel, reset=False)
        if self._coef.shape[1] == 0:
            return np.empty((length(X), 0))
        device = device_among(self, X, self._centers)
        values = evaluate_expansion(
            self.kernel_, X, self._centers, self._coef, self._offset, self.memory, device, np.float64
        )
        return self._typed(values, X)

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
        return self._typed(self.inverse_.predict(X), self.X_fit_)

    @property
    def expansion_(self) -> Expansion:
        """The components as functions of the kernel's space."""
        check_is_fitted(self)
        kernel = Precomputed(self.X_fit_) if is_precomputed(self.kernel) else self.kernel_
        return Expansion(kernel, self._centers, self._coef, self._offset)

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    # -- the steps of a fit -----------------------------------------------------------------------------------------

    def _fit(self, X: Rows) -> None:
        check_parameters(self)
        X = checked_rows(self, X, self.kernel, reset=True)
        if self.fit_inverse_transform:
            check_invertible(self.kernel, X)
        if self.copy_X and (is_tensor(X) or hasattr(X, "copy")):
            X = X.clone() if is_tensor(X) else X.copy()
        self.__dict__.pop("gamma_", None)
        if not isinstance(self.kernel, Kernel):
            self.gamma_ = 1.0 / X.shape[1] if self.gamma is None else self.gamma
        kernel, n = self._kernel(X), length(X)
        device, memory = place_of(self, X)
        count = n if self.n_components is None else min(n, self.n_components)
        solver = self._solver(n, count, memory)
        if solver == "nystroem":
            centers = min(n, max(200, 10 * count) if self.n_centers is None else self.n_centers)
            found = from_features(kernel, host_array(X), centers, min(count, centers), self.random_state, self.memory)
            values, vectors = found.eigenvalues, found.eigenvectors
            if self.n_components is not None and len(values) < count:
                warnings.warn(
                    f"KernelPCA: {centers} centres have only {len(values)} features, so that there are as many "
                    f"components and not {count}; use more centres, n_centers, or ask for fewer components",
                    stacklevel=4,
                )
        else:
            gram = square(X) if kernel is None else Gram(kernel, X, memory=memory, dtype=np.float64, device=device)
            means, values, vectors = self._decompose(gram, count, solver, memory)
        values = _check_psd_eigenvalues(values, enable_warnings=False)
        flipped, _ = svd_flip(u=vectors.copy(), v=None)
        order = values.argsort()[::-1]
        if self.remove_zero_eig or self.n_components is None:
            order = order[values[order] > 0]
        self.eigenvalues_, self.eigenvectors_ = values[order], flipped[:, order]
        if solver == "nystroem":
            signs = np.where((flipped * vectors).sum(axis=0)[order] < 0, -1.0, 1.0)
            self._centers, self._coef = found.centers, signs * found.directions[:, order]
            self._offset = -signs * found.offsets[order]
        else:
            roots = np.sqrt(self.eigenvalues_)
            coef = np.divide(self.eigenvectors_, roots, out=np.zeros_like(self.eigenvectors_), where=roots > 0)
            self._centers, self._coef = X if kernel is not None else np.arange(n), coef - coef.mean(axis=0)
            self._offset = -means @ self._coef
        self.kernel_, self.X_fit_, self.eigen_solver_ = kernel, X, solver
        self._learn_inverse(X)

    def _kernel(self, X: Any) -> Any:
        """Return the kernel, None if X holds its values."""
        if is_precomputed(self.kernel):
            return None
        options: dict[str, Any] = {name: getattr(self, name) for name in ("degree", "coef0", "kernel_params")}
        return resolve_kernel(self, self.kernel, X, gamma=getattr(self, "gamma_", None), **options)

    def _solver(self, n: int, count: int, memory: int) -> str:
        if self.eigen_solver == "auto":
            few = n > 200 and count < 10
            return "arpack" if few else "dense" if count == n or fits(n, memory) else "randomized"
        return "dense" if self.eigen_solver == "arpack" and count >= n else self.eigen_solver

    def _decompose(self, gram: Any, count: int, solver: str, memory: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the means of the matrix's columns, eigenvalues and eigenvectors."""
        names = ("tol", "max_iter", "iterated_power", "random_state")
        return decompose(gram, count, solver, memory=memory, **{name: getattr(self, name) for name in names})

    def _learn_inverse(self, X: Any) -> None:
        for name in ("inverse_", "dual_coef_", "X_transformed_fit_"):
            self.__dict__.pop(name, None)
        if not self.fit_inverse_transform:
            return
        scores = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
        # Names and functions mean the same for components, as in scikit-learn.
        kernel = kernel_of_scores(self.kernel_, scores) if isinstance(self.kernel, Kernel) else self.kernel_
        ridge = KernelRidge(
            self.alpha, kernel=kernel, memory=self.memory, random_state=self.random_state, assume_psd=True,
            device=device_among(self, X),
        )  # fmt: skip
        self.inverse_ = ridge.fit(scores, np.asarray(host_array(X), dtype=np.float64))
        self.dual_coef_, self.X_transformed_fit_ = self.inverse_.dual_coef_, scores

    def _typed(self, values: Any, X: Any) -> Any:
        """Return results in single precision for data in single precision."""
        if str(getattr(X, "dtype", None)).rpartition(".")[2] != "float32":
            return values
        return values.float() if is_tensor(values) else values.astype(np.float32)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = accepts_sparse(self.kernel) and not self.fit_inverse_transform
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
