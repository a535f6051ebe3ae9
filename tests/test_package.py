"""The package as a user meets it."""

import importlib
import importlib.metadata
import rlcompleter
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import mercer


def test_the_version_comes_from_one_place():
    assert importlib.metadata.version("mercer") == mercer.__version__


def test_the_package_is_typed():
    assert (Path(mercer.__file__).parent / "py.typed").exists()


def test_importing_mercer_and_listing_its_names_pulls_in_nothing_heavy():
    heavy = [
        "pandas",
        "polars",
        "matplotlib",
        "sklearn",
        "scipy.optimize",
        "torch",
    ]
    code = f"import sys, mercer; dir(mercer); print([name for name in {heavy!r} if name in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"


@pytest.mark.parametrize("name", ["mercer", "mercer.kernels", "mercer.losses", "mercer.features", "mercer.models"])
def test_completion_offers_the_public_names_and_no_others(name):
    module = importlib.import_module(name)
    assert [found for found in dir(module) if not found.startswith("__")] == sorted(module.__all__)
    offered, completer = [], rlcompleter.Completer({"module": module})
    while (found := completer.complete("module.", len(offered))) is not None:
        offered.append(found.removeprefix("module.").removesuffix("(").removesuffix("()"))
    assert set(offered) == set(module.__all__)


def test_a_package_inside_is_there_when_it_is_asked_for(monkeypatch):
    inside = importlib.import_module("mercer.features")
    monkeypatch.delattr(mercer, "features")
    assert mercer.features is inside


def test_every_model_is_among_the_public_names():
    assert set(mercer.models.__all__) < set(mercer.__all__)


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
