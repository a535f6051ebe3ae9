from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mercer.playground.fitting import fit_state
from mercer.playground.learners import LEARNERS, order_steps
from mercer.playground.presets import PRESETS
from mercer.playground.source import write_source
from mercer.playground.state import PlayError, State
from mercer.playground.views.surface import draw_surface

PAIRS = [(key, task) for key, learner in LEARNERS.items() for task in learner.tasks]


def predict(model: object, x: np.ndarray) -> np.ndarray:
    return model.predict(x) if hasattr(model, "predict") else model.transform(x)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("learner", "task"), PAIRS)
@pytest.mark.parametrize("kernel", ["0.5*gaussian(0.7) + linear", "exp(0.1*Linear()).on([0])"])
def test_the_source_makes_the_same_model(
    learner: str, task: str, kernel: str, line: State, plane: State, capsys: pytest.CaptureFixture[str]
) -> None:
    state = (line if task == "regression" else plane).with_learner(learner)
    state = state.with_kernel("Gaussian(0.7)" if learner == "parzen" else kernel)
    script: dict = {}
    exec(write_source(state), script)
    assert capsys.readouterr().out.strip()
    fit = fit_state(state)
    np.testing.assert_array_equal(script["x"], state.x)
    np.testing.assert_array_equal(predict(script["model"], state.x), predict(fit.model, state.x))


def test_the_source_has_the_settings_and_nothing_that_was_only_typed(plane: State) -> None:
    state = plane.with_learner("svm").with_setting("C", 3.25)
    text = write_source(State(**{**vars(state), "names": ("'''", "\n__import__('os')")}))
    assert "SVC(C=3.25, kernel=kernel)" in text
    assert "__import__" not in text


@pytest.mark.parametrize("key", PRESETS)
def test_every_preset_can_be_fitted_by_every_learner_of_its_task(key: str) -> None:
    state = PRESETS[key].make(count=40)
    assert draw_surface(fit_state(state), 12) is not None
    for learner in LEARNERS.values():
        if state.task in learner.tasks:
            kernel = "Gaussian(1.0)" if learner.key == "parzen" else state.kernel
            fit = fit_state(state.with_kernel(kernel).with_learner(learner.key))
            assert fit.seconds > 0


@pytest.mark.parametrize("key", PRESETS)
def test_the_same_seed_gives_the_same_points_and_another_one_others(key: str) -> None:
    preset = PRESETS[key]
    assert preset.make(count=20, seed=1).same(preset.make(count=20, seed=1))
    if key not in ("corners", "three"):
        assert not preset.make(count=20, seed=1).same(preset.make(count=20, seed=2))
        assert preset.make(count=20).n == 20


def test_presets_refuse_what_cannot_be_drawn() -> None:
    for wrong in ({"count": 0}, {"count": 10**9}, {"noise": -1.0}, {"noise": float("nan")}):
        with pytest.raises(PlayError, match="in between"):
            PRESETS["moons"].make(**wrong)


def test_what_cannot_be_fitted_is_said_in_words(plane: State, line: State) -> None:
    with pytest.raises(PlayError, match="are none"):
        fit_state(plane.with_points([], []))
    with pytest.raises(PlayError, match="one class"):
        fit_state(plane.with_points(plane.x, np.zeros(plane.n)))
    with pytest.raises(PlayError, match=r"is not a kernel.*Change its parameters"):
        fit_state(plane.with_kernel("Sigmoid()"))
    with pytest.raises(PlayError, match="histograms"):
        fit_state(line.with_kernel("Chi2()"))
    with pytest.raises(PlayError, match="window must not be negative"):
        fit_state(line.with_kernel("Linear()").with_learner("parzen"))
    with pytest.raises(PlayError, match="no point tells the classes apart"):
        fit_state(plane.with_kernel("Constant(0.0)").with_learner("import_vectors"))


def test_threads_fit_and_draw_the_same_as_one_after_the_other(plane: State, line: State) -> None:
    states = [
        each.with_kernel(f"Gaussian({scale})")
        for each in (plane, line, plane.with_learner("logistic"))
        for scale in (0.3, 1.0)
    ]

    def work(state: State) -> np.ndarray:
        found = draw_surface(fit_state(state), 15)
        return found.values if hasattr(found, "values") else found.scores

    alone = [work(state) for state in states]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(work, states * 3))
    for found, expected in zip(together, alone * 3, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_points_in_one_place_can_be_fitted_or_are_refused_in_words() -> None:
    same = State("classification", np.zeros((6, 2)), [0, 1, 0, 1, 0, 1])
    for key, learner in LEARNERS.items():
        if "classification" in learner.tasks:
            try:
                draw_surface(fit_state(same.with_learner(key)), 5)
            except PlayError as error:
                assert len(str(error)) > 20  # noqa: PT017


def test_a_perceptron_is_followed_point_by_point(plane: State) -> None:
    state = plane.with_learner("perceptron")
    order = order_steps(plane.n, 40)
    model = LEARNERS["perceptron"].build("classification", fit_state(state).kernel, state.values)
    for step, i in enumerate(order, 1):
        model.partial_fit(plane.x[[i]], plane.y[[i]], classes=[0, 1])
        if step in (1, 7, 40):
            fit = fit_state(state.with_setting("steps", float(step)))
            np.testing.assert_allclose(
                fit.model.decision_function(plane.x), model.decision_function(plane.x), atol=1e-12
            )
