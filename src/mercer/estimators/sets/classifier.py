"""Sets of classes for every classifier."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.tensors import host_array
from mercer.features.params import SOMETIMES
from mercer.formula.data import Rows, length, pick
from mercer.messages import warn_caller
from mercer.solvers.conformal.ranks import check_coverage, count_needed
from mercer.solvers.conformal.sets import Conformity, assign_folds, measure_scores

from ..engine import in_the_kind_given, lives_elsewhere
from ..intervals.rows import TrainingRows
from .judges import FoldJudge

MOVED = 0.5  # of the spread of scores: if leaving out a point changes them by more on average, it is no small change
FOLDS = 10  # models that are fitted where points are not left out one at a time
MADE = ("_examples", "_loo", "_conformity", "_judges")  # of an earlier fit


class SetClassifier:
    """A mixin of classifiers: sets of classes that hold the right one with a given probability.

    Models tell :meth:`_remember` what they were fitted to.  Those that leave points out one at a time say what they
    find in :meth:`_leave_out`; of the others, ten more are fitted to all points but a fold.
    """

    classes_: Any
    _conformity: Annotated[Conformity, SOMETIMES]
    _judges: Annotated[list[FoldJudge], SOMETIMES]  # of the folds; none if the model itself judges

    @in_the_kind_given
    def predict_set(self, X: Rows, coverage: float = 0.9, conditional: bool = False) -> np.ndarray:
        """Return for each point a set of classes that holds the right one with a probability of about ``coverage``.

        With the score s(x, c) = max f_j(x) − f_c(x) over other classes j, and sᵢ that of training point i and its class
        under a model without it, class c is in the set if fewer than coverage·(n + 1) points have sᵢ < s(x, c).  The
        class that is predicted always is.

        Where the model has ``leave_one_out`` at little cost, and one point changes scores by less than half of their
        spread on average, sᵢ come from there: the probability tends to the coverage.  Otherwise ten models without a
        tenth of the points each give sᵢ, and judge x too (CV+): the probability is then at least 2·coverage − 1, less
        about a tenth, for any exchangeable points, and about the coverage or more in practice.  Weights of points do
        not count.  All this is computed at the first call.

        Parameters
        ----------
        X : collection of m objects
            The points, as in :meth:`predict`.
        coverage : float, default=0.9
            Between 0 and 1.
        conditional : bool, default=False
            Whether sets hold the right class with this probability for the points of each class, and not only on the
            whole.  A class of fewer than coverage/(1 − coverage) points is then in every set, with a warning.

        Returns
        -------
        bool array of shape (m, classes)
            Which classes are in each set, in the order of ``classes_``.
        """
        check_is_fitted(self)
        share, judge = check_coverage(coverage, f"{type(self).__name__}.predict_set"), self._find_judge()
        if lives_elsewhere(X):
            raise ValueError(
                f"{type(self).__name__}.predict_set works on points that are here, and X is a Dask collection; pass "
                "X.compute(), or a part of it at a time"
            )
        if judge is not self:
            return np.asarray(judge.predict_set(X, share, conditional))
        self._calibrate_sets()
        own = measure_scores(self._class_values(X))
        rows = self._check_new(X) if self._judges else X
        judged = (judge.measure(rows, own.shape[1]) for judge in self._judges) if self._judges else iter([own])
        free = self._conformity.find_free(share, own.shape[1], conditional=conditional)
        if len(free):
            points = f"{np.count_nonzero(np.isin(self._conformity.codes, free))} points"
            names = ", ".join(map(repr, np.asarray(self.classes_)[free].tolist()))
            few = f"the classes {names}, of {points} in all, are" if conditional else f"with {points} all classes are"
            warn_caller(
                f"{type(self).__name__}.predict_set: {few} in every set, because a coverage of {share:g} takes at "
                f"least {count_needed(share)} points{' of a class' * conditional}; give more points or a lower coverage"
            )
        return self._conformity.choose(judged, share, conditional=conditional) | (own <= 0)

    @property
    def predict_interval(self) -> Any:
        """Absent for ``hasattr``: only least squares on labels of ±1 has a target that a decision value is to meet.

        The error says so, and where sets are; :class:`~mercer.models.ridge_classifier.KernelRidgeClassifier` has it.
        """
        raise AttributeError(
            f"{type(self).__name__} has no predict_interval: its decision values have no target that they could be "
            "compared with. predict_set(X, coverage) gives sets of classes that hold the right one, and "
            "KernelRidgeClassifier has intervals, because it fits the codes ±1 of labels"
        )

    # -- for subclasses ---------------------------------------------------------------------------------------------

    def _remember(self, X: Rows, y: Any, sample_weight: Any = None) -> None:
        """Keep what a fit was given, checked, and forget what was made of what earlier ones were given."""
        self._forget()
        n = length(X)
        weights = None if sample_weight is None else np.asarray(host_array(sample_weight), dtype=np.float64)
        weights = np.array(np.broadcast_to(weights, n)) if weights is not None else None
        self._examples = TrainingRows(X, np.asarray(host_array(y)).reshape(n, -1)[:, 0], weights)

    def _forget(self) -> None:
        for name in MADE:
            self.__dict__.pop(name, None)

    def _find_examples(self, method: str) -> TrainingRows:
        """Return what the last fit was given, or raise if that is not here."""
        check_is_fitted(self)
        found: TrainingRows | None = vars(self).get("_examples")
        if found is None:
            raise ValueError(
                f"{type(self).__name__}.{method} needs the training points, which are not kept by partial_fit, by fits "
                "on a cluster, and in files of support vector machines; fit the model here, or call "
                f"{method} before the model is saved, which keeps what it is made of"
            )
        return found

    def _find_judge(self) -> Any:
        """Return the model whose sets these are: itself, or one inside that was fitted to the same points."""
        return self

    def _class_values(self, X: Rows) -> np.ndarray:
        """Return the value of the second of two classes, or of each of more."""
        return np.asarray(host_array(self.decision_function(X)))  # type: ignore[attr-defined]

    def _leave_out(self) -> np.ndarray | None:
        """Return such values of the training points without each, or None if folds are to be fitted."""
        return None

    def _make_judge(self, codes: np.ndarray, weights: np.ndarray | None) -> Any:
        """Return a model like this one, to be fitted to some points, whose classes and weights are given."""
        return clone(self)

    def _check_new(self, X: Rows) -> Rows:
        """Return new points as they were checked in a fit."""
        argument: Any = self._kernel_argument  # type: ignore[attr-defined]
        return (argument() if callable(argument) else argument).check(X, reset=False)

    # -- how sets are made --------------------------------------------------------------------------------------------

    def _calibrate_sets(self) -> None:
        """Find the scores of all training points, unless they are known."""
        if "_conformity" in vars(self):
            return
        examples, classes = self._find_examples("predict_set"), np.asarray(self.classes_)
        there = np.isin(examples.y, classes)
        kept = np.flatnonzero(there if examples.weights is None else there & (examples.weights > 0))
        codes = np.searchsorted(classes, examples.y[kept]).astype(np.int64)
        folds, scores, judges = np.zeros(len(kept), dtype=np.int64), np.empty(len(kept)), list[FoldJudge]()
        values = self._leave_out()
        if values is not None:
            scores = _pick_own(measure_scores(values[kept]), codes)
            with_it = _pick_own(measure_scores(self._class_values(examples.X)[kept]), codes)
            if not np.mean(np.abs(scores - with_it)) <= MOVED * np.std(scores):
                values = None  # nothing is known of a model that single points turn around
        if values is None:
            folds = assign_folds(codes, FOLDS)
            for fold in range(int(folds.max()) + 1):
                held = folds == fold
                judges.append(self._fit_judge(examples, kept[~held], codes[~held]))
                found = judges[-1].measure(pick(examples.X, kept[held]), len(classes))
                scores[held] = _pick_own(found, codes[held])
        scores = np.where(np.isnan(scores), np.inf, scores)  # where nothing was left to fit
        self._conformity, self._judges = Conformity(scores, codes, folds), judges

    def _fit_judge(self, examples: TrainingRows, rows: np.ndarray, codes: np.ndarray) -> FoldJudge:
        """Return a model that is fitted to some of the points; of one class alone there is none."""
        known = np.unique(codes)
        columns = rows if self.__sklearn_tags__().input_tags.pairwise else None  # type: ignore[attr-defined]
        weights = None if examples.weights is None else examples.weights[rows]
        judge = FoldJudge(self._make_judge(codes, weights) if len(known) > 1 else None, known, columns)
        if judge.model is not None:
            examples.fit(judge.model, rows)
            judge.model.__dict__.pop("_examples", None)  # which nobody asks it for
        return judge


def _pick_own(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the score of each point and its own class."""
    return np.asarray(np.take_along_axis(scores, codes[:, None], axis=1)[:, 0])
