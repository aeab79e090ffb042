"""Shows on pictures.md what `make pictures` drew: the screenshots are no part of the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_MARK = "<!-- pictures -->"
_TITLES = {
    "groups": "The groups: one for each pipeline",
    "graph": "The graph of one pipeline",
    "late-and-broken": "What is late or broken",
    "table": "A table",
    "checks": "Its checks",
    "sensors": "The sensors",
    "suspended": "A suspended table",
    "failed-run": "A failed run",
}


def on_page_markdown(markdown: str, **of_the_page: Any) -> str:
    """Puts each screenshot that is there in place of the mark."""
    images = Path(of_the_page["config"].docs_dir) / "images"
    shown = {name: title for name, title in _TITLES.items() if (images / f"{name}.png").exists()}
    drawn = [f"## {title}\n\n![{title}](images/{name}.png)" for name, title in shown.items()]
    return markdown.replace(_MARK, "\n\n".join(drawn) or "No screenshot has been taken on this machine.")
