"""A metric as a value: the linear map in front of a kernel, and which of its entries may differ from 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg

from mercer.arrays.namespace import put_beside
from mercer.kernels import Kernel, LinearMap


@dataclass(frozen=True, eq=False)
class Metric:
    """The distance ‖(x − z)R‖, whose square is (x − z)M(x − z)ᵀ with M = RRᵀ.

    Parameters
    ----------
    root : array of shape (d,) or (d, r)
        The diagonal of R, or R itself.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> Metric(np.array([1.0, 0.5])).put_before(Gaussian())
    Gaussian(length_scale=[1.0, 2.0])
    >>> Metric(np.array([[1.0], [2.0]])).matrix
    array([[1., 2.],
           [2., 4.]])
    """

    root: np.ndarray

    @property
    def matrix(self) -> np.ndarray:
        """M, of shape (d, d)."""
        return np.diag(self.root**2) if self.root.ndim == 1 else self.root @ self.root.T

    def map(self, X: Any) -> Any:
        """Return XR, as a tensor where X is one."""
        root = put_beside(X, self.root)
        return X * root if self.root.ndim == 1 else X @ root

    def scale(self, factor: float) -> Metric:
        """Return the metric in which all distances are multiplied."""
        return Metric(factor * self.root)

    def stretch(self, exponent: np.ndarray) -> Metric:
        """Return the metric of R(1 + (1 + E)²)/2, E being symmetric, or the diagonal of a matrix.

        It is R exp(E) up to terms of third order, and no direction is lost however large E is.
        """
        if exponent.ndim == 1:
            return Metric(self.root * 0.5 * (1.0 + (1.0 + exponent) ** 2))
        root = np.diag(self.root) if self.root.ndim == 1 else self.root
        moved = np.eye(len(exponent)) + exponent
        return Metric(0.5 * (root + root @ moved @ moved))

    def weigh(self, factors: np.ndarray) -> Metric:
        """Return the metric of data whose columns have to be multiplied before."""
        return Metric((factors if self.root.ndim == 1 else factors[:, None]) * self.root)

    def put_before(self, kernel: Kernel) -> Kernel:
        """Return the kernel in this metric: with a length scale for each feature, or after the map."""
        if self.root.ndim == 1 and (self.root > 0).all() and "length_scale" in kernel.get_params():
            own = kernel.get_params()["length_scale"]
            if np.ndim(own) == 0:
                return kernel.with_params(length_scale=(own / self.root).tolist())
        return kernel.after(LinearMap(np.diag(self.root) if self.root.ndim == 1 else self.root))


@dataclass(frozen=True)
class Structure:
    """Which entries of M may differ from 0: those on the diagonal, inside blocks of columns, or all.

    Parameters
    ----------
    name : str
        What to call it: "diagonal", "full" or "blocks".
    groups : tuple of int arrays, optional
        The blocks, disjoint positions of columns; other columns are blocks of their own.
    """

    name: str
    groups: tuple[Any, ...] = ()

    @classmethod
    def of_blocks(cls, blocks: Sequence[Sequence[int]]) -> Structure:
        """Return the structure of blocks of columns."""
        return cls("blocks", tuple(np.array(group, dtype=int) for group in blocks if len(group) > 1))

    @property
    def is_diagonal(self) -> bool:
        """Whether nothing but the diagonal is learned."""
        return self.name == "diagonal" or (self.name == "blocks" and not self.groups)

    def count_entries(self, d: int) -> int:
        """Return how many numbers there are to learn for d features.

        Examples
        --------
        >>> Structure("diagonal").count_entries(4), Structure("full").count_entries(4)
        (4, 10)
        """
        if self.name == "full":
            return d * (d + 1) // 2
        return d + sum(len(group) * (len(group) - 1) // 2 for group in self.groups)

    @cached_property
    def _inside(self) -> list[tuple[Any, ...]]:
        return [np.ix_(group, group) for group in self.groups]

    def restrict(self, matrix: np.ndarray) -> np.ndarray:
        """Return a symmetric matrix with zeros where it may not differ from 0; of a diagonal one the diagonal.

        Examples
        --------
        >>> import numpy as np
        >>> Structure("diagonal").restrict(np.ones((2, 2)))
        array([1., 1.])
        >>> Structure.of_blocks([[0, 1]]).restrict(np.ones((3, 3)))
        array([[1., 1., 0.],
               [1., 1., 0.],
               [0., 0., 1.]])
        """
        if self.is_diagonal:
            return np.array(np.diagonal(matrix))
        if self.name == "full":
            return 0.5 * (matrix + matrix.T)
        out = np.diag(np.diagonal(matrix))
        for inside in self._inside:
            out[inside] = 0.5 * (matrix[inside] + matrix[inside].T)
        return out

    def take_root(self, matrix: np.ndarray) -> Metric:
        """Return the metric whose M is a positive semi-definite matrix, restricted."""
        M = self.restrict(matrix)
        if M.ndim == 1:
            return Metric(np.sqrt(M))
        values, vectors = linalg.eigh(M)
        return Metric(vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T)
