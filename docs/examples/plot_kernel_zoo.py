"""
Kernels and the functions they make
===================================

Each kernel is drawn as :math:`k(x, 0)` above three random functions of its space.  A Gaussian process with covariance
:math:`k` draws such functions; smooth kernels give smooth functions, periodic ones periodic functions, and products and
sums combine the behaviours.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Gaussian, Linear, Matern, Periodic

kernels = {
    "Gaussian()": Gaussian(),
    "Matern(nu=0.5)": Matern(nu=0.5),
    "Periodic(period=2)": Periodic(period=2.0),
    "Periodic() * Gaussian(3)": Periodic(period=2.0) * Gaussian(3.0),
    "Linear() + Gaussian(0.5)": 0.2 * Linear() + Gaussian(0.5),
}

x = np.linspace(-5, 5, 400)[:, None]
rng = np.random.default_rng(4)
figure, axes = plt.subplots(2, len(kernels), figsize=(13, 4.5), layout="constrained", sharex=True)
for (name, kernel), (top, bottom) in zip(kernels.items(), axes.T, strict=True):
    top.plot(x, kernel(x, [[0.0]]), color="C0")
    top.set_title(name, fontsize=10)
    values, vectors = np.linalg.eigh(kernel(x))
    root = vectors * np.sqrt(np.maximum(values, 0))
    bottom.plot(x, root @ rng.normal(size=(len(x), 3)), linewidth=1)
axes[0, 0].set_ylabel("k(x, 0)")
axes[1, 0].set_ylabel("random f(x)")
