"""What models share that are fitted with one penalty."""

from __future__ import annotations

from typing import Any, Self

from sklearn.callback import CallbackSupportMixin, with_callbacks

from mercer.formula.data import Rows

from .engine import where_the_data_lives
from .progress import report_progress
from .transaction import all_or_nothing


class SinglePenalty(CallbackSupportMixin):  # type: ignore[misc]
    """A mixin of penalised models, placed first: the fit with the penalty and the kernel that were given."""

    @with_callbacks  # type: ignore[untyped-decorator]
    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Fit to points and what is known of them; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points, of whatever kind the kernel takes.
        y : array of shape (n,) or (n, targets)
            Their labels, numbers or texts, of at least two classes; for a regression their targets.  Several targets
            are fitted with the same kernel and penalty, one function each.
        sample_weight : float or array of shape (n,), optional
            Weights that are not negative; a weight of 0 is as good as leaving the point out.
        """
        with report_progress(self, X, y), all_or_nothing(self):
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Rows, y: Any, sample_weight: Any) -> None:
        owner: Any = self
        owner._options()  # which checks them
        data = owner._check_data(X, y, sample_weight)
        kernel = owner._resolve_kernel(owner.kernel, data)
        loss = owner._weigh(data)
        owner._keep(owner._solve(kernel, data, loss), loss.loss, data)
