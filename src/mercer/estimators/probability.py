"""What classifiers with a penalised loss share: values of all classes, and probabilities where the loss says such."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.formula.data import Rows
from mercer.losses import Loss
from mercer.losses.text import as_loss
from mercer.solvers.newton.prepared import LossFit
from mercer.solvers.newton.sums import WeightedLoss, choose_logistic, weigh_loss

from .classifier import Labelled, ValueClassifier
from .engine import Method, where_the_data_lives
from .penalized import PenalizedModel


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
        return self._check_labelled(X, y, sample_weight)

    def _weigh(self, data: Labelled) -> WeightedLoss:
        classes = len(data.classes)
        loss = self._choose_loss(classes)
        return weigh_loss(loss, data.codes, data.weights, count_outputs(loss, classes))

    def _keep(self, fit: LossFit, loss: Loss, data: Any) -> None:
        self.classes_ = data.classes
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
