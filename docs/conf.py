"""Sphinx configuration."""

import sys
from pathlib import Path

import mercer

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
import notebooks

project = "mercer"
author = "The mercer developers"
copyright = "2026, The mercer developers"
release = version = mercer.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "benchmarks_page",
    "citation",
    "example_report",
    "mathml",
    "notebooks",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_ext", "examples"]
templates_path = []

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": ["examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "show_memory": False,
    "capture_repr": (),
    "first_notebook_cell": notebooks.install(),
    "write_computation_times": False,
    "within_subsection_order": "lecture.LectureOrder",
}

# Estimators inherit docstrings of scikit-learn that refer to its own pages.
suppress_warnings = ["ref.ref"]

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False, "header_links_before_dropdown": 6}
ALONE = (
    "start", "installation", "exercises", "api", "benchmarks", "faq", "glossary", "design", "citing", "changelog",
)  # fmt: skip
html_sidebars = {page: [] for page in ALONE}  # nothing is below them
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["wide.css", ("paper.css", {"media": "print"})]
