import subprocess
import sys

ENGINE = (
    "links, presets, source, fitting, composing, views.surface, views.leave_one_out, views.numbers, views.certificate"
)


def test_what_computes_needs_none_of_what_draws() -> None:
    modules = ", ".join(f"mercer.playground.{name}" for name in ENGINE.split(", "))
    code = f"import sys, {modules}; print(*({{'panel', 'bokeh', 'matplotlib', 'contourpy'}} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""
