"""What displays ask of a fitted estimator, of the last step of a pipeline, or of what an automatic model chose."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer.formula.data import Rows, length
from mercer.gram import Gram
from mercer.kernels import Kernel

VECTORS = (
    ("support_vectors_", "support vectors"),
    ("import_vectors_", "import vectors"),
)


def find_model(estimator: BaseEstimator) -> Any:
    """Return the estimator that has the kernel."""
    check_is_fitted(estimator)
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    return model.model_ if is_automatic(model) else model


def encode_rows(estimator: BaseEstimator, X: Rows) -> Rows:
    """Return the data as the estimator that has the kernel sees it."""
    if isinstance(estimator, Pipeline):
        X = estimator[:-1].transform(X) if len(estimator) > 1 else X
        estimator = estimator[-1]
    return estimator.encoder_.transform(X) if is_automatic(estimator) else X


def is_automatic(estimator: BaseEstimator) -> bool:
    """Whether an estimator encodes columns for a model that it chose, and may transform the target."""
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    return hasattr(model, "encoder_") and hasattr(model, "model_")


def get_kernel(owner: str, estimator: BaseEstimator) -> Kernel:
    """Return the kernel of a fitted estimator."""
    kernel = getattr(find_model(estimator), "kernel_", None)
    if not isinstance(kernel, Kernel):
        raise ValueError(f"{owner} needs a fitted estimator with a kernel_, and {type(estimator).__name__} has none")
    return kernel


def is_precomputed(estimator: BaseEstimator) -> bool:
    """Whether an estimator takes the Gram matrix itself."""
    kernel = getattr(find_model(estimator), "kernel", None)
    return isinstance(kernel, str) and kernel == "precomputed"


def find_vectors(estimator: BaseEstimator) -> tuple[np.ndarray | None, str]:
    """Return the points that carry a model in the space of the data, and what they are called; None if not to be had.

    The vectors of a pipeline are taken back through its transformers where those have an inverse.
    """
    model = find_model(estimator)
    if is_automatic(estimator):  # an encoding cannot be undone
        return None, ""
    for name, words in VECTORS:
        vectors = getattr(model, name, None)
        if vectors is None:
            continue
        try:
            if isinstance(estimator, Pipeline) and len(estimator) > 1:
                vectors = estimator[:-1].inverse_transform(np.asarray(vectors, dtype=np.float64))
            array = np.asarray(vectors, dtype=np.float64)
        except (AttributeError, TypeError, ValueError):
            return None, ""
        return (array, words) if array.ndim == 2 and array.size else (None, "")
    return None, ""


def sample(X: Rows, limit: int, random_state: int | None) -> np.ndarray:
    """Return the positions of all objects, or of a random part if there are many.

    Examples
    --------
    >>> sample([[1.0], [2.0]], 5, 0)
    array([0, 1])
    """
    n = length(X)
    if n <= limit:
        return np.arange(n)
    return np.sort(np.random.default_rng(random_state).choice(n, limit, replace=False))


def sample_gram(
    owner: str, K: ArrayLike | Gram, limit: int, random_state: int | None
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the positions of all points or of a random part, the kernel matrix of those, and how many there are."""
    shape = K.shape if isinstance(K, Gram) else np.shape(K)
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise ValueError(f"{owner}: a kernel matrix is square, got shape {tuple(shape)}")
    chosen = sample(np.empty(shape[0]), limit, random_state)
    rows = K.rows(chosen) if isinstance(K, Gram) else np.asarray(K)[chosen]
    return chosen, np.asarray(rows[:, chosen], dtype=np.float64), shape[0]


def check_labels(owner: str, y: ArrayLike, n: int) -> np.ndarray:
    """Return labels or targets as an array, one for each point."""
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"{owner}: there are {n} points, so y must have shape ({n},); got {labels.shape}")
    return labels
