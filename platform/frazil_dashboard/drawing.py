"""Figures of a page, drawn by Streamlit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from frazil.errors import UsageError
from frazil.exact import shown
from frazil_dashboard.page import Chart
from frazil_dashboard.plots import Plot, specification

if TYPE_CHECKING:
    import pyarrow as pa


def draw(chart: Chart, table: pa.Table) -> None:
    """Draws what the SELECT of a chart gave.

    Raises:
        UsageError: The SELECT gives no column that the chart names.
    """
    st.subheader(chart.title, anchor=False)
    if not len(table):
        st.caption("No row fits.")
        return
    match chart.kind:
        case "number":
            st.metric(chart.title, _text(shown(table.column(0))[0]), label_visibility="collapsed")
        case "table":
            st.dataframe(table, hide_index=True, width="stretch")
        case "line" | "bar":
            rows = _measured(chart, table)
            show_plot(chart.title, Plot(chart.kind, chart.x, chart.y, chart.colour), rows)
    if len(table) == chart.rows and chart.kind != "number":
        st.caption(f"These are the first {chart.rows:,} rows.")


def show_plot(title: str, plot: Plot, table: pa.Table) -> None:
    """Draws lines or bars; a screen reader calls them by the title."""
    st.vega_lite_chart(table, specification(plot, table), alt=title)


def _measured(chart: Chart, table: pa.Table) -> pa.Table:
    """The columns of a chart; heights as floating point, for a browser draws no others."""
    import pyarrow as pa

    names = [name for name in (chart.x, chart.y, chart.colour) if name]
    if missing := [name for name in names if name not in table.column_names]:
        raise UsageError(
            f"The SELECT of {chart.title!r} gives no column {', '.join(missing)}.",
            where=f"it gives {', '.join(table.column_names)}",
            todo="Fix `x`, `y` or `colour` in dashboard.yaml.",
        )
    own = table.select(list(dict.fromkeys(names)))
    place = own.column_names.index(chart.y)
    return own.set_column(place, chart.y, own.column(place).cast(pa.float64()))


def _text(value: Any) -> str:
    """A number with its thousands apart."""
    return f"{value:,}" if isinstance(value, int) else "none" if value is None else str(value)
