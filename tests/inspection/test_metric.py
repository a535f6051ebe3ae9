"""The picture of a learned metric shows the metric, and says what it needs."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from mercer.inspection import MetricDisplay
from mercer.models import KernelRidge, RecursiveFeatureRegressor


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)) * [1.0, 10.0, 0.1], columns=["near", "far", "a rather long name of it"])
    return RecursiveFeatureRegressor(random_state=0).fit(X, np.sin(2.0 * X["near"]) + 0.1 * X["far"])


def test_the_matrix_is_that_of_features_divided_by_their_deviation(model):
    display = MetricDisplay.from_estimator(model)
    spread = np.std(np.asarray(model.expansion_.centers), axis=0)
    wanted = spread[:, None] * model.metric_ * spread
    np.testing.assert_allclose(display.matrix, wanted / np.abs(wanted).max())
    assert np.abs(display.matrix).max() == 1.0
    assert display.names[:2] == ["near", "far"]
    assert len(display.names[2]) <= 18
    plt.close(display.figure_)


def test_directions_are_bars_with_their_shares(model):
    figure, axes = plt.subplots(1, 2)
    display = MetricDisplay.from_estimator(model, directions=1, names=["a", "b", "c"], ax=axes)
    assert display.figure_ is figure
    np.testing.assert_allclose([bar.get_width() for bar in axes[1].patches], model.components_[0])
    assert axes[1].get_legend().get_texts()[0].get_text().startswith("direction 1, ")
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["a", "b", "c"]
    plt.close(figure)


def test_models_without_a_metric_and_names_of_another_number_are_refused(model):
    with pytest.raises(TypeError, match="fit RecursiveFeatureRegressor or RecursiveFeatureClassifier"):
        MetricDisplay.from_estimator(KernelRidge().fit([[0.0], [1.0]], [0.0, 1.0]))
    with pytest.raises(ValueError, match="the model has 3 features"):
        MetricDisplay.from_estimator(model, names=["a"])
