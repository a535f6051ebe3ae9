"""Posteriors: deviations, samples and marginal likelihoods beside other Gaussian processes in the same run.

``python -m benchmarks.posterior 5`` is a small trial with a fifth of the rows; ``python -m benchmarks.posterior cuda``
runs on a CUDA device, beside GPyTorch if it is there.
"""

import sys
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from mercer import KernelRidge, KernelRidgeCV
from mercer.kernels import Gaussian

from .measure import race, table, timed, verdict

ALPHA, LENGTH = 0.05, 2.0


def make_data(n: int, m: int, d: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, targets of a smooth function with noise, and further points."""
    rng = np.random.default_rng(seed)
    X, Z = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] / 2 + np.sqrt(ALPHA) * rng.standard_normal(n)
    return X, y, Z


def deviation_rows(n: int, m: int) -> list[list[object]]:
    """Fit and deviations at further points, against scikit-learn's process with the same kernel and noise."""
    X, y, Z = make_data(n, m)
    ours, peer = (
        KernelRidge(ALPHA, kernel=Gaussian(LENGTH)),
        GaussianProcessRegressor(RBF(LENGTH), alpha=ALPHA, optimizer=None),
    )
    mine, other = race(
        [lambda: ours.fit(X, y).predict(Z, return_std=True), lambda: peer.fit(X, y).predict(Z, return_std=True)], 2
    )
    one, two = ours.predict(Z, return_std=True)[1], peer.predict(Z, return_std=True)[1]
    return [[f"fit and deviations, n = {n:,}, m = {m:,}", f"{mine:.2f} s", f"{other:.2f} s", verdict(other / mine, 5),
             f"{np.abs(one - two).max():.0e}"]]  # fmt: skip


def sample_rows(n: int, m: int, size: int = 10) -> list[list[object]]:
    """Draws of the posterior at many points, after the fit."""
    X, y, Z = make_data(n, m)
    ours = KernelRidge(ALPHA, kernel=Gaussian(LENGTH)).fit(X, y)
    peer = GaussianProcessRegressor(RBF(LENGTH), alpha=ALPHA, optimizer=None).fit(X, y)
    ours.sample(Z[:50], 1, random_state=0)
    drawn, mine = timed(lambda: ours.sample(Z, size, random_state=0))
    _, other = timed(lambda: peer.sample_y(Z, size, random_state=0))
    mean, std = ours.predict(Z, return_std=True)
    scores = (drawn - mean[:, None]) / std[:, None]
    return [[f"{size} samples of {m:,} points, n = {n:,}", f"{mine:.2f} s", f"{other:.2f} s", verdict(other / mine, 20),
             f"spread {scores.std():.3f} (exact: 1)"]]  # fmt: skip


def likelihood_rows(n: int, d: int = 8) -> list[list[object]]:
    """The marginal likelihood maximised with one scale a feature, a multiple and the noise."""
    X, y, _ = make_data(n, 1, d)
    y = y - y.mean()
    ours = KernelRidgeCV(kernel=Gaussian(LENGTH), length_scales="auto", criterion="marginal", fit_intercept=False)
    start = ConstantKernel(1.0) * RBF([LENGTH] * d) + WhiteKernel(ALPHA)
    peer = GaussianProcessRegressor(start, alpha=1e-10)
    _, mine = timed(lambda: ours.fit(X, y))
    _, other = timed(lambda: peer.fit(X, y))
    values = ours.log_marginal_likelihood_, peer.log_marginal_likelihood_value_
    return [[f"marginal likelihood, n = {n:,}, d = {d}", f"{mine:.1f} s", f"{other:.1f} s", verdict(other / mine, 10),
             f"{values[0]:.2f} against {values[1]:.2f}"]]  # fmt: skip


def device_rows(n: int = 50_000, m: int = 10_000) -> list[list[object]]:
    """An exact fit with deviations on a CUDA device, and GPyTorch's, with the error of each against float64."""
    import torch

    X, y, Z = make_data(n, m)
    truth = KernelRidge(ALPHA, kernel=Gaussian(LENGTH), device="cuda", solver="cholesky", memory="120GB")
    points = [torch.as_tensor(each, dtype=torch.float64, device="cuda") for each in (X, y, Z)]
    exact = truth.fit(*points[:2]).predict(points[2], return_std=True)[1].cpu().numpy()
    del truth
    torch.cuda.empty_cache()
    single = [torch.as_tensor(each, dtype=torch.float32, device="cuda") for each in (X, y, Z)]

    def fit_ours():
        model = KernelRidge(ALPHA, kernel=Gaussian(LENGTH), device="cuda").fit(*single[:2])
        found = model.predict(single[2], return_std=True)[1]
        torch.cuda.synchronize()
        return found.cpu().numpy()

    _, first = timed(fit_ours)  # with what is compiled
    ours, mine = timed(fit_ours)
    wrong = f"{np.abs(ours - exact).max():.1e}"
    print(f"mercer: {mine:.2f} s, the first time {first:.2f} s; deviations off by {wrong}", flush=True)
    name = f"fit and deviations, n = {n:,}, m = {m:,}"
    try:
        theirs, other = timed(lambda: fit_gpytorch(*single))
    except ImportError:
        return [[name, f"{mine:.2f} s", "GPyTorch is not installed", "", wrong]]
    return [
        [name, f"{mine:.2f} s", f"{other:.2f} s", verdict(other / mine, 3), wrong],
        ["GPyTorch's error of deviations", "", "", "", f"{np.abs(theirs - exact).max():.1e}"],
    ]


def fit_gpytorch(X, y, Z) -> np.ndarray:
    """Return deviations of f by GPyTorch with the same kernel and noise, and nothing tuned."""
    import gpytorch
    import torch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.RBFKernel()
            self.covar_module.lengthscale = LENGTH

        def forward(self, points):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(points), self.covar_module(points))

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    likelihood.noise = ALPHA
    model = Model(likelihood).to(X.device)
    model.eval()
    with torch.no_grad(), gpytorch.settings.skip_posterior_variances(False):
        found = model(Z).variance.clamp_min(0).sqrt()
    torch.cuda.synchronize()
    return found.cpu().numpy()


HEADERS = ["work", "mercer", "peer", "", "error or value"]


def main(divisor: float = 1.0) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    n = int(5000 / divisor)
    rows = [*deviation_rows(n, 2 * n), *sample_rows(n, n), *likelihood_rows(int(3000 / divisor))]
    table("posteriors", HEADERS, rows)


if __name__ == "__main__":
    if sys.argv[1:] == ["cuda"]:
        table("posteriors on a device", HEADERS, device_rows())
    else:
        main(*map(float, sys.argv[1:]))
