"""
A robust fit
============

One measurement in ten is wrong by far.  Squares follow it, because the slope of a square grows without end.  The slope
of Huber's loss is at most its width, and that of the pinball loss at most one half, so that a wrong target pulls no
harder than a right one that is a little off.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor
from mercer.kernels import Gaussian

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0, 10, 150))[:, None]
truth = np.sin(x[:, 0]) + 0.2 * x[:, 0]
y = truth + 0.15 * rng.normal(size=150)
wrong = rng.random(150) < 0.1
y[wrong] += rng.uniform(4, 8, wrong.sum())

losses = {"Squared": "C1", "Huber(0.2)": "C0", "Quantile(0.5)": "C2"}
models = {loss: KernelRegressor(loss, 0.1, kernel=Gaussian(1.0)).fit(x, y) for loss in losses}
for loss, model in models.items():
    error = np.sqrt(np.mean((model.predict(x) - truth) ** 2))
    print(f"{loss:14} error {error:.2f}   {model.plan_.solver:6}   relative gap {model.duality_gap_.relative:.0e}")

# %%
# Left the fits, right what the losses say about an error: the steeper, the harder it pulls.
grid = np.linspace(0, 10, 400)[:, None]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=(2, 1))
left.scatter(x[~wrong], y[~wrong], s=10, color="grey", label="right")
left.scatter(x[wrong], y[wrong], s=24, color="black", marker="x", label="wrong")
left.plot(grid, np.sin(grid) + 0.2 * grid, color="black", linewidth=1, linestyle=":", label="truth")
for (loss, color), style in zip(losses.items(), ("-", "-", "--"), strict=True):
    left.plot(grid, models[loss].predict(grid), color=color, linestyle=style, linewidth=2, label=loss)
left.set(xlabel="x", ylabel="y", title="one target in ten is wrong", ylim=(None, 14.5))
left.legend(fontsize=9, ncols=3, loc="upper center")

r = np.linspace(-3, 3, 400)
for (loss, color), style in zip(losses.items(), ("-", "-", "--"), strict=True):
    right.plot(r, -models[loss].loss_.slope(r, 0.0), color=color, linestyle=style, linewidth=2, label=loss)
right.axhline(0, color="grey", linewidth=0.8)
right.set(xlabel="error y − f", ylabel="slope of the loss", title="how hard an error pulls", ylim=(-3, 3))
