"""What automatic models of tables are compared with: boosting in four libraries, and xRFM, all at their defaults.

Each peer is a function of training rows, targets (numbers, or codes of classes from 0) and new rows, which returns
values or probabilities of the new rows and the seconds of the fit.  Strings are categories to all of them.
"""

import importlib.util
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd

from .measure import timed

MOST_LEVELS = 255  # of a category, where a library has no room for more
SETTINGS = 12  # of xRFM, tuned
Peer = Callable[[pd.DataFrame, np.ndarray, pd.DataFrame, bool], tuple[np.ndarray, float]]


def run_histogram(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame, classes: bool) -> tuple[np.ndarray, float]:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    rows, others = name_categories(X, new, MOST_LEVELS)
    return fit_and_predict(kind(categorical_features="from_dtype", random_state=0), rows, y, others, classes)


def run_lightgbm(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame, classes: bool) -> tuple[np.ndarray, float]:
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMClassifier if classes else LGBMRegressor
    rows, others = [frame.set_axis(range(frame.shape[1]), axis=1) for frame in name_categories(X, new)]
    return fit_and_predict(kind(random_state=0, n_jobs=2, verbose=-1), rows, y, others, classes)


def run_xgboost(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame, classes: bool) -> tuple[np.ndarray, float]:
    from xgboost import XGBClassifier, XGBRegressor

    kind = XGBClassifier if classes else XGBRegressor
    rows, others = [frame.set_axis(list(map(str, range(frame.shape[1]))), axis=1) for frame in name_categories(X, new)]
    return fit_and_predict(kind(enable_categorical=True, random_state=0, n_jobs=2), rows, y, others, classes)


def run_catboost(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame, classes: bool) -> tuple[np.ndarray, float]:
    from catboost import CatBoostClassifier, CatBoostRegressor

    kind = CatBoostClassifier if classes else CatBoostRegressor
    names = find_categories(X)
    rows, others = (
        frame.assign(**{name: frame[name].astype(object).where(frame[name].notna(), "").map(str) for name in names})
        for frame in (X, new)
    )
    model = kind(cat_features=names, verbose=False, allow_writing_files=False, thread_count=2, random_seed=0)
    return fit_and_predict(model, rows, y, others, classes)


def run_xrfm(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame, classes: bool) -> tuple[np.ndarray, float]:
    """xRFM at its defaults, with the fifth of the rows that it asks for held back."""
    rows, others, info = encode_one_hot(X, new)
    held = np.random.default_rng(0).random(len(rows)) < 0.2
    model, seconds = timed(lambda: fit_xrfm(rows, y, held, classes, info, None))
    return model(others), seconds


def run_tuned_xrfm(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame, classes: bool) -> tuple[np.ndarray, float]:
    """xRFM with the best of some settings on the fifth of the rows that is held back."""
    rows, others, info = encode_one_hot(X, new)
    rng = np.random.default_rng(0)
    held = rng.random(len(rows)) < 0.2

    def fit_best() -> Callable[[np.ndarray], np.ndarray]:
        found = []
        for _ in range(SETTINGS):
            kernel = {
                "kernel": "l2", "bandwidth": 10.0 ** rng.uniform(0.0, 2.0), "exponent": rng.uniform(0.7, 1.4),
                "diag": bool(rng.integers(2)), "bandwidth_mode": "constant",
            }  # fmt: skip
            fit = {
                "reg": 10.0 ** rng.uniform(-6.0, 0.0), "iters": 5, "return_best_params": True, "early_stop_rfm": True,
                "verbose": False,
            }  # fmt: skip
            model = fit_xrfm(rows, y, held, classes, info, {"model": kernel, "fit": fit})
            guess = model(rows[held])
            if classes:
                loss = -np.mean(np.log(np.clip(guess[np.arange(len(guess)), y[held]], 1e-6, 1.0)))
            else:
                loss = np.mean((guess - y[held]) ** 2)
            found.append((loss, len(found), model))
        return min(found)[2]

    model, seconds = timed(fit_best)
    return model(others), seconds


