"""What a page shows. Streamlit runs it from the top at each change that a reader makes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import streamlit as st
import typer

from frazil.cli.moment import moment_of
from frazil.costs.units import Grouping
from frazil.errors import FrazilError, explain
from frazil.exact import values_of
from frazil.landing.position.state import BLOCKED
from frazil.settings.profile import Settings
from frazil_dashboard.answers import Answers
from frazil_dashboard.costs import DAYS, read_costs
from frazil_dashboard.drawing import draw, show_plot
from frazil_dashboard.health import NEWEST, Health, dead_letters_sql, read_health, read_history, samples_sql
from frazil_dashboard.layers import LayerPage, read_layers
from frazil_dashboard.page import Choice, Page
from frazil_dashboard.plots import Plot

_MARKS = re.compile(r"[!-/:-@\[-`{-~]")

_OF_SNAPSHOTS = {
    "Rows added by each snapshot": Plot("bar", "time", "rows added"),
    "Rows": Plot("line", "time", "rows"),
    "Files": Plot("line", "time", "files"),
}

_SAMPLES = 20
"""Dead letters that are shown one by one."""

_TABLE = "table"
"""What the session calls the table that is chosen."""

FRESH = 15
"""Seconds for which rows and states are kept; a reader may ask for newer ones."""


@st.cache_resource(ttl=FRESH, max_entries=16, show_spinner="reading the tables")
def _answers(queries: tuple[str, ...], moment: int | datetime | None) -> Answers:
    return Answers(Settings.load(), queries, moment)


@st.cache_data(ttl=FRESH, show_spinner="asking the servers")
def _health() -> Health:
    return read_health()


@st.cache_data(ttl=FRESH, show_spinner="reading the table's snapshots")
def _history(table: str) -> Any:
    import pyarrow as pa

    return pa.Table.from_pylist([*read_history(table)])


@st.cache_data(ttl=FRESH, show_spinner="asking each layer")
def _layers() -> LayerPage:
    return read_layers()


@st.cache_data(ttl=FRESH, show_spinner="reading the tables' snapshots")
def _costs(by: Grouping, name: str) -> dict[str, Any]:
    return read_costs(by, name)


@contextmanager
def shown_errors() -> Iterator[None]:
    """Shows an error as people are told of it anywhere else."""
    try:
        yield
    except Exception as e:  # noqa: BLE001 - a page shows no stack trace
        error = e if isinstance(e, FrazilError) else explain(e)
        lines = (error.what, error.where, error.meaning, error.todo)
        st.error("  \n".join(as_text(line) for line in lines if line))


def as_text(text: str) -> str:
    """Markdown that shows a text as it is: one from outside may load no picture, and set no link."""
    return _MARKS.sub(r"\\\g<0>", text)


def show_health() -> None:
    """Shows how all tables stand, and what became of the one that is chosen."""
    st.title("Tables", anchor=False)
    with shown_errors():
        health = _health()
        names = ("tables", "behind", "stopped", "records that wait", "dead letters")
        numbers = (
            len(health.rows), health.count("behind"), health.blocked, health.sum_of("lag"),
            health.sum_of("dead letters"),
        )  # fmt: skip
        for column, name, number in zip(st.columns(len(names)), names, numbers, strict=True):
            column.metric(name, f"{number:,}")
        for name, why in health.broken.items():
            st.error(as_text(f"{name}: {why}"))
        for row in health.rows:
            if row["state"] in BLOCKED:
                st.warning(as_text(f"{row['table']}: {row['state']}. {row['why']}"))
        st.dataframe(list(health.rows), hide_index=True, width="stretch")
        _show_table(health)


def _show_table(health: Health) -> None:
    """One table: its snapshots, and why records of it are dead letters."""
    landed = [row["table"] for row in health.rows if row["rows"] or row["files"]]
    if not landed:
        st.caption("No table has rows yet.")
        return
    name = _chosen_table(landed)
    history = _history(name)
    st.caption(f"Snapshots: {len(history):,}{' and more' if len(history) == NEWEST else ''}.")
    for column, (title, plot) in zip(st.columns(len(_OF_SNAPSHOTS)), _OF_SNAPSHOTS.items(), strict=True):
        with column:
            st.subheader(title, anchor=False)
            show_plot(title, plot, history)
    row = next(row for row in health.rows if row["table"] == name)
    if row["dead letters"]:
        _show_letters(name, derived=name in health.derived)


def _show_letters(name: str, *, derived: bool) -> None:
    sql, samples = dead_letters_sql(name, derived=derived), samples_sql(name, derived=derived)
    answers = _answers((sql, samples), None)
    st.subheader("Dead letters", anchor=False)
    st.dataframe(answers.table(sql, {}, 100), hide_index=True, width="stretch")
    st.subheader("The newest of them", anchor=False)
    st.dataframe(answers.table(samples, {}, _SAMPLES), hide_index=True, width="stretch")


def _chosen_table(names: Sequence[str]) -> str:
    """The table that is chosen; the address names it, so that each has a page to link to."""
    asked = st.query_params.get("table")
    if asked is not None and asked not in names:
        st.error(as_text(f"There is no table {asked} here that has rows."))
    if st.session_state.get(_TABLE) not in names:
        st.session_state[_TABLE] = asked if asked in names else names[0]
    name: str = st.selectbox("Table", names, key=_TABLE)
    st.query_params["table"] = name
    return name


def show_layers() -> None:
    """Shows how far each layer is behind, and which upkeep is due and done."""
    st.title("Layers", anchor=False)
    with shown_errors():
        page = _layers()
        left, right = st.columns(2)
        left.metric("late layers", f"{page.late:,}")
        right.metric("upkeep that is due", f"{len(page.due):,}")
        st.dataframe(list(page.layers), hide_index=True, width="stretch")
        parts = {"Records": page.rates, "Upkeep that is due": page.due, "Upkeep that was done": page.done}
        for title, rows in parts.items():
            st.subheader(title, anchor=False)
            if rows:
                st.dataframe(list(rows), hide_index=True, width="stretch")
            else:
                st.caption("There is nothing.")


def show_costs() -> None:
    """Shows what all tables took and cost, and one of them by kind of work."""
    st.title("Cost", anchor=False)
    with shown_errors():
        report = _costs("table", "")
        st.caption(f"Of the last {DAYS} days. docs/cost.md says what each figure is.")
        unpriced = ", ".join(report["total"]["without_price"])
        st.metric(report["currency"], f"{report['total']['cost']:,.4f}")
        if unpriced:
            st.caption(as_text(f"No price of {unpriced}."))
        st.dataframe(report["shown"], hide_index=True, width="stretch")
        names = [row["table"] for row in report["rows"]]
        if names:
            name = _chosen_table(names)
            st.dataframe(_costs("work", name)["shown"], hide_index=True, width="stretch")
        st.subheader("The same traffic elsewhere", anchor=False)
        st.dataframe(report["services"], hide_index=True, width="stretch")
        st.caption(as_text(f"Not measured: {'; '.join(report['not_measured'])}."))


def show_page(page: Page) -> None:
    """Shows the figures of a pipeline's page, as of the moment and with the values that are chosen."""
    st.title(page.title, anchor=False)
    if page.text:
        st.markdown(page.text)
    with shown_errors():
        moment = _moment()
        answers = _answers(page.queries, moment)
        if answers.newest:
            st.caption(f"Rows of {answers.newest:%Y-%m-%d %H:%M:%S} UTC and before.")
        values = _chosen(page, answers)
        for chart in page.charts:
            with shown_errors():
                draw(chart, answers.table(chart.sql, values, chart.rows))


def _moment() -> int | datetime | None:
    text = st.sidebar.text_input("As of", placeholder="now; or 2026-11-21T17:00 (UTC)").strip()
    if st.sidebar.button("Read again"):
        st.cache_resource.clear()
        st.cache_data.clear()
    try:
        return moment_of(text) if text else None
    except typer.BadParameter as e:
        st.sidebar.error(e.message)
        return None


def _chosen(page: Page, answers: Answers) -> dict[str, Any]:
    """The values of all choices; those of which there is none to choose from are null."""
    return {choice.name: _choose(choice, answers) for choice in page.choices}


def _choose(choice: Choice, answers: Answers) -> Any:
    label = choice.label or choice.name
    if choice.least is not None and choice.most is not None:
        start = choice.value if choice.value is not None else choice.least
        return st.sidebar.slider(label, choice.least, choice.most, start)
    options = answers.table(choice.sql, {}, 1000)
    return st.sidebar.selectbox(label, values_of(options.column(0)))
