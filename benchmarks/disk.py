"""A table larger than memory: ridge with 1,000 centres from Parquet, in 2 GB, killed and started again.

``python -m benchmarks.disk 500000`` does the same with fewer rows, and ``python -m benchmarks.disk 1000000 logistic``
fits a logistic regression instead, and counts how often it reads the table.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from mercer.kernels import Gaussian
from mercer.models import KernelLogisticRegression, KernelRidge

from .measure import table, timed

ROWS, COLUMNS, CENTERS = 20_000_000, 10, 1000
GROUP, FILE = 250_000, 2_500_000  # rows of a row group, and of a file
MEMORY = "1GB"  # the budget of the fit, beside the interpreter and its libraries
LIMIT = 2e9  # bytes of the whole process
HERE = 100_000  # rows that a fit in memory takes for comparison
TEST = 20_000
NAMES = [f"x{i}" for i in range(COLUMNS)]
MODEL = f"KernelRidge(alpha=1.0, kernel=Gaussian(3.0), n_centers={CENTERS}, random_state=0, memory={MEMORY!r})"

FIT = """
import sys, time
from pathlib import Path
import numpy as np
from mercer.kernels import Gaussian
from mercer.models import KernelRidge
source, out = sys.argv[1:]
start = time.perf_counter()
model = MODEL.fit(source, "y")
seconds = time.perf_counter() - start
status = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
np.savez(out, coef=model.dual_coef_, centers=np.asarray(model.X_fit_), seconds=seconds, peak=peak)
print(model.plan_)
"""


def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, COLUMNS))
    return X, np.sin(X[:, 0] + X[:, 1]) + 0.5 * np.cos(2 * X[:, 2]) * X[:, 3] + 0.3 * rng.normal(size=n)


def write(folder: Path, n: int) -> float:
    """Write the table, a row group at a time, and return its bytes."""
    import pyarrow as pa
    from pyarrow import parquet

    rng, schema = np.random.default_rng(0), pa.schema([(name, pa.float64()) for name in [*NAMES, "y"]])
    for number, first in enumerate(range(0, n, FILE)):
        with parquet.ParquetWriter(folder / f"part-{number:03d}.parquet", schema) as writer:
            for start in range(first, min(first + FILE, n), GROUP):
                X, y = draw(rng, min(GROUP, n - start))
                writer.write_table(pa.table([*X.T, y], schema=schema), row_group_size=GROUP)
    return float(sum(path.stat().st_size for path in folder.iterdir()))


def start(folder: Path, out: Path) -> "subprocess.Popen[str]":
    code = FIT.replace("MODEL", MODEL)
    return subprocess.Popen([sys.executable, "-c", code, str(folder), str(out)], stdout=subprocess.PIPE, text=True)


def finish(process: "subprocess.Popen[str]", out: Path) -> dict[str, np.ndarray]:
    printed, _ = process.communicate()
    if process.returncode:
        sys.exit(f"the fit ended with {process.returncode}")
    print(printed.strip())
    with np.load(out) as found:
        return dict(found)


def kill_and_resume(folder: Path, out: Path, seconds: float) -> tuple[dict[str, np.ndarray], float]:
    """Kill a fit after a third of its time, start it again, and return what it found and the seconds it took then."""
    process = start(folder, out)
    time.sleep(seconds / 3)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    left = [path.name for path in folder.parent.iterdir() if path.name.startswith(".mercer-fit")]
    print(f"killed after {seconds / 3:.0f} s; left beside the table: {', '.join(left) or 'nothing'}", flush=True)
    found = finish(start(folder, out), out)
    left = [path.name for path in folder.parent.iterdir() if path.name.startswith(".mercer-fit")]
    print(f"left after the fit that went on: {', '.join(left) or 'nothing'}")
    return found, float(found["seconds"])


def classify(n: int) -> None:
    """Fit a logistic regression to a file of numbers, and tell passes, steps and time."""
    X, y = draw(np.random.default_rng(0), n)
    labels, size = y > 0, X.nbytes
    with tempfile.TemporaryDirectory() as place:
        np.save(Path(place) / "points.npy", X)
        del X, y
        model = KernelLogisticRegression(1.0, kernel=Gaussian(3.0), n_centers=CENTERS, random_state=0, memory=MEMORY)
        _, seconds = timed(lambda: model.fit(Path(place) / "points.npy", labels))
    table(
        f"logistic regression with {CENTERS} Nyström centres",
        ["rows", "seconds", "steps", "passes", "times the table was read", "relative gap"],
        [[f"{n:,}", f"{seconds:.1f}", int(np.max(model.n_iter_)), model.plan_.passes, f"{model.plan_.read / size:.1f}",
          f"{model.restricted_gap_ / model.objective_:.0e}"]],
    )  # fmt: skip


def main(n: int = ROWS, what: str = "ridge") -> None:
    if what == "logistic":
        classify(n)
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "table"
        folder.mkdir()
        size = write(folder, n)
        print(f"{n:,} × {COLUMNS} in {size / 1e9:.2f} GB of Parquet", flush=True)
        began = time.perf_counter()
        found = finish(start(folder, Path(place) / "whole.npz"), Path(place) / "whole.npz")
        whole = time.perf_counter() - began
        again, rest = kill_and_resume(folder, Path(place) / "again.npz", whole)
    rng = np.random.default_rng(1)
    X, y = draw(rng, TEST)
    few = KernelRidge(alpha=1.0, kernel=Gaussian(3.0), n_centers=CENTERS, random_state=0).fit(*draw(rng, min(n, HERE)))
    values = Gaussian(3.0)(X, found["centers"]) @ found["coef"]

    def error(predicted: np.ndarray) -> str:
        return f"{np.sqrt(np.mean((predicted - y) ** 2)):.4f}"

    seconds, peak = float(found["seconds"]), float(found["peak"])
    same = "the same" if np.array_equal(found["coef"], again["coef"]) else "DIFFERENT"
    table(
        f"ridge with {CENTERS} Nyström centres",
        ["rows", "seconds", "rows/s", "peak memory", "held-out error (noise 0.3)"],
        [
            [f"{n:,} from the disk", f"{seconds:.1f}", f"{n / seconds:,.0f}",
             f"{peak / 1e9:.2f} GB{'' if peak <= LIMIT else ', over 2 GB'}", error(values)],
            [f"{n:,}, killed and resumed", f"{rest:.1f}", "", "", f"coefficients {same}"],
            [f"{min(n, HERE):,} in memory", "", "", "", error(few.predict(X))],
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:3])
