"""What conjugate gradients multiply and precondition with on a device; the iteration itself is the one of the host."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.arrays.tensors import host_array, load_torch, on_device
from mercer.linalg.pivoting import thin

from ...base import Problem
from ...products import width

BLOCK = 384  # pivots proposed at a time
WIDE = 48  # features from which reading entries from memory beats computing them again
RATE = {"cuda": 2e13, "cpu": 2e10}  # operations a second of matrix products in float64
ENTRIES = {"cuda": 2e12, "cpu": 1e8}  # kernel values a second
CACHED = 4


class DeviceProducts:
    """K on a device: fused float32 products to iterate with, float64 ones to certify with."""

    first_rank = 20.0  # √n times this is the rank that a preconditioner starts with: factors are cheap here
    share = 0.5  # of the budget that the preconditioner may take

    def __init__(self, problem: Problem) -> None:
        self.gram: Any = problem.gram(dtype=np.float64)
        self._fast: Any = problem.gram(dtype=np.float32)
        self._dense: Any = None
        self.device = problem.device
        self.flops = RATE.get(self.device.type, RATE["cpu"])
        self._keep = width(problem.X) >= WIDE and 4 * problem.n**2 <= problem.memory // 2

    @property
    def stored(self) -> bool:
        """Whether the whole matrix is kept in memory from its first product on."""
        return self._keep

    @property
    def single(self) -> bool:
        """Whether the fast product has float32 kernel values."""
        return self._fast is not None

    @property
    def seconds(self) -> float:
        """A rough time of one fast product, to be weighed against other work."""
        return 1e-4 + float(self.gram.shape[0]) ** 2 / ENTRIES.get(self.device.type, ENTRIES["cpu"])

    def place(self, V: Any) -> Any:
        """Return a column of numbers where the products take it."""
        return on_device(V, self.device, np.float64)

    def fast(self, V: Any) -> Any:
        """K @ V to about six digits."""
        if self._fast is None:
            return self.exact(V)
        if self._keep:
            self._dense = self._fast.dense() if self._dense is None else self._dense
            return (self._dense @ V.float()).double()
        try:
            return self._fast @ V
        except OverflowError:
            self.give_up_single()
            return self.exact(V)

    def exact(self, V: Any) -> Any:
        """K @ V in float64."""
        return self.gram @ V

    def give_up_single(self) -> None:
        """Make the fast product exact, because six digits turned out to be too few."""
        self._fast, self._dense, self._keep = None, None, False


class DevicePreconditioner:
    """P = FFᵀ + αW⁻¹ with F from randomly pivoted Cholesky, as on the host, in float64 on the device.

    F is kept as its transpose, in parts of some rows each, so that growing copies nothing.
    """

    def __init__(self, gram: Any, noise: Any, rank: int, rng: np.random.RandomState) -> None:
        torch = load_torch()
        self._gram, self._rng = gram, rng
        self._weights = 1.0 / noise
        self.residual = gram.diag().double().clone()
        self._diagonal = self.residual.clone()
        self._parts: list[Any] = []  # rows of Fᵀ, those of one call of grow() together
        self.pivots = np.empty(0, dtype=np.intp)
        self.exhausted = False
        self._inner = torch.zeros(0, 0, dtype=torch.float64, device=noise.device)
        self._solved: dict[float, Any] = {}
        self.grow(rank)

    @property
    def rank(self) -> int:
        """The number of columns of F."""
        return len(self.pivots)

    @property
    def factor(self) -> Any:
        """F, of shape (n, r): a copy, since it is kept in parts."""
        return load_torch().cat([self.residual.new_zeros(0, len(self.residual)), *self._parts]).T.contiguous()

    @property
    def residual_trace(self) -> float:
        """trace(K − FFᵀ)."""
        return float(self.residual.sum())

    def condition_bound(self, alpha: float) -> float:
        """Return 1 + trace(W(K − FFᵀ))/α, which the condition number of P⁻¹(K + αW⁻¹) does not exceed."""
        return 1.0 + float((self._weights * self.residual).sum()) / alpha

    def grow(self, rank: int) -> None:
        """Go on pivoting until F has ``rank`` columns, or as many as explain K to rounding."""
        torch = load_torch()
        floor = 32 * float(np.finfo(np.float64).eps)
        trace = float(self._diagonal.sum())
        if rank <= self.rank or self.exhausted:
            return
        before = self.rank
        room = torch.empty(rank - before, len(self.residual), dtype=torch.float64, device=self.residual.device)
        self._parts.append(room[:0])
        self._pivot(rank, before, room, floor, trace)
        if not len(self._parts[-1]):
            self._parts.pop()
        else:
            self._border(self._parts[-1])

    def _pivot(self, rank: int, before: int, room: Any, floor: float, trace: float) -> None:
        torch = load_torch()
        while self.rank < rank and not self.exhausted:
            left = float(self.residual.sum())
            if not left > floor * trace:
                self.exhausted = True
                return
            proposed = self._propose(min(BLOCK, rank - self.rank, max(8, rank // 8)))
            where = torch.as_tensor(proposed, device=self.residual.device)
            rows = [part[:, where] for part in self._parts]
            corner = self._gram.part(proposed).dense().double() - sum((row.T @ row for row in rows), start=0.0)
            known, sizes = host_array(self.residual[where]), host_array(self._diagonal[where])
            kept, triangle = thin(host_array(corner), known, floor * sizes, self._rng)
            gone = where[torch.as_tensor(np.flatnonzero(host_array(corner.diagonal()) <= floor * sizes))]
            self.residual[gone] = 0.0
            if len(kept):
                self._add(proposed[kept], triangle, room[self.rank - before :])
                self._parts[-1] = room[: self.rank - before]

    def solve(self, V: Any, alpha: np.ndarray) -> Any:
        """Return P⁻¹V for V of shape (n, m) and one α for each of its columns."""
        torch = load_torch()
        V = V * self._weights[:, None]
        if self.rank:
            inside = self._inner_solve(torch.cat([F @ V for F in self._parts]), alpha)
            start = 0
            for F in self._parts:
                V = V - self._weights[:, None] * (F.T @ inside[start : start + len(F)])
                start += len(F)
        return V / V.new_tensor(alpha)

    def _propose(self, count: int) -> np.ndarray:
        """Draw points with probability proportional to what is left of the diagonal."""
        torch = load_torch()
        ladder = torch.cumsum(self.residual, 0)
        draws = on_device(self._rng.uniform(size=count), ladder.device, np.float64) * ladder[-1]
        return np.unique(host_array(torch.searchsorted(ladder, draws, right=True).clamp_(max=len(ladder) - 1)))

    def _add(self, chosen: np.ndarray, triangle: np.ndarray, room: Any) -> None:
        """Write the rows of Fᵀ that belong to new pivots where there is room for them."""
        torch = load_torch()
        where = torch.as_tensor(chosen, device=self.residual.device)
        new = self._gram.rows(chosen).double()
        for part in self._parts:
            new -= part[:, where].T @ part
        inverse = torch.linalg.inv(on_device(triangle, new.device, np.float64))  # small, and a product is quicker
        new = torch.matmul(inverse, new, out=room[: len(chosen)])
        self.residual = (self.residual - new.square().sum(0)).clamp_(min=0.0)
        self.residual[where] = 0.0
        self.pivots = np.concatenate([self.pivots, chosen])

    def _border(self, new: Any) -> None:
        """Extend FᵀWF by the columns added last."""
        torch = load_torch()
        weighted = new * self._weights
        blocks = [part @ weighted.T for part in self._parts[:-1]]
        corner = new @ weighted.T
        if blocks:
            side = torch.cat(blocks)
            top, bottom = torch.cat([self._inner, side], 1), torch.cat([side.T, corner], 1)
            self._inner = torch.cat([top, bottom])
        else:
            self._inner = corner
        self._solved.clear()

    def _inner_solve(self, right: Any, alpha: np.ndarray) -> Any:
        torch = load_torch()
        if len(self._solved) > CACHED:
            self._solved.clear()
        out = torch.empty_like(right)
        for one in np.unique(alpha):
            if one not in self._solved:
                shift = max(one, 8 * float(np.finfo(np.float64).eps) * self.rank * float(self._inner.trace()))
                eye = torch.eye(self.rank, dtype=torch.float64, device=right.device)
                # Triangular solves with a few columns wait for themselves; a product with the inverse does not.
                self._solved[one] = torch.cholesky_inverse(torch.linalg.cholesky(self._inner + shift * eye))
            columns = np.flatnonzero(alpha == one) if (alpha != one).any() else slice(None)
            out[:, columns] = self._solved[one] @ right[:, columns]
        return out


def device_rank(n: int, share: float, memory: int) -> int:
    """Return the largest rank whose factor and inner matrix fit into the share of the budget."""
    return int(share * memory / (8 * n + 64 * math.sqrt(n)))
