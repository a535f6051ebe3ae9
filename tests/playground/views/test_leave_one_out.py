from typing import Any

import numpy as np
import pytest

from mercer.playground.fitting import fit_state
from mercer.playground.presets import PRESETS
from mercer.playground.state import State
from mercer.playground.views import leave_one_out
from mercer.playground.views.leave_one_out import trace_penalty, tune


def leave_out_each(state: State, measure: str) -> float:
    """Return the error on points left out, by refits without each of them."""
    errors = []
    for i in range(state.n):
        model = fit_state(state.erase_point(i)).model
        at = state.x[[i]]
        if measure == "wrong":
            errors.append(model.predict(at)[0] != state.y[i])
        elif measure == "squares":
            target = state.y[i] if state.task == "regression" else 2 * state.y[i] - 1
            value = model.predict(at)[0] if state.task == "regression" else model.decision_function(at)[0]
            errors.append((target - value) ** 2)
        else:
            errors.append(-np.log(model.predict_proba(at)[0, state.y[i]]))
    return (
        float(np.sqrt(np.mean(errors)))
        if (measure, state.task) == ("squares", "regression")
        else float(np.mean(errors))
    )


@pytest.mark.parametrize(
    ("learner", "task", "measure"),
    [
        ("ridge", "regression", "squares"),
        ("ridge", "classification", "squares"),
        ("svm", "regression", "squares"),
        ("svm", "classification", "wrong"),
        ("neighbours", "regression", "squares"),
        ("neighbours", "classification", "wrong"),
    ],
)
def test_exact_curves_are_those_of_refits_without_each_point(
    learner: str, task: str, measure: str, line: State, plane: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leave_one_out, "COARSE", 4)
    state = (line if task == "regression" else plane).with_learner(learner)
    state = state.with_points(state.x[::2], state.y[::2])
    curve: Any = trace_penalty(fit_state(state))
    assert curve.way.startswith("exact")
    for position in (len(curve.values) // 3, len(curve.values) // 2):
        here = state.with_setting(curve.name, float(curve.values[position]))
        tolerance = 5e-3 if learner == "svm" else 1e-6  # machines are solved to a duality gap
        assert curve.errors[position] == pytest.approx(leave_out_each(here, measure), rel=tolerance)
    assert curve.current[0] == state.values[curve.name]
    assert curve.best[1] == curve.errors.min()
    assert (np.diff(curve.values) > 0).all()


def test_one_newton_step_is_near_refits_without_each_point() -> None:
    state = PRESETS["gaussians"].make(count=40, seed=1)
    curve = trace_penalty(fit_state(state.with_setting("alpha", 1.0)))
    assert curve.way == "one Newton step"
    here = state.with_setting("alpha", 1.0)
    assert curve.current[1] == pytest.approx(leave_out_each(here, "log"), rel=0.02)


def test_losses_have_a_curve_that_says_how_it_was_made(line: State, plane: State) -> None:
    smooth = trace_penalty(fit_state(line.with_learner("any_loss").with_setting("loss", "LogCosh")))
    assert "Newton" in smooth.way or "folds" in smooth.way
    corners = trace_penalty(fit_state(plane.with_learner("any_loss").with_setting("loss", "Hinge")))
    assert "corners" in corners.way
    assert np.isfinite(corners.errors).all()


def test_a_curve_is_given_up_when_somebody_says_so(line: State, plane: State) -> None:
    for learner in ("svm", "ridge", "any_loss"):
        assert trace_penalty(fit_state(plane.with_learner(learner)), stop=lambda: True) is None
    asked = iter([False] * 5 + [True] * 1000)
    assert trace_penalty(fit_state(plane.with_learner("svm")), stop=lambda: next(asked)) is None
    assert trace_penalty(fit_state(plane.with_learner("perceptron"))) is None


@pytest.mark.parametrize("learner", ["ridge", "neighbours"])
def test_tuning_takes_the_best_of_the_curve(learner: str, plane: State) -> None:
    state = plane.with_learner(learner)
    curve = trace_penalty(fit_state(state))
    assert tune(state).values[curve.name] == curve.best[0]
    assert trace_penalty(fit_state(tune(state))).current[1] <= curve.current[1] + 1e-12


def test_tuning_leaves_a_learner_without_a_penalty_alone(plane: State) -> None:
    state = plane.with_learner("parzen")
    assert tune(state).same(state)
