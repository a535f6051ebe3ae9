"""Tables as people have them: automatic models beside boosting and xRFM, all at their defaults, on one split each.

``python -m benchmarks.tables eucalyptus telco`` runs some of the tables, ``--models mercer,CatBoost`` some of the
models, and ``--peers FILE`` keeps what the peers scored, so that ours can be run again alone.
"""

import argparse
import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mercer
from mercer.cli.reading.target import guess_task

from .measure import data_folder, table, timed
from .table_peers import list_peers

OURS = "mercer"
LEAST = 1e-6  # probability that counts
TIE = 0.01
KINDS = ("regression", "two classes", "several classes")
WINS = {"HistGradientBoosting": 0.75, "LightGBM": 0.75, "CatBoost": 0.60, "xRFM": 0.75, "xRFM tuned": 0.75}
MOST_TIMES, MOST_SECONDS = 20.0, 180.0  # the time of all fits in those of boosting, and of one
Section = tuple[str, list[str], list[list[object]]]
Result = dict[str, Any]  # kind, score, ece and seconds, or an error


def read_split(path: Path) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame, pd.Series]:
    """Return training rows with their targets and test rows with theirs, without those that have no target."""
    whole = pd.read_csv(path, low_memory=False)
    whole = whole[whole.iloc[:, -1].notna()]
    test = whole.pop("test_row").to_numpy() == 1
    X, y = whole.iloc[:, :-1], whole.iloc[:, -1]
    parts = [part.reset_index(drop=True) for part in (X[~test], y[~test], X[test], y[test])]
    return parts[0], parts[1], parts[2], parts[3]


def find_kind(y: pd.Series) -> str:
    if guess_task(y)[0] == "regression":
        return KINDS[0]
    return KINDS[1] if y.nunique() == 2 else KINDS[2]


