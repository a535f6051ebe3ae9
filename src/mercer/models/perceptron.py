"""The kernel perceptron."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.budget import parse_memory
from mercer.estimators.classifier import Classes, ValueClassifier
from mercer.estimators.engine import in_the_kind_given, where_the_data_lives
from mercer.estimators.kernel_argument import kernel_argument
from mercer.estimators.kernels import KernelLike
from mercer.estimators.targets import check_whole
from mercer.estimators.transaction import all_or_nothing
from mercer.formula.data import Rows, length
from mercer.kernels import Kernel
from mercer.messages import warn_caller
from mercer.solvers.perceptron.history import History
from mercer.solvers.perceptron.solver import Kept, Learnt, Perceptron
from mercer.solvers.plan import Plan


class KernelPerceptron(ValueClassifier):
    """The perceptron in the space of a kernel: it learns from its mistakes, one point after the other.

    For two classes, yᵢ = ±1, f starts at 0, and becomes f + yᵢ(k(xᵢ, ·) + 1) at every point with yᵢ f(xᵢ) ≤ 0.  More
    classes have one function each, and the largest wins; at a point where the true class is not ahead of all others,
    its function grows by k(xᵢ, ·) + 1 and that of the best of the others falls by as much.  A value of 0, or a tie, is
    a mistake, so that the first point always is.

    If the classes can be separated with margin γ, there are at most (R/γ)² mistakes in all (Novikoff).  If not, the
    function never settles, and the mean of all functions, or their vote, is far better than the last one.

    Parameters
    ----------
    kind : {"averaged", "plain", "voted"}, default="averaged"
        Whether to predict by the mean of the functions after each point seen, by the last function alone, or by the
        vote of all of them.  A vote costs as many sums at each new point as there were mistakes.
    kernel : Kernel, str or callable, optional
        As for :class:`~mercer.models.ridge.KernelRidge`; if not given, the Gaussian with 2σ² = d·Var(X), of the data of
        :meth:`fit` or of the first call of :meth:`partial_fit`.
    fit_intercept : bool, default=True
        Whether to use k + 1 in place of k, so that f has a constant, which is the sum of the coefficients.
    max_iter : int, default=10
        The most epochs, that is, passes over the data, of :meth:`fit`; it stops at one without a mistake.
    shuffle : bool, default=True
        Whether each epoch of :meth:`fit` has an order of its own; :meth:`partial_fit` takes points as they come.
    budget : int, optional
        The most vectors to keep; any number if not given.  Only for "plain": a mean or a vote is made of all vectors
        there ever were, and what the kept ones say of it is worse than the last function.
    forget : {"oldest", "smallest"}, default="oldest"
        Which vector leaves when there are more than the budget: the one that came in first, or the one with the
        smallest sum of absolute coefficients (of equals the oldest).  Never the one that has just come.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    random_state : int, RandomState or None, default=None
        The seed of the orders.
    assume_psd : bool, default=False
        Whether to use a mercer kernel even if it is refuted, that is, not positive semi-definite.

    Attributes
    ----------
    classes_ : array
        The labels.
    expansion_ : Expansion
        The mean function, or the last one if ``kind`` is not "averaged": one output for two classes, otherwise one for
        each class.  Its centres are the vectors kept.
    expansions_ : list of Expansion
        The same, one by one.
    kernel_ : Kernel
        The kernel used.
    plan_ : Plan
        How the work was arranged, the reason for it and the expected cost.
    n_iter_ : int
        Epochs, or calls of :meth:`partial_fit`, so far.
    n_mistakes_ : int
        Mistakes in all of them.
    mistakes_ : int array of shape (epochs,)
        Mistakes in each.
    history_ : History
        Every mistake in order, at which point and for which class, and each function that there was; not with a budget.
        It is part of model files.
    n_vectors_ : int
        How many vectors are kept.
    converged_ : bool
        Whether the last epoch made no mistake.
    radius_ : float
        R, the largest norm of a step: R² is the largest k(x, x) + 1 (k(x, x) without an intercept), and twice that for
        more than two classes, since a step changes two functions.
    margin_ : float
        γ = min yᵢ f(xᵢ) / ‖f‖ of the last function, if an epoch of :meth:`fit` made no mistake; 0 otherwise.
    novikoff_bound_ : float
        (R/γ)², which bounds the mistakes of any order of the data; infinite if ``margin_`` is 0.  It is not known on
        streams, and with a budget it is about the perceptron without one.
    n_features_in_, feature_names_in_ : int, array of str
        Number and names of the columns, if the data has columns and they have names.

    Notes
    -----
    The result is that of point after point, to rounding, however the work is arranged.  Kernel values are float32 if
    there are more than about 2,000 points and no budget; an epoch without mistakes is then confirmed in float64.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer.kernels import Gaussian
    >>> from mercer.models.perceptron import KernelPerceptron
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = KernelPerceptron(kernel=Gaussian(0.5), max_iter=50, random_state=0).fit(X, y)
    >>> model.score(X, y), model.converged_, bool(model.n_mistakes_ <= model.novikoff_bound_)
    (1.0, True, True)
    """

    classes_: Classes
    kernel_: Kernel
    plan_: Plan
    n_iter_: int
    n_mistakes_: int
    mistakes_: np.ndarray
    n_vectors_: int
    converged_: bool
    radius_: float
    margin_: float
    novikoff_bound_: float
    _kept: Kept

    def __init__(
        self,
        kind: Literal["averaged", "plain", "voted"] = "averaged",
        *,
        kernel: KernelLike | None = None,
        fit_intercept: bool = True,
        max_iter: int = 10,
        shuffle: bool = True,
        budget: int | None = None,
        forget: Literal["oldest", "smallest"] = "oldest",
        memory: float | str | None = None,
        random_state: Any = None,
        assume_psd: bool = False,
    ) -> None:
        self.kind = kind
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.budget = budget
        self.forget = forget
        self.memory = memory
        self.random_state = random_state
        self.assume_psd = assume_psd

    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Start anew, and go through labelled points until an epoch makes no mistake, or ``max_iter`` times.

        A fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points, of whatever kind the kernel takes.
        y : array of shape (n,)
            Their labels, numbers or texts, of at least two classes.
        sample_weight : float or array of shape (n,), optional
            The step that a mistake makes at each point, 1 if not given; points of weight 0 are left out.
        """
        with all_or_nothing(self):
            max_iter = check_whole(self, "max_iter", self.max_iter)
            found = self._learn(X, y, sample_weight, max_iter=max_iter)
        if self.kind == "plain" and not found.converged:
            warn_caller(
                f"{type(self).__name__}: the last of {max_iter} epochs still made {found.mistakes[-1]} mistakes, so "
                "that the last function is one of many; raise max_iter if the classes can be separated, and otherwise "
                f"use kind='averaged'{' without a budget' * (self.budget is not None)}",
                ConvergenceWarning,
            )
        return self

    @in_the_kind_given
    def partial_fit(self, X: Rows, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on from where the model is, through some points, once and in the order given.

        Points are new ones, even if they have been seen before.  A call that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The points.
        y : array of shape (n,)
            Their labels.
        classes : array, optional
            All labels that will ever come; the first call needs it.
        sample_weight : float or array of shape (n,), optional
            As in :meth:`fit`.
        """
        if kernel_argument(self).is_matrix:
            raise ValueError(
                f"{type(self).__name__}: partial_fit cannot know a precomputed kernel between these points and those "
                "before; use kernel=mercer.kernels.Precomputed(K) with positions as points, or fit"
            )
        with all_or_nothing(self):
            first = _check_partial_fit_first_call(self, classes)
            self._learn(X, y, sample_weight, self.classes_, first=first)
        return self

    @property
    def history_(self) -> History:
        """Every mistake in order, from which each function that there was can be rebuilt."""
        check_is_fitted(self)
        if len(self._kept.log.time) != self.n_mistakes_:
            raise AttributeError(
                f"{type(self).__name__}: there is no history_ with budget={self.budget}, since the vectors that left "
                "are gone; fit without a budget"
            )
        return History(self._kept, self.kernel_, bool(self.fit_intercept), self.classes_)

    @where_the_data_lives
    def decision_function(self, X: Rows) -> np.ndarray:
        """Return the values the classes are told by, for every class, or for the second of two.

        They are values of the mean function or the last one; or, for a vote, the share of the votes for each class, for
        two classes of those for the second less those for the first.

        Parameters
        ----------
        X : collection of m objects
            The points; with a precomputed kernel its values between them and all training points, shape (m, n).

        Returns
        -------
        array of shape (m,) or (m, classes)
        """
        check_is_fitted(self)
        points = self._kernel_argument().new_points(X)
        if self.kind != "voted":
            return self.expansion_(points, memory=self.memory)
        votes = self._kept.vote(self.kernel_, points, bool(self.fit_intercept), parse_memory(self.memory))
        return votes[:, 0] if votes.shape[1] == 1 else votes

    # -- the steps of a fit -----------------------------------------------------------------------------------------

    def _learn(
        self,
        X: Rows,
        y: Any,
        sample_weight: Any,
        classes: np.ndarray | None = None,
        max_iter: int | None = None,
        first: bool = True,
    ) -> Learnt:
        """Learn from points, all epochs of them or one pass, on top of what is kept unless they are the first."""
        self._check_parameters()
        data = self._check_labelled(X, y, sample_weight, classes, reset=first)
        kernel = self._resolve_kernel(self.kernel, data) if first else self.kernel_
        before = Kept(1 if len(data.classes) == 2 else len(data.classes)) if first else self._kept
        order = None
        if max_iter is not None and self.shuffle:
            order = partial(check_random_state(self.random_state).permutation, len(data.codes))
        memory = parse_memory(self.memory)
        solver = Perceptron(kernel, bool(self.fit_intercept), self.budget, self.forget, memory)
        found = solver.learn(before, data.points, data.codes, data.weights, max_iter or 1, order, data.kept)
        given = before.given + length(data.X)  # with points of weight 0 at the end
        found = replace(found, kept=replace(found.kept, given=given))
        self.classes_, self.kernel_ = data.classes, kernel
        if max_iter is None:  # a stream, of which nothing is kept
            self._forget()
        else:
            self._remember(data.X, y, sample_weight)
        self._keep(found, first)
        return found

    def _keep(self, found: Learnt, first: bool) -> None:
        """Keep what was learnt, on top of what calls before have left unless this is the first."""
        earlier = [] if first else self.mistakes_.tolist()
        self.mistakes_ = np.array([*earlier, *found.mistakes], dtype=np.int64)
        self.n_iter_, self.n_mistakes_ = len(self.mistakes_), int(self.mistakes_.sum())
        self.radius_ = found.radius if first else max(self.radius_, found.radius)
        self.margin_, self.novikoff_bound_ = found.margin, found.novikoff_bound
        self.plan_, self.converged_, self._kept = found.plan, found.converged, found.kept
        if self.kind != "plain" and len(found.kept.log.time) != self.n_mistakes_:
            raise ValueError(
                f"{type(self).__name__}: kind={self.kind!r} needs all vectors there ever were, but earlier calls had a "
                "budget; use kind='plain', or fit anew"
            )
        self.expansion_ = found.kept.expand(self.kernel_, self.kind == "averaged", bool(self.fit_intercept))
        self.n_vectors_ = len(found.kept.coef)

    def _check_parameters(self) -> None:
        name = type(self).__name__
        check_whole(self, "budget", self.budget, none=True)
        for parameter, known in (("kind", ("averaged", "plain", "voted")), ("forget", ("oldest", "smallest"))):
            given = getattr(self, parameter)
            if given not in known:
                raise ValueError(f"{name}: {parameter} must be one of {', '.join(map(repr, known))}; got {given!r}")
        if self.kind != "plain" and self.budget is not None:
            raise ValueError(
                f"{name}: kind={self.kind!r} needs all vectors there ever were, but budget={self.budget}; use "
                "kind='plain', or no budget"
            )
