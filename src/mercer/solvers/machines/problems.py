"""From C, ν, ε, targets and weights to the dual problems of each support vector machine, and back to its function."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows, pick
from mercer.kernels import Kernel
from mercer.losses.corners import CornerLoss

from .dual import DualProblem, DualSolution, Part
from .pairs import list_pairs

if TYPE_CHECKING:
    from .smo import SMO

HARD = 1e10  # C = ∞ is this many times the reciprocal of the largest k(x, x)


class MachineForm:
    """A kind of machine: its dual problem on some points, and what a solution of that says."""

    weighs_classes: ClassVar[bool] = False  # whether weights of classes are weights of their points

    def problem(self, targets: np.ndarray, weights: np.ndarray, *, of_fold: bool = False) -> DualProblem:
        """Return the problem, from targets (±1 for classes) and positive weights, perhaps of points but a fold."""
        raise NotImplementedError

    def read(self, found: DualSolution, limits: SMO) -> tuple[np.ndarray, float]:
        """Return the coefficients of the points of a problem, and the intercept."""
        return found.beta, float(found.intercepts[0])

    def find_epsilon(self, found: DualSolution) -> float | None:
        """Return the ε that was found, if it is not given."""
        return None


@dataclass(frozen=True)
class Priced(MachineForm):
    """½‖f‖² + C Σ wᵢ ℓ(yᵢ, f(xᵢ) + b) for a loss with corners: C-SVC with the hinge, ε-SVR, and quantiles."""

    loss: CornerLoss
    C: float

    @property
    def weighs_classes(self) -> bool:  # type: ignore[override]
        """Whether there are classes."""
        return self.loss.task == "classification"

    def problem(self, targets: np.ndarray, weights: np.ndarray, *, of_fold: bool = False) -> DualProblem:
        """Return the problem, whose boxes are those of the loss times the prices."""
        pieces, prices = self.loss.pieces(targets), self.C * weights
        zeros = np.zeros(len(targets))
        return DualProblem(targets, prices * pieces.lower, prices * pieces.upper, zeros, epsilon=pieces.epsilon)


@dataclass(frozen=True)
class SharedMargin(MachineForm):
    """ν-SVC, where points of one sign come before those of the other; ``name`` is its estimator's, for messages."""

    nu: float
    name: str = "ν-SVC"

    def problem(self, targets: np.ndarray, weights: np.ndarray, *, of_fold: bool = False) -> DualProblem:
        """Return the problem of two classes, if the lighter one holds half of ν times all weight.

        Points that are left out may lower ν a little.
        """
        classes = [targets == sign for sign in (targets[0], -targets[0])]
        masses = [float(weights[chosen].sum()) for chosen in classes]
        largest = 2 * min(masses) / sum(masses)
        if self.nu > largest and not of_fold:
            raise ValueError(
                f"{self.name}: specified nu is infeasible: two classes of {masses[0]:g} and {masses[1]:g} points (or "
                f"weight) allow 0 < nu <= {largest:.6g}; got nu={self.nu}. Lower nu, or give the smaller class a "
                "larger sample_weight."
            )
        half = min(self.nu, largest) * weights.sum() / 2
        start = np.zeros(len(targets))
        for chosen in classes:
            start[chosen] = targets[chosen] * fill(weights[chosen], half)
        ends, second = targets * weights, int(np.flatnonzero(classes[1])[0])
        return DualProblem(np.zeros(len(targets)), np.minimum(ends, 0.0), np.maximum(ends, 0.0), start, second=second)

    def read(self, found: DualSolution, limits: SMO) -> tuple[np.ndarray, float]:
        """Divide by the margin ρ: f = −b₊ on the margin of the positive class, and f = −b₋ on that of the other."""
        positive = int(found.problem.upper[0] <= 0)  # the group whose coefficients may be positive
        plus, minus = found.intercepts[positive], found.intercepts[1 - positive]
        margin = (minus - plus) / 2
        if not margin > found.resolution:
            ended = 0 <= limits.max_iter <= found.n_iter or limits.max_time is not None  # perhaps by a limit
            early = "The solver may have stopped early: raise max_iter or max_time. "
            raise ValueError(
                f"{self.name}: the margin is {margin:.3g}, so that nothing separates two of the classes: their "
                f"(weighted) means can be made equal with nu={self.nu}. {early if ended else ''}Lower nu or tol, or "
                "change the kernel."
            )
        return found.beta / margin, float((plus + minus) / 2 / margin)


