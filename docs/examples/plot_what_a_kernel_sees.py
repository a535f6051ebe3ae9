"""
What a kernel sees: its functions, its matrix, its spectrum
===========================================================

Before a kernel is given to a learner, three pictures say what it will do. Its *profile* and random functions with this
covariance show what it takes to be smooth. Its Gram matrix, ordered by class, shows whether points of one class are
similar. And its eigenvalues show how many directions a penalty leaves free.
"""

# %%
# Functions
# ---------
#
# The same length scale, three degrees of smoothness: the profile k(x, 0) on the left, functions of the kernel's kind on
# the right.

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from mercer.inspection import GramDisplay, KernelDisplay, SpectrumDisplay
from mercer.kernels import Gaussian, Matern, Periodic

kernels = [Matern(nu=0.5), Gaussian(), Gaussian(3.0) * Periodic(period=2.0)]
figure, axes = plt.subplots(3, 2, figsize=(9, 7.5), layout="constrained")
for kernel, row in zip(kernels, axes, strict=True):
    KernelDisplay.from_kernel(kernel, ax=row)
    row[0].get_legend().remove()
    row[0].set_title(kernel, fontsize=8.5)

# %%
# The matrix
# ----------
#
# Irises, standardised. With a short length scale every flower is like itself only, and the matrix is nearly diagonal.
# With a long one all are alike. Between them the three species are blocks.

X, y = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(X)
scales = (0.3, 1.0, 10.0)
figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for scale, ax in zip(scales, axes, strict=True):
    GramDisplay.from_kernel(Gaussian(scale), X, y, ax=ax)
    ax.set_title(f"Gaussian({scale})")

# %%
# The spectrum
# ------------
#
# The eigenvalues of the same three matrices. Those well above the penalty α are fitted, those below are not, and the
# degrees of freedom count the former.

figure, axes = plt.subplots(3, 2, figsize=(9, 7.5), layout="constrained")
for scale, row in zip(scales, axes, strict=True):
    SpectrumDisplay.from_kernel(Gaussian(scale), X, alpha=0.1, ax=row)
    row[0].get_legend().remove()
    row[0].set_title(f"Gaussian({scale})", fontsize=10)
plt.show()
