"""Rows that workers make themselves, what is fitted to them, and clusters to do it."""

import time

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.models import KernelRidge

from .conftest import da

distributed = pytest.importorskip("distributed")

N, D = 4000, 3


def rows(block_info=None, seed=0, pause=0.0):
    """One block of rows and a target, from its place alone."""
    start, stop = block_info[None]["array-location"][0]
    time.sleep(pause)
    X = np.random.default_rng([seed, start]).normal(size=(stop - start, D))
    return np.c_[X, np.sin(2 * X[:, 0]) + X[:, 1]]


def generated(n=N, parts=8, **options):
    table = da.map_blocks(
        rows, chunks=((n // parts,) * parts, (D + 1,)), dtype=float, meta=np.empty((0, D + 1)), **options
    )
    return table[:, :D], table[:, D]


def nystroem(**options):
    return KernelRidge(0.1, kernel=Gaussian(1.5), n_centers=30, random_state=0, fit_intercept=True, **options)


def quick_cluster(**options):
    """Workers that are threads of this process, which start in no time."""
    options = {"n_workers": 2, "threads_per_worker": 1} | options
    return distributed.LocalCluster(processes=False, dashboard_address=":0", protocol="inproc", **options)