def fit_xrfm(
    rows: np.ndarray, y: np.ndarray, held: np.ndarray, classes: bool, info: dict[str, object], params: object
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the predictions of a fitted xRFM, as a function of encoded rows."""
    import torch
    from xrfm import xRFM

    centre, spread = (0.0, 1.0) if classes else (y.mean(), y.std())
    goals = torch.as_tensor(y) if classes else torch.as_tensor((y - centre) / spread, dtype=torch.float32)
    model = xRFM(
        rfm_params=params, device=torch.device("cpu"), tuning_metric="brier" if classes else "mse",
        categorical_info=info, verbose=False, random_state=0,
    )  # fmt: skip
    model.fit(torch.as_tensor(rows[~held]), goals[~held], torch.as_tensor(rows[held]), goals[held])
    if classes:
        return lambda new: np.asarray(model.predict_proba(new))
    return lambda new: np.asarray(model.predict(new)).ravel() * spread + centre


def list_peers() -> dict[str, Peer]:
    """Return the peers that are installed, by their names."""
    known = {
        "HistGradientBoosting": ("sklearn", run_histogram), "LightGBM": ("lightgbm", run_lightgbm),
        "CatBoost": ("catboost", run_catboost), "xgboost": ("xgboost", run_xgboost), "xRFM": ("xrfm", run_xrfm),
        "xRFM tuned": ("xrfm", run_tuned_xrfm),
    }  # fmt: skip
    return {name: run for name, (package, run) in known.items() if importlib.util.find_spec(package) is not None}


def fit_and_predict(
    model: object, X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame, classes: bool
) -> tuple[np.ndarray, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about rare classes, and the like
        _, seconds = timed(lambda: model.fit(X, y))
        return np.asarray(model.predict_proba(new) if classes else model.predict(new)), seconds


def find_categories(X: pd.DataFrame) -> list[str]:
    """Return the columns that are no numbers."""
    return [str(name) for name in X.columns if not pd.api.types.is_numeric_dtype(X[name])]


def name_categories(X: pd.DataFrame, new: pd.DataFrame, most: int | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables with categories as such; those that are rare, or new, count as missing."""
    kinds = {}
    for name in find_categories(X):
        kinds[name] = pd.CategoricalDtype(sorted(X[name].dropna().astype(str).value_counts().index[:most]))
    texts = [frame.assign(**{name: frame[name].astype("str") for name in kinds}) for frame in (X, new)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that some values are none of the categories
        return texts[0].astype(kinds), texts[1].astype(kinds)


def encode_one_hot(X: pd.DataFrame, new: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, dict[str, object]]:
    """Return both tables as standardised numbers beside indicators, and where those are, as xRFM wants to know it."""
    import torch

    names = find_categories(X)
    rows, others = name_categories(X, new, MOST_LEVELS)
    numbers = [frame.drop(columns=names).astype(np.float32) for frame in (rows, others)]
    centre, spread = numbers[0].mean().fillna(0.0), numbers[0].std().replace(0.0, 1.0).fillna(1.0)
    parts = [((each - centre) / spread).fillna(0.0).to_numpy(np.float32) for each in numbers]
    start, places = parts[0].shape[1], []
    for name in names:
        levels = rows[name].cat.categories
        if not len(levels):
            continue
        places.append(torch.arange(start, start + len(levels)))
        start += len(levels)
        for i, frame in enumerate((rows, others)):
            codes = frame[name].cat.codes.to_numpy()
            parts[i] = np.hstack([parts[i], (codes[:, None] == np.arange(len(levels))).astype(np.float32)])
    info = {
        "numerical_indices": torch.arange(numbers[0].shape[1]), "categorical_indices": places,
        "categorical_vectors": [torch.eye(len(place)) for place in places],
    }  # fmt: skip
    return parts[0], parts[1], info
