"""Products with K whose rows several devices share: each computes its own, all at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.arrays.place import Place
from mercer.gram import Gram

from .base import Problem
from .products import Products


class SharedProducts(Products):
    """K as iterations use it, on several devices of one machine.

    Every device has all points and computes the products of its share of the rows; numbers of the iteration, the
    diagonal and what a preconditioner asks for are on the first.  Where the matrix is kept, it is kept there, and the
    first alone multiplies by it.  A device that is named twice does the work of two, which tells what sharing costs
    where there is only one.

    Parameters
    ----------
    problem : Problem
        The problem, on the first device.
    devices : sequence of str or torch.device
        Where to compute; each has the budget of the problem.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.shared import SharedProducts
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> K = SharedProducts(Problem(Linear(), X, np.zeros((6, 1))), [None, None])
    >>> K.exact(np.ones((6, 1)))[:, 0], K.fast_rows(np.array([1, 5]), np.ones((6, 1)))[:, 0]
    (array([ 0., 15., 30., 45., 60., 75.]), array([15., 75.]))
    """

    def __init__(self, problem: Problem, devices: Sequence[Any]) -> None:
        super().__init__(problem)
        if not devices:
            raise ValueError("SharedProducts needs at least one device, got none; give names such as 'cuda:0'")
        self._places = [Place.find(device, problem.memory) for device in devices]
        self._everything = np.arange(problem.n)
        self._grams: list[dict[Any, Gram]] = []
        for place in self._places:
            here = replace(problem, X=put_points(problem.X, place), device=place.device)
            self._grams.append({kind: here.gram(dtype=kind) for kind in (np.float32, np.float64)})
        self._wholes: dict[Any, list[Gram]] = {}

    def fast(self, V: Array) -> Array:
        """K @ V to about six digits, or exactly where that costs the same."""
        if self._dense is not None:
            return super().fast(V)
        try:
            return self._multiply(np.float32 if self.single else np.float64, V)
        except OverflowError:  # values beyond float32
            self.give_up_single()
            return self.exact(V)

    def fast_rows(self, index: np.ndarray, V: Array) -> Array:
        """K[index] @ V, as precise as :meth:`fast`."""
        if self._dense is not None:
            return super().fast_rows(index, V)
        try:
            return self._multiply(np.float32 if self.single else np.float64, V, index)
        except OverflowError:
            self.give_up_single()
            return self._multiply(np.float64, V, index)

    def exact(self, V: Array) -> Array:
        """K @ V in float64."""
        if self._dense is not None and self._dense.dtype.itemsize == 8:
            return super().exact(V)
        return self._multiply(np.float64, V)

    def _multiply(self, kind: Any, V: Array, index: np.ndarray | None = None) -> Array:
        def multiply(share: tuple[Place, Gram]) -> Array:
            place, rows = share
            with place.be_current():
                return self.put(rows @ place.put(V))

        shares = self._cut(kind, index)
        with ThreadPoolExecutor(len(shares)) as pool:
            found = list(pool.map(multiply, shares))
        return namespace(found[0]).concat(found)

    def _cut(self, kind: Any, index: np.ndarray | None) -> list[tuple[Place, Gram]]:
        """Return the rows of each place that has some."""
        if index is None and kind in self._wholes:
            return list(zip(self._places, self._wholes[kind], strict=False))
        rows = np.array_split(self._everything if index is None else index, len(self._places))
        strips = [grams[kind].strip(some) for grams, some in zip(self._grams, rows, strict=True) if len(some)]
        if index is None:
            self._wholes[kind] = strips
        return list(zip(self._places, strips, strict=False))


def make_products(problem: Problem, devices: Sequence[Any] | None) -> Products:
    """Return the products of a problem, shared where there are several devices."""
    if devices is not None and len(devices) > 1:
        return SharedProducts(problem, devices)
    return Products(problem)


def put_points(X: Any, place: Place) -> Any:
    """Return a matrix of floats where it is computed with, once and not for each product; other points as they are."""
    if place.on_host or len(getattr(X, "shape", ())) != 2:
        return X
    if isinstance(X, np.ndarray):
        return place.put(X, X.dtype) if X.dtype in (np.float32, np.float64) else X
    return X.to(place.device) if hasattr(X, "device") and hasattr(X, "to") else X
