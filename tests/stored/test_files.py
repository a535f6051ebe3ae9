"""What is wrong with a file is named, and nothing half-written stays."""

import numpy as np
import pandas as pd
import pyarrow.dataset as datasets
import pyarrow.parquet as pq
import pytest

from mercer.kernels import Gaussian
from mercer.models import KernelLogisticRegression, KernelRidge
from mercer.stored import DamagedFileError, StoredTable, write_predictions

from .conftest import NAMES, assert_same


def ridge(**options):
    return KernelRidge(0.1, kernel=Gaussian(1.5), n_centers=20, memory="2MB", random_state=0, **options)


def damage(path, group, column=0):
    """Overwrite the middle of one column of a row group."""
    place = pq.read_metadata(path).row_group(group).column(column)
    with path.open("r+b") as file:
        file.seek(place.data_page_offset + place.total_compressed_size // 2)
        file.write(b"\xff" * 64)


@pytest.fixture
def checked(data, tmp_path):
    path = tmp_path / "checked.parquet"
    data.frame.to_parquet(path, row_group_size=200, index=False, write_page_checksum=True)
    return path


@pytest.mark.parametrize("group", [0, 3])
def test_a_damaged_row_group_is_named_and_nothing_stays(checked, group):
    model = ridge()
    damage(checked, group)
    first = 200 * group
    with pytest.raises(DamagedFileError, match=rf"checked.parquet: row group {group} \(rows {first} to {first + 199}"):
        model.fit(StoredTable(checked, columns=NAMES), "y")
    assert not hasattr(model, "expansion_")
    assert [path.name for path in checked.parent.iterdir()] == [checked.name]


def test_a_damaged_group_leaves_no_predictions(data, checked):
    model = ridge().fit(data.frame[NAMES], data.y)
    damage(checked, 4)
    with pytest.raises(DamagedFileError, match="row group 4"):
        write_predictions(model, checked, checked.with_name("out.parquet"))
    assert [path.name for path in checked.parent.iterdir()] == [checked.name]


def test_a_file_that_is_none_is_named(folder):
    (folder / "part-2.parquet").write_bytes(b"no table at all")
    with pytest.raises(DamagedFileError, match=r"part-2\.parquet"):
        ridge().fit(folder, "y")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*tabel: did you mean table\?"):
        ridge().fit(folder.with_name("tabel"), "y")
    (folder.parent / "table.csv").write_text("a,y\n1,2\n")
    with pytest.raises(ValueError, match=r"rows are read from \.parquet, .*write it as one of these"):
        ridge().fit(folder.parent / "table.csv", "y")


@pytest.mark.parametrize(("column", "row"), [("b", 37), ("b", 712), ("y", 801)])
def test_a_missing_value_is_named_by_its_column_and_row(data, tmp_path, column, row):
    frame = data.frame[[*NAMES, "y"]].copy()
    frame.loc[row, column] = np.nan
    frame.to_parquet(tmp_path / "holes.parquet", index=False, row_group_size=400)
    with pytest.raises(ValueError, match=rf"column '{column}' is missing in .*holes.parquet, row {row} of the file"):
        ridge().fit(tmp_path / "holes.parquet", "y")


def test_columns_that_are_not_there_are_all_named(folder):
    with pytest.raises(ValueError, match=r"no columns 'weigth': did you mean weight\?, 'zebra'; it has 'a', 'b'"):
        ridge().fit(StoredTable(folder, columns=["weigth", "b", "zebra"]), "y")
    with pytest.raises(ValueError, match="no column 'targt'"):
        ridge().fit(folder, "targt")
    with pytest.raises(ValueError, match="'y' is target or weight"):
        ridge().fit(StoredTable(folder, columns=["a", "y"]), "y")
    model = ridge().fit(StoredTable(folder, columns=NAMES), "y")
    pd.DataFrame({"a": [1.0], "c": [1.0]}).to_parquet(folder.parent / "few.parquet")
    with pytest.raises(ValueError, match="no column 'b'"):
        model.predict(folder.parent / "few.parquet")


def test_sources_that_cannot_be_read_so_are_refused(data, folder, tmp_path):
    with pytest.raises(ValueError, match="has a filter"):
        ridge().fit(datasets.dataset(folder).filter(datasets.field("a") > 0), "y")
    with pytest.raises(TypeError, match=r"a path, a pyarrow\.dataset or a numpy\.memmap; got an object of type list"):
        StoredTable([1, 2])
    with pytest.raises(TypeError, match=r"write \['a'\]"):
        StoredTable(folder, columns="a")
    np.save(tmp_path / "X.npy", data.X)
    with pytest.raises(ValueError, match=r"the columns of .* have no names"):
        ridge().fit(tmp_path / "X.npy", "y")
    with pytest.raises(ValueError, match="X has 900 rows, but y has 899"):
        ridge().fit(tmp_path / "X.npy", data.y[1:])


def test_predictions_are_streamed_into_a_file(data, folder, tmp_path):
    model = KernelLogisticRegression(kernel=Gaussian(1.5), n_centers=20, random_state=0)
    model.fit(StoredTable(folder, columns=NAMES), "three")
    out = tmp_path / "out.parquet"
    assert write_predictions(model, folder, out, "predict_proba", keep=["weight"]) == len(data.y)
    found = pd.read_parquet(out)
    assert list(found) == ["weight", "proba_0", "proba_1", "proba_2"]
    assert_same(model.predict_proba(data.frame[NAMES]), found.iloc[:, 1:])
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_predictions(model, folder, out)
    write_predictions(model, folder, out, overwrite=True)
    assert pd.read_parquet(out)["prediction"].tolist() == model.predict(folder).tolist()


def test_columns_that_are_kept_stay_as_they_are(data, tmp_path, small_pieces):
    n = len(data.y)
    kept = pd.DataFrame({
        "id": pd.array([None if i > 600 and i % 2 else 2**60 + i for i in range(n)], dtype="Int64"),
        "text": [None] * 300 + ["a"] * (n - 300),
        "when": pd.date_range("2024", periods=n, tz="Europe/Berlin"),
        "prediction": 0.0,
    })  # fmt: skip
    pd.concat([data.frame[NAMES], kept], axis=1).to_parquet(tmp_path / "in.parquet", index=False)
    names, model = ["id", "text", "when"], ridge().fit(data.frame[NAMES], data.y)
    write_predictions(model, tmp_path / "in.parquet", tmp_path / "out.parquet", keep=names)
    assert pq.read_table(tmp_path / "out.parquet", columns=names) == pq.read_table(
        tmp_path / "in.parquet", columns=names
    )
    with pytest.raises(ValueError, match="predictions have a column 'prediction'; rename"):
        write_predictions(model, tmp_path / "in.parquet", tmp_path / "other.parquet", keep=["prediction"])
    np.save(tmp_path / "X.npy", data.X)
    with pytest.raises(ValueError, match=r"have no names, so that \['id'\] cannot be kept"):
        write_predictions(model, tmp_path / "X.npy", tmp_path / "other.parquet", keep=["id"])
    data.frame[:0].to_parquet(tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match="has no rows, so that there is nothing to predict"):
        model.predict(tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match=r"empty\.parquet has no rows to learn from"):
        ridge().fit(tmp_path / "empty.parquet", "y")
    assert not (tmp_path / "other.parquet").exists()


@pytest.mark.parametrize("size", [70, 99])
def test_batches_of_any_size_give_the_rows_that_were_asked_for(data, folder, monkeypatch, size):
    rows = StoredTable(folder).open()
    rows.cut(100)
    read = pq.ParquetFile.iter_batches
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda self, step, **given: read(self, size, **given))
    found = pd.concat([rows.read(piece, ["a", "y"]) for piece in rows.pieces], ignore_index=True)
    pd.testing.assert_frame_equal(found, data.frame[["a", "y"]])
