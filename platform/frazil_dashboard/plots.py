"""Lines and bars as Vega-Lite, which browsers draw. Pure: it knows no Streamlit.

Streamlit's own charts are built by Altair, which checks each against Vega-Lite's schema: a tenth of a second
of CPU for a line, at each change that a reader makes. https://vega.github.io/vega-lite/docs/spec.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pyarrow as pa

_PATH = re.compile(r"[.\[\]\\'\"]")
"""What Vega-Lite reads as a path into a value, where it stands in a column's name."""

_ZOOM = {"name": "zoom", "select": {"type": "interval", "encodings": ["x", "y"]}, "bind": "scales"}
_LEGEND = {"orient": "bottom", "offset": 5, "titlePadding": 5}


@dataclass(frozen=True, slots=True)
class Plot:
    """What is drawn of a table's columns.

    Args:
        colour: The column that divides the rows into lines, or parts of bars; of none if empty.
    """

    kind: Literal["line", "bar"]
    x: str
    y: str
    colour: str = ""


def specification(plot: Plot, table: pa.Table) -> dict[str, Any]:
    """Bars in the order of the rows, or lines; nobody would see a line of one point."""
    encoding = _encoding(plot, table.schema)
    if plot.kind == "line" and len(table.column(plot.x).unique()) > 1:
        return _lines(plot, encoding)
    encoding["x"] |= {"sort": None}
    return {"mark": {"type": "bar", "tooltip": True}, "encoding": encoding, "params": [_ZOOM]}


def _lines(plot: Plot, encoding: dict[str, Any]) -> dict[str, Any]:
    """Lines, and the points that are nearest to the mouse."""
    near = {
        "name": "near",
        "select": {
            "type": "point", "fields": [plot.x], "nearest": True, "on": "mousemove", "clear": "mouseleave",
        },
    }  # fmt: skip
    dots = {"type": "point", "filled": True, "size": 65, "tooltip": True}
    return {
        "encoding": encoding,
        "layer": [
            {"mark": {"type": "line"}, "params": [_ZOOM]},
            {"mark": {**dots, "opacity": 0}, "params": [near]},
            {"mark": dots, "transform": [{"filter": {"param": "near", "empty": False}}]},
        ],
    }


def _encoding(plot: Plot, schema: pa.Schema) -> dict[str, Any]:
    encoding = {
        "x": {**_channel(plot.x, schema), "axis": {"grid": False}},
        "y": _channel(plot.y, schema),
    }
    if plot.colour:
        encoding["color"] = {**_channel(plot.colour, schema), "legend": _LEGEND}
    return encoding


def _channel(name: str, schema: pa.Schema) -> dict[str, Any]:
    return {"field": _PATH.sub(r"\\\g<0>", name), "title": name, "type": _scale(schema.field(name).type)}


def _scale(kind: pa.DataType) -> str:
    """How Vega-Lite measures values of a type: https://vega.github.io/vega-lite/docs/type.html."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "temporal"
    return "quantitative" if pa.types.is_integer(kind) or pa.types.is_floating(kind) else "nominal"
