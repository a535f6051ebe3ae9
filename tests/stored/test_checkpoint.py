"""A fit that was killed goes on where it was; one that ends leaves nothing."""

import os
import pickle

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.models import KernelClassifier, KernelLogisticRegression, KernelRidge
from mercer.stored import StoredTable, checkpoint
from mercer.stored.checkpoint import Checkpoint, load_record, save_record
from mercer.stored.executor import DiskExecutor

from .conftest import NAMES


class Killed(BaseException):
    """As little expected as the end of a process."""


@pytest.fixture
def reads(monkeypatch):
    """Counts what is read from the disk, and kills the fit at a given count."""
    read, state = DiskExecutor.read, {"count": 0, "last": None}

    def counted(self, number, columns):
        state["count"] += 1
        if state["count"] == state["last"]:
            raise Killed
        return read(self, number, columns)

    monkeypatch.setattr(DiskExecutor, "read", counted)
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    return state


@pytest.mark.parametrize(
    ("make", "target", "share"),
    [
        (lambda: KernelRidge(0.1, kernel=Gaussian(1.5), n_centers=20), "y", 0.3),
        (lambda: KernelRidge(0.1, kernel=Gaussian(1.5), n_centers=20), "y", 0.9),
        (lambda: KernelLogisticRegression(kernel=Gaussian(1.5), n_centers=10, random_state=0), "two", 0.5),
        (lambda: KernelClassifier(loss="SquaredHinge", kernel=Gaussian(1.5), n_centers=10), "three", 0.9),
    ],
)
def test_a_fit_that_was_killed_goes_on_where_it_was(folder, reads, make, target, share):
    table = StoredTable(folder, columns=NAMES)
    whole = make().fit(table, target)
    needed = reads["count"]
    reads["count"], reads["last"] = 0, int(share * needed)
    model = make()
    with pytest.raises(Killed):
        model.fit(table, target)
    assert not hasattr(model, "expansion_")
    left = [path for path in folder.parent.iterdir() if path != folder]
    assert len(left) == 1
    reads["count"], reads["last"] = 0, None
    model.fit(table, target)
    assert np.array_equal(model.expansion_.coef, whole.expansion_.coef)
    assert reads["count"] < needed - (0.3 * share - 0.05) * needed
    assert not left[0].exists()


def test_another_fit_does_not_take_what_is_left(data, folder, reads):
    table = StoredTable(folder, columns=NAMES)
    reads["last"] = 25
    with pytest.raises(Killed):
        KernelRidge(0.1, kernel=Gaussian(1.5), n_centers=20).fit(table, "y")
    reads["last"] = None
    other = KernelRidge(0.1, kernel=Gaussian(1.0), n_centers=20, random_state=0).fit(table, "y")
    here = KernelRidge(0.1, kernel=Gaussian(1.0), n_centers=20, random_state=0).fit(data.X, data.y)
    assert np.allclose(other.predict(data.frame[NAMES]), here.predict(data.X), atol=1e-6)
    data.frame[:500].assign(y=0.0).to_parquet(folder / "part-0.parquet", index=False)
    changed = KernelRidge(0.1, kernel=Gaussian(1.5), n_centers=20).fit(table, "y")
    assert abs(changed.predict(data.frame[NAMES][:500])).mean() < 0.5 * abs(data.y[:500]).mean()


def test_sums_are_saved_where_it_is_asked_for(folder, reads, tmp_path):
    place = tmp_path / "elsewhere"
    reads["last"] = 25
    with pytest.raises(Killed):
        KernelRidge(kernel=Gaussian(), n_centers=20).fit(StoredTable(folder, columns=NAMES), "y", checkpoint=place)
    assert len(list(place.iterdir())) == 1
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="is no folder"):
        KernelRidge().fit(StoredTable(folder, columns=NAMES), "y", checkpoint=tmp_path / "file")


def test_what_is_saved_cannot_run_code(tmp_path):
    (tmp_path / "a.sum").write_bytes(pickle.dumps((1, os.getcwd)))
    with pytest.raises(pickle.UnpicklingError, match="is nothing that a fit keeps"):
        load_record(tmp_path / "a.sum")
    assert Checkpoint(tmp_path).read("a") is None
    save_record(tmp_path / "b.sum", (3, (np.arange(2.0), np.float64(2.0), {"x": None})))
    count, (values, number, rest) = Checkpoint(tmp_path).read("b")
    assert (count, values.tolist(), float(number), rest) == (3, [0.0, 1.0], 2.0, {"x": None})
