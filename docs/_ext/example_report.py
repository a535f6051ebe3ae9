"""The report of an automatic model, made when the pages are: the start page links to what the library writes."""

from pathlib import Path

NAME = "energy.html"


def write(app, exception):
    place = Path(app.outdir) / NAME
    if exception is not None or app.builder.name != "html" or place.exists():
        return
    from mercer import AutoRegressor
    from mercer.datasets import load_energy
    from mercer.report import write_report

    energy = load_energy()
    write_report(AutoRegressor(budget="30s", random_state=0).fit(energy.data, energy.target), place)


def setup(app):
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
