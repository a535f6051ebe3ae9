"""The ``kernels`` argument of an estimator that mixes several."""

from __future__ import annotations

from typing import Any

from mercer.estimators.kernel_argument import KernelArgument, TableArgument, kernel_argument
from mercer.formula.data import Rows
from mercer.kernels import Kernel
from mercer.kernels.base import show_given
from mercer.learning.length_scales import make_families, stretch

STRETCHES = (0.25, 0.75, 2.0, 8.0)  # of length scales of √d deviations, where no kernels are given


class KernelList(KernelArgument):
    """Several kernels: data is checked for their sum, and each is resolved on its own.

    Parameters
    ----------
    owner : estimator
        Whose argument it is.
    kernels : sequence of Kernels, names or functions
        The argument.
    """

    def __init__(self, owner: Any, kernels: Any) -> None:
        name = type(owner).__name__
        if isinstance(kernels, Kernel | str) or callable(kernels) or not hasattr(kernels, "__iter__"):
            raise TypeError(
                f"{name}: kernels must be a list such as [Gaussian().on('age'), Spectrum(3).on('dna')], got {kernels!r}"
            )
        self.each = list(kernels)
        if not self.each:
            raise ValueError(f"{name}: kernels is empty; give at least one, or None for Gaussians of four widths")
        for i, kernel in enumerate(self.each):
            if isinstance(kernel, str) and kernel == "precomputed":
                raise ValueError(
                    f"{name}: kernels[{i}] is 'precomputed', and X can be one matrix only; give Precomputed(K) for "
                    "each matrix K, and np.arange(len(K)) as X"
                )
            if isinstance(kernel, type) or not (isinstance(kernel, Kernel | str) or callable(kernel)):
                raise TypeError(
                    f"{name}: kernels[{i}] must be a mercer kernel such as Gaussian(), one of scikit-learn's names or "
                    f"a function of two rows; got {show_given(kernel)}"
                )
        known = [kernel for kernel in self.each if isinstance(kernel, Kernel)]
        # Names and functions take rows of numbers, and so must all others beside one of them.
        super().__init__(owner, sum(known[1:], known[0]) if len(known) == len(self.each) else "linear")

    def resolve_each(self, X: Rows) -> list[Kernel]:
        """Return the kernels of checked training data, each proved or searched."""
        return [kernel_argument(self.owner, kernel).resolve(X) for kernel in self.each]


class TableKernels(TableArgument):
    """No kernels: Gaussians from narrow to wide in the units of the columns, of which the widest is nearly linear."""

    def resolve_each(self, X: Rows) -> list[Kernel]:
        """Return the kernels of checked training data."""
        return [stretch(make_families(X)[-1], factor) for factor in STRETCHES]


def kernel_list(owner: Any) -> KernelList | TableKernels:
    """Return the argument ``kernels`` of an estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> kernel_list(SimpleNamespace(kernels=["linear", "rbf"])).resolve_each(np.zeros((3, 2)))
    [Linear(), Gaussian(length_scale=1.0)]
    """
    return TableKernels(owner, None) if owner.kernels is None else KernelList(owner, owner.kernels)
