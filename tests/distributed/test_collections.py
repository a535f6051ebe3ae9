"""What a fit takes: arrays, frames and bags of any partitions, aligned or refused with a reason."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear, Overlap, Polynomial
from mercer.models import SVC, KernelPCA, KernelRidge, KernelRidgeClassifier, ParzenDensity

from .conftest import assert_same, cut, da, dask, without_sizes

pd = pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe")
pytestmark = pytest.mark.usefixtures("at_once")


def nystroem(**options):
    return KernelRidge(0.1, kernel=Gaussian(1.5), n_centers=20, random_state=0, **options)


@pytest.fixture(scope="module")
def frame(data):
    frame = pd.DataFrame(data.X, columns=["a", "b", "c"])
    frame["target"], frame["label"], frame["weight"] = data.y, data.two, data.weights
    return frame


def test_a_dataframe_gives_names_and_the_same_answer(data, frame):
    lazy = dd.from_pandas(frame, npartitions=4)
    here = nystroem().fit(frame[["a", "b", "c"]], frame["target"], frame["weight"])
    there = nystroem().fit(lazy[["a", "b", "c"]], lazy["target"], lazy["weight"])
    assert there.feature_names_in_.tolist() == ["a", "b", "c"]
    assert_same(here.predict(frame[["a", "b", "c"]]), there.predict(frame[["a", "b", "c"]]))
    predictions = there.predict(lazy[["a", "b", "c"]])
    assert isinstance(predictions, da.Array)
    assert np.isnan(predictions.shape[0])
    assert_same(here.predict(frame[["a", "b", "c"]]), predictions.compute())


def test_partitions_of_a_frame_may_be_empty(frame):
    lazy = dd.from_pandas(frame, npartitions=4)
    some = lazy[lazy["a"] > 1.0]
    few = frame[frame["a"] > 1.0]
    here = nystroem().fit(few[["a", "b", "c"]], few["target"])
    there = nystroem().fit(some[["a", "b", "c"]], some["target"])
    assert_same(here.predict(few[["a", "b", "c"]]), there.predict(some[["a", "b", "c"]]).compute())


def test_labels_of_a_frame(frame):
    lazy = dd.from_pandas(frame, npartitions=3)
    here = KernelRidgeClassifier(0.1, kernel=Polynomial(2)).fit(frame[["a", "b"]], frame["label"])
    there = KernelRidgeClassifier(0.1, kernel=Polynomial(2)).fit(lazy[["a", "b"]], lazy["label"])
    assert_same(here.decision_function(frame[["a", "b"]]), there.decision_function(frame[["a", "b"]]))
    np.testing.assert_array_equal(there.predict(lazy[["a", "b"]]).compute(), here.predict(frame[["a", "b"]]))


def test_a_kernel_that_names_columns_gets_frames(frame):
    kernel = Gaussian().on(["a", "b"]) + Overlap().on(["label"])
    lazy = dd.from_pandas(frame, npartitions=3)
    columns = ["a", "b", "label"]
    model = KernelRidge(0.1, kernel=kernel, n_centers=15, random_state=0)
    here = model.fit(frame[columns], frame["target"]).predict(frame[columns])
    there = model.fit(lazy[columns], lazy["target"])
    assert_same(here, there.predict(frame[columns]))
    assert_same(here, there.predict(lazy[columns]).compute())


def test_targets_in_this_process_are_cut_like_the_rows(data):
    there = nystroem().fit(cut(data.X), data.y, data.weights)
    assert_same(nystroem().fit(data.X, data.y, data.weights).predict(data.X), there.predict(data.X))
    with pytest.raises(TypeError, match="unknown sizes"):
        nystroem().fit(without_sizes(cut(data.X)), data.y)


def test_one_weight_for_all_rows(data):
    here = nystroem().fit(data.X, data.y, 2.0)
    assert_same(here.predict(data.X), nystroem().fit(cut(data.X), cut(data.y), 2.0).predict(data.X))


def test_rows_that_are_not_aligned_are_refused(data):
    X = cut(data.X)
    with pytest.raises(ValueError, match="X has 240 rows, but y has 100"):
        nystroem().fit(X, cut(data.y[:100], (100,)))
    with pytest.raises(ValueError, match="5 partitions and y has 2"):
        nystroem().fit(without_sizes(X), without_sizes(cut(data.y, (100, 140))))
    other = without_sizes(cut(data.y, (70, 0, 1, 49, 120)))
    with pytest.raises(ValueError, match=r"X has [01] rows, but y has [01]") as caught:
        nystroem().fit(without_sizes(X), other)
    assert "in partition" in "".join(caught.value.__notes__)
    with pytest.raises(TypeError, match="X is a ndarray in this process"):
        nystroem().fit(data.X, cut(data.y))


def test_bad_rows_are_found_where_they_are(data):
    X = data.X.copy()
    X[200, 1] = np.nan
    with pytest.raises(ValueError, match="NaN") as caught:
        nystroem().fit(cut(X), cut(data.y))
    assert "partition 4" in "".join(caught.value.__notes__)
    with pytest.raises(ValueError, match="not negative"):
        nystroem().fit(cut(data.X), cut(data.y), cut(-data.weights))
    with pytest.raises(ValueError, match="all sample weights are zero"):
        nystroem().fit(cut(data.X), cut(data.y), cut(0 * data.weights))
    with pytest.raises(ValueError, match="no rows"):
        nystroem().fit(da.zeros((0, 3), chunks=(1, 3)), da.zeros(0, chunks=1))


def test_a_fit_that_fails_changes_nothing(data):
    model = nystroem().fit(cut(data.X), cut(data.y))
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(cut(data.X), cut(np.where(data.y > 0, np.nan, data.y)))
    assert vars(model) == before


def test_what_cannot_be_done_in_partitions_is_refused_with_a_way_out(data):
    X, y = cut(data.X), cut(data.y)
    with pytest.raises(ValueError, match="'cg', which has the same answer"):
        KernelRidge(solver="cholesky").fit(X, y)
    with pytest.raises(ValueError, match="positive alpha"):
        KernelRidge(0.0).fit(X, y)
    with pytest.raises(ValueError, match="precomputed"):
        KernelRidge(kernel="precomputed").fit(X, y)
    with pytest.raises(TypeError, match=r"KernelPCA cannot be fitted .* KernelRidge"):
        KernelPCA().fit(X)
    with pytest.raises(ValueError, match="Custom"):
        SVC(kernel=lambda A, B: A @ B.T).fit(X, cut(data.two))
    with pytest.raises(ValueError, match="weights of several kernels are not learned in partitions"):
        SVC(kernel=[Gaussian(), Linear()], weights="easy").fit(X, cut(data.two))
    with pytest.raises(MemoryError, match="keeps all 240 training rows"):
        ParzenDensity(length_scale=1.0, memory=5000).fit(X)


def test_a_client_needs_data_that_lives_elsewhere(data):
    with pytest.raises(TypeError, match="none of the data is a Dask collection"):
        nystroem().fit(data.X, data.y, client="tcp://somewhere:8786")
    assert nystroem().fit(data.X, data.y, client=None).n_iter_ == 0
    with pytest.raises(TypeError, match=r"must be a distributed\.Client"):
        nystroem().fit(cut(data.X), cut(data.y), client="tcp://somewhere:8786")


def test_predictions_are_lazy(data):
    model = nystroem().fit(data.X, data.y)

    def fail(block):
        raise AssertionError("this must not run")

    rows = cut(data.X).rechunk({1: -1}).map_blocks(fail, dtype=float, meta=np.empty((0, 3)))
    assert model.predict(rows).shape == (240,)
    with pytest.raises(AssertionError, match="must not run"):
        model.predict(rows).compute()


def test_the_plan_says_what_ran_where_and_what_moved(data):
    plan = nystroem().fit(cut(data.X), cut(data.y)).plan_
    assert plan.solver == "nystroem"
    assert plan.partitions == 4  # one of the five is empty
    assert {"sums", "picked rows"} <= plan.moved.keys()
    assert plan.bytes_moved == sum(plan.moved.values())
    for words in ("On the workers, over 4 partitions", "On the client", "What moves"):
        assert words in str(plan)


def test_what_moves_grows_with_partitions_and_centres_and_not_with_rows(data):
    moved = {}
    for rows, parts in ((1000, 4), (4000, 4), (4000, 8)):
        X = da.random.default_rng(0).normal(size=(rows, 2), chunks=(rows // parts, 2))
        plan = nystroem().fit(X, X[:, 0]).plan_
        moved[rows, parts] = plan.moved["sums"] / plan.passes
    assert moved[4000, 4] == pytest.approx(moved[1000, 4], rel=0.2)
    assert moved[4000, 8] == pytest.approx(2 * moved[4000, 4], rel=0.2)


def test_methods_that_need_the_rows_say_where_they_are(data):
    model = nystroem().fit(cut(data.X), cut(data.y))
    for call in (model.leave_one_out, model.diagnose, lambda: model.predict_interval(data.X)):
        with pytest.raises(ValueError, match=r"stayed on the cluster.*distributed\.leave_one_out"):
            call()


def test_a_fitted_model_predicts_in_a_process_without_dask(data, tmp_path):
    models = [nystroem(), KernelRidge(0.1, kernel=Polynomial(2)), SVC()]
    fitted = [model.fit(cut(data.X), cut(data.two if isinstance(model, SVC) else data.y)) for model in models]
    (tmp_path / "models").write_bytes(pickle.dumps((fitted, data.X[:3])))
    code = (
        "import pickle, sys\n"
        "sys.modules.update(dask=None, distributed=None)\n"
        f"models, X = pickle.load(open({str(tmp_path / 'models')!r}, 'rb'))\n"
        "print([model.predict(X).tolist() for model in models], [str(model.plan_) > '' for model in models])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert str([model.predict(data.X[:3]).tolist() for model in fitted]) in done.stdout


def test_mercer_itself_does_not_load_dask():
    code = "import sys, mercer, mercer.models, mercer.distributed; print('dask' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_columns_in_several_chunks_and_arrays_that_share_ancestors_are_computed_once(data):
    calls = []

    def watched(block):
        calls.append(len(block))
        return block

    both = cut(np.c_[data.X, data.y]).rechunk({0: 80, 1: -1}).map_blocks(watched, dtype=float, meta=np.empty((0, 4)))
    with dask.config.set(scheduler="synchronous"):
        model = nystroem().fit(both[:, :3], both[:, 3])
    assert len(calls) <= 3 * (model.plan_.passes + 1)
