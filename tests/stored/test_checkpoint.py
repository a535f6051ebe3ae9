"""A fit that was killed goes on where it was; one that ends leaves nothing."""

import importlib
import os
import pickle

import numpy as np
import pytest

from mercer.distributed.newton import sample
from mercer.kernels import Custom, Gaussian
from mercer.models import KernelClassifier, KernelLogisticRegression, KernelRidge, KernelRidgeCV
from mercer.stored import StoredTable, checkpoint, names
from mercer.stored.checkpoint import Checkpoint, load_record, open_checkpoint, save_record
from mercer.stored.executor import DiskExecutor
from mercer.stored.names import name_value

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


def test_sums_that_are_whole_are_saved_however_quick_they_were(folder, reads, monkeypatch):
    monkeypatch.setattr(checkpoint, "EVERY", np.inf)
    table = StoredTable(folder, columns=NAMES)

    def make():
        return KernelLogisticRegression(kernel=Gaussian(1.5), n_centers=10, random_state=0)

    whole, needed = make().fit(table, "two"), reads["count"]
    reads["count"], reads["last"] = 0, int(0.9 * needed)
    with pytest.raises(Killed):
        make().fit(table, "two")
    reads["count"], reads["last"] = 0, None
    again = make().fit(table, "two")
    assert np.array_equal(again.expansion_.coef, whole.expansion_.coef)
    assert reads["count"] < 0.4 * needed


def test_a_fit_that_was_killed_after_its_samples_does_not_solve_them_again(folder, reads, monkeypatch):
    monkeypatch.setattr(sample, "LEAST", 10)
    monkeypatch.setattr(sample, "PER_CENTER", 1)
    table, drawn, draw = StoredTable(folder, columns=NAMES), [], np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda *seed: drawn.append(seed) or draw(*seed))

    def make():
        return KernelLogisticRegression(kernel=Gaussian(1.5), n_centers=10, random_state=0)

    whole, needed, count = make().fit(table, "two"), reads["count"], len(drawn)
    drawn.clear()
    reads["count"], reads["last"] = 0, int(0.9 * needed)
    with pytest.raises(Killed):
        make().fit(table, "two")
    assert count - len(drawn) == 0
    drawn.clear()
    reads["count"], reads["last"] = 0, None
    again = make().fit(table, "two")
    assert np.array_equal(again.expansion_.coef, whole.expansion_.coef)
    assert reads["count"] < 0.6 * needed
    assert drawn == []


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
    with pytest.raises(TypeError, match=r"checkpoint='a' was given, but X is no table on a disk, and this fit has no"):
        KernelRidgeCV().fit([[0.0], [1.0]], [0.0, 1.0], checkpoint="a")
    with pytest.raises(TypeError, match="client='a' was given, but X is a table on a disk"):
        KernelRidge().fit(StoredTable(folder, columns=NAMES), "y", client="a")


def test_what_is_saved_cannot_run_code(tmp_path):
    (tmp_path / "a.sum").write_bytes(pickle.dumps((1, os.getcwd)))
    with pytest.raises(pickle.UnpicklingError, match="is nothing that a fit keeps"):
        load_record(tmp_path / "a.sum")
    assert Checkpoint(tmp_path).read("a") is None
    save_record(tmp_path / "b.sum", (3, (np.arange(2.0), np.float64(2.0), {"x": None})))
    count, (values, number, rest) = Checkpoint(tmp_path).read("b")
    assert (count, values.tolist(), float(number), rest) == (3, [0.0, 1.0], 2.0, {"x": None})


def test_records_that_act_when_they_are_made_are_not_read(tmp_path):
    for value in (Gaussian(), KernelRidge()):
        (tmp_path / "a.sum").write_bytes(pickle.dumps((1, value)))
        with pytest.raises(pickle.UnpicklingError, match="is nothing that a fit keeps"):
            load_record(tmp_path / "a.sum")


def test_results_that_a_loss_of_power_took_are_made_again(folder, reads):
    table = StoredTable(folder, columns=NAMES)

    def make():
        return KernelLogisticRegression(kernel=Gaussian(1.5), n_centers=10, random_state=0)

    whole = make().fit(table, "two")
    reads["count"], reads["last"] = 0, int(0.9 * reads["count"])
    with pytest.raises(Killed):
        make().fit(table, "two")
    (left,) = (path for path in folder.parent.iterdir() if path != folder)
    parts = sorted(left.rglob("*.part"))
    assert parts
    for path in [*parts, *left.glob("*.sum")][::2]:
        path.write_bytes(b"")
    reads["last"] = None
    assert np.array_equal(make().fit(table, "two").expansion_.coef, whole.expansion_.coef)


def test_equal_fits_at_the_same_time_have_folders_of_their_own(tmp_path):
    first, second = open_checkpoint(tmp_path, "x"), open_checkpoint(tmp_path, "x")
    assert first.folder != second.folder
    second.write("a", 1, np.ones(2))
    second.release()  # as a fit that was killed does
    third = open_checkpoint(tmp_path, "x")
    assert third.folder == second.folder
    assert third.read("a")[0] == 1
    first.remove()
    assert [path.name for path in tmp_path.iterdir()] == [third.folder.name]  # which is held
    third.release()
    open_checkpoint(tmp_path, "x").remove()
    assert not list(tmp_path.iterdir())


def test_an_error_that_is_kept_takes_nothing_from_the_next_fit(folder, monkeypatch):
    model = KernelLogisticRegression(kernel=Gaussian(1.5), n_centers=10, random_state=0)
    table, keep, kept = StoredTable(folder, columns=NAMES), DiskExecutor.keep, []

    def fail_once(self, tasks):
        found = keep(self, tasks)
        if not kept:
            kept.append(found)  # as the traceback of an error does
            raise ValueError("for once")
        kept[0] = None
        return found

    monkeypatch.setattr(DiskExecutor, "keep", fail_once)
    with pytest.raises(ValueError, match="for once"):
        model.fit(table, "two")
    assert model.fit(table, "two").converged_


def test_sums_over_other_pieces_have_other_names(data, folder, tmp_path):
    rows = StoredTable(folder).open()
    there = DiskExecutor(rows, NAMES, 2_000_000, Checkpoint(tmp_path / "sums"))
    blocks = there.align(None, data.y, None, "")
    for tasks in (blocks[0].tasks, blocks[1].tasks):
        found = [there._name("sum", there.map("sum", np.sum, [task, task])) for task in tasks]
        assert len(set(found)) == len(tasks) > 2


def test_parts_of_a_mapped_file_are_told_from_each_other(data, tmp_path):
    np.save(tmp_path / "X.npy", data.X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    parts = mapped[:400], mapped[400:800], mapped[:800:2]
    found = [name_value(StoredTable(part).open().describe()) for part in (*parts, *parts)]
    assert len(set(found)) == 3
    assert found[:3] == found[3:]
    changed = np.load(tmp_path / "X.npy", mmap_mode="c")
    assert name_value(StoredTable(changed).open().describe()) != name_value(StoredTable(changed).open().describe())


def test_a_kernel_that_was_edited_is_another(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_kernels.py").write_text("def f(x, z): return 1.0")
    own = importlib.import_module("own_kernels")
    before = name_value(Custom(own.f))
    assert name_value(Custom(own.f)) == before
    (tmp_path / "own_kernels.py").write_text("def f(x, z): return 2.0")
    names._stamp.cache_clear()  # as in the next process
    assert name_value(Custom(own.f)) != before
