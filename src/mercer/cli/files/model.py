"""Saved models, and what can be said of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._errors import CommandError

SAMPLE = 1000  # centres whose spectrum is computed
LEADING = 8  # eigenvalues shown


def load_model(name: str) -> Any:
    """Return the model in a file, or raise an error that names the file."""
    import mercer

    path = Path(name)
    if path.is_dir():
        raise CommandError(f"{name} is a folder; give the name of a model file")
    if not path.exists():
        raise CommandError(f"{name} does not exist; mercer fit makes a model file")
    try:
        return mercer.load(path)
    except mercer.ModelFileError as error:
        text = str(error)
        raise CommandError(text if name in text else f"{name}: {text}") from None


def describe_model(model: Any) -> dict[str, Any]:
    """Return kernel, certificate, vectors, spectrum and degrees of freedom of a fitted model, where it has them."""
    inner = getattr(model, "model_", model)
    inner = getattr(inner, "ridge_", inner)  # the last fit of a ridge model that tunes itself
    kernel = getattr(inner, "kernel_", None)
    facts: dict[str, Any] = {"model": type(model).__name__, "estimator": type(getattr(model, "model_", model)).__name__}
    facts["kernel"] = None if kernel is None else repr(kernel)
    facts["loss"] = repr(inner.loss_) if hasattr(inner, "loss_") else None
    report = getattr(model, "report_", None)
    facts["plan"] = report.plan if report is not None else str(inner.plan_) if hasattr(inner, "plan_") else None
    facts["members"] = [_describe_member(member) for member in getattr(model, "members_", ())]
    facts["temperature"] = getattr(model, "temperature_", None)
    if kernel is not None:
        verdict = kernel.certificate()
        facts |= {"verdict": type(verdict).__name__.lower(), "certificate": verdict.explain()}
    facts |= _count_vectors(inner)
    return facts | _describe_spectrum(inner, kernel)


def _describe_member(member: Any) -> dict[str, Any]:
    """Return what a part of a combination is."""
    model = member.estimator
    facts = {"name": member.name, "weight": member.weight, "estimator": type(model).__name__}
    facts["kernel"] = repr(model.kernel_)
    facts["plan"] = str(model.plan_) if hasattr(model, "plan_") else None
    return facts | _count_vectors(model)


def _count_vectors(model: Any) -> dict[str, Any]:
    """Return how many points carry the model, what they are called, and how many rows it was fitted to."""
    from mercer.formula.data import length

    expansion, points = _find_expansion(model), getattr(model, "X_fit_", None)
    rows = None if points is None else length(points)
    rows = int(model.shape_fit_[0]) if hasattr(model, "shape_fit_") else rows
    for name, words in (("support_", "support vectors"), ("import_vectors_", "import vectors")):
        if getattr(model, name, None) is not None:
            return {"vectors": words, "n_vectors": length(getattr(model, name)), "n_train": rows}
    if expansion is None:
        return {"vectors": None, "n_vectors": None, "n_train": rows}
    return {"vectors": "centres", "n_vectors": length(expansion.centers), "n_train": rows}


def _find_expansion(model: Any) -> Any:
    found = getattr(model, "expansion_", None)
    return next(iter(getattr(model, "expansions_", None) or ()), None) if found is None else found


def _describe_spectrum(model: Any, kernel: Any) -> dict[str, Any]:
    """Return the leading eigenvalues of the kernel matrix, their share of its trace, and degrees of freedom."""
    import numpy as np

    from mercer.formula.data import length, pick

    if hasattr(model, "diagnose"):
        found = model.diagnose()
        values = np.maximum(found.spectrum, 0.0)
        extra = {"effective_dof": found.effective_dof, "loo_error": found.loo_error, "spectrum_of": found.n}
    else:
        expansion = _find_expansion(model)
        if kernel is None or expansion is None:
            return {}
        n = length(expansion.centers)
        chosen = np.arange(min(n, SAMPLE)) * n // min(n, SAMPLE)
        K = np.asarray(kernel(pick(expansion.centers, chosen)), dtype=float)
        values = np.maximum(np.linalg.eigvalsh(K)[::-1], 0.0)
        extra = {"effective_dof": None, "loo_error": None, "spectrum_of": len(chosen)}
    total = float(values.sum())
    shares = np.cumsum(values) / total if total > 0 else np.ones(len(values))
    return {
        "eigenvalues": values[:LEADING],
        "n_for_90_percent": int(np.searchsorted(shares, 0.9) + 1),
        "n_for_99_percent": int(np.searchsorted(shares, 0.99) + 1),
        **extra,
    }
