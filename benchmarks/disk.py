"""A table larger than memory: models with 1,000 centres from Parquet, in 2 GB, killed and started again.

``python -m benchmarks.disk`` fits ridge to 20,000,000 rows, ``python -m benchmarks.disk 500000`` to fewer, and
``python -m benchmarks.disk 10000000 logistic`` a logistic regression, or ``svm`` a support vector machine.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from mercer.kernels import Gaussian
from mercer.models import SVC, KernelLogisticRegression, KernelRidge

from .measure import table

ROWS, COLUMNS, CENTERS = 20_000_000, 10, 1000
GROUP, FILE = 250_000, 2_500_000  # rows of a row group, and of a file
MEMORY = "1GB"  # the budget of the fit, beside the interpreter and its libraries
LIMIT = 2e9  # bytes of the whole process
HERE = 100_000  # rows that a fit in memory takes for comparison
TEST = 20_000
NAMES = [f"x{i}" for i in range(COLUMNS)]
TARGETS = {"ridge": "y", "logistic": "class", "svm": "class"}

FIT = """
import sys, time
from pathlib import Path
import numpy as np
from benchmarks.disk import MEMORY, NAMES, TARGETS, make
from mercer.stored import StoredTable
source, what, out = sys.argv[1:]
start, cpu = time.perf_counter(), time.process_time()
model = make(what, memory=MEMORY).fit(StoredTable(source, columns=NAMES), TARGETS[what])
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
status = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
found = model.expansion_
np.savez(
    out, coef=np.ravel(found.coef), centers=np.asarray(found.centers), intercept=np.ravel(found.intercept),
    seconds=seconds, cpu=cpu, peak=peak, steps=np.max(getattr(model, "n_iter_", 0)), passes=model.plan_.passes,
)
print(model.plan_)
"""


def make(what: str, **options: Any) -> Any:
    """Return a model; machines choose the number of centres themselves."""
    options = {"kernel": Gaussian(3.0), "random_state": 0, **options}
    if what == "svm":
        return SVC(C=1.0, **options)
    kind = KernelLogisticRegression if what == "logistic" else KernelRidge
    return kind(1.0, n_centers=CENTERS, **options)


def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, COLUMNS))
    return X, np.sin(X[:, 0] + X[:, 1]) + 0.5 * np.cos(2 * X[:, 2]) * X[:, 3] + 0.3 * rng.normal(size=n)


def write(folder: Path, n: int) -> float:
    """Write the table, a row group at a time, and return its bytes."""
    import pyarrow as pa
    from pyarrow import parquet

    fields = [*((name, pa.float64()) for name in [*NAMES, "y"]), ("class", pa.bool_())]
    rng, schema = np.random.default_rng(0), pa.schema(fields)
    for number, first in enumerate(range(0, n, FILE)):
        with parquet.ParquetWriter(folder / f"part-{number:03d}.parquet", schema) as writer:
            for start in range(first, min(first + FILE, n), GROUP):
                X, y = draw(rng, min(GROUP, n - start))
                writer.write_table(pa.table([*X.T, y, y > 0], schema=schema), row_group_size=GROUP)
    return float(sum(path.stat().st_size for path in folder.iterdir()))


def start(folder: Path, what: str, out: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", FIT, str(folder), what, str(out)], stdout=subprocess.PIPE, text=True)


def finish(process: "subprocess.Popen[str]", out: Path) -> dict[str, np.ndarray]:
    printed, _ = process.communicate()
    if process.returncode:
        sys.exit(f"the fit ended with {process.returncode}")
    print(printed.strip())
    with np.load(out) as found:
        return dict(found)


def kill_and_resume(folder: Path, what: str, out: Path, seconds: float) -> tuple[dict[str, np.ndarray], float]:
    """Kill a fit after a third of its time, start it again, and return what it found and the seconds it took then."""
    process = start(folder, what, out)
    time.sleep(seconds / 3)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    left = [path.name for path in folder.parent.iterdir() if path.name.startswith(".mercer-fit")]
    print(f"killed after {seconds / 3:.0f} s; left beside the table: {', '.join(left) or 'nothing'}", flush=True)
    found = finish(start(folder, what, out), out)
    left = [path.name for path in folder.parent.iterdir() if path.name.startswith(".mercer-fit")]
    print(f"left after the fit that went on: {', '.join(left) or 'nothing'}")
    return found, float(found["seconds"])


def main(n: int = ROWS, what: str = "ridge") -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "table"
        folder.mkdir()
        size = write(folder, n)
        print(f"{n:,} × {COLUMNS} in {size / 1e9:.2f} GB of Parquet", flush=True)
        began = time.perf_counter()
        found = finish(start(folder, what, Path(place) / "whole.npz"), Path(place) / "whole.npz")
        whole = time.perf_counter() - began
        again, rest = kill_and_resume(folder, what, Path(place) / "again.npz", whole)
    rng = np.random.default_rng(1)
    X, y = draw(rng, TEST)
    few, targets = draw(rng, min(n, HERE))
    classes = TARGETS[what] == "class"
    here = make(what).fit(few, targets > 0 if classes else targets)

    def error(outputs: np.ndarray) -> str:
        if classes:
            return f"{np.mean((outputs > 0) != (y > 0)):.4f}"
        return f"{np.sqrt(np.mean((outputs - y) ** 2)):.4f}"

    seconds, peak = float(found["seconds"]), float(found["peak"])
    same = "the same" if np.array_equal(found["coef"], again["coef"]) else "DIFFERENT"
    table(
        f"{what} with {len(found['centers'])} Nyström centres",
        ["rows", "seconds", "of processors", "rows/s", "steps, passes", "peak memory", "held-out error"],
        [
            [f"{n:,} from the disk", f"{seconds:.1f}", f"{float(found['cpu']):.1f}", f"{n / seconds:,.0f}",
             f"{int(found['steps'])}, {int(found['passes'])}",
             f"{peak / 1e9:.2f} GB{'' if peak <= LIMIT else ', over 2 GB'}",
             error(Gaussian(3.0)(X, found["centers"]) @ found["coef"] + found["intercept"])],
            [f"{n:,}, killed and resumed", f"{rest:.1f}", "", "", "", "", f"coefficients {same}"],
            [f"{min(n, HERE):,} in memory", "", "", "", "", "", error(here.expansion_(X).reshape(len(X)))],
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:3])
