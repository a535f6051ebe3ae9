"""Draw the pictures of the guide on posteriors, intervals and sets, small enough to be read on a phone."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelLogisticRegression, KernelRidge
from mercer.inspection import CoverageDisplay, IntervalDisplay, PosteriorDisplay, SetDisplay
from mercer.kernels import Gaussian


def draw_posterior():
    figure, ax = plt.subplots(figsize=(5.4, 3.6), layout="constrained")
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(-3, -0.5, 16), rng.uniform(1, 3, 12)])[:, None]
    model = KernelRidge(0.03, kernel=Gaussian(0.8)).fit(x, np.sin(2 * x[:, 0]) + 0.15 * rng.normal(size=28))
    PosteriorDisplay.from_estimator(model, ax=ax)
    return figure


def draw_intervals():
    """The data of the guide page, whose noise grows from left to right."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 1.0, size=(200, 1))
    y = np.sin(6.0 * X[:, 0]) + (0.05 + 0.5 * X[:, 0]) * rng.normal(size=200)
    new = rng.uniform(0.0, 1.0, size=(2000, 1))
    target = np.sin(6.0 * new[:, 0]) + (0.05 + 0.5 * new[:, 0]) * rng.normal(size=2000)
    model = KernelRidge(0.1, kernel=Gaussian(0.2), fit_intercept=True).fit(X, y)
    methods = ["jackknife+", "local"]
    figure = plt.figure(figsize=(5.4, 6.4), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1.15, 1.0))
    pair = above.subplots(1, 2, sharey=True)
    IntervalDisplay.from_estimator(model, new[:200], target[:200], method=methods, ax=pair)
    CoverageDisplay.from_estimator(model, new, target, method=methods, by=0, ax=below.subplots())
    return figure


def draw_sets():
    """The data of the guide page."""

    def draw(n, seed):
        rng = np.random.default_rng(seed)
        y = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
        X = np.array([[0.0, 0.0], [1.6, 0.0], [0.0, 1.6]])[y] + rng.normal(size=(n, 2))
        return X, np.array(["fir", "oak", "ash"])[y]

    figure, ax = plt.subplots(figsize=(5.4, 5.0), layout="constrained")
    model = KernelLogisticRegression(kernel=Gaussian(1.5)).fit(*draw(300, 0))
    SetDisplay.from_estimator(model, *draw(250, 1), ax=ax)
    return figure


if __name__ == "__main__":
    here = Path(__file__).parent / "_static"
    draw_posterior().savefig(here / "posterior.png", dpi=150, facecolor="white")
    draw_intervals().savefig(here / "intervals.png", dpi=150, facecolor="white")
    draw_sets().savefig(here / "sets.png", dpi=150, facecolor="white")
