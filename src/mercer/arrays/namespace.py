"""One namespace for NumPy arrays and torch tensors, so that one algorithm serves the host and devices.

:func:`namespace` is the array API standard; the other functions are what the standard lacks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .tensors import host_array, is_tensor, load_torch


def namespace(first: Any) -> Any:
    """Return the functions of the array API standard for an array, a tensor, or the module of either.

    Examples
    --------
    >>> import numpy as np
    >>> namespace(np.zeros(2)).concat([np.zeros(1), np.ones(1)])
    array([0., 1.])
    """
    if is_tensor(first) or getattr(first, "__name__", "") == "torch":
        import array_api_compat.torch as torch_namespace

        return torch_namespace
    import array_api_compat.numpy as numpy_namespace

    return numpy_namespace


def cast(V: Any, like: Any) -> Any:
    """Return V in the precision of ``like``."""
    return V.to(like.dtype) if is_tensor(V) else V.astype(like.dtype, copy=False)


def put_beside(V: Any, values: Any) -> Any:
    """Return numbers in an array of the kind, precision and place of V.

    Examples
    --------
    >>> import numpy as np
    >>> put_beside(np.zeros(2, dtype=np.float32), [1.0, 2.0])
    array([1., 2.], dtype=float32)
    """
    return V.new_tensor(values) if is_tensor(V) else np.asarray(values, dtype=V.dtype)


def zeros_beside(V: Any, shape: tuple[int, ...]) -> Any:
    """Return zeros of the kind, precision and place of V."""
    return V.new_zeros(shape) if is_tensor(V) else np.zeros(shape, dtype=V.dtype)


def expit(V: Any) -> Any:
    """Return 1/(1 + exp(−V)).

    Examples
    --------
    >>> import numpy as np
    >>> expit(np.zeros(2))
    array([0.5, 0.5])
    """
    from scipy import special

    return V.sigmoid() if is_tensor(V) else special.expit(V)


def log_expit(V: Any) -> Any:
    """Return −ln(1 + exp(−V))."""
    from scipy import special

    return -softplus(-V) if is_tensor(V) else special.log_expit(V)


def softplus(V: Any) -> Any:
    """Return ln(1 + exp(V))."""
    return load_torch().logaddexp(V.new_zeros(()), V) if is_tensor(V) else np.logaddexp(0.0, V)


def softmax(V: Any) -> Any:
    """Return exp of each row over its sum."""
    from scipy import special

    return V.softmax(1) if is_tensor(V) else special.softmax(V, axis=1)


def log_softmax(V: Any) -> Any:
    """Return the logarithm of :func:`softmax`."""
    from scipy import special

    return V.log_softmax(1) if is_tensor(V) else special.log_softmax(V, axis=1)


def logsumexp(V: Any) -> Any:
    """Return ln Σ exp of each row."""
    from scipy import special

    return V.logsumexp(1) if is_tensor(V) else special.logsumexp(V, axis=1)


def einsum(subscripts: str, *operands: Any) -> Any:
    """Return sums of products."""
    sums = load_torch().einsum if is_tensor(operands[0]) else np.einsum
    return sums(subscripts, *operands)


def pick_entries(V: Any, columns: Any) -> Any:
    """Return one entry of each row, at a column of its own.

    Examples
    --------
    >>> import numpy as np
    >>> pick_entries(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0]))
    array([2., 3.])
    """
    if is_tensor(V):
        return V.gather(1, columns[:, None])[:, 0]
    return np.take_along_axis(V, columns[:, None], axis=1)[:, 0]


def count_weights(codes: Any, weights: Any, classes: int) -> np.ndarray:
    """Return the sum of weights of each class, as an array."""
    if is_tensor(codes):
        return np.asarray(host_array(load_torch().bincount(codes, weights, minlength=classes)))
    return np.bincount(codes, weights=weights, minlength=classes)


def mark_classes(codes: Any, classes: int) -> Any:
    """Return which of the classes each code is, a row for each."""
    names = load_torch().arange(classes, device=codes.device) if is_tensor(codes) else np.arange(classes)
    return codes[:, None] == names


def vdot(U: Any, V: Any) -> float:
    """Return the sum of products of all entries."""
    return float((U * V).sum()) if is_tensor(U) else float(np.vdot(U, V))


def add_to_diagonal(A: Any, value: Any) -> None:
    """Add to the diagonal of a matrix, in place."""
    if is_tensor(A):
        A.diagonal().add_(value)
    else:
        A.flat[:: len(A) + 1] += value
