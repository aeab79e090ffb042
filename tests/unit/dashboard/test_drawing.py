"""Figures: what Streamlit is given of the rows that a SELECT gave."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from frazil.errors import UsageError
from frazil_dashboard.drawing import draw
from frazil_dashboard.page import Chart

pytestmark = pytest.mark.usefixtures("without_components")


def drawn(chart: dict[str, Any], table: pa.Table) -> AppTest:
    def script(chart: object, table: object) -> None:  # its text runs by itself, without our imports
        from frazil_dashboard.drawing import draw
        from frazil_dashboard.page import Chart

        draw(Chart.model_validate(chart), table)

    test: AppTest = AppTest.from_function(script, args=(chart, table), default_timeout=60).run()
    return test


def test_a_number_has_its_thousands_apart() -> None:
    shown = drawn({"title": "N", "kind": "number", "sql": "SELECT 1"}, pa.table({"n": [1234567]}))
    assert [metric.value for metric in shown.metric] == ["1,234,567"]


def test_a_number_that_is_null_is_none() -> None:
    table = pa.table({"n": pa.array([None], pa.int64())})
    assert [m.value for m in drawn({"title": "N", "kind": "number", "sql": "SELECT 1"}, table).metric] == [
        "none"
    ]


def test_a_table_says_where_it_is_cut() -> None:
    shown = drawn({"title": "T", "sql": "SELECT 1", "rows": 2}, pa.table({"n": [1, 2]}))
    assert [frame.value["n"].to_list() for frame in shown.dataframe] == [[1, 2]]
    assert [caption.value for caption in shown.caption] == ["These are the first 2 rows."]


def test_no_rows_are_said_in_words() -> None:
    shown = drawn({"title": "T", "sql": "SELECT 1"}, pa.table({"n": pa.array([], pa.int64())}))
    assert [caption.value for caption in shown.caption] == ["No row fits."]


def marks_of(shown: AppTest) -> list[str]:
    """How each chart draws, by what the browser is told."""
    drawn = [e for e in shown.main.children.values() if e.type == "vega_lite_chart"]
    charts = [json.loads(element.proto.spec) for element in drawn]
    return [(chart["layer"][0] if "layer" in chart else chart)["mark"]["type"] for chart in charts]


@pytest.mark.parametrize("kind", ["line", "bar"])
def test_heights_of_any_number_are_drawn(kind: str) -> None:
    table = pa.table({"x": ["b", "a"], "y": pa.array([Decimal("1.5"), Decimal(2)], pa.decimal128(38, 2))})
    shown = drawn({"title": "T", "kind": kind, "sql": "SELECT 1", "x": "x", "y": "y"}, table)
    assert not shown.exception
    assert marks_of(shown) == [kind]


def test_a_line_of_one_point_is_a_bar() -> None:
    table = pa.table({"x": ["a", "a"], "y": [1, 2], "side": ["BUY", "SELL"]})
    line = {"title": "T", "kind": "line", "sql": "SELECT 1", "x": "x", "y": "y", "colour": "side"}
    assert marks_of(drawn(line, table)) == ["bar"]


def test_a_name_of_a_column_is_a_name_whatever_it_has_in_it() -> None:
    table = pa.table({"a.b[0]": [1, 2], "it's": [1, 2]})
    chart = {"title": "T", "kind": "bar", "sql": "SELECT 1", "x": "a.b[0]", "y": "it's"}
    shown = drawn(chart, table)
    (plot,) = [e for e in shown.main.children.values() if e.type == "vega_lite_chart"]
    x, y = (json.loads(plot.proto.spec)["encoding"][axis] for axis in "xy")
    assert (x["field"], x["title"]) == ("a\\.b\\[0\\]", "a.b[0]")
    assert (y["field"], y["title"]) == ("it\\'s", "it's")


def test_a_column_that_is_not_there_is_named_until_the_chart_names_one_that_is() -> None:
    chart = {"title": "T", "kind": "line", "sql": "SELECT 1", "x": "day", "y": "y"}
    table = pa.table({"x": ["a"], "y": [1]})
    with pytest.raises(UsageError, match="gives no column day"):
        draw(Chart.model_validate(chart), table)
    assert not drawn({**chart, "x": "x"}, table).exception


@pytest.mark.parametrize("text", ["![x](http://127.0.0.1/x)", "a_b*c* `d` <b>$e$</b> :f: ~g~", "ä ö"])
def test_a_text_from_outside_is_no_markdown(text: str) -> None:
    from frazil_dashboard.show import as_text

    assert as_text(text).replace("\\", "") == text
    assert not re.search(r"(?<!\\)[!\[\]()_*`<>$:~]", as_text(text))
