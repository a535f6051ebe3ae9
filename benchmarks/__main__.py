"""Run every benchmark, or those named: ``python -m benchmarks gram imports``."""

import importlib
import sys

from mercer._native import isas
from mercer.arrays.threads import default_threads, name_blas_kernels

NAMES = (
    "imports",
    "certify",
    "gram",
    "plan",
    "ridge",
    "blocks",
    "svm",
    "cells",
    "learners",
    "embeddings",
    "online",
    "losses",
    "learning",
    "posterior",
    "uncertainty",
    "structured",
    "strings",
    "series",
    "molecules",
    "tables",
    "dask",
    "disk",
    "gpu",
)

print(f"{default_threads()} threads, instructions {isas()[0]}, BLAS for {name_blas_kernels()}", flush=True)
for name in sys.argv[1:] or NAMES:
    if name not in NAMES:
        sys.exit(f"there is no benchmark {name!r}; there are {', '.join(NAMES)}")
    importlib.import_module(f"benchmarks.{name}").main()
