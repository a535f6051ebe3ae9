import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.text import Text


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


@pytest.fixture
def is_legible():
    """Return the check that a figure is 800 pixels wide, its texts large enough, inside it, and off the data."""

    def check(figure):
        figure.set_dpi(100)
        figure.canvas.draw()
        assert figure.bbox.width == 800
        texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
        assert min(text.get_fontsize() for text in texts) >= 8
        drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()  # nothing is cut off
        assert min(drawn.x0, drawn.y0) > -0.01
        assert drawn.x1 < width + 0.01
        assert drawn.y1 < height + 0.01
        for ax in figure.axes:
            legend = ax.get_legend()
            if legend is not None:
                assert not legend.get_window_extent().overlaps(ax.bbox.shrunk(0.99, 0.99).translated(4, 2))

    return check


@pytest.fixture
def moons():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    angle = rng.uniform(0, np.pi, 80)
    arcs = np.stack([np.cos(angle), np.sin(angle)], axis=1) * np.where(y == 0, 1.0, -1.0)[:, None]
    return arcs + np.where(y == 0, -0.5, 0.5)[:, None] * [1.0, 0.5] + 0.2 * rng.normal(size=(80, 2)), y


@pytest.fixture
def blobs():
    rng = np.random.default_rng(1)
    y = np.repeat(["east", "north", "west"], 25)
    centres = np.repeat([[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0]], 25, axis=0)
    return centres + 0.7 * rng.normal(size=(75, 2)), y


@pytest.fixture
def wave():
    rng = np.random.default_rng(2)
    X = np.sort(rng.uniform(-3, 3, 50))[:, None]
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=50)
