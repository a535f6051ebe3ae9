"""Estimators take arrays of any library of the array API standard, and answer in them: scikit-learn's own checks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mercer import models

CHECKS = Path(__file__).with_name("array_api_checks.py")


@pytest.mark.parametrize("library", ["strict", pytest.param("torch", marks=pytest.mark.torch)])
def test_every_estimator_passes_the_checks_of_scikit_learn(library):
    ran = subprocess.run([sys.executable, CHECKS, library], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert list(found) == models.__all__
    assert not {name: failed for name, failed in found.items() if failed}
