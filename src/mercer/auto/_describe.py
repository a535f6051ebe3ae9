"""Fitted things in words, for the report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mercer.kernels import Kernel

from ._search import Trial
from .encoder import TableEncoder
from .report import Candidate, Column

WAYS = {"overlap": "compared as equal or not (Overlap)", "indicators": "as indicators of 0 and 1"}


def described(encoder: TableEncoder, X: Any) -> list[Column]:
    """Return what is done with each column, with the missing and distinct values of all rows."""
    found = []
    for column, everywhere in zip(encoder.columns_, TableEncoder().fit(X).columns_, strict=True):
        way = f", {WAYS[encoder.categories]}" if column.kind == "categorical" else ""
        treatment, missing, distinct = column.treatment + way, everywhere.missing, everywhere.distinct
        found.append(replace(column, treatment=treatment, missing=missing, distinct=distinct))
    return found


def candidate(trial: Trial, best: Trial) -> Candidate:
    """Return a trial as the report tells it."""
    return Candidate(trial.name, repr(trial.kernel), trial.score, trial.seconds, trial is best, trial.note)


def certificate_of(kernel: Kernel) -> str:
    """Return the proof that a kernel is one."""
    return kernel.certificate().explain() if kernel.theorem() is not None else "No proof is known for this kernel."
