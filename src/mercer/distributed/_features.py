"""Nyström features of the rows of a block, on the host or on a device of the worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.formula.data import Rows
from mercer.kernels import Kernel
from mercer.solvers.newton.features import NystroemFeatures

from ._block import RowBlock


@dataclass(frozen=True)
class SharedFeatures:
    """φ(x) = L⁻¹(k(z₁, x), …, k(z_m, x)), the same for all blocks."""

    kernel: Kernel
    centers: Rows
    triangle: np.ndarray
    device: Any  # where workers compute, on the host if None

    def of(self, block: RowBlock) -> NystroemFeatures:
        """Return the features of a block, computed when they are asked for."""
        problem = block.problem(self.kernel, True, 1, self.device)
        return NystroemFeatures(problem, self.centers, self.triangle, keep=False)
