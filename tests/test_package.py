"""The package as a user meets it."""

import importlib.metadata
import subprocess
import sys
from collections import Counter
from pathlib import Path

import mercer


def test_the_version_comes_from_one_place():
    assert importlib.metadata.version("mercer") == mercer.__version__


def test_the_package_is_typed():
    assert (Path(mercer.__file__).parent / "py.typed").exists()


def test_importing_mercer_pulls_in_nothing_heavy():
    heavy = [
        "pandas",
        "polars",
        "matplotlib",
        "sklearn.metrics",
        "sklearn.kernel_approximation",
        "scipy.optimize",
        "torch",
    ]
    code = f"import sys, mercer; print([name for name in {heavy!r} if name in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"


def test_public_names_exist_and_are_documented():
    for module in (mercer, mercer.kernels, mercer.losses):
        for name in module.__all__:
            assert getattr(module, name).__doc__


def test_the_names_of_the_contract_are_there():
    vectors = {"Linear", "Polynomial", "Gaussian", "Laplacian", "Matern", "RationalQuadratic", "Sigmoid", "Constant"}
    vectors |= {"PowerExponential"}
    waves = {"Periodic", "Cosine", "Fourier", "Sinc"}
    others = {"Chi2", "Intersection", "Overlap", "Precomputed", "Custom", "FromFeatures", "exp"}
    assert vectors | waves | others <= set(mercer.kernels.__all__)
    assert callable(mercer.certify)


def test_every_folder_can_be_held_in_the_head():
    root = Path(mercer.__file__).parent
    for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
        modules = [path.stem.lstrip("_") for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(modules) <= 16, folder
        families = Counter(name.split("_")[0] for name in modules if "_" in name)
        assert max(families.values(), default=0) < 3, f"{folder}: {families}"
