"""
Six classifiers, one kernel
===========================

The same points and the same Gaussian kernel, and six ways to turn them into a boundary. Circles mark the points that a
model rests on: those near the margin for the support vector machine, a few that explain most for import vectors; the
others rest on all or most of them.  Dashed lines are margins, f = ±1 for the machine, and probabilities of 0.1 and 0.9
where there are any.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from mercer import (
    SVC,
    ImportVectorMachine,
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelPerceptron,
    ParzenClassifier,
)
from mercer.inspection import DecisionDisplay
from mercer.kernels import Gaussian

X, y = make_moons(200, noise=0.25, random_state=0)
X_new, y_new = make_moons(2000, noise=0.25, random_state=1)
kernel = Gaussian(0.5)
models = [
    SVC(C=3.0, kernel=kernel),
    KernelLogisticRegression(0.1, kernel=kernel),
    ImportVectorMachine(0.1, kernel=kernel),
    KernelPerceptron(kernel=kernel, random_state=0),
    KernelNeighborsClassifier(15, kernel=kernel),
    ParzenClassifier(length_scale=0.25),
]
figure, axes = plt.subplots(2, 3, figsize=(12, 7.4), layout="constrained")
for model, ax in zip(models, axes.flat, strict=True):
    DecisionDisplay.from_estimator(model.fit(X, y), X, y, grid_resolution=120, ax=ax)
    ax.get_legend().remove()
    ax.set_title(f"{type(model).__name__}: {model.score(X_new, y_new):.3f} on new points", fontsize=11)
plt.show()
