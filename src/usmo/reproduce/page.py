"""Self-contained HTML pages with pictures in them."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

from usmo.system.atomic import write_whole
from usmo.system.extras import load_extra

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.85rem; margin: 1rem 0; }
th, td { padding: 0.2rem 0.5rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
tr.mean td { font-weight: 600; border-top: 2px solid #888; }
.scroll { overflow-x: auto; } img { max-width: 100%; background: white; } caption { text-align: left; }
.small { color: #888; font-size: 0.85rem; }
"""


def write_page(path: Path, title: str, parts: list[str]) -> Path:
    """Write the page in one go: a reader never sees half of it."""
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>"
    )
    write_whole(path, page.encode())
    return path


def new_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure, independent of any display."""
    module = load_extra("matplotlib.figure", "the report needs matplotlib", "plot")
    return module.Figure(figsize=(width, height), layout="constrained")


def data_uri(figure: Any) -> str:
    """The figure as a PNG inside an address."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
