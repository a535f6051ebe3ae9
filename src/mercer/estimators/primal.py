"""The weights of explicit features, for every model whose function is an expansion."""

from __future__ import annotations

import numpy as np

from mercer.arrays.budget import MemoryBudgetError
from mercer.expansion import Expansion

from .engine import in_the_kind_given


class PrimalForm:
    """A mixin for models with an ``expansion_``: the same function in the explicit features of its kernel."""

    @property
    @in_the_kind_given
    def coef_primal_(self) -> np.ndarray:
        """The weights w of f(x) = φ(x)ᵀw + b, shape (D,), or (D, q) of q functions, where φ is finite.

        ``expansion_.in_features().feature_map`` is φ: ``kernel_.feature_map(d)``, or for words and other features that
        only data tells, those of the centres.  Without finitely many features there is no such attribute.
        """
        function = self._find_function()
        try:
            return function.in_features().w
        except (ValueError, MemoryBudgetError) as error:
            raise AttributeError(f"this {type(self).__name__} has no coef_primal_: {error}") from None

    def _find_function(self) -> Expansion:
        """Return the function, or all of several as one expansion."""
        function: Expansion = self.expansion_  # type: ignore[attr-defined]
        return function
