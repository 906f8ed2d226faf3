"""Self-contained HTML pages from the templates of this folder, with plots inside them."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

from usmo.system.atomic import write_whole
from usmo.system.extras import load_extra


def write_page(path: Path, template: str, **values: Any) -> Path:
    """Fill in a template, every value escaped, and write the page in one step."""
    jinja2 = load_extra("jinja2", "pages need Jinja2", "reproduce")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("usmo.reproduce"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    write_whole(path, environment.get_template(template).render(values).encode())
    return path


def new_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure that needs no display."""
    module = load_extra("matplotlib.figure", "plots need matplotlib", "reproduce")
    return module.Figure(figsize=(width, height), layout="constrained")


def data_uri(figure: Any) -> str:
    """The figure as a PNG in a data URI."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
