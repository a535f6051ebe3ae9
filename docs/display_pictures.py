"""Draw the pictures of the guide page on plots."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import SVC, SVR, KernelNeighborsClassifier, KernelPerceptron, KernelRidge
from mercer.datasets import load_energy
from mercer.inspection import (
    DecisionDisplay,
    DependenceDisplay,
    FeatureMapDisplay,
    FitDisplay,
    ImportanceDisplay,
    PerceptronDisplay,
)
from mercer.kernels import Gaussian, Polynomial


def draw_parabola():
    x = np.random.default_rng(1).uniform(-2, 2, size=(60, 1))
    y = np.where(np.abs(x[:, 0]) < 1, "inside", "outside")
    model = SVC(C=100.0, kernel=Polynomial(degree=2, offset=1.0)).fit(x, y)
    return FeatureMapDisplay.from_estimator(model, x, y).figure_


def draw_models():
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.0), layout="constrained")
    X, y = make_moons(150, noise=0.25, random_state=0)
    DecisionDisplay.from_estimator(KernelNeighborsClassifier(3, kernel=Gaussian()).fit(X, y), X, y, ax=left)
    rng = np.random.default_rng(2)
    x = np.sort(rng.uniform(-3, 3, 60))[:, None]
    target = np.sin(2 * x[:, 0]) + 0.25 * rng.normal(size=60)
    models = {
        "ridge": KernelRidge(0.3, kernel=Gaussian(0.6)).fit(x, target),
        "machine": SVR(C=5.0, epsilon=0.3).fit(x, target),
        "truth": lambda rows: np.sin(2 * rows[:, 0]),
    }
    FitDisplay.from_estimators(models, x, target, ax=right)
    return figure


def draw_columns():
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
    energy = load_energy()
    X, y = (energy.data - energy.data.mean()) / energy.data.std(), energy.target
    y = y.iloc[:, 0] if y.ndim > 1 else y
    held = np.arange(len(y)) % 4 == 0
    model = KernelRidge(0.01, kernel=Gaussian(2.0)).fit(X[~held], y[~held])
    importance = ImportanceDisplay.from_estimator(model, X[held], y[held], ax=left)
    DependenceDisplay.from_estimator(model, X[held], list(importance.names[:2]), ax=right)
    return figure


def draw_film(path):
    X, y = make_moons(120, noise=0.15, random_state=4)
    model = KernelPerceptron("plain", kernel=Gaussian(0.4), max_iter=100, shuffle=False).fit(X, y)
    display = PerceptronDisplay.from_estimator(model, X, y)
    display.animate(path, overwrite=True, seconds=0.8)
    plt.close(display.figure_)


if __name__ == "__main__":
    here = Path(__file__).parent / "_static"
    draw_parabola().savefig(here / "parabola.png", dpi=110, facecolor="white")
    draw_models().savefig(here / "displays.png", dpi=100, facecolor="white")
    draw_columns().savefig(here / "columns.png", dpi=100, facecolor="white")
    draw_film(here / "perceptron.gif")
