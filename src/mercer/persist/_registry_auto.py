"""The types of automatic models, in a table of their own because few files need them and importing them takes time."""

from __future__ import annotations

from mercer import auto
from mercer.auto.report import Candidate, Column, HeldOut, Report, Score

from ._entries import Entry, Fitted, Kinds, from_dataclass
from ._registry import ARRAY, ESTIMATORS, FITTED, NOTHING, NUMBER, TEXT, WHOLE

LEARNT: dict[str, Kinds] = FITTED | {
    "model_": tuple(ESTIMATORS), "encoder_": (auto.TableEncoder,), "report_": (Report,), "extra_": (dict,),
    "_errors": ARRAY, "columns_": (list,), "steps_": (list,), "container_": TEXT,
}  # fmt: skip
NEEDED = ("model_", "encoder_", "report_", "extra_", "kernel_", "n_features_in_")
ENTRIES: tuple[Entry, ...] = (
    Fitted("AutoRegressor", auto.AutoRegressor, LEARNT, ("_errors", *NEEDED)),
    Fitted("AutoClassifier", auto.AutoClassifier, LEARNT, ("classes_", *NEEDED)),
    Fitted("TableEncoder", auto.TableEncoder, LEARNT, ("columns_", "steps_", "container_", "n_features_in_")),
    from_dataclass(Column, name=TEXT, kind=TEXT, treatment=TEXT, missing=WHOLE, distinct=WHOLE),
    from_dataclass(Candidate, name=TEXT, kernel=TEXT, score=NUMBER, seconds=NUMBER, note=TEXT),
    from_dataclass(Score, name=TEXT, values=(dict,), seconds=NUMBER),
    from_dataclass(HeldOut, truth=ARRAY, prediction=ARRAY, probabilities=(*ARRAY, NOTHING)),
    from_dataclass(
        Report, task=TEXT, target=TEXT, n_rows=WHOLE, n_train=WHOLE, n_test=WHOLE, columns=(tuple,),
        candidates=(tuple,), metric=TEXT, scores=(tuple,), model=TEXT, kernel=TEXT, plan=TEXT, certificate=TEXT,
        advice=(tuple,), seconds=NUMBER, held_out=(HeldOut, NOTHING),
    ),
)  # fmt: skip
