"""What classifiers with a penalised loss share: values of all classes, and probabilities where the loss says such."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.arrays.tensors import host_array
from mercer.features.params import SOMETIMES
from mercer.formula.data import Rows, length
from mercer.losses import Loss
from mercer.losses.text import as_loss
from mercer.solvers.newton.left_out import leave_out
from mercer.solvers.newton.prepared import LossFit
from mercer.solvers.newton.sums import WeightedLoss, choose_logistic, weigh_loss

from .classifier import Labelled, ValueClassifier
from .engine import Method, in_the_kind_given, where_the_data_lives
from .penalized import PenalizedModel

LOO_LIMIT = 3000  # points times functions up to which one point at a time is left out for sets


def has_probabilities(model: Any) -> bool:
    """Whether the best output of the loss says how likely a class is; raise a reason if not."""
    loss = as_loss(model.loss)
    if not hasattr(loss, "predict_proba"):
        raise AttributeError(
            f"{type(model).__name__}: {loss!r} says which class is more likely, and not how likely it is; use "
            "loss='Logistic', 'Softmax', 'SquaredHinge' or 'Exponential'"
        )
    return True


def _if_probabilities(method: Method) -> Method:
    """Let a method be there only if there are probabilities."""
    return available_if(has_probabilities)(method)


def count_outputs(loss: Loss, classes: int) -> int:
    """Return how many functions there are: one for two classes, unless they are judged together; else one each."""
    return classes if loss.joint or classes > 2 else 1


class ProbabilityClassifier(ValueClassifier, PenalizedModel):
    """A classifier whose functions minimise a loss of classes; subclasses say which one that is for so many of them."""

    loss: Any
    _loo: Annotated[np.ndarray, SOMETIMES]

    @where_the_data_lives
    def decision_function(self, X: Rows) -> np.ndarray:
        """Return f(x) + b of the second of two classes, or of each of more; of logistic losses these are log-odds.

        Two classes that are judged together have a function each, and the value is the second less the first.

        Parameters
        ----------
        X : collection of m objects
            The points; with a precomputed kernel its values between them and all training points, shape (m, n).

        Returns
        -------
        array of shape (m,) or (m, classes)
        """
        values = self._evaluate(X)
        together = len(self.classes_) == 2 and values.ndim == 2
        return values[:, 1] - values[:, 0] if together else values

    @_if_probabilities
    @where_the_data_lives
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Return the probabilities of all classes, in the order of ``classes_``, where the loss says such.

        Each of several functions that are fitted one by one says how likely its class is against all others; these
        numbers are divided by their sum.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m, classes)
        """
        loss, outputs = self._evaluate_loss(X)
        return predict_classes(loss, outputs)

    @_if_probabilities
    @where_the_data_lives
    def predict_log_proba(self, X: Rows) -> np.ndarray:
        """Return the logarithms of the probabilities; of logistic losses they are finite also where those vanish.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m, classes)
        """
        loss, outputs = self._evaluate_loss(X)
        if loss.joint or outputs.shape[1] == 1:
            return loss.predict_log_proba(outputs)
        p = predict_classes(loss, outputs)
        with np.errstate(divide="ignore"):
            return namespace(p).log(p)

    @in_the_kind_given
    def leave_one_out(self) -> np.ndarray:
        """Return the decision values that each training point would get from a fit without it, by one Newton step.

        From the fit of all points, one step of Newton's method towards the fit without point i moves its outputs by
        −(I − CᵢᵢWᵢ)⁻¹CᵢᵢRᵢ, with C the covariance that the quadratic model gives outputs, W the curvature of the loss
        and R the residual.  That is near a refit where single points change the fit little; it is exact for squares.
        A fit with fewer centres than points moves among the functions of its centres, which stay the same.  The kernel
        and α are kept.  Computed when first asked for, from a factor of the n × n matrix, or in n·m² operations for m
        centres.  Points of weight 0 were left out anyway.

        Returns
        -------
        array of shape (n,) or (n, classes), as of :meth:`decision_function`
        """
        judge = self._find_judge()
        if judge is not self:
            return np.asarray(judge.leave_one_out())
        if "_loo" not in vars(self):
            self._loo = self._leave_one_out()
        return self._loo

    def _leave_one_out(self) -> np.ndarray:
        examples = self._find_examples("leave_one_out")
        data = self._check_labelled(examples.X, examples.y, examples.weights, reset=False)
        problem, loss = self._pose_problem(self.kernel_, data)
        if not loss.loss.smooth:
            raise ValueError(
                f"{type(self).__name__}.leave_one_out takes a Newton step, and {loss.loss!r} has corners, where there "
                "is none; use a smooth loss such as 'SquaredHinge' or 'Logistic', or SVC for the hinge"
            )
        found = leave_out(problem, loss, self._find_multiplier(float(data.weights.sum())), self.expansion_)
        outputs = found
        if len(data.kept) < length(data.X):
            outputs = np.array(host_array(self._evaluate(data.X))).reshape(-1, loss.outputs)
            outputs[data.kept] = found
        if outputs.shape[1] == 1:
            return outputs[:, 0]
        return outputs[:, 1] - outputs[:, 0] if len(self.classes_) == 2 else outputs

    def _find_multiplier(self, total: float) -> float:
        """Return α of the fit, for points of this weight in all."""
        return self._scale_penalty(total)

    def _leave_out(self) -> np.ndarray | None:
        """Leave points out one at a time where that takes no longer than a fit."""
        n, m = length(self._find_examples("predict_set").X), length(self.expansion_.centers)
        outputs = self.expansion_.coef.size // m if m else 1
        cheap = m < n or n * outputs <= LOO_LIMIT
        return self.leave_one_out() if self._fitted_loss().smooth and cheap else None

    def _evaluate_loss(self, X: Rows) -> tuple[Any, Array]:
        """Return the loss and the outputs of all points, of shape (m, Q)."""
        values = self._evaluate(X)
        return self._fitted_loss(), values.reshape(len(values), -1)

    def _choose_loss(self, classes: int) -> Loss:
        """Return the loss to fit so many classes with."""
        raise NotImplementedError

    def _fitted_loss(self) -> Loss:
        """Return the loss of the last fit."""
        return self._choose_loss(len(self.classes_))

    def _check_data(self, X: Rows, y: Any, sample_weight: Any) -> Labelled:
        data = self._check_labelled(X, y, sample_weight)
        self._remember(data.X, y, sample_weight)
        return data

    def _weigh(self, data: Labelled) -> WeightedLoss:
        classes = len(data.classes)
        loss = self._choose_loss(classes)
        return weigh_loss(loss, data.codes, data.weights, count_outputs(loss, classes))

    def _keep(self, fit: LossFit, loss: Loss, data: Any) -> None:
        self.classes_ = data.classes
        if data.kept is None:  # rows that stayed where they are
            self._forget()
        super()._keep(fit, loss, data)


class LogisticClassifier(ProbabilityClassifier):
    """A classifier whose functions are log-odds: of two classes with the logistic loss, of more with the softmax."""

    loss = "Logistic"

    def _choose_loss(self, classes: int) -> Loss:
        return choose_logistic(classes)


def predict_classes(loss: Any, outputs: Array) -> Array:
    """Return the probabilities of all classes, of shape (n, classes), from all outputs."""
    if loss.joint or outputs.shape[1] == 1:
        return loss.predict_proba(outputs)
    xp = namespace(outputs)
    p = xp.stack([loss.predict_proba(outputs[:, q : q + 1])[:, 1] for q in range(outputs.shape[1])], axis=1)
    total = xp.sum(p, axis=1)[:, None]
    return xp.where(total > 0, p / xp.where(total > 0, total, 1.0), 1.0 / p.shape[1])
