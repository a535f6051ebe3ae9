"""
The perceptron, step by step
============================

The perceptron looks at one point after the other.  Where its function has the right sign it does nothing; where not,
it adds the kernel at that point, with the sign of the class.  It keeps which point was wrong in which step, so that
every function that there was can be drawn.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer.inspection import PerceptronDisplay
from mercer.kernels import Gaussian
from mercer.models.perceptron import KernelPerceptron

X, y = make_moons(150, noise=0.15, random_state=4)
options = {"kernel": Gaussian(0.4), "fit_intercept": False}
model = KernelPerceptron("plain", **options, max_iter=100, shuffle=False).fit(X, y)
history = model.history_
print(history, "the first at rows", history.points[:6].tolist())

figure, axes = plt.subplots(2, 3, figsize=(12, 7.4), layout="constrained")
for step, axis in zip((1, 2, 3, 5, 10, len(history)), axes.flat, strict=True):
    PerceptronDisplay.from_estimator(model, X, y, step=step, ax=axis)
    handles = axis.get_legend().legend_handles
    axis.get_legend().remove()
    axis.set_title(f"after {step} mistake{'s' * (step > 1)}", loc="right")
    axis.set(xticks=[], yticks=[], xlabel="", ylabel="")
figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)

# %%
# The boundary jumps with every mistake (ringed in red; earlier ones in black), and mistakes become fewer.  Going
# through the points again and again it comes to rest, since the classes can be separated:
print(f"mistakes in each epoch: {model.mistakes_.tolist()}")
print(f"R = {model.radius_:.2f}, margin = {model.margin_:.4f}, so at most {model.novikoff_bound_:.0f} mistakes")

# %%
# All steps are a film: a GIF, or a page with a slider that works without a network.
with tempfile.TemporaryDirectory() as folder:
    display = PerceptronDisplay.from_estimator(model, X, y, step=0)
    film = display.animate(Path(folder) / "perceptron.html", steps=range(6))
    print(f"{film.name}: {film.stat().st_size / 1000:.0f} kB")
plt.close(display.figure_)

# %%
# Where classes overlap it never comes to rest.  The last function then depends on the last few mistakes, which the mean
# and the vote of all functions do not.
X, y = make_moons(1000, noise=0.35, random_state=0)
X_new, y_new = make_moons(1000, noise=0.35, random_state=1)
figure, axis = plt.subplots(figsize=(8, 3.6), layout="constrained")
stops = np.arange(10, 1001, 10)
styles = {"plain": ("last function", "C7", "-"), "averaged": ("mean", "C3", "-"), "voted": ("vote", "C2", "--")}
for kind, (name, colour, line) in styles.items():
    model = KernelPerceptron(kind, **options)
    right = []
    for stop in stops:
        model.partial_fit(X[stop - 10 : stop], y[stop - 10 : stop], classes=[0, 1])
        right.append(model.score(X_new, y_new))
    axis.plot(stops, right, line, color=colour, label=name, linewidth=1 if kind == "plain" else 2)
    print(f"{name}: {right[-1]:.1%} of new points right at the end, {min(right[50:]):.1%} at worst in the second half")
axis.set(xlabel="points seen", ylabel="share of new points right", xlim=(0, 1000))
axis.legend(loc="lower right")
