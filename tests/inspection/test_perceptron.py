"""A step shows the function that there was, and a film needs nothing but itself."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from PIL import Image
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelPerceptron
from mercer.inspection import PerceptronDisplay
from mercer.kernels import Gaussian


@pytest.fixture
def learnt(moons):
    X, y = moons
    return KernelPerceptron("plain", kernel=Gaussian(0.5), max_iter=50, random_state=0).fit(X, y), X, y


def draw(learnt, **options):
    return PerceptronDisplay.from_estimator(*learnt, grid_resolution=30, **options)


def rings(ax, label):
    (found,) = [c for c in ax.collections if c.get_label() == label]
    return np.asarray(found.get_offsets())


def test_the_boundary_of_a_step_is_where_the_function_of_then_is_0(learnt, is_legible):
    model, X, _ = learnt
    for step in (1, 2, 5, len(model.history_)):
        display = draw(learnt, step=step)
        f = model.history_.function(step)
        for line in display.ax_.lines:
            np.testing.assert_allclose(f(line.get_xydata()), 0.0, atol=2e-3 * np.abs(f(X)).max())
        assert display.step_ == step
    is_legible(display.figure_)


def test_title_and_legend_do_not_meet_on_narrow_axes(learnt):
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    ax = draw(learnt, ax=axes[1]).ax_
    figure.canvas.draw()
    assert not ax.get_legend().get_window_extent().overlaps(ax._right_title.get_window_extent())
    assert not axes[2].get_tightbbox().overlaps(ax.get_legend().get_window_extent())


def test_the_mistake_and_those_before_are_ringed(learnt):
    model, X, _ = learnt
    wrong = model.history_.points
    ax = draw(learnt, step=4).ax_
    np.testing.assert_array_equal(rings(ax, "wrong just now"), X[wrong[3:4]])
    np.testing.assert_array_equal(rings(ax, "wrong so far"), X[np.unique(wrong[:4])])


def test_before_the_first_point_there_are_no_regions(learnt):
    display = draw(learnt, step=0)
    assert not display.ax_.patches
    assert not display.ax_.lines
    assert display.describe_step(0) == "Before the first point: f = 0."


def test_a_step_is_told_in_a_sentence(learnt):
    model, _, y = learnt
    row, seen = model.history_.points[2], model.history_.times[2]
    told = f"Mistake 3, at point {seen} of those seen: row {row}, of class {y[row]}, was not on its side."
    assert draw(learnt).describe_step(3) == told


def test_several_classes_pipelines_and_slices_are_drawn(blobs):
    X, y = blobs
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.linspace(0, 1, 75)})
    model = make_pipeline(StandardScaler(), KernelPerceptron(kernel=Gaussian(), random_state=0)).fit(table, y)
    display = PerceptronDisplay.from_estimator(model, table, y, features=["a", "b"], grid_resolution=20)
    assert len(display.ax_.patches) == 3
    assert display.ax_.texts[0].get_text() == "slice: c = 0.5"
    np.testing.assert_array_equal(rings(display.ax_, "wrong just now"), X[model[-1].history_.points[-1:]])


def test_a_gif_has_a_picture_for_each_step_on_white(learnt, tmp_path):
    display = draw(learnt)
    path = display.animate(tmp_path / "film.gif", steps=[0, 1, -1], seconds=0.2)
    with Image.open(path) as film:
        assert film.n_frames == 3
        assert film.convert("RGB").getpixel((1, 1)) == (255, 255, 255)
        pauses = []
        for frame in range(3):
            film.seek(frame)
            pauses.append(film.info["duration"])
    assert pauses == [200, 200, 800]
    assert plt.get_fignums() == [display.figure_.number]  # what was drawn on for the film is closed


def test_a_page_has_all_pictures_in_it_and_asks_for_nothing(learnt, tmp_path):
    model, X, y = learnt
    labels = np.where(y == 0, "</script>", 'a "b"')
    model = KernelPerceptron("plain", kernel=Gaussian(0.5), max_iter=50, random_state=0).fit(X, labels)
    text = draw((model, X, labels)).animate(tmp_path / "film.html", steps=range(4)).read_text()
    frames = re.search(r"const frames = (\[.*?\]), captions", text)[1]
    assert frames.count("data:image/png;base64,") == 4
    assert text.count("</script>") == 1
    rest = re.sub(r"data:image/png;base64,[\w+/=]*", "", text)
    assert not re.search(r"https?:|//|<link|@import|url\(|fetch|import\(", rest)
    assert len(rest) < 6000


def test_films_of_many_steps_show_sixty_of_them(learnt, tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.inspection.perceptron.MOST_FRAMES", 3)
    path = draw(learnt).animate(tmp_path / "film.gif")
    with Image.open(path) as film:
        assert film.n_frames == 4


def test_a_film_is_written_whole_or_not_at_all(learnt, tmp_path, monkeypatch):
    display, path = draw(learnt), tmp_path / "film.gif"
    path.write_bytes(b"before")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        display.animate(path)

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr("mercer.inspection.drawing.frames._write_gif", fail)
    with pytest.raises(OSError, match="disk is full"):
        display.animate(path, steps=[1], overwrite=True)
    assert path.read_bytes() == b"before"
    assert [each.name for each in tmp_path.iterdir()] == ["film.gif"]


def test_mistakes_are_explained(learnt, tmp_path):
    model, X, y = learnt
    count = len(model.history_)
    with pytest.raises(ValueError, match="steps of a KernelPerceptron, and SVC has none"):
        PerceptronDisplay.from_estimator(SVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="points that the model has learnt from"):
        PerceptronDisplay.from_estimator(model, X[::-1], y[::-1])
    with pytest.raises(ValueError, match="points that the model has learnt from"):
        PerceptronDisplay.from_estimator(model, X[:3], y[:3])
    with pytest.raises(ValueError, match=f"between 0 and {count}; got 999"):
        draw(learnt, step=999)
    K = Gaussian()(X)
    matrix = KernelPerceptron(kernel="precomputed", random_state=0).fit(K, y)
    with pytest.raises(ValueError, match="precomputed"):
        PerceptronDisplay.from_estimator(matrix, K, y)
    display = draw(learnt)
    with pytest.raises(ValueError, match=r"must end in \.gif or \.html; got 'film\.mp4'"):
        display.animate("film.mp4")
    with pytest.raises(FileNotFoundError, match="no folder"):
        display.animate(tmp_path / "nowhere" / "film.gif")
    with pytest.raises(ValueError, match="steps is empty"):
        display.animate(tmp_path / "film.gif", steps=[])
    with pytest.raises(ValueError, match=r"between 0\.02 and 60, got 0"):
        display.animate(tmp_path / "film.gif", seconds=0)
