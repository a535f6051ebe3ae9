"""
The perceptron, step by step
============================

The perceptron looks at one point after the other.  Where its function has the right sign it does nothing; where not,
it adds the kernel at that point, with the sign of the class.  ``partial_fit`` takes one point at a time, so that we
can watch.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer.kernels import Gaussian
from mercer.models.perceptron import KernelPerceptron

X, y = make_moons(150, noise=0.15, random_state=4)
options = {"kernel": Gaussian(0.4), "fit_intercept": False}
ticks, heights = np.linspace(-1.7, 2.7, 150), np.linspace(-1.2, 1.7, 100)
grid = np.stack(np.meshgrid(ticks, heights), axis=-1).reshape(-1, 2)


def draw(axis, values, title):
    shape = len(heights), len(ticks)
    levels = [-np.inf, 0, np.inf]
    axis.contourf(ticks, heights, values.reshape(shape), levels=levels, colors=["C0", "C1"], alpha=0.2)
    axis.contour(ticks, heights, values.reshape(shape), levels=[0], colors="black", linewidths=1.2)
    axis.scatter(*X[y == 0].T, s=8, color="C0")
    axis.scatter(*X[y == 1].T, s=8, color="C1", marker="s")
    axis.set(title=title, xticks=[], yticks=[], aspect="equal")


figure, axes = plt.subplots(2, 3, figsize=(10, 5.6), layout="constrained")
model = KernelPerceptron("plain", **options)
shown = dict(zip((1, 2, 3, 5, 10), axes.flat, strict=False))
for seen, (point, label) in enumerate(zip(X, y, strict=True), start=1):
    model.partial_fit([point], [label], classes=[0, 1])
    if model.mistakes_[-1] and model.n_mistakes_ in shown:
        axis = shown[model.n_mistakes_]
        draw(axis, model.decision_function(grid), f"mistake {model.n_mistakes_}, at point {seen}")
        axis.scatter(*model.expansion_.centers.T, s=55, facecolor="none", edgecolor="black", linewidth=0.8)
        axis.scatter(*point, s=150, facecolor="none", edgecolor="C3", linewidth=2)

# %%
# The boundary jumps with every mistake (ringed in red; earlier ones in black), and mistakes become fewer.  Going
# through the points again and again it comes to rest, since the classes can be separated:
final = KernelPerceptron("plain", **options, max_iter=100, shuffle=False).fit(X, y)
draw(axes.flat[-1], final.decision_function(grid), f"at rest, after {final.n_mistakes_} mistakes")
axes.flat[-1].scatter(*final.expansion_.centers.T, s=55, facecolor="none", edgecolor="black", linewidth=0.8)
print(f"mistakes in each epoch: {final.mistakes_.tolist()}")
print(f"R = {final.radius_:.2f}, margin = {final.margin_:.4f}, so at most {final.novikoff_bound_:.0f} mistakes")

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
