"""``mercer inspect``: what a saved model is made of."""

from __future__ import annotations

import shlex
from typing import Any

import click

from mercer.words import shorten_formula, show_number

from . import _fitted, _show
from ._options import command, json_option
from .files.model import describe_model, load_model
from .reading.options import write_options


@command(
    "inspect",
    "Show a saved model: kernel, proof, vectors, spectrum.",
    ["mercer inspect houses.mercer", "mercer inspect houses.mercer --json"],
)
@click.argument("model")
@json_option
def inspect(model: str, as_json: bool) -> None:
    """Show what is in the file MODEL, which mercer fit or mercer.save has written.

    Its kernel as a formula and why it is one; how it was solved; its support vectors, import vectors or centres; the
    spectrum of its kernel matrix and degrees of freedom; and how good it was on rows held out.
    """
    from mercer.persist import read_header

    fitted = load_model(model)
    header = read_header(model)
    facts = describe_model(fitted)
    report = getattr(fitted, "report_", None)
    if as_json:
        about = {name: header.get(name) for name in ("format", "version", "mercer", "bytes")}
        told = None if report is None else _fitted.export_report(report)
        _show.as_json({"file": {"name": model, **about}, **facts, "report": told})
        return
    whole, first = [*_list_whole(model, header, facts), *_list_reading(fitted)], _list_facts(facts)
    if len(facts["members"]) > 1:
        _show.facts(whole)
        _show_members(facts["members"])
        _show.heading(f"Its heaviest part: {facts['members'][0]['name']}")
        _show.facts(first)
    else:
        _show.facts(whole + first)
    if facts.get("certificate"):
        _show.heading("Why this is a kernel" if facts["verdict"] == "proved" else "Is this a kernel?")
        text = facts["certificate"]
        _show.paragraph(text if len(facts["kernel"]) <= _fitted.LONG else shorten_formula(text))
    if report is not None:
        _fitted.show_warnings(report)
        _fitted.show_columns(report)
        _fitted.show_scores(report)
        _fitted.show_importances(report)
        _fitted.show_advice(report)


def _list_whole(name: str, header: dict[str, Any], facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what there is to say of the file and of the model as a whole."""
    from mercer.arrays.budget import show_bytes

    model, parts, temperature = facts["model"], len(facts["members"]), facts["temperature"]
    if parts > 1:
        model += f", the weighted mean of {parts} models"
    elif model != facts["estimator"]:
        model += f", a {facts['estimator']}"
    lines = [
        ("file", f"{name} ({show_bytes(header['bytes'])}, written by mercer {header['mercer']})"),
        ("model", model),
    ]
    if temperature not in (None, 1.0):
        lines.append(("temperature", f"{temperature:.3g}: probabilities p become ∝ p^(1/{temperature:.3g})"))
    return lines


def _list_reading(model: Any) -> list[tuple[str, str]]:
    """Return how the table of the fit was read, if options said so; new rows are read in the same way."""
    types = [f"--types {shlex.quote(f'{name}={kind}')}" for name, kind in (getattr(model, "types", None) or {}).items()]
    given = " ".join([*filter(None, [write_options(getattr(model, "reading_", {}))]), *types])
    return [("table read with", given)] if given else []


def _show_members(members: list[dict[str, Any]]) -> None:
    wide, rows = _show.console().width >= _fitted.WIDE, []
    for part in members:
        of = f" of {part['n_train']:,}" if part["n_train"] else ""
        points = "" if part["n_vectors"] is None else f"{part['n_vectors']:,}{of} {part['vectors']}"
        formula = [shorten_formula(part["kernel"])] if wide else []
        rows.append([f"{part['weight']:.0%}", part["name"], points, *formula])
    _show.heading("Its parts")
    _show.table(["weight", "model", "points", *(["kernel"] if wide else [])], rows, right=["weight"])


def _list_facts(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what there is to say of a model alone, or of the heaviest of several."""
    lines = [("kernel", _fitted.fold_formula(facts["kernel"]) if facts["kernel"] else "none")]
    if facts["loss"]:
        lines.append(("loss", facts["loss"]))
    if facts["plan"]:
        lines.append(("solved by", facts["plan"]))
    if facts["n_vectors"] is not None:
        of = f" of {facts['n_train']:,} training rows" if facts["n_train"] else ""
        lines.append((facts["vectors"], f"{facts['n_vectors']:,}{of}"))
    if "eigenvalues" in facts:
        values = ", ".join(show_number(value) for value in facts["eigenvalues"])
        lines.append(("eigenvalues", f"{values}, … (kernel matrix of {facts['spectrum_of']:,} points)"))
        lines.append(
            ("spectrum", f"90 % of the trace in {facts['n_for_90_percent']:,} directions, 99 % in "
             f"{facts['n_for_99_percent']:,}")
        )  # fmt: skip
        if facts["effective_dof"] is not None:
            lines.append(("degrees of freedom", f"{show_number(facts['effective_dof'])} of {facts['spectrum_of']:,}"))
            lines.append(("leave-one-out error", f"{show_number(facts['loo_error'])} (root mean square)"))
    return lines
