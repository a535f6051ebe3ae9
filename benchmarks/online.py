"""One more point, and one less, by partial_fit and forget against a refit of all points."""

import sys

import numpy as np

from mercer.kernels import Gaussian
from mercer.models import KernelLogisticRegression, KernelRidge
from mercer.solvers.base import Problem
from mercer.solvers.ridge.cholesky import Cholesky

from .measure import race, timed, verdict

POINTS = 5000
POINTS_ADDED = 24  # of each kind
ROUNDS = 5
AIMS = {"one point": 50.0, "one point, and a prediction after it": 20.0}  # times as fast as a fit


def ridge_row(n: int) -> None:
    """Some points come one by one, with and without a prediction after each, and then the oldest leave.

    That is the dearest place to leave from.  A fit is made again after every few points, so that a slow moment of the
    machine hits all alike.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 2 * POINTS_ADDED + 1, 10))
    y = np.sin(X).sum(axis=1) + 0.1 * rng.normal(size=len(X))
    options = {"alpha": 0.1, "kernel": Gaussian(3.0), "fit_intercept": True}
    model = KernelRidge(**options).fit(X[:n], y[:n])
    _, first = timed(lambda: model.partial_fit(X[[n]], y[[n]]))  # which makes the factor
    adding, using, refitting = list[float](), list[float](), list[float]()
    for i in range(n + 1, len(X), 2):
        adding.append(timed(lambda i=i: model.partial_fit(X[[i]], y[[i]]))[1])
        using.append(timed(lambda i=i: model.partial_fit(X[[i + 1]], y[[i + 1]]).predict(X[:1]))[1])
        if i % 8 == 1:
            refitting.append(timed(lambda: KernelRidge(**options).fit(X[:n], y[:n]))[1])
    (removing,) = race([lambda: model.forget(0).predict(X[:1])], ROUNDS)
    seen = model.X_fit_
    targets = dict(zip(map(bytes, X), y, strict=True))
    # A fit of so many points has a factor in float32, refined to eight digits: one in float64 tells more.
    problem = Problem(model.kernel_, seen, np.array([[targets[bytes(x)]] for x in seen]), fit_intercept=True)
    exact = Cholesky("double", 1e-13).prepare(problem).solve(options["alpha"])
    f = model.kernel_(X, seen) @ exact.coef[:, 0] + exact.intercept
    off = np.abs(model.predict(X) - f).max() / np.abs(f).max()
    whole = float(np.median(refitting))
    print(f"a fit of n = {n:,}: {whole:.3f} s, the median of {len(refitting)}; of {len(adding)} points, in the median:")
    for label, times in (("one point", adding), ("one point, and a prediction after it", using)):
        seconds = float(np.median(times))
        print(f"{label}: {1e3 * seconds:.1f} ms, {verdict(whole / seconds, AIMS[label])}")
    print(f"the oldest of them away, and a prediction after it: {1e3 * removing:.0f} ms; ", end="")
    print(f"the first call after a fit {first:.2f} s; off by {off:.0e} (limit 1e-10)", flush=True)


def logistic_row(n: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 1, 10))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n + 1) > 0).astype(int)
    model, whole = timed(lambda: KernelLogisticRegression(0.1, kernel=Gaussian(3.0), random_state=0).fit(X[:n], y[:n]))
    steps = model.n_iter_
    _, more = timed(lambda: model.partial_fit(X[n:], y[n:]))
    print(f"logistic, one point at n = {n:,}: {more:.2f} s and {model.n_iter_} steps, a fit {whole:.2f} s and {steps}")


def main(n: int = POINTS) -> None:
    ridge_row(n)
    logistic_row(n)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
