"""The site: MyST pages, an API page for every public name, and a gallery made from ``examples/``.

``make docs`` builds it into ``out/site``. The pages load nothing from other hosts, so they also open from a file.
Formulas are plain text in code blocks: a formula renderer would be loaded from elsewhere.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "src"))

from usmo.system.version import __version__  # noqa: E402

project = "usmo"
author = "the authors of usmo"
project_copyright = "2026, the usmo developers (BSD 3-Clause License)"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
nitpicky = True
suppress_warnings = ["config.cache"]  # sphinx-gallery's options hold functions
nitpick_ignore_regex = [
    # other packages: their inventories would have to be downloaded
    (
        r"py:.*",
        r"(sklearn|numpy|scipy|joblib|onnx|polars|pandas|matplotlib|dask|distributed|collections|typing)\b.*",
    ),
]

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

GALLERY = (
    # first steps
    "digits", "mixed_table", "documents",
    # how many positives, and how sure
    "prior_sensitivity", "certificate",
    # what is known of the labels
    "known_negatives", "costs", "labels_by_column",
    # kernel and λ
    "selection_path", "bagged_trees", "time_series", "wide_genes",
    # reviews
    "review_loop", "review_documents",
    # other tasks
    "outlier_detection", "open_set",
)  # fmt: skip
"""The examples in the order of the user guide. One that is not listed comes last."""


class GalleryOrder:
    """The place of an example in the gallery, as a sort key."""

    def __init__(self, folder: Any) -> None:
        self.places = {f"{name}.py": place for place, name in enumerate(GALLERY)}

    def __call__(self, filename: Any) -> tuple[int, str]:
        name = Path(filename).name
        return self.places.get(name, len(GALLERY)), name

    def __repr__(self) -> str:
        return f"GalleryOrder({', '.join(GALLERY)})"


sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"__init__\.py",
    "abort_on_example_error": True,
    "within_subsection_order": GalleryOrder,
    "capture_repr": (),
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,  # that page loads scripts from elsewhere
    "remove_config_comments": True,
    "min_reported_time": 1,
    "default_thumb_file": str(Path(__file__).parent / "digits.png"),
    "reset_modules": ("matplotlib",),
}

html_theme = "pydata_sphinx_theme"
html_title = "usmo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "usmo"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "article_header_start": ["breadcrumbs"],
}
html_sidebars = {page: [] for page in ("index", "theory", "architecture")}  # no pages below them


def _internal_name(app: Any, environment: Any, node: Any, content: Any) -> Any:
    """Show a reference to an internal name as text. It has no page; one that does not exist stays a warning."""
    target = str(node.get("reftarget", ""))
    if node.get("refdomain") != "py" or not target.startswith("usmo"):
        return None
    module, _, name = target.rpartition(".")
    for candidate, attribute in ((target, ""), (module, name)):
        try:
            found = importlib.import_module(candidate)
        except ImportError:
            continue
        if not attribute or hasattr(found, attribute):
            return nodes.inline("", "", content)
    return None


def _text_of_a_constant(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Show the text under the definition of a constant, also where a public module imports it, not that of its type."""
    if what != "data":
        return
    constant = name.rpartition(".")[2]
    for module in [module for key, module in sys.modules.items() if key.partition(".")[0] == "usmo"]:
        if getattr(module, constant, None) is not value:
            continue
        try:
            text = ModuleAnalyzer.for_module(module.__name__).find_attr_docs().get(("", constant))
        except PycodeError:
            continue
        if text:
            lines[:] = text
            return


def setup(app: Any) -> None:
    app.connect("missing-reference", _internal_name)
    app.connect("autodoc-process-docstring", _text_of_a_constant, priority=900)
