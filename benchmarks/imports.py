"""How long ``import mercer`` takes, next to what it stands on."""

import subprocess
import sys

from .measure import table, verdict

CODE = "import time; start = time.perf_counter(); import {0}; print(time.perf_counter() - start)"


def seconds(module: str, repeat: int = 7) -> float:
    """Fastest import in a fresh process."""
    command = [sys.executable, "-c", CODE.format(module)]
    return min(float(subprocess.run(command, capture_output=True, check=True, text=True).stdout) for _ in range(repeat))


def main() -> None:
    base, ours = seconds("sklearn.base"), seconds("mercer")
    table(
        "Import",
        ["module", "seconds", "of sklearn.base"],
        [["sklearn.base", f"{base:.3f}", "1.0×"], ["mercer", f"{ours:.3f}", f"{ours / base:.2f}× (limit 2×)"]],
    )
    print("inside the limit" if ours < 2 * base else "over the limit: " + verdict(2 * base / ours, 1))
