"""
Quantile bands
==============

How much money do customers of a bank borrow, given for how long?  The mean says little, because amounts spread more the
longer the credit is, and more upwards than downwards.  Quantiles say it: nine customers in ten are between the outer
curves, and half are below the middle one.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelQuantileRegressor
from mercer.datasets import load_credit
from mercer.kernels import Gaussian

credit = load_credit()
months = credit.data[["duration"]].to_numpy(dtype=float)
amount = credit.data["amount"].to_numpy(dtype=float) / 1000

levels = [0.05, 0.5, 0.95]
model = KernelQuantileRegressor(levels, 0.1, kernel=Gaussian(20.0)).fit(months, amount)
print(f"solver {model.plan_.solver}, relative gap {model.duality_gap_.relative:.0e}")
for level, share in zip(levels, np.mean(amount[:, None] <= model.predict(months), axis=0), strict=True):
    print(f"level {level:.2f}: {share:.1%} of the customers are below")

# %%
# The curves never cross: at each point the predictions are sorted, which never makes their pinball losses larger.
grid = np.linspace(4, 72, 300)[:, None]
low, middle, high = model.predict(grid).T
figure, axis = plt.subplots(figsize=(8, 4.5), layout="constrained")
axis.scatter(months + np.random.default_rng(0).uniform(-0.4, 0.4, months.shape), amount, s=7, color="grey", alpha=0.6)
axis.fill_between(grid[:, 0], low, high, color="C0", alpha=0.2, linewidth=0, label="between 5 % and 95 %")
axis.plot(grid, high, color="C0", linewidth=1.5)
axis.plot(grid, middle, color="C1", linewidth=2.5, label="median")
axis.plot(grid, low, color="C0", linewidth=1.5)
axis.set(xlabel="duration in months", ylabel="amount in 1,000 DM", title="1,000 credits of a bank", xlim=(2, 74))
axis.legend(loc="upper left")

# %%
# On customers that were left out, the same shares should be below.
shares, folds = [], np.arange(len(amount)) % 5
for fold in range(5):
    held_out = folds == fold
    part = KernelQuantileRegressor(levels, 0.1, kernel=Gaussian(20.0)).fit(months[~held_out], amount[~held_out])
    shares.append(np.mean(amount[held_out, None] <= part.predict(months[held_out]), axis=0))
print("on customers left out:", ", ".join(f"{share:.1%}" for share in np.mean(shares, axis=0)))
