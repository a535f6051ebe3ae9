"""
Where intervals hold
====================

Nine of ten targets are inside, as promised.  Are they so everywhere?  The noise of this data grows along the first of
two columns.  Intervals of the jackknife+ have about the same width for all points; local ones learn how large errors
are in which places.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.inspection import CoverageDisplay, IntervalDisplay
from mercer.kernels import Gaussian
from mercer.models import KernelRidge

rng = np.random.default_rng(0)


def draw(n):
    X = rng.uniform(0, 1, size=(n, 2))
    noise = 0.05 + 0.6 * X[:, 0] ** 2
    return X, np.sin(6 * X[:, 0]) + X[:, 1] + noise * rng.normal(size=n)


X, y = draw(400)
X_new, y_new = draw(4000)
model = KernelRidge(0.3, kernel=Gaussian(0.3), fit_intercept=True).fit(X, y)
methods = ["jackknife+", "local"]

# %%
# How wide intervals are.  Crosses are targets outside: of the jackknife+ they are all on the right.
display = IntervalDisplay.from_estimator(model, X_new[:500], y_new[:500], method=methods)

# %%
# On the whole both methods hold about what was asked for, whatever that is.  The grey band is where shares of 4,000
# points fall by chance, 95 times of 100, if the probability is exactly the coverage.  The 400 training points have a
# chance of their own, so that lines may run beside it.
CoverageDisplay.from_estimator(model, X_new, y_new, method=methods)

# %%
# In bins of the first column the jackknife+ is right on average only: always on the left, and less than two times of
# three on the right.  Local intervals stay nearer to what was asked for.  The noise does not depend on the second
# column, and there both are near, but for the ends, where local ones know least about it.
figure, (above, below) = plt.subplots(2, 1, figsize=(6, 6), sharey=True, layout="constrained")
first = CoverageDisplay.from_estimator(model, X_new, y_new, method=methods, by=0, ax=above)
CoverageDisplay.from_estimator(model, X_new, y_new, method=methods, by=1, ax=below)

# %%
# The worst bin of each, and what intervals cost on average.
for method, shares in zip(methods, first.observed, strict=True):
    width = np.diff(model.predict_interval(X_new, 0.9, method)).mean()
    worst = shares[np.argmax(np.abs(shares - 0.9))]
    print(f"{method:10}  worst bin {worst:.1%}, mean width {width:.2f}")
