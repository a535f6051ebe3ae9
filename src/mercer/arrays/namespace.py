"""One namespace for NumPy arrays and torch tensors, so that one algorithm serves the host and devices.

:func:`namespace` is the array API standard; the other functions are what the standard lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def empty(beside: Any, shape: tuple[int, ...]) -> Any:
    """Return room for numbers in float64, where ``beside`` is."""
    if is_tensor(beside):
        return load_torch().empty(shape, dtype=load_torch().float64, device=beside.device)
    return np.empty(shape)


def cast(V: Any, like: Any) -> Any:
    """Return V in the precision of ``like``."""
    return V.to(like.dtype) if is_tensor(V) else V.astype(like.dtype, copy=False)


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


def where(condition: Any, first: Any, second: Any) -> Any:
    """Return the first where the condition holds, and the second elsewhere; one of them may be a number."""
    return load_torch().where(condition, first, second) if is_tensor(condition) else np.where(condition, first, second)


def einsum(subscripts: str, *operands: Any) -> Any:
    """Return sums of products."""
    sums = load_torch().einsum if is_tensor(operands[0]) else np.einsum
    return sums(subscripts, *operands)


def entries(V: Any, columns: Any) -> Any:
    """Return one entry of each row, at a column of its own.

    Examples
    --------
    >>> import numpy as np
    >>> entries(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0]))
    array([2., 3.])
    """
    if is_tensor(V):
        return V.gather(1, columns[:, None])[:, 0]
    return np.take_along_axis(V, columns[:, None], axis=1)[:, 0]


def counts(codes: Any, weights: Any, classes: int) -> np.ndarray:
    """Return the sum of weights of each class, as an array."""
    if is_tensor(codes):
        return np.asarray(host_array(load_torch().bincount(codes, weights, minlength=classes)))
    return np.bincount(codes, weights=weights, minlength=classes)


def indicators(codes: Any, classes: int) -> Any:
    """Return which of the classes each code is, a row for each."""
    names = load_torch().arange(classes, device=codes.device) if is_tensor(codes) else np.arange(classes)
    return codes[:, None] == names


def identity(beside: Any, size: int) -> Any:
    """Return the identity matrix in float64."""
    if is_tensor(beside):
        return load_torch().eye(size, dtype=load_torch().float64, device=beside.device)
    return np.eye(size)


def stack(parts: Sequence[Any], axis: int) -> Any:
    """Return several arrays as one, along a new axis."""
    return load_torch().stack(list(parts), axis) if is_tensor(parts[0]) else np.stack(parts, axis=axis)


def orthonormal(V: Any) -> Any:
    """Return an orthonormal basis of the columns of V."""
    return (load_torch().linalg if is_tensor(V) else np.linalg).qr(V)[0]


def inverted(A: Any) -> Any:
    """Return the inverse of a small matrix."""
    return (load_torch().linalg if is_tensor(A) else np.linalg).inv(A)


def vdot(U: Any, V: Any) -> float:
    """Return the sum of products of all entries."""
    return float((U * V).sum()) if is_tensor(U) else float(np.vdot(U, V))


def add_to_diagonal(A: Any, value: Any) -> None:
    """Add to the diagonal of a matrix, in place."""
    if is_tensor(A):
        A.diagonal().add_(value)
    else:
        A.flat[:: len(A) + 1] += value


def factorised(A: Any) -> Any:
    """Return the Cholesky factor of a matrix, which is overwritten; raise LinAlgError where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> solved(factorised(np.array([[4.0, 0.0], [0.0, 2.0]])), np.array([4.0, 2.0]))
    array([1., 1.])
    """
    if is_tensor(A):
        L, info = load_torch().linalg.cholesky_ex(A)
        if int(info):
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        return L
    from scipy.linalg import cho_factor

    return cho_factor(A, lower=True, overwrite_a=True, check_finite=False)


def solved(factor: Any, V: Any) -> Any:
    """Return A⁻¹V for the factor of A, V one column or several."""
    if is_tensor(factor):
        columns = V[:, None] if V.ndim == 1 else V
        return load_torch().cholesky_solve(columns, factor).reshape(V.shape)
    from scipy.linalg import cho_solve

    return cho_solve(factor, V, check_finite=False)
