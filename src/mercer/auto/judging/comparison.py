"""Whether one model is better than another, or whether the rows held out cannot tell."""

from __future__ import annotations

import numpy as np

from mercer.words import count_things, round_number

from ..chances import measure_log_losses
from ..report import ENOUGH, Report, RivalComparison

RESAMPLES = 1000
MOST_GROUPS = 2000  # of rows that are drawn together where there are more rows
SPAN = (5.0, 95.0)  # percent of the interval


def compare(
    metric: str, y: np.ndarray, ours: np.ndarray, theirs: np.ndarray, rng: np.random.RandomState | np.random.Generator,
    rival: str,
) -> RivalComparison:  # fmt: skip
    """Return how much better our predictions are than those of a rival, with a 90 % interval by the bootstrap.

    Rows are drawn with replacement, the same for both models, so that what makes a row hard for both cancels.  With
    losses lᵢ and l′ᵢ of row i and wᵢ the times that it is drawn, the gain in log-loss is Σ wᵢ (l′ᵢ - lᵢ) / Σ wᵢ, and
    that in RMSE is the difference of the roots of both means of squares.

    Parameters
    ----------
    metric : {"RMSE", "MAE", "log-loss", "accuracy"}
        What is compared.
    y : array of shape (n,)
        Targets of the rows held out: values, or codes of classes.
    ours, theirs : arrays of shape (n,) or (n, classes)
        Predicted values, or probabilities.
    rng : numpy random state or generator
        Where the draws come from.
    rival : str
        The name of the other model.

    Returns
    -------
    RivalComparison

    Examples
    --------
    >>> import numpy as np
    >>> y = np.arange(100.0)
    >>> found = compare("RMSE", y, y + 1.0, y - 3.0, np.random.default_rng(0), "boosting")
    >>> found.gain, found.low, found.high, found.rows
    (2.0, 2.0, 2.0, 100)
    """
    pairs = np.column_stack([measure_losses(metric, y, outputs) for outputs in (ours, theirs)])
    root = np.sqrt if metric == "RMSE" else np.asarray
    n = len(pairs)
    starts = np.linspace(0, n, min(n, MOST_GROUPS), endpoint=False).astype(int)
    order = np.arange(n) if len(starts) == n else rng.permutation(n)
    sums = np.add.reduceat(np.column_stack([pairs, np.ones(n)])[order], starts, axis=0)
    weights = rng.multinomial(len(starts), np.full(len(starts), 1 / len(starts)), size=RESAMPLES)
    drawn = weights.astype(np.float64) @ sums
    scores = root(drawn[:, :2] / drawn[:, 2:])
    mean = root(pairs.mean(axis=0))
    low, high = np.percentile(scores[:, 1] - scores[:, 0], SPAN)
    return RivalComparison(rival, float(mean[1] - mean[0]), float(low), float(high), n)


def write_comparison(report: Report) -> str:
    """Return how the model compares with its rival, as a sentence; nothing if there is no comparison."""
    found = report.comparison
    if found is None:
        return ""
    scores = [score.values[report.metric] for score in report.scores if score.name == found.rival]
    words = describe_comparison(found, scores[0] if scores else 0.0, report.metric)
    return f"{words[0].upper()}{words[1:]}."


def describe_comparison(found: RivalComparison, rival: float, metric: str) -> str:
    """Return a comparison in words, in percent of the score of the rival where that makes sense.

    Examples
    --------
    >>> describe_comparison(RivalComparison("boosting", 0.03, 0.01, 0.05, 146), 1.0, "RMSE")
    'better than boosting by 3 % in RMSE (90 % interval: 1 to 5 %)'
    >>> describe_comparison(RivalComparison("boosting", 0.03, -0.01, 0.05, 146), 1.0, "RMSE")
    'no difference from boosting that these 146 rows could show: 3 % in RMSE (90 % interval: -1 to 5 %)'
    """
    sign = -1.0 if found.is_clear and found.gain < 0 else 1.0
    ends = sorted((sign * found.low, sign * found.high))
    if metric == "accuracy":
        shown, unit = _round([sign * found.gain, *ends], 100.0), " points"
    elif max(map(abs, ends)) < rival:
        shown, unit = _round([sign * found.gain, *ends], 100.0 / rival), " %"
    else:  # more than all of it makes no sense to anybody
        shown, unit = [round_number(value) for value in (sign * found.gain, *ends)], ""
    size = f"{shown[0]}{unit} in {metric} (90 % interval: {shown[1]} to {shown[2]}{unit})"
    if found.rows < ENOUGH:
        return f"{count_things(found.rows, 'row')} held out cannot tell whether {found.rival} is better"
    if found.is_clear:
        return f"{'better' if found.gain > 0 else 'worse'} than {found.rival} by {size}"
    return f"no difference from {found.rival} that these {found.rows:,} rows could show: {size}"


def _round(values: list[float], scale: float) -> list[str]:
    """Return gains in percent, whole ones unless they are small."""
    gain, low, high = (scale * value for value in values)
    digits = 0 if high - low >= 1 and abs(gain) >= 1 else 1
    return [f"{round(value, digits) + 0.0:.{digits}f}" for value in (gain, low, high)]  # 0 has no sign


def measure_losses(metric: str, y: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Return the loss of each row, whose mean, or the root of it, is the metric; 1 for a wrong class in accuracy."""
    if metric == "RMSE":
        return np.asarray((outputs - y) ** 2)
    if metric == "MAE":
        return np.abs(outputs - y)
    if metric == "log-loss":
        return measure_log_losses(y, outputs)
    if metric == "accuracy":
        return np.asarray(outputs.argmax(axis=1) != y, dtype=np.float64)
    raise ValueError(f"there are no losses of rows for {metric!r}; expected RMSE, MAE, log-loss or accuracy")


def measure_error(metric: str, y: np.ndarray, outputs: np.ndarray) -> float:
    """Return the standard error of a metric over rows, NaN for a single row.

    Examples
    --------
    >>> import numpy as np
    >>> measure_error("MAE", np.zeros(4), np.array([1.0, 2.0, 3.0, 2.0]))
    0.408...
    """
    losses = measure_losses(metric, y, outputs)
    if len(losses) < 2:
        return float("nan")
    error = float(np.std(losses, ddof=1) / np.sqrt(len(losses)))
    root = float(np.sqrt(losses.mean()))
    return error / (2 * root) if metric == "RMSE" and root > 0 else error