@dataclass(frozen=True)
class SharedTube(MachineForm):
    """ν-SVR."""

    C: float
    nu: float

    def problem(self, targets: np.ndarray, weights: np.ndarray, *, of_fold: bool = False) -> DualProblem:
        """Return the problem: first the coefficients of points above the tube, then of points below it."""
        bounds, zeros = self.C * weights, np.zeros(len(targets))
        start = fill(bounds, self.nu * bounds.sum() / 2)
        return DualProblem(
            np.concatenate([targets, targets]),
            np.concatenate([zeros, -bounds]),
            np.concatenate([bounds, zeros]),
            np.concatenate([start, -start]),
            second=len(targets),
        )

    def read(self, found: DualSolution, limits: SMO) -> tuple[np.ndarray, float]:
        """Add the coefficients of both sides; the constants of the sides are b + ε and b − ε."""
        n, (above, below) = found.problem.n // 2, found.intercepts
        return found.beta[:n] + found.beta[n:], float((above + below) / 2)

    def find_epsilon(self, found: DualSolution) -> float:
        """Return the ε for which ε-SVR has the same solution."""
        above, below = found.intercepts
        return float((above - below) / 2)


@dataclass(frozen=True)
class SharedRegion(MachineForm):
    """The one-class machine."""

    nu: float

    def problem(self, targets: np.ndarray, weights: np.ndarray, *, of_fold: bool = False) -> DualProblem:
        """Return the problem of points, which have no targets."""
        zeros = np.zeros(len(weights))
        return DualProblem(zeros, zeros, weights, fill(weights, self.nu * weights.sum()))


@dataclass(frozen=True)
class MachineProblems:
    """The dual problems that the targets of n points make: one, or one for each pair of classes.

    Parameters
    ----------
    form : MachineForm
        The kind of machine.
    targets : array of shape (n,)
        Numbers, or the positions of labels among the classes.
    weights : array of shape (n,)
        0 for points that take no part.
    classes, class_weight : arrays of shape (classes,), optional
        The labels, and factors of C for each.
    folds : RandomState, optional
        Chooses the folds that probabilities are fitted on, if they are wanted.
    calibration : {"sigmoid", "isotonic"}
        How they are fitted.
    """

    form: MachineForm
    targets: np.ndarray
    weights: np.ndarray
    classes: np.ndarray | None = None
    class_weight: np.ndarray | None = None
    folds: np.random.RandomState | None = None
    calibration: str = "sigmoid"

    @property
    def kept(self) -> np.ndarray:
        """The points that take part."""
        return np.flatnonzero(self.weights)

    @property
    def is_hard(self) -> bool:
        """Whether C is infinite."""
        return not np.isfinite(getattr(self.form, "C", 1.0))

    def cases(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the points of each problem, and their targets, ±1 for classes.

        Points of the first class of a pair come before those of the second.  The first is positive; of two classes in
        all it is the second, as everywhere in scikit-learn.
        """
        kept = self.kept
        if self.classes is None:
            return [(kept, self.targets[kept])]
        sign, found = -1.0 if len(self.classes) == 2 else 1.0, []
        for pair in list_pairs(len(self.classes)):
            first, second = (kept[self.targets[kept] == code] for code in pair)
            signs = np.repeat([sign, -sign], [len(first), len(second)])
            found.append((np.concatenate([first, second]), signs))
        return found

    def problem(self, index: np.ndarray, targets: np.ndarray, *, of_fold: bool = False) -> DualProblem:
        """Return the problem of some points with their targets."""
        return self.form.problem(targets, self.weigh(index), of_fold=of_fold)

    def parts(self) -> list[Part]:
        """Return the problems, each on some of the points."""
        return [(index, self.problem(index, targets)) for index, targets in self.cases()]

    def average(self) -> MachineProblems:
        """Return the same with C/Σw in place of C, w with the weights of classes: the price of the mean error."""
        form: Any = self.form
        return replace(self, form=replace(form, C=form.C / float(self.weigh(self.kept).sum())))

    def soften(self, kernel: Kernel, points: Rows) -> MachineProblems:
        """Return the same with a C that is finite, a number as good as infinity for the size of the kernel."""
        if not self.is_hard:
            return self
        largest = float(np.abs(kernel.diag(host_array(pick(points, self.kept)))).max())
        form: Any = self.form
        return replace(self, form=replace(form, C=HARD / largest if largest > 0 else HARD))

    def weigh(self, index: np.ndarray) -> np.ndarray:
        """Return the weights of some points, with those of their classes where these count."""
        weights = self.weights[index]
        if self.class_weight is not None and self.form.weighs_classes:
            weights = self.class_weight[self.targets[index]] * weights
        return weights


def fill(bounds: np.ndarray, total: float) -> np.ndarray:
    """Return numbers up to their bounds with a given sum, the first ones full.

    Examples
    --------
    >>> fill(np.array([1.0, 1.0, 1.0]), 1.5)
    array([1. , 0.5, 0. ])
    """
    before = np.concatenate([[0.0], np.cumsum(bounds)[:-1]])
    return np.clip(total - before, 0.0, bounds)
