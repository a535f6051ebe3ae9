"""Several kernels as the kernel of a support vector machine, whose weights are learned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.formula.data import Rows, length, pick
from mercer.kernels import Kernel, Precomputed
from mercer.kernels.base import show_given
from mercer.learning.several.machines import WeighedKernels, WeightRule, weigh_machines
from mercer.solvers.machines.fit import MachineFit
from mercer.solvers.machines.problems import MachineProblems

from ..kernels import check_psd
from .argument import MachineArgument, with_weight


class SeveralArgument(MachineArgument):
    """Several mercer kernels; data is checked for their sum.

    Weights are learned from kernel matrices.  If these are of all points, and slow to compute, the machine is solved on
    their weighted sum.
    """

    uncut = (
        "weights of several kernels are not learned in partitions; learn them from some of the rows, and give their "
        "kernel_ as kernel"
    )

    def __init__(self, owner: Any, kernels: Any) -> None:
        self._each = list(kernels)
        self._known = bool(self._each) and all(isinstance(kernel, Kernel) for kernel in self._each)
        super().__init__(owner, sum(self._each[1:], self._each[0]) if self._known else "linear")

    def check(self, X: Rows, *, reset: bool) -> Rows:
        """Return data as the kernels take it, if these are mercer kernels and there is something to weigh them by."""
        if not self._known:
            example = "[Gaussian().on(['age']), Spectrum(3).on('dna')]"
            raise TypeError(
                f"{self.name}: several kernels must be mercer kernels such as {example}; got {show_given(self._each)}"
            )
        if self.owner.weights is None:
            raise ValueError(
                f"{self.name}: several kernels need weights; give weights='simple' or 'easy' to learn them, 'average', "
                f"or one number for each of the {len(self._each)} kernels"
            )
        return super().check(X, reset=reset)

    def weigh(self, X: Rows, problems: MachineProblems, seed: Any) -> WeighedKernels:
        """Learn the weights for the problems of checked training points."""
        self.train(X, problems.kept)
        if not self.owner.assume_psd:
            for kernel in self._each:
                check_psd(self.owner, kernel, with_weight(X, problems.kept))
        rule = self.owner.weights
        rule = rule if isinstance(rule, WeightRule) else WeightRule(rule)
        self._found = weigh_machines(
            rule, self._each, X, problems, self.place(X), random_state=seed, name=type(self.owner).__name__
        )
        return self._found

    def find_kernel(self) -> Kernel:
        """Return the kernel of the problems: the weighted sum, or its matrix if that is there."""
        found = self._found
        return found.mixture.kernel() if found.matrix is None else Precomputed(found.matrix)

    def points(self, X: Rows) -> Rows:
        """Return what this kernel takes: the points, or their numbers."""
        return X if self._found.matrix is None else np.arange(length(X))

    def show(self, kernel: Kernel) -> Kernel:
        """Return the weighted sum."""
        return self._found.mixture.kernel()

    def finish(self, fit: MachineFit, X: Rows) -> MachineFit:
        """Return the fit with the constants of the sum itself: the matrix is that of features without their mean.

        Coefficients of a machine have the sum 0, so that its function differs by a constant only.
        """
        matrix, support = self._found.matrix, fit.support
        if matrix is None or len(support) == 0:
            return fit
        row = self._found.mixture.kernel()(pick(X, support[:1]), pick(X, support))
        moved = (matrix[support[0], support] - row[0]) @ fit.coef
        return replace(fit, intercept=fit.intercept + moved)
