"""Checks of data for estimators with a kernel: as strict as the kernel allows, because kernels take any objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.utils.validation import validate_data

from mercer.arrays.holes import name_holes
from mercer.formula.data import Rows, as_matrix, list_columns, refuse_masked
from mercer.formula.expression import Stat, nodes
from mercer.kernels import FromFeatures, Kernel
from mercer.kernels.fingerprints.data import count_members, holds_sets
from mercer.kernels.fingerprints.statistics import Common, CommonCounts
from mercer.kernels.mapping import LinearMap, Multiplied
from mercer.kernels.pullback import After, On

NUMERIC = ("real", "directions", "nonnegative", "bits")  # domains whose points are rows of numbers


def takes_vectors(kernel: Kernel) -> bool:
    """Whether every kernel of a composition looks at all columns, as numbers, if only after a linear map.

    Examples
    --------
    >>> from mercer.kernels import Custom, Gaussian, Linear, Overlap
    >>> takes_vectors(Gaussian() + Linear()), takes_vectors(Gaussian() + Custom(max))
    (True, False)
    """
    if isinstance(kernel, After) and isinstance(kernel.map, LinearMap):
        return takes_vectors(kernel.kernel)
    if isinstance(kernel, On | After | FromFeatures) or kernel.domain not in NUMERIC:
        return False
    return all(takes_vectors(part) for part in kernel.get_params(deep=False).values() if isinstance(part, Kernel))


def takes_sparse(kernel: object) -> bool:
    """Whether every statistic in a kernel's formula can be computed from sparse matrices.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Laplacian, Linear
    >>> takes_sparse(Gaussian() + 2.0 * Linear()), takes_sparse(Laplacian())
    (True, False)
    """
    if not isinstance(kernel, Kernel):
        return False
    found = [node.statistic for node in nodes(kernel.traced()) if isinstance(node, Stat)]
    dense = [any(isinstance(step, Multiplied) for step in statistic.view.steps) for statistic in found]
    return all(made or getattr(statistic, "takes_sparse", False) for made, statistic in zip(dense, found, strict=True))


def takes_structures(kernel: Kernel) -> bool:
    """Whether some kernel of a composition takes objects with parts of their own, which are never rows of a table.

    Examples
    --------
    >>> from mercer.kernels import Custom, Gaussian, Spectrum
    >>> takes_structures(Spectrum(2) + 1.0), takes_structures(Gaussian() + Custom(max))
    (True, False)
    """
    if isinstance(kernel, On | After | FromFeatures):
        return False
    parts = [part for part in kernel.get_params(deep=False).values() if isinstance(part, Kernel)]
    return bool(getattr(kernel, "structured", False)) or any(takes_structures(part) for part in parts)


def takes_sets(kernel: Kernel) -> bool:
    """Whether every statistic in a kernel's formula can be computed from sets of hashes.

    Examples
    --------
    >>> from mercer.kernels import Linear, Tanimoto
    >>> takes_sets(2.0 * Tanimoto()), takes_sets(Tanimoto() + Linear())
    (True, False)
    """
    found = [node.statistic for node in nodes(kernel.traced()) if isinstance(node, Stat)]
    return bool(found) and all(isinstance(statistic.source, Common | CommonCounts) for statistic in found)


def validate_numbers(estimator: BaseEstimator, X: Rows, *, reset: bool, accept_sparse: Any = "csr") -> Any:
    """Return the data as rows of finite numbers, by scikit-learn's rules; its messages say where and what to do."""
    refuse_masked(X, type(estimator).__name__)  # scikit-learn would bring masked entries back in silence
    try:
        return validate_data(estimator, X, reset=reset, accept_sparse=accept_sparse, dtype=[np.float64, np.float32])
    except (TypeError, ValueError) as error:
        raise _explain_numbers(estimator, X, error) from None


def _explain_numbers(estimator: BaseEstimator, X: Rows, error: TypeError | ValueError) -> Exception:
    """Return scikit-learn's error about data with the place, and with what takes such data."""
    name, (head, _, _) = type(estimator).__name__, str(error).partition("\n")
    if "could not convert" in head or "argument must be" in head:
        try:
            as_matrix(X, name, allow_sparse=True)
        except (TypeError, ValueError) as found:
            return type(error)(f"{found} ({head})")
    if "contains NaN" not in head and "contains infinity" not in head:
        return error
    try:
        table = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        head = f"{head.removesuffix('.')}: {name_holes(table, list_columns(X))}."
    except (TypeError, ValueError, IndexError):  # scikit-learn has other ways to read numbers
        pass
    auto = "AutoClassifier" if is_classifier(estimator) else "AutoRegressor" if is_regressor(estimator) else None
    instead = f"drop their rows, or use mercer.{auto}, which takes missing values as they are"
    return ValueError(
        f"{head} {name} takes finite numbers only: impute the others, as in make_pipeline(SimpleImputer(), {name}()), "
        f"{instead if auto else 'or drop their rows'}."
    )


def validate_rows(estimator: BaseEstimator, X: Rows, kernel: Kernel, *, reset: bool) -> Rows:
    """Return the data as its kernel can take it, with number and names of columns compared with those at fit.

    Vectors are checked by scikit-learn's rules.  Anything else stays as it is, and the kernel says what is wrong with
    it: which objects, or which columns of a frame, may hold what is for each kernel of the composition to know.
    """
    sets = holds_sets(X) and takes_sets(kernel)
    if takes_vectors(kernel) and not sets:
        return validate_numbers(estimator, X, reset=reset)
    refuse_masked(X, type(estimator).__name__)
    if sets or takes_structures(kernel):
        if reset:  # the length of an object is no number of columns
            for name in ("n_features_in_", "feature_names_in_"):
                vars(estimator).pop(name, None)
        return count_members(X, type(estimator).__name__) if sets else X
    if sparse.issparse(X):
        X = sparse.csr_array(X)
    elif not hasattr(X, "__len__") and hasattr(X, "__array__"):
        X = np.asarray(X)
    elif isinstance(X, list | tuple):
        try:
            table = np.asarray(X)
        except ValueError:  # objects of different lengths
            table = np.empty(0)
        if table.ndim == 2 and table.dtype.kind in "biuf":  # rows of numbers, whose length is then known
            X = table
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return X