def run_model(name: str, X: pd.DataFrame, y: pd.Series, new: pd.DataFrame, truth: pd.Series) -> Result:
    """Return what a model scores on the test rows, and the seconds of its fit."""
    kind = find_kind(pd.concat([y, truth]))
    classes = np.empty(0) if kind == KINDS[0] else np.unique(y.to_numpy())
    try:
        if name == OURS:
            model = mercer.AutoClassifier(random_state=0) if len(classes) else mercer.AutoRegressor(random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _, seconds = timed(lambda: model.fit(X, y))
                outputs = model.predict_proba(new) if len(classes) else model.predict(new)
        else:
            goals = np.searchsorted(classes, y.to_numpy()) if len(classes) else y.to_numpy(float)
            outputs, seconds = list_peers()[name](X, goals, new, len(classes) > 0)
    except Exception as error:  # a failure is a result
        return {"kind": kind, "error": f"{type(error).__name__}: {error}"}
    if not len(classes):
        truth = truth.to_numpy(float)
        return {
            "kind": kind,
            "score": float(np.sqrt(np.mean((outputs - truth) ** 2)) / truth.std()),
            "seconds": seconds,
        }
    loss, gap = score_chances(np.asarray(outputs, dtype=float), classes, truth.to_numpy())
    return {"kind": kind, "score": loss, "ece": gap, "seconds": seconds}


def score_chances(chances: np.ndarray, classes: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Return log loss and expected calibration error; classes that were not there to learn have the least chance."""
    hits = truth[:, None] == classes
    known = hits.any(axis=1)
    seen = np.where(known, np.where(hits, chances, 0.0).sum(axis=1), 0.0)
    sure, right = chances.max(axis=1), hits[np.arange(len(truth)), chances.argmax(axis=1)]
    bins = np.minimum((sure * 15).astype(int), 14)
    gaps = [abs(np.sum(sure[bins == b]) - np.sum(right[bins == b])) for b in range(15)]
    return float(-np.mean(np.log(np.clip(seen, LEAST, 1.0)))), float(np.sum(gaps) / len(truth))


def run_all(names: list[str], models: list[str], folder: Path, store: Path | None) -> tuple[dict[str, Any], bool]:
    """Return the results of models by tables, and whether some were read from the store."""
    kept = json.loads(store.read_text()) if store is not None and store.exists() else {}
    found: dict[str, Any] = {}
    reused = False
    for name in names:
        split = read_split(folder / f"{name}.csv.gz")
        found[name] = {}
        for model in models:
            if model != OURS and "score" in kept.get(name, {}).get(model, {}):  # what failed is tried again
                found[name][model], reused = kept[name][model], True
                continue
            found[name][model] = result = run_model(model, *split)
            print(f"{name}, {model}: {show_score(result)}, {show_time(result)}", flush=True)
            if store is not None and model != OURS:
                kept.setdefault(name, {})[model] = result
                store.write_text(json.dumps(kept, indent=1))
    return found, reused


def show_score(result: Result, key: str = "score") -> str:
    return f"{result[key]:.4f}" if key in result else "" if "score" in result else f"failed: {result['error'][:60]}"


def show_time(result: Result) -> str:
    return f"{result['seconds']:.1f} s" if "seconds" in result else ""


def compare(ours: Result, theirs: Result) -> str:
    """Return whether ours wins, ties or loses; a failure loses against everything that is none."""
    if "score" not in ours or "score" not in theirs:
        return "win" if "score" in ours else "tie" if "score" not in theirs else "lose"
    ratio = ours["score"] / max(theirs["score"], 1e-12)
    return "win" if ratio < 1 - TIE else "lose" if ratio > 1 + TIE else "tie"


def rank_rows(found: dict[str, Any], models: list[str]) -> list[list[object]]:
    """Mean rank of each model by kind; 1 is best."""
    rows: list[list[object]] = []
    ranks: dict[str, dict[str, list[int]]] = {model: {kind: [] for kind in KINDS} for model in models}
    for results in found.values():
        scores = {model: results[model].get("score", np.inf) for model in models}
        for model in models:
            rank = 1 + sum(other < scores[model] for other in scores.values())
            ranks[model][results[model]["kind"]].append(rank)
    for model, kinds in ranks.items():
        every = [rank for each in kinds.values() for rank in each]
        rows.append(
            [model, *(f"{np.mean(each):.2f}" if each else "" for each in kinds.values()), f"{np.mean(every):.2f}"]
        )
    return sorted(rows, key=lambda row: float(str(row[-1])))


def win_rows(found: dict[str, Any], peers: list[str]) -> list[list[object]]:
    """Wins, ties and losses against each peer by kind, with the share that is no loss beside its target."""
    rows: list[list[object]] = []
    for peer in peers:
        row: list[object] = [peer]
        for kind in KINDS:
            ends = Counter(compare(r[OURS], r[peer]) for r in found.values() if r[peer]["kind"] == kind)
            if not ends:
                row.append("")
                continue
            share, target = 1 - ends["lose"] / ends.total(), WINS.get(peer)
            text = "" if target is None else f", target ≥ {target:.0%}{'' if share >= target else ', missed'}"
            row.append(f"{ends['win']}/{ends['tie']}/{ends['lose']} ({share:.0%}{text})")
        rows.append(row)
    return rows


def time_rows(found: dict[str, Any], models: list[str]) -> list[list[object]]:
    """Seconds of all fits, of the longest, and the first in those of boosting."""
    rows: list[list[object]] = []
    for model in models:
        times = [results[model].get("seconds", np.nan) for results in found.values()]
        longest = f"{np.nanmax(times):.1f} s"
        ratio = ""
        if "HistGradientBoosting" in models:
            both = [(t, r["HistGradientBoosting"].get("seconds")) for t, r in zip(times, found.values(), strict=True)]
            pairs = [(a, b) for a, b in both if np.isfinite(a) and b is not None]
            value = sum(a for a, _ in pairs) / max(sum(b for _, b in pairs), 1e-9)
            ratio = f"{value:.1f}×"
            if model == OURS:
                ratio += f" (target ≤ {MOST_TIMES:g}×{'' if value <= MOST_TIMES else ', missed'})"
        if model == OURS:
            late = "" if np.nanmax(times) <= MOST_SECONDS else ", missed"
            longest += f" (target ≤ {MOST_SECONDS:g} s{late})"
        failed = sum("score" not in results[model] for results in found.values())
        rows.append([model, f"{np.nansum(times):.1f} s", ratio, longest, failed or ""])
    return rows


def calibration_rows(found: dict[str, Any], models: list[str]) -> list[list[object]]:
    """Mean expected calibration error over the tables with classes that all could fit."""
    tables = [r for r in found.values() if all("ece" in r[model] for model in models)]
    means = {model: float(np.mean([r[model]["ece"] for r in tables])) for model in models if tables}
    rows: list[list[object]] = []
    for model, mean in means.items():
        target = means.get("CatBoost") if model == OURS else None
        text = "" if target is None else f" (target ≤ {target:.4f}{'' if mean <= target else ', missed'})"
        rows.append([model, f"{mean:.4f}{text}"])
    return rows


def list_sections(found: dict[str, Any], models: list[str]) -> Iterator[Section]:
    """Title, header and rows of everything that is shown."""
    for kind in KINDS:
        some = {name: r for name, r in found.items() if next(iter(r.values()))["kind"] == kind}
        if not some:
            continue
        what = "RMSE over the deviation of the target" if kind == KINDS[0] else "log loss"
        rows = [[name, *(show_score(r[m]) for m in models)] for name, r in some.items()]
        yield f"{kind.capitalize()}: {what}, lower is better", ["", *models], rows
        if kind != KINDS[0]:
            rows = [[name, *(show_score(r[m], "ece") for m in models)] for name, r in some.items()]
            yield f"{kind.capitalize()}: expected calibration error", ["", *models], rows
        rows = [[name, *(show_time(r[m]) for m in models)] for name, r in some.items()]
        yield f"{kind.capitalize()}: time of the fit", ["", *models], rows
    yield "Mean rank, 1 is best", ["", *KINDS, "all"], rank_rows(found, models)
    if OURS in models:
        title = f"Wins, ties (within {TIE:.0%}) and losses of {OURS}"
        yield title, ["against", *KINDS], win_rows(found, [model for model in models if model != OURS])
    header = ["", "all", "in those of HistGradientBoosting", "longest", "failed"]
    yield "Time of fits", header, time_rows(found, models)
    title = "Expected calibration error, mean of all tables with classes"
    yield title, ["", "mean"], calibration_rows(found, models)


def write_markdown(sections: Iterable[Section]) -> str:
    """Everything that is shown, for the page of benchmarks."""
    parts = []
    for title, header, rows in sections:
        lines = [header, ["---"] * len(header), *rows]
        parts.append(f"{title}:\n\n" + "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines))
    return "\n\n".join(parts) + "\n"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("names", nargs="*", help="tables; all of them if none is named")
    parser.add_argument("--models", help="names with commas between them; all that are installed if left out")
    parser.add_argument(
        "--peers", type=Path, metavar="FILE", help="keep what peers scored there, and use what is there"
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write all of it there, for a page")
    options = parser.parse_args(arguments or [])
    folder = data_folder()
    if folder is None:
        print("tables: skipped, because MERCER_DATA does not name the data folder")
        return
    known = [OURS, *list_peers()]
    models = known if options.models is None else [m for m in known if m in options.models.split(",")]
    if not models:
        parser.error(f"--models {options.models} names none of {', '.join(known)}")
    there = sorted(path.name.removesuffix(".csv.gz") for path in (folder / "tables").glob("*.csv.gz"))
    names = options.names or there
    if unknown := set(names) - set(there):
        parser.error(f"there is no table {', '.join(sorted(unknown))}; there are {', '.join(there)}")
    found, reused = run_all(names, models, folder / "tables", options.peers)
    sections = list(list_sections(found, models))
    for section in sections:
        table(*section)
    if options.markdown is not None:
        options.markdown.write_text(write_markdown(sections))
    if reused:
        print(f"\nScores and times of peers were read from {options.peers}: times of different runs do not compare.")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
