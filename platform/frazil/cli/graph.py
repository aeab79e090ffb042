"""`frazil graph`: the asset graph as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import typer

from frazil.cli.console import console, print_json
from frazil.cli.drawing import Format, draw
from frazil.errors import ConfigureError
from frazil.graph import load_graph

__all__ = ["graph_command", "register"]

_DEFAULT = (Path("asset_graph.svg"), Path("asset_graph.png"))

Out = Annotated[list[Path] | None, typer.Option(help="A .svg or .png; none: asset_graph.svg and .png, here.")]
Groups = Annotated[list[str] | None, typer.Option("--group", help="A group of assets; none: all.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("graph")(graph_command)


def graph_command(out: Out = None, groups: Groups = None, as_json: Json = False) -> None:
    """Draw the asset graph of all pipelines; asks no server."""
    files = {path: _format(path) for path in out or _DEFAULT}
    graph = load_graph()
    shown = graph.of(groups) if groups else graph
    for path, kind in files.items():
        _write(path, draw(shown, kind))
    if as_json:
        print_json({"assets": len(shown.assets), "edges": len(shown.edges), "files": [*files]})
    else:
        names = " and ".join(map(str, files))
        console.print(f"{len(shown.assets)} assets and {len(shown.edges)} edges in {names}")


def _format(path: Path) -> Format:
    for known in get_args(Format):
        if path.suffix == f".{known}":
            found: Format = known
            return found
    raise ConfigureError(f"--out {path} is no picture.", todo="Let the name end in .svg or .png.")


def _write(path: Path, picture: bytes) -> None:
    try:
        path.write_bytes(picture)
    except OSError as e:
        raise ConfigureError(f"{path} can't be written: {e.strerror}.", todo="Name another --out.") from None
