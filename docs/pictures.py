"""Draw the way of data from objects to a function, for the README and the design page, and the losses of the guide."""

import doctest
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyArrowPatch, Rectangle

from mercer import Expansion, Gram
from mercer.datasets import load_energy
from mercer.inspection import LossDisplay, MetricDisplay
from mercer.kernels import Gaussian, Linear, Periodic
from mercer.models import RecursiveFeatureRegressor
from mercer.solvers import Problem, Spectral

# Okabe and Ito's colours, which everyone can tell apart.
BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#666666"
TILES = 6

rng = np.random.default_rng(2)
kernel = Periodic(length_scale=1.0, period=2.0) * Gaussian(length_scale=4.0) + 0.1 * Linear()
x = np.sort(rng.uniform(-4, 3, 60))[:, None]
truth = lambda t: np.sin(np.pi * t) * np.exp(-((t / 4) ** 2)) + 0.5 * t  # noqa: E731
y = truth(x[:, 0]) + 0.15 * rng.normal(size=60)
K = Gram(kernel, x).dense()
prepared = Spectral().prepare(Problem(kernel, x, y[:, None]))
alphas = np.logspace(-4, 2, 61)
errors = [np.sqrt(np.mean(prepared.solve(np.array([alpha]), loo=True).loo ** 2)) for alpha in alphas]
best = int(np.argmin(errors))
solution = prepared.solve(alphas[[best]])
f = Expansion(kernel, solution.centers, solution.coef[:, 0])
grid = np.linspace(-5, 5, 500)[:, None]


def draw_objects(axes):
    axes.scatter(x, y, s=14, color=BLUE)


def draw_kernel(axes):
    axes.plot(grid, kernel(grid, [[0.0]]), color=ORANGE, label="k(·, 0)")
    axes.plot(grid, kernel(grid, [[1.5]]), color=PURPLE, linestyle="--", label="k(·, 1.5)")
    axes.set_ylim(-0.9, 2.3)
    axes.legend(frameon=False, fontsize=9, loc="upper left", ncols=2, handlelength=1.4, columnspacing=0.8)


def draw_gram(axes):
    axes.imshow(K, cmap="viridis", interpolation="nearest")
    size = len(K) / TILES
    for row in range(TILES):
        for column in range(TILES):
            mirrored = column < row  # a symmetric tile is computed once and used twice
            corner = (column * size - 0.5, row * size - 0.5)
            face = (1, 1, 1, 0.6) if mirrored else "none"
            axes.add_patch(Rectangle(corner, size, size, facecolor=face, edgecolor="white", linewidth=1))


def draw_solver(axes):
    axes.semilogx(alphas, errors, color=GREEN)
    axes.plot(alphas[best], errors[best], "o", color=GREEN)
    axes.annotate("left-out error\nfor every α", (alphas[best], errors[best]), (2e-4, max(errors) * 0.8), fontsize=9)
    axes.set_ylim(0, max(errors) * 1.05)


def draw_expansion(axes):
    axes.axvspan(3, 5, color=GREY, alpha=0.12, linewidth=0)
    axes.scatter(x, y, s=10, color=BLUE, alpha=0.5)
    axes.plot(grid, truth(grid[:, 0]), color=GREY, linewidth=1, linestyle=":", label="truth")
    axes.plot(grid, f(grid), color=RED, label="f")
    axes.legend(frameon=False, fontsize=9, loc="upper left", handlelength=1.4)


STEPS = [
    (draw_objects, "objects", "X, y", "vectors, strings,\ntrees, graphs, frames"),
    (draw_kernel, "Kernel", "k = Periodic·Gaussian + 0.1·Linear", "an algebra that\nproves what it builds"),
    (draw_gram, "Gram", "K = k(X, X)", "lazy: tiles within\na memory budget"),
    (draw_solver, "Solver", "argmin Σ (y − f(x))² + α‖f‖²", "prepared once, solved for\nevery α, with a certificate"),
    (draw_expansion, "Expansion", "f = Σ cᵢ k(xᵢ, ·) + b", "evaluates, adds, has a norm;\nalso where no data was"),
]


def picture():
    width, gap, left, bottom, height = 0.166, 0.036, 0.012, 0.2, 0.55
    figure = plt.figure(figsize=(13, 3.6))
    for position, (draw, noun, formula, note) in enumerate(STEPS):
        start = left + position * (width + gap)
        axes = figure.add_axes((start, bottom, width, height))
        draw(axes)
        axes.set_xticks([], minor=False)
        axes.set_xticks([], minor=True)
        axes.set_yticks([])
        for spine in axes.spines.values():
            spine.set_color("#bbbbbb")
        middle = start + width / 2
        figure.text(middle, 0.89, noun, ha="center", fontsize=17, weight="bold")
        figure.text(middle, 0.79, formula, ha="center", fontsize=11)
        figure.text(middle, 0.165, note, ha="center", va="top", fontsize=11.5, color="#333333")
        if position:
            ends = (start - gap * 0.92, 0.475), (start - gap * 0.08, 0.475)
            arrow = FancyArrowPatch(*ends, transform=figure.transFigure, arrowstyle="-|>", mutation_scale=22, lw=2.4)
            arrow.set_color("#222222")
            figure.add_artist(arrow)
    return figure


def draw_losses():
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    LossDisplay.from_losses(["hinge", "squared_hinge", "logistic", "exponential"], ax=left)
    LossDisplay.from_losses(["squared", "absolute", "huber", "quantile(.8)", "epsilon_insensitive(1)"], ax=right)
    return figure


def draw_weights():
    """The weights and shares of the guide page on several kernels, whose examples are run."""
    page = (Path(__file__).parent / "guide" / "several-kernels.md").read_text()
    names = {}
    for example in doctest.DocTestParser().get_examples(page):
        exec(example.source, names)
        if "shares_" in example.source:
            break
    model = names["model"]
    figure, axes = plt.subplots(figsize=(7.5, 2.8), layout="constrained")
    places = np.arange(len(model.weights_))
    axes.barh(places - 0.2, model.weights_, 0.36, color=BLUE, label="weight")
    axes.barh(places + 0.2, model.shares_, 0.36, color=ORANGE, hatch="//", edgecolor="white", label="share of variance")
    axes.set_yticks(
        places, [name.replace("length_scale=1.0", "").replace(", shortest=None", "") for name in model.mixture_.names]
    )
    axes.invert_yaxis()
    axes.legend(frameon=False, loc="lower right")
    return figure


def draw_metric():
    """The metric of the guide page on learned kernels."""
    energy = load_energy()
    model = RecursiveFeatureRegressor(random_state=0).fit(energy.data, energy.target)
    return MetricDisplay.from_estimator(model).figure_


if __name__ == "__main__":
    here = Path(__file__).parent / "_static"
    picture().savefig(here / "way.png", dpi=130, facecolor="white")
    draw_weights().savefig(here / "weights.png", dpi=110, facecolor="white")
    draw_metric().savefig(here / "metric.png", dpi=110, facecolor="white")
    draw_losses().savefig(here / "losses.png", dpi=110, facecolor="white")
