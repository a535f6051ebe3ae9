"""The error on points left out, over the penalty: exactly where that is cheap, and otherwise said how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from mercer.estimators.classifier import choose_classes
from mercer.models import (
    KernelClassifierCV,
    KernelLogisticRegressionCV,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelRegressorCV,
    KernelRidgeClassifier,
    KernelRidgeCV,
)

from ..fitting import Fit, fit_state, guard
from ..learners import LEARNERS, Setting
from ..limits import round_number
from ..state import State

FINE, COARSE = 33, 8  # penalties of a path that one decomposition gives, and of one that takes refits
MOST_NEIGHBOURS = 60
MOST_REFITS = 400  # points that a machine is refitted without, each of which takes milliseconds
MOST_SECONDS = 5.0  # for a curve of refits, which then has the values there was time for
MACHINE_RANGE = (1e-2, 1e3)  # of C, beyond which machines take long and change little
MOST_AT_ONCE = 300  # points up to which several penalties are tried before anyone is asked whether to stop
AT_ONCE = 6  # penalties
MOST_STEPS = 60  # of a fit that is only compared
NEWTON = "one Newton step"
SQUARES = "root mean squared error"  # in units of the target
Stop = Callable[[], bool]


@dataclass(frozen=True, eq=False)
class PenaltyCurve:
    """The error on points left out, over a setting.

    Parameters
    ----------
    name : str
        The setting.
    values, errors : arrays of shape (p,)
        Its values in increasing order, and the error of each; infinite where rounding could have made it.
    error_name : str
        What is measured.
    way : str
        How: "exact", "one Newton step", or what was done in place of it.
    current, best : pairs of float
        The value chosen and its error, and the best of all with its own.
    """

    name: str
    values: np.ndarray
    errors: np.ndarray
    error_name: str
    way: str
    current: tuple[float, float]
    best: tuple[float, float]


@dataclass(frozen=True, eq=False)
class _Path:
    """Errors of some values, and what they are."""

    values: np.ndarray
    errors: np.ndarray
    error_name: str
    way: str


def go_on() -> bool:
    """Say that nobody wants to stop."""
    return False


def trace_penalty(fit: Fit, stop: Stop = go_on) -> PenaltyCurve | None:
    """Return the error on points left out over the penalty of the learner.

    Ridge and neighbours are exact, by formulas.  Support vector machines are exact by refits without each support
    vector only: a point with coefficient 0 has no part in the conditions that make the other coefficients optimal, so
    that the machine without it is the same.  These take time, so that the curve has fewer values if there is too little
    of it, those nearest to the current one.  Smooth losses are left out by one Newton step where that is verified to be
    accurate, and by folds where not; losses with corners by folds.

    Parameters
    ----------
    fit : Fit
        A fitted state.
    stop : function, optional
        Asked between fits; a curve is given up when it returns True.

    Returns
    -------
    PenaltyCurve or None
        None if the learner has no penalty, there are too many or too few points, or somebody stopped it.

    Raises
    ------
    PlayError
        If points cannot be left out, for example of a class that has only one.

    Examples
    --------
    >>> from mercer.playground.fitting import fit_state
    >>> from mercer.playground.presets import PRESETS
    >>> from mercer.playground.views.leave_one_out import trace_penalty
    >>> curve = trace_penalty(fit_state(PRESETS["sine"].make()))
    >>> curve.name, curve.way, curve.best[1] <= curve.current[1]
    ('alpha', 'exact', True)
    """
    state, learner = fit.state, LEARNERS[fit.state.learner]
    if learner.penalty is None or state.n < 3 or stop():
        return None
    setting = next(each for each in learner.list_settings(state.task) if each.name == learner.penalty)
    current = min(float(state.values[setting.name]), setting.top(state.n - 1))
    values = _choose_values(setting, state, current)
    with guard(fit.kernel, state.dim):
        found = _TRACES[state.learner](fit, values, stop)
    if found is None or stop():
        return None
    here = int(np.flatnonzero(found.values == current)[0])
    best = _pick_best(setting.name, found.errors)
    return PenaltyCurve(
        setting.name, found.values, found.errors, found.error_name, found.way, (current, float(found.errors[here])),
        (float(found.values[best]), float(found.errors[best])),
    )  # fmt: skip


def tune(state: State, stop: Stop = go_on) -> State:
    """Return the state with the penalty of least error on points left out; as it is, if there is no such curve.

    Examples
    --------
    >>> from mercer.playground.presets import PRESETS
    >>> from mercer.playground.views.leave_one_out import tune
    >>> state = PRESETS["sine"].make().with_setting("alpha", 1e4)
    >>> tune(state).settings["alpha"] < 10.0
    True
    """
    curve = trace_penalty(fit_state(state), stop)
    return state if curve is None else state.with_setting(curve.name, curve.best[0])


def _choose_values(setting: Setting, state: State, current: float) -> np.ndarray:
    """Return the values to try, with the current one among them."""
    if setting.whole:
        top = min(int(setting.top(state.n - 1)), MOST_NEIGHBOURS)
        return np.unique([*np.arange(1.0, top + 1), current])
    count = COARSE if state.learner == "svm" else FINE if state.learner == "ridge" else 2 * COARSE
    low, high = MACHINE_RANGE if state.learner == "svm" else (setting.low, setting.high)
    grid = np.geomspace(low, high, count)
    return np.unique([*(round_number(value) for value in grid), current])


def _pick_best(name: str, errors: np.ndarray) -> int:
    """Return the position of the least error; of equal ones that of the simplest function."""
    least = np.flatnonzero(errors <= errors.min() + 1e-12 * abs(errors.min()))
    return int(least[0] if name == "C" else least[-1])


# -- how points are left out ----------------------------------------------------------------------------------------


def _trace_ridge(fit: Fit, values: np.ndarray, stop: Stop) -> _Path | None:
    state = fit.state
    if state.task == "regression":
        found = KernelRidgeCV(values, kernel=fit.kernel, random_state=0).fit(state.x, state.y)
        return _Path(values, np.sqrt(found.path_["errors"])[0], SQUARES, "exact")
    model = KernelRidgeClassifier("loo", alphas=values, kernel=fit.kernel, random_state=0).fit(state.x, state.y)
    return _Path(values, np.asarray(model.loo_errors_), "mean squared error of f − (±1)", "exact")


def _trace_loss(fit: Fit, values: np.ndarray, stop: Stop) -> _Path | None:
    """Leave out as the searches of the library do, some penalties at a time, those nearest to the current one first."""
    state = fit.state
    current, start = float(state.values["alpha"]), monotonic()
    order = np.argsort(np.abs(np.log(values / current)), kind="stable")
    several = AT_ONCE if state.n <= MOST_AT_ONCE else 1
    parts = [np.sort(values[part]) for part in np.split(order, range(several, len(order), several))]
    errors: dict[float, float] = {}
    ways = set()
    while parts:
        if stop():
            return None
        if errors and monotonic() - start > MOST_SECONDS:
            break
        part = parts.pop(0)
        try:
            path = _build_search(fit, part).fit(state.x, state.y).path_
        except np.linalg.LinAlgError:  # of a penalty that is too small for the digits there are
            parts = [*np.split(part, len(part)), *parts] if len(part) > 1 else parts
            errors |= {float(part[0]): np.inf} if len(part) == 1 else {}
            continue
        losses = next(np.asarray(path[key]) for key in ("losses", "log_losses") if key in path)
        errors |= dict(zip(part.tolist(), losses[0].tolist(), strict=True))
        ways.add(NEWTON if path["by"] == "leave-one-out" else "folds, since one Newton step is not accurate here")
    if not ways:
        return None
    way = " and ".join(sorted(ways, reverse=True)) if _is_smooth(fit) else "folds, since the loss has corners"
    name = "log-loss" if state.learner == "logistic" else f"loss {state.values['loss']}"
    done = np.array(sorted(errors))
    return _Path(done, np.array([errors[value] for value in done.tolist()]), f"mean {name}", way)


def _build_search(fit: Fit, values: np.ndarray) -> Any:
    """Return the model that leaves points out for some penalties."""
    given: dict[str, Any] = {"kernel": fit.kernel, "max_iter": MOST_STEPS, "random_state": 0, "assume_psd": True}
    if fit.state.learner == "logistic":
        return KernelLogisticRegressionCV(values, **given)
    search = KernelRegressorCV if fit.state.task == "regression" else KernelClassifierCV
    return search(fit.state.values["loss"], values, **given)


def _is_smooth(fit: Fit) -> bool:
    return fit.state.learner == "logistic" or bool(fit.model.loss_.smooth)


def _trace_machine(fit: Fit, values: np.ndarray, stop: Stop) -> _Path | None:
    state = fit.state
    if state.n > MOST_REFITS:
        return None
    current, start = float(state.values["C"]), monotonic()
    errors: dict[float, float] = {}
    refits = 0
    for value in sorted(values.tolist(), key=lambda value: abs(np.log(value / current))):
        model = _build_machine(fit, value).fit(state.x, state.y)
        if state.task == "classification":
            try:
                left_out = model._leave_one_out(lambda: stop() or (bool(errors) and monotonic() - start > MOST_SECONDS))
            except InterruptedError:
                if stop():
                    return None
                break  # out of time
            refits += len(model.support_)
            errors[value] = _measure(state, model.classes_[choose_classes(model._show_decisions(left_out))])
            continue
        predicted = np.array(model.predict(state.x), dtype=np.float64)
        for i in model.support_.tolist():
            if stop():
                return None
            if errors and monotonic() - start > MOST_SECONDS:
                break
            predicted[i] = _predict_without(fit, value, i)
            refits += 1
        else:
            errors[value] = _measure(state, predicted)
            continue
        break  # out of time
    done = np.array(sorted(errors))
    found = np.array([errors[value] for value in done.tolist()])
    return _Path(done, found, _name_error(state), f"exact, by {refits} refits without a support vector")


def _build_machine(fit: Fit, price: float) -> Any:
    values = {**fit.state.values, "C": price}
    model = LEARNERS[fit.state.learner].build(fit.state.task, fit.kernel, values)
    return model.set_params(assume_psd=True)  # which the first fit has looked into


def _predict_without(fit: Fit, price: float, i: int) -> float:
    """Return what a machine says of a point that it was not fitted to."""
    x, y = np.delete(fit.state.x, i, axis=0), np.delete(fit.state.y, i)
    return float(_build_machine(fit, price).fit(x, y).predict(fit.state.x[i : i + 1])[0])


def _trace_neighbours(fit: Fit, values: np.ndarray, stop: Stop) -> _Path | None:
    """Vote among the nearest other points, for every number of them at once."""
    state = fit.state
    kind = KernelNeighborsRegressor if state.task == "regression" else KernelNeighborsClassifier
    most = int(values.max())
    nearest = np.asarray(kind(most, kernel=fit.kernel).fit(state.x, state.y).kneighbors(return_distance=False))
    targets = state.y[nearest]
    errors = []
    for count in values.astype(int).tolist():
        if state.task == "regression":
            predicted = targets[:, :count].mean(axis=1)
        else:
            classes = np.unique(state.y)
            votes = (targets[:, :count, None] == classes).sum(axis=1)
            predicted = classes[np.argmax(votes, axis=1)]
        errors.append(_measure(state, predicted))
    return _Path(values, np.array(errors), _name_error(state), "exact")


def _measure(state: State, predicted: np.ndarray) -> float:
    if state.task == "regression":
        return float(np.sqrt(np.mean((state.y - predicted) ** 2)))
    return float(np.mean(state.y != predicted))


def _name_error(state: State) -> str:
    return SQUARES if state.task == "regression" else "share of wrong classes"


_TRACES: dict[str, Callable[[Fit, np.ndarray, Stop], _Path | None]] = {
    "ridge": _trace_ridge, "logistic": _trace_loss, "any_loss": _trace_loss, "svm": _trace_machine,
    "neighbours": _trace_neighbours,
}  # fmt: skip
