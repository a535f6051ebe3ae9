"""Run every benchmark, or those named: ``python -m benchmarks gram imports``."""

import importlib
import sys

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

for name in sys.argv[1:] or NAMES:
    if name not in NAMES:
        sys.exit(f"there is no benchmark {name!r}; there are {', '.join(NAMES)}")
    importlib.import_module(f"benchmarks.{name}").main()
