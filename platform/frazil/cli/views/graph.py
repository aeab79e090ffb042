"""`frazil graph`: the asset graph as a picture, from left to right, by Graphviz."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal, get_args

import typer

from frazil.cli.console import console, print_json
from frazil.cli.selection import Json
from frazil.errors import ConfigureError, UsageError
from frazil.extras import require
from frazil.graph import Asset, AssetGraph, load_graph

app = typer.Typer()

Format = Literal["svg", "png"]

_COLOURS = {
    "aws": "#fbdccf", "confluent": "#e3ecc9",
    "kafka": "#fde7c7", "iceberg": "#d3e8fb", "glue": "#e6dcf6", "snowflake": "#d2f3f2",
    "views": "#f7e0ee",
}  # fmt: skip
_OTHERS = "#eeeeee"
_SHOWN_BY = ("glue", "snowflake", "views")
"""Kinds that bear the name of the table that they show: the picture need not repeat it."""

_FONT = "Source Sans Pro,Helvetica,Arial,sans-serif"
"""The first one comes with us: the picture is the same on every machine. The others are for viewers."""

_GREY = "#57606a"
_GRAPH = {"rankdir": "LR", "ranksep": "0.35", "nodesep": "0.1", "bgcolor": "white", "labelloc": "t"}
_CLUSTER = {
    "style": "rounded", "color": "#b8bec6", "margin": "10", "labeljust": "l",
    "fontcolor": _GREY, "fontsize": "13", "fontname": _FONT,
}  # fmt: skip
_NODE = {
    "shape": "box", "style": "rounded,filled", "color": "#8c959f", "penwidth": "0.8",
    "fontsize": "13", "fontname": _FONT, "height": "0.3", "margin": "0.12,0.04",
}  # fmt: skip
_EDGE = {"color": _GREY, "arrowsize": "0.6", "penwidth": "0.9"}
_DPI = {"svg": "72", "png": "144"}
_DEFAULT = (Path("asset_graph.svg"), Path("asset_graph.png"))

Out = Annotated[
    list[Path] | None,
    typer.Option(help="A .svg or .png file. Default: asset_graph.svg and asset_graph.png here."),
]
Groups = Annotated[
    list[str] | None, typer.Option("--group", help="Only this group of assets. May be repeated.")
]


@app.command("graph")
def graph_command(out: Out = None, groups: Groups = None, as_json: Json = False) -> None:
    """Draw the asset graph of all pipelines. Contacts no server."""
    for path in out or ():
        _format(path)  # before the graph is loaded, which takes seconds
    graph = load_graph()
    shown = graph.of(groups) if groups else graph
    files = draw_files(shown, out or _DEFAULT)
    if as_json:
        print_json({"assets": len(shown.assets), "edges": len(shown.edges), "files": [*files]})
    else:
        names = " and ".join(map(str, files))
        console.print(f"{len(shown.assets)} assets and {len(shown.edges)} edges in {names}")


def draw_files(graph: AssetGraph, files: Sequence[Path]) -> Sequence[Path]:
    """Draws the graph into files, each in the format that its name says; returns them."""
    formats = {path: _format(path) for path in files}
    for path, kind in formats.items():
        _write(path, draw(graph, kind))
    return files


def _format(path: Path) -> Format:
    for known in get_args(Format):
        if path.suffix == f".{known}":
            format_: Format = known
            return format_
    raise UsageError(f"--out {path} is no picture.", todo="Let the name end in .svg or .png.")


def _write(path: Path, picture: bytes) -> None:
    try:
        path.write_bytes(picture)
    except OSError as e:
        raise ConfigureError(f"{path} can't be written: {e.strerror}.", todo="Name another --out.") from None


def draw(graph: AssetGraph, to: Format) -> bytes:
    """The picture; each asset's key and each edge stand in an SVG as titles."""
    require("graph", "Graphviz", "pygraphviz", "font_source_sans_pro")
    with _font(), _quiet():
        drawn: bytes = _arranged(graph, to).draw(format=to, prog="dot")
        return drawn


def label(asset: Asset) -> str:
    """What stands in an asset's box."""
    return asset.kind.capitalize() if asset.kind in _SHOWN_BY and asset.upstream else asset.path[-1]


def _arranged(graph: AssetGraph, to: Format) -> Any:
    import pygraphviz

    picture = pygraphviz.AGraph(directed=True, dpi=_DPI[to], label=_legend(graph), fontname=_FONT, **_GRAPH)
    picture.node_attr.update(_NODE)
    picture.edge_attr.update(_EDGE)
    for group in reversed(graph.groups):  # the first one is drawn at the bottom
        cluster = picture.add_subgraph(name=f"cluster_{group}", label=group, **_CLUSTER)
        for asset in (a for a in graph.assets if a.group == group):
            colour = _COLOURS.get(asset.kind, _OTHERS)
            key = _key(asset.path)
            cluster.add_node(key, label=label(asset), tooltip=key, fillcolor=colour)
    for upstream, downstream in graph.edges:
        picture.add_edge(_key(upstream), _key(downstream))
    return picture


def _legend(graph: AssetGraph) -> str:
    """What the colours mean, as Graphviz' own HTML."""
    kinds = [kind for kind in _COLOURS if any(asset.kind == kind for asset in graph.assets)]
    cells = (f'<td style="rounded" bgcolor="{_COLOURS[kind]}">{kind.capitalize()}</td>' for kind in kinds)
    return f'<<table border="0" cellborder="0" cellspacing="6"><tr>{"".join(cells)}</tr></table>>'


def _key(path: tuple[str, ...]) -> str:
    return "/".join(path)


@contextmanager
def _font() -> Iterator[None]:
    """Our own font for Graphviz: a machine may have none, and every machine has others.

    Fontconfig is asked when the first picture of a process is drawn.
    """
    with as_file(files("font_source_sans_pro") / "files") as fonts, TemporaryDirectory() as folder:
        config = Path(folder) / "fonts.conf"
        config.write_text(f"<fontconfig><dir>{fonts}</dir><cachedir>{folder}</cachedir></fontconfig>")
        before = os.environ.get("FONTCONFIG_FILE")
        os.environ["FONTCONFIG_FILE"] = str(config)
        try:
            yield
        finally:
            os.environ.pop("FONTCONFIG_FILE") if before is None else os.environ.update(FONTCONFIG_FILE=before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Fontconfig, being older than Debian's samples, warns of them; real errors are raised as well."""
    stderr = os.dup(2)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
