"""Several kernels as one: a sum with weights that can be compared, whatever the kernels compare.

A kernel of strings may have values in the hundreds and one of vectors none above 1, so that weights of the kernels as
they are would say nothing.  Each is divided by its scale first: with shares p of the points that sum to 1,

    K_w = Σ w_k K_k / s_k,   s_k = Σᵢ pᵢ k_k(xᵢ, xᵢ) − Σᵢⱼ pᵢ pⱼ k_k(xᵢ, xⱼ),

which is the variance of the features of k_k, the mean of the diagonal of its centred matrix.  Models with an intercept
see nothing but the centred matrix: adding a constant to a kernel, or moving the origin of a linear one, changes nothing
in them, and so must not change weights.  Models without an intercept see the matrix itself, and s_k is the mean of its
diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import DTypeLike

from mercer.arrays.budget import require
from mercer.arrays.place import Place
from mercer.arrays.shapes import Axes
from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows, length
from mercer.gram import Gram
from mercer.kernels import Constant, Kernel

NOTHING = 1e-13  # of the mean |k(x, x)|: a variance up to which a kernel is constant to rounding


@dataclass(frozen=True)
class KernelMixture:
    """A weighted sum Σ w_k k_k / s_k of kernels.

    Parameters
    ----------
    kernels : tuple of m Kernels
        k₁, …, k_m.
    scales : array of shape (m,)
        s_k, 0 for kernels that are constant on the training points and so say nothing.
    weights : array of shape (m,) or (m, targets)
        w_k ≥ 0, one for all targets or one for each.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian, Linear, Spectrum
    >>> kernels, scales = (Linear(), Gaussian(), Spectrum(2)), np.array([4.0, 0.5, 9.0])
    >>> KernelMixture(kernels, scales, np.array([0.5, 0.5, 0.0])).kernel()
    0.125 * Linear() + Gaussian(length_scale=1.0)
    """

    kernels: Annotated[tuple[Kernel, ...], Axes("m+")]
    scales: Annotated[np.ndarray, Axes("m")]
    weights: Annotated[np.ndarray, Axes("m t?")]

    @property
    def factors(self) -> np.ndarray:
        """What each kernel is multiplied by, w_k/s_k, of the shape of the weights; 0 where there is no scale."""
        scales = self.scales.reshape(-1, *[1] * (self.weights.ndim - 1))
        return np.divide(self.weights, scales, out=np.zeros(self.weights.shape), where=scales > 0)

    def kernel(self, target: int | None = None) -> Kernel:
        """Return the sum as a kernel, that of one target where each has its own weights.

        Terms of weight 0 are left out.  If none is left it is ``Constant(0.0)``, whose only function is 0.
        """
        factors = self.factors if self.weights.ndim == 1 else self.factors[:, target]
        terms = [k if f == 1 else float(f) * k for k, f in zip(self.kernels, factors, strict=True) if f > 0]
        return sum(terms[1:], terms[0]) if terms else Constant(0.0)

    def weighted(self, weights: np.ndarray) -> KernelMixture:
        """Return the same kernels with other weights."""
        return replace(self, weights=np.asarray(weights, dtype=np.float64))

    @property
    def names(self) -> list[str]:
        """The kernels as they are written."""
        return [kernel.expression() for kernel in self.kernels]

    def __str__(self) -> str:
        """One line for each kernel, with its share of all weights; where targets have their own, the mean share."""
        total = self.weights.sum(axis=0)
        shares = self.weights / np.where(total > 0, total, 1.0)
        means = shares.reshape(len(shares), -1).mean(axis=1)
        return "\n".join(f"{mean:7.1%}  {name}" for mean, name in zip(means, self.names, strict=True))


@dataclass(frozen=True)
class KernelStack:
    """The matrices K_k/s_k of several kernels at the same n points, centred for models with an intercept.

    Parameters
    ----------
    mixture : KernelMixture
        The kernels and their scales, with equal weights that sum to 1.
    matrices : array of shape (m, n, n)
        K_k/s_k, zeros for a kernel without a scale.
    means : array of shape (m, n)
        The means of the rows of K_k/s_k before they were centred, zeros if they were not.
    """

    mixture: KernelMixture
    matrices: np.ndarray
    means: np.ndarray

    def mix(self, weights: np.ndarray) -> np.ndarray:
        """Return Σ w_k K_k / s_k in an array of its own."""
        n = self.matrices.shape[1]
        total = np.zeros((n, n), dtype=self.matrices.dtype)
        for weight, matrix in zip(weights, self.matrices, strict=True):
            if weight != 0:
                total += self.matrices.dtype.type(weight) * matrix
        return total


def stack_kernels(
    kernels: Sequence[Kernel],
    X: Rows,
    *,
    weights: np.ndarray | None = None,
    centred: bool = True,
    place: Place | None = None,
    dtype: DTypeLike = np.float64,
    room: float = 0.0,
) -> KernelStack:
    """Return the scaled matrices of several kernels, if they fit into the budget of a place.

    Parameters
    ----------
    kernels : sequence of m Kernels
        The kernels.
    X : collection of n objects
        The points.
    weights : array of shape (n,), optional
        Weights of the points, none of them negative.
    centred : bool, default=True
        Whether the matrices, and their scales, are those of features without their mean.
    place : Place, optional
        Where kernels are computed, and the budget; matrices are on the host in any case.
    dtype : dtype, default=float64
        Of the matrices; they are computed and centred in float64.
    room : float, default=0
        How many more matrices the caller will need.

    Raises
    ------
    MemoryBudgetError
        If they do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Constant, Linear
    >>> stack = stack_kernels([Linear(), 5.0 * Linear() + 7.0, Constant(2.0)], np.array([[1.0], [3.0]]))
    >>> stack.mixture.scales, stack.matrices[0]
    (array([1., 5., 0.]), array([[ 1., -1.],
           [-1.,  1.]]))
    >>> np.array_equal(stack.matrices[0], stack.matrices[1])
    True
    """
    place = Place.find(None, None) if place is None else place
    m, n, kind = len(kernels), length(X), np.dtype(dtype)
    require(
        (m * kind.itemsize + 8.0 * (2 + room)) * n * n,
        place.memory,
        f"the matrices of {m} kernels at {n} points",
        "give more memory, or fewer points or kernels",
    )
    shares = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    matrices, scales, row_means = np.empty((m, n, n), dtype=kind), np.empty(m), np.zeros((m, n))
    for i, kernel in enumerate(kernels):
        K = _read_matrix(kernel, X, place)
        size = float(shares @ np.abs(K.diagonal()))
        means = K @ shares
        if centred:
            K -= means
            K -= (means - shares @ means)[:, None]
        scale = float(shares @ K.diagonal())
        scales[i] = scale if scale > NOTHING * size else 0.0
        factor = 1.0 / scales[i] if scales[i] > 0 else 0.0
        np.multiply(K, factor, out=matrices[i])
        if centred:
            row_means[i] = factor * means
    return KernelStack(KernelMixture(tuple(kernels), scales, np.full(m, 1.0 / m)), matrices, row_means)


def _read_matrix(kernel: Kernel, X: Rows, place: Place) -> Any:
    """Return the matrix of a kernel in float64, on the host and to be overwritten."""
    K = host_array(Gram(kernel, X, memory=place.memory, device=place.device, dtype=np.float64).dense())
    return K if K.flags.writeable else K.copy()
