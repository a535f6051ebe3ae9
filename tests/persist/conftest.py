"""What tests of model files share."""

import math
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from scipy import sparse

import mercer


@pytest.fixture
def roundtrip(tmp_path):
    """Save and load again."""

    def there_and_back(model, **options):
        path = tmp_path / "model.mercer"
        mercer.save(model, path, overwrite=True)
        return mercer.load(path, **options)

    return there_and_back


def _same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype == object:
            return a.shape == b.shape and all(map(_same, a.ravel(), b.ravel()))
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if sparse.issparse(a):
        return a.shape == b.shape and all(_same(getattr(a, n), getattr(b, n)) for n in ("data", "indices", "indptr"))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(_same, a.values(), b.values()))
    if isinstance(a, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if hasattr(a, "equals"):
        return a.equals(b) and _same(list(map(str, a.dtypes)), list(map(str, b.dtypes)))
    if is_dataclass(a):
        return all(_same(getattr(a, each.name), getattr(b, each.name)) for each in fields(a))
    if isinstance(a, np.random.RandomState):
        return _same(a.get_state(), b.get_state())
    if type(a).__module__.partition(".")[0] in ("mercer", "sklearn") and hasattr(a, "__dict__"):
        return set(vars(a)) == set(vars(b)) and all(_same(value, vars(b)[name]) for name, value in vars(a).items())
    return a == b


@pytest.fixture(scope="session")
def same():
    """Whether two values are equal in every bit, type and name of attribute."""
    return _same
