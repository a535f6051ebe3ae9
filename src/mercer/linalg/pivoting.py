"""Randomly pivoted Cholesky: a low-rank approximation of a Gram matrix from a few of its rows.

Each pivot is drawn with probability proportional to what is still unexplained of the diagonal, which is nearly as
good as the best choice in expectation and needs only the diagonal and the pivots' rows (Chen, Epperly, Tropp and
Webber, "Randomly pivoted Cholesky", 2024).  Pivots are proposed in blocks and thinned by rejection (Epperly, Tropp and
Webber, "Embrace rejection", 2024), which draws from exactly the same distribution but in matrix products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.arrays.tensors import host_array, is_tensor

from .sums import add_product, divide_rows

BLOCK, DEVICE_BLOCK = 128, 384  # pivots proposed at a time, at most
ENTRIES = 2**22  # of the factor worked on at a time, so that copies stay small next to it
ROUNDING = 32  # units in the last place of the diagonal below which a residual is only rounding

Random = np.random.Generator | np.random.RandomState
Look = Callable[[np.ndarray], Array]


class SymmetricGram(Protocol):
    """What is needed of a Gram matrix, wherever it is."""

    def diag(self) -> Array:
        """Return the diagonal."""

    def rows(self, index: np.ndarray) -> Array:
        """Return some rows."""

    def part(self, index: np.ndarray) -> SymmetricGram:
        """Return the Gram matrix of some points."""

    def dense(self) -> Array:
        """Return the whole matrix."""


class PivotedCholesky:
    """F with FFᵀ ≈ K, to which pivots can be added: the factor of what is left, K − FFᵀ, continues the factor of K.

    Parameters
    ----------
    diagonal : array of shape (n,)
        The diagonal of K, where the factor is to be.
    rows : callable
        ``rows(indices)`` returns the rows K[indices].
    corner : callable
        ``corner(indices)`` returns K[indices][:, indices], so that only rows of accepted pivots are computed.
    rng : numpy Generator or RandomState
        Where randomness comes from.

    Attributes
    ----------
    pivots : int array of shape (r,)
        The points whose rows F reproduces, in the order they were chosen.
    parts : list of arrays of shape (·, n)
        The rows of Fᵀ, those of one call of :meth:`grow` together.
    residual : array of shape (n,)
        The diagonal of K − FFᵀ.
    exhausted : bool
        Whether F explains K to rounding, so that growing adds nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gram
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 4.0, 50).reshape(-1, 1)
    >>> F = PivotedCholesky.of(Gram(Gaussian(), X), np.random.default_rng(0))
    >>> F.grow(4), F.grow(9)
    (4, 5)
    >>> len(F.pivots), F.residual_trace < 0.1
    (9, True)
    >>> bool(np.allclose(F.triangle @ F.triangle.T, Gram(Gaussian(), X[F.pivots]).dense()))
    True
    """

    def __init__(self, diagonal: Array, rows: Look, corner: Look, rng: Random) -> None:
        self._xp = namespace(diagonal)
        self._diagonal = self._xp.astype(diagonal, self._xp.float64, copy=True)
        self._rows, self._corner, self._rng = rows, corner, rng
        self._floor = ROUNDING * float(np.finfo(np.float64).eps)
        self._trace = float(self._diagonal.sum())
        self.residual = self._diagonal + 0.0
        self.parts: list[Array] = []
        self.pivots = np.empty(0, dtype=np.intp)
        self.exhausted = False

    @classmethod
    def of(cls, gram: SymmetricGram, rng: Random) -> PivotedCholesky:
        """Return the factor of a Gram matrix, without pivots yet, where that is."""
        return cls(gram.diag(), gram.rows, lambda index: gram.part(index).dense(), rng)

    @property
    def factor(self) -> Array:
        """F, of shape (n, r): a copy, since it is kept in parts."""
        empty = self._xp.zeros((0, len(self.residual)), dtype=self._xp.float64, device=self.residual.device)
        return self._xp.concat([empty, *self.parts]).T

    @property
    def triangle(self) -> Array:
        """The rows of F at the pivots: the lower Cholesky factor of K there."""
        where = self._put(self.pivots)
        return self._xp.tril(self._xp.concat([part[:, where] for part in self.parts]).T)

    @property
    def residual_trace(self) -> float:
        """trace(K − FFᵀ), which bounds every norm of the error."""
        return float(self.residual.sum())

    def grow(self, rank: int, block: int | None = None) -> int:
        """Go on until there are ``rank`` pivots, or as many as explain K to rounding; return how many were added.

        ``block`` pivots are proposed at a time: if not given an eighth of those wanted, but at most 128 on the host and
        384 on a device.
        """
        xp, n = self._xp, len(self.residual)
        wanted = min(rank, n) - len(self.pivots)
        if wanted <= 0 or self.exhausted:
            return 0
        self._check_diagonal()
        most = DEVICE_BLOCK if is_tensor(self.residual) else BLOCK
        block = max(1, min(wanted, most, wanted // 8 if block is None else block))
        room, added = xp.empty((wanted, n), dtype=xp.float64, device=self.residual.device), 0
        self.parts.append(room[:0])
        while added < wanted and not self.exhausted:
            chosen, triangle = self._choose(min(block, wanted - added))
            if len(chosen):
                self._add(chosen, triangle, room[added : added + len(chosen)])
                added += len(chosen)
                self.parts[-1] = room[:added]
        if not added:
            self.parts.pop()
        return added

    def _check_diagonal(self) -> None:
        sizes = host_array(self._diagonal)
        if not np.isfinite(sizes).all() or (sizes < 0).any():
            worst = int(np.argmin(np.where(np.isfinite(sizes), sizes, -np.inf)))
            raise ValueError(
                f"the diagonal of a positive semi-definite matrix is finite and never negative, but entry {worst} is "
                f"{sizes[worst]}; check the kernel with k.certificate()"
            )

    def _choose(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Propose points and keep some; return them with the Cholesky factor of K − FFᵀ there."""
        xp = self._xp
        ladder = xp.cumulative_sum(self.residual)
        if not float(ladder[-1]) > self._floor * self._trace:
            self.exhausted = True
            return self.pivots[:0], np.zeros((0, 0))
        draws = self._put(self._rng.uniform(size=count) * float(ladder[-1]))
        proposed = np.minimum(host_array(xp.searchsorted(ladder, draws, side="right")), len(ladder) - 1)
        where = self._put(proposed)
        corner = self._corner(proposed)
        # Rounding in the values themselves, which are float32 for float32 data, cannot be told from a residual.
        values = host_array(corner)
        if values.dtype.kind == "f":
            self._floor = max(self._floor, ROUNDING * float(np.finfo(values.dtype).eps))
        left = xp.astype(corner, xp.float64, copy=True)
        for part in self.parts:
            rows = part[:, where]
            left = add_product(left.T, rows.T, rows, -1.0).T
        left, floor = np.asarray(host_array(left)), self._floor * host_array(self._diagonal[where])
        known = host_array(self.residual[where])
        kept, triangle = thin(left, known, floor, self._rng)
        # A residual that was only rounding, in full or for the most part, must not be proposed for ever.
        fresh = np.where(left.diagonal() <= floor, 0.0, left.diagonal())
        lost = fresh < known / 2
        self.residual[self._put(proposed[lost])] = self._put(fresh[lost])
        return proposed[kept], triangle

    def _add(self, chosen: np.ndarray, triangle: np.ndarray, new: Array) -> None:
        """Write the rows of Fᵀ that belong to new pivots."""
        xp, where = self._xp, self._put(chosen)
        new[:] = self._rows(chosen)
        T, step = self._put(triangle), max(1, ENTRIES // len(chosen))
        rows = [part[:, where].T for part in self.parts]
        for start in range(0, new.shape[1], step):
            columns = slice(start, start + step)
            left = new[:, columns] + 0.0
            for row, part in zip(rows, self.parts, strict=True):
                left = add_product(left.T, part[:, columns].T, row.T, -1.0).T
            new[:, columns] = divide_rows(T, left)
        new[:, where] = xp.triu(new[:, where])
        new[:, self._put(self.pivots)] = 0.0
        for start in range(0, new.shape[1], step):
            columns = slice(start, start + step)
            self.residual[columns] = xp.clip(self.residual[columns] - (new[:, columns] ** 2).sum(0), min=0.0)
        self.pivots = np.concatenate([self.pivots, chosen])
        self.residual[self._put(self.pivots)] = 0.0

    def _put(self, values: np.ndarray) -> Array:
        """Return numbers or positions beside the factor."""
        return self._xp.asarray(values, device=self.residual.device)


def thin(left: np.ndarray, proposed: np.ndarray, floor: np.ndarray, rng: Random) -> tuple[np.ndarray, np.ndarray]:
    """Keep each proposal with the probability that its residual, given those kept before, has to the one it had.

    Returns the positions kept and the Cholesky factor of ``left`` at them.
    """
    rest = left.diagonal().copy()
    draws = rng.uniform(size=len(left))
    kept: list[int] = []
    factor = np.zeros_like(left)
    for i in range(len(left)):
        if rest[i] <= max(draws[i] * proposed[i], floor[i]):
            continue
        done = factor[:, : len(kept)]
        direction = (left[:, i] - done @ done[i]) / np.sqrt(rest[i])
        factor[:, len(kept)] = direction
        rest -= direction**2
        kept.append(i)
    return np.array(kept, dtype=np.intp), np.tril(factor[kept, : len(kept)])
