import copy
import pickle

import numpy as np
import pytest

from mercer.playground.learners import LEARNERS
from mercer.playground.limits import LARGEST, MOST_POINTS
from mercer.playground.state import PlayError, State, find_view


def test_a_state_is_not_touched_by_what_happens_to_its_arrays() -> None:
    x, y = np.array([[0.0], [1.0]]), np.array([1.0, 2.0])
    state = State("regression", x, y)
    x[0], y[0] = 9.0, 9.0
    assert state.x[0, 0] == 0.0
    assert state.y[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        state.x[0] = 1.0
    with pytest.raises(TypeError):
        state.settings["alpha"] = 1.0  # type: ignore[index]


def test_a_state_can_be_copied_and_pickled(plane: State) -> None:
    state = plane.with_setting("C", 3.0)
    for again in (copy.copy(state), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert again.same(state)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"task": "dancing"}, "regression or classification"),
        ({"x": [[0.0], [np.nan]]}, "not finite"),
        ({"x": [[0.0], [2 * LARGEST]]}, "larger unit"),
        ({"x": [[0.0, 1.0], [1.0, 2.0]]}, "1 input"),
        ({"y": [1.0]}, "shape"),
        ({"y": ["a", "b"]}, "numbers"),
        ({"kernel": "Gausian(1)"}, "did you mean Gaussian"),
        ({"kernel": "Spectrum()"}, "no kernel of points"),
        ({"kernel": "__import__('os')"}, "cannot read"),
        ({"learner": "magic"}, "no learner"),
        ({"learner": "perceptron"}, "does no regression"),
        ({"settings": {"gamma": 1.0}}, "no setting"),
        ({"settings": {"alpha": -1.0}}, "lies between"),
        ({"settings": {"alpha": True}}, "lies between"),
        ({"settings": [1]}, "values by name"),
        ({"view": (1.0, 0.0, 0.0, 1.0)}, "in order"),
        ({"view": ("a", 0, 0, 1)}, "numbers"),
        ({"names": ("x",)}, "two texts"),
    ],
)
def test_what_no_state_can_be_is_refused_in_words(change: dict, words: str) -> None:
    good = {"task": "regression", "x": [[0.0], [1.0]], "y": [1.0, 2.0]}
    with pytest.raises(PlayError, match=words):
        State(**{**good, **change})


def test_classes_are_small_whole_numbers() -> None:
    for wrong in ([0, 6], [0, -1], [0, 0.5]):
        with pytest.raises(PlayError, match="whole numbers from 0 to 5"):
            State("classification", [[0.0, 1.0], [1.0, 0.0]], wrong)


def test_sizes_are_refused_before_anything_is_copied() -> None:
    with pytest.raises(PlayError, match="Take a sample"):
        State("regression", [[0.0]] * (MOST_POINTS + 1), [0.0] * (MOST_POINTS + 1))


def test_points_are_added_moved_and_erased_where_the_picture_has_them(line: State, plane: State) -> None:
    for state in (line, plane):
        more = state.add_point((0.25, 0.5), 1)
        np.testing.assert_array_equal(more.positions[-1], [0.25, 0.5])
        moved = more.move_point(more.n - 1, (0.5, 0.75))
        np.testing.assert_array_equal(moved.positions[-1], [0.5, 0.75])
        assert moved.erase_point(moved.n - 1).same(state)
        for away in (-1, state.n):
            with pytest.raises(PlayError, match="no point"):
                state.erase_point(away)
    assert plane.add_point((0.0, 0.0), 1).move_point(plane.n, (1.0, 1.0)).y[-1] == 1


def test_another_task_keeps_points_where_they_are(line: State, plane: State) -> None:
    for state, task in ((line, "classification"), (plane, "regression")):
        other = state.with_task(task)
        np.testing.assert_array_equal(other.positions, state.positions)
        np.testing.assert_array_equal(other.with_task(state.task).positions, state.positions)
        assert other.task in LEARNERS[other.learner].tasks
    assert plane.with_learner("perceptron").with_task("regression").learner == "ridge"
    assert plane.with_kernel("Gaussian([1.0, 2.0])").with_task("regression").kernel == "Gaussian(1.0)"
    assert line.with_learner("svm").with_setting("epsilon", 0.3).with_task("classification").settings == {}


def test_a_state_without_points_can_be_kept() -> None:
    empty = State("classification", [], [])
    assert empty.n == 0
    assert empty.with_task("regression").add_point((0.0, 1.0)).n == 1


def test_a_learner_keeps_settings_of_the_same_name(plane: State) -> None:
    state = plane.with_learner("ridge").with_setting("alpha", 3.0)
    assert state.with_learner("logistic").settings == {"alpha": 3.0}
    assert state.with_learner("svm").settings == {}


def test_settings_are_held_to_what_the_points_allow(plane: State) -> None:
    state = plane.with_learner("neighbours").with_setting("n_neighbors", 500.0)
    assert state.values["n_neighbors"] == plane.n
    assert state.settings["n_neighbors"] == 500.0


def test_a_view_holds_all_points(plane: State) -> None:
    for x, y in (([[1.0]], [2.0]), ([[0.0], [1.0]], [0.0, 0.0])):
        x0, x1, y0, y1 = find_view(np.array(x), np.array(y))
        assert x0 < np.min(x) <= np.max(x) < x1
        assert y0 < np.min(y) <= np.max(y) < y1
    x0, x1, y0, y1 = plane.view
    assert ((plane.x > [x0, y0]) & (plane.x < [x1, y1])).all()
