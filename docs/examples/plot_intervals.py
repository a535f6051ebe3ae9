"""
Intervals that follow the noise
===============================

Three ways to make an interval that holds nine of ten new targets.  All keep their promise on average.  Where noise
depends on x, only those that learn its scale keep it everywhere.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Gaussian
from mercer.models import KernelQuantileRegressor, KernelRidge

rng = np.random.default_rng(0)


def draw(n):
    x = rng.uniform(0, 1, size=n)
    return x[:, None], np.sin(6 * x) + (0.05 + 0.6 * x**2) * rng.normal(size=n)


X, y = draw(400)
X_new, y_new = draw(4000)
ridge = KernelRidge(0.3, kernel=Gaussian(0.2), fit_intercept=True).fit(X, y)
quantiles = KernelQuantileRegressor(alpha=0.03, kernel=Gaussian(0.3)).fit(X, y)
ways = {
    "jackknife+": (ridge, "jackknife+"),
    "local": (ridge, "local"),
    "quantile": (quantiles, "quantile"),
}

# %%
# Above the intervals at the same data, below how many new targets they hold in each tenth of the axis.  The grey band
# is what chance alone does to a share of nine in ten.
figure, axes = plt.subplots(
    2, 3, figsize=(10, 5.4), sharex=True, sharey="row", layout="constrained", height_ratios=(2, 1)
)
grid, edges = np.linspace(0, 1, 200)[:, None], np.linspace(0, 1, 11)
tenth = np.digitize(X_new[:, 0], edges[1:-1])
chance = 2 * np.sqrt(0.9 * 0.1 / np.bincount(tenth).mean())
for column, (name, (model, method)) in enumerate(ways.items()):
    above, below = axes[:, column]
    lower, upper = model.predict_interval(grid, 0.9, method).T
    above.scatter(X, y, s=6, color="C1", alpha=0.6, linewidths=0)
    above.fill_between(grid[:, 0], lower, upper, color="C0", alpha=0.25, linewidth=0)
    above.plot(grid, np.sin(6 * grid), color="C0", linewidth=1.5)
    lower, upper = model.predict_interval(X_new, 0.9, method).T
    inside = (lower <= y_new) & (y_new <= upper)
    above.set_title(f"{name}: {inside.mean():.1%} inside", fontsize=11)
    shares = [inside[tenth == k].mean() for k in range(10)]
    below.axhspan(0.9 - chance, 0.9 + chance, color="0.88", linewidth=0)
    below.bar(edges[:-1] + 0.05, np.array(shares) - 0.9, width=0.07, bottom=0.9, color="C0")
    below.axhline(0.9, color="0.4", linewidth=0.8)
    below.set(xlabel="x", ylim=(0.55, 1.02), xlim=(0, 1))
    for axis in (above, below):
        axis.spines[["top", "right"]].set_visible(False)
axes[0, 0].set_ylabel("y")
axes[1, 0].set_ylabel("share inside")
axes[1, 0].yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")

# %%
# What the intervals promise is the average, and each model says so.
for model, method in ways.values():
    model.predict_interval(X_new[:1], 0.9, method)
    print(model.interval_plan_)
