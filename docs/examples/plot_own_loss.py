"""
A loss of one's own
===================

A house that is too cold is worse than one that is too warm.  Say so: the cost of an error grows exponentially where
heat is missing, and like a line where there is too much (the LINEX loss).  Only its value is written; slope, curvature
and conjugate are derived from it, and the fit ends with the same certificate as that of any other loss.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import CustomLoss


def cost(y, f):
    missing = y - f
    return np.exp(3 * missing) - 3 * missing - 1


linex = CustomLoss(cost, name="LINEX")

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 6, 120))[:, None]
y = np.sin(x[:, 0]) + (0.1 + 0.08 * x[:, 0]) * rng.normal(size=120)
careful = KernelRegressor(linex, 1.0, kernel=Gaussian(1.5)).fit(x, y)
mean = KernelRegressor("Squared", 1.0, kernel=Gaussian(1.5)).fit(x, y)
print(f"solver {careful.plan_.solver}, {careful.n_iter_} steps, relative gap {careful.duality_gap_.relative:.0e}")
for name, model in (("LINEX", careful), ("Squared", mean)):
    f = model.predict(x)
    print(f"{name:8} mean cost {cost(y, f).mean():.2f}   too little at {np.mean(f < y):.0%} of all points")

# %%
# The larger the spread, the further the answer stays above the mean: that is what a cost says and an interval does not.
grid = np.linspace(0, 6, 300)[:, None]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=(1, 2))
f = np.linspace(-1.5, 1.5, 300)
left.plot(f, linex.value(0.0, f), color="C1", linewidth=2, label="LINEX")
left.plot(f, f**2, color="C0", linewidth=2, linestyle="--", label="Squared")
left.set(xlabel="prediction f, where y = 0", ylabel="cost", title="too little costs more", ylim=(0, 12))
left.legend(fontsize=9)

right.scatter(x, y, s=10, color="grey")
right.plot(grid, careful.predict(grid), color="C1", linewidth=2, label="LINEX")
right.plot(grid, mean.predict(grid), color="C0", linewidth=2, linestyle="--", label="Squared")
right.set(xlabel="x", ylabel="y", title="so stay above, the more the targets spread")
right.legend(fontsize=9)

# %%
# A cost that is not convex is refused when it is made, with the place.
try:
    CustomLoss(lambda y, f: np.minimum((y - f) ** 2, 1))
except ValueError as error:
    print(str(error).split(";")[0])
