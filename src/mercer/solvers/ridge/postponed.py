"""The fit of points that came one by one, computed when somebody asks for it.

A point that comes changes the factor at once, which is where a matrix that is not positive definite shows.  The
coefficients take one more pass through the factor and their evidence one through K; where many points follow each
other, only the last ones are ever looked at.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.expansion import Expansion
from mercer.kernels import Kernel

from ..base import Problem
from .fit import RidgeFit
from .online import OnlineRidge, Substitution


class PostponedFit:
    """The solution for the points that are there now, and its evidence, each computed when first asked for.

    It stays that of these points when others come or go: the factor is made anew then, if it is still asked for.

    Parameters
    ----------
    online : OnlineRidge
        The points and their factor.
    flat : bool
        Whether the targets have one dimension.
    name : str
        Who warns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Constant, Linear
    >>> online = OnlineRidge(Linear() + Constant(1.0), 1.0, memory=2**30)
    >>> online.add(np.array([[1.0], [4.0], [6.0], [9.0]]), np.array([[0.8], [4.1], [6.2], [8.5]]))
    >>> postponed = PostponedFit(online, flat=True)
    >>> online.remove([0])
    >>> postponed.function([[0.0], [1.0]]).round(4), postponed.record.converged
    (array([0.1018, 1.0564]), True)
    """

    kept = None  # all points have a weight

    def __init__(self, online: OnlineRidge, *, flat: bool, name: str = "OnlineRidge") -> None:
        self._online, self._flat, self._name = online, flat, name
        self._targets, self._weights = online.targets, online.weights
        self.points = online.points
        self._alpha, self._averaged = online.alpha, online.averaged
        self._problem, self.plan = online.pose(), online.plan
        self._solved: Substitution | None = None
        self._function: Expansion | None = None
        self._record: RidgeFit | None = None
        self.lock = online.lock  # whoever changes or reads the factor holds it
        online.record = self

    def __reduce__(self) -> str | tuple[object, ...]:
        return type(None), ()  # models compute what they have postponed before they are copied

    @property
    def latest(self) -> PostponedFit | RidgeFit:
        """The record, if it has been computed, and this if not."""
        return self if self._record is None else self._record

    @property
    def targets(self) -> np.ndarray:
        """The targets, as they were given."""
        return self._targets[:, 0] if self._flat else self._targets

    @property
    def problem_on_host(self) -> Problem:
        """What is to be solved."""
        return self._problem

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self._problem.kernel

    @property
    def function(self) -> Expansion:
        """The function: one pass through the factor, and one through K where the factor does not prove it right."""
        with self.lock:
            if self._function is None:
                online = self._open()
                solved = online.substitute()
                if online.proves(solved):
                    self._solved = solved
                    self._function = online.express(solved, flat=self._flat)
                else:
                    self._function = self.record.expansion
            return self._function

    @property
    def record(self) -> RidgeFit:
        """The function with its evidence: one pass through K more, and a warning if it has not converged."""
        with self.lock:
            if self._record is None:
                online = self._open()
                record = online.finish(flat=self._flat, name=self._name, solved=self._solved)
                if self._function is not None:  # somebody has it already
                    record = replace(record, expansion=self._function)
                self._record, self._function, self._solved = record, record.expansion, None
                online.record = record
            return self._record

    def _open(self) -> OnlineRidge:
        """Return a factor of these points."""
        if self._online.record is not self:
            settings = {"averaged": self._averaged, "fit_intercept": self._problem.fit_intercept}
            online = OnlineRidge(self.kernel, self._alpha, memory=self._problem.memory, **settings)
            online.add(self.points, self._targets, self._weights)
            self._online = online
            online.record = self
        return self._online
