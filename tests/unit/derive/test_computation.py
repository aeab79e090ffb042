"""What makes the rows of a derived table, and what it takes for them to be other rows."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import types as t

from frazil.derive.computation import Computation, computation_of
from frazil.errors import SpecError
from frazil.formats.types import spark_type
from frazil.spec.derived import DerivedSpec
from frazil.tables.spark.columns import fields_of

SQL = "SELECT symbol, quantity > :large AS is_large FROM trades"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The query's file."""
    path = tmp_path / "made.sql"
    path.write_text(SQL)
    return path


def made(file: Path, **spec: Any) -> Computation:
    """What a spec with one parameter names."""
    key = "python" if file.suffix == ".py" else "sql"
    return computation_of(DerivedSpec(table="made", **{key: file, "parameters": {"large": 4000}, **spec}))


def test_a_query_names_its_inputs_and_whether_it_asks_for_the_time(file: Path) -> None:
    assert (made(file).inputs, made(file).uses_now) == (("trades",), False)
    file.write_text("SELECT symbol FROM trades WHERE at > :now")
    assert made(file, parameters={}).uses_now


def test_blanks_comments_and_upkeep_make_no_other_rows(file: Path) -> None:
    before = made(file).fingerprint
    file.write_text(SQL.replace(" ", "\n  ") + " -- the same")

    same = made(file, description="other words", upkeep={"small_file": 0.5}, parameters={"large": 4000})

    assert same.fingerprint == before


@pytest.mark.parametrize("change", [{"parameters": {"large": 5000}}, {"kind": "full"}])
def test_other_parameters_and_another_kind_make_other_rows(file: Path, change: dict[str, Any]) -> None:
    assert made(file, **change).fingerprint != made(file).fingerprint


def test_other_windows_make_other_rows_and_another_policy_for_late_ones_does_not(file: Path) -> None:
    file.write_text("SELECT start, sum(q) AS total FROM trades GROUP BY start")

    def windows(**window: Any) -> str:
        settings = {"start": "start", "length": timedelta(minutes=1), **window}
        return made(file, kind="windows", parameters={}, window=settings).fingerprint

    assert windows(length=timedelta(minutes=2)) != windows()
    assert windows(late_rows="drop") == windows()


def test_another_text_of_a_function_makes_other_rows(tmp_path: Path) -> None:
    file = tmp_path / "made.py"
    file.write_text("def derive(inputs, parameters):\n    return inputs['trades'].where('1 = 1')\n")
    before = made(file, inputs=("trades",))
    fingerprint = before.fingerprint
    file.write_text(file.read_text().replace("1 = 1", "2 = 2"))

    assert (before.inputs, before.query) == (("trades",), None)
    assert made(file, inputs=("trades",)).fingerprint != fingerprint


def test_other_inputs_of_a_function_make_other_rows(tmp_path: Path) -> None:
    file = tmp_path / "made.py"
    file.write_text("def derive(inputs, parameters):\n    return inputs['trades']\n")

    one, two = made(file, inputs=("trades",)), made(file, inputs=("trades", "quotes"))

    assert one.fingerprint != two.fingerprint


def test_a_file_without_the_function_is_said_to_be_so(tmp_path: Path) -> None:
    file = tmp_path / "made.py"
    file.write_text("def derived(inputs, parameters):\n    return None\n")
    spark: Any = None

    with (
        pytest.raises(SpecError, match="there is no function derive"),
        made(file, inputs=("trades",)).rows_over(spark, {}, 0.0),
    ):
        pass


KINDS = {
    t.ByteType(): "int",
    t.LongType(): "bigint",
    t.DecimalType(10, 2): "decimal(10,2)",
    t.TimestampType(): "timestamp",
    t.TimestampNTZType(): "timestamp_ntz",
    t.ArrayType(t.IntegerType()): "array<int>",
    t.MapType(t.StringType(), t.StructType().add("x", "double")): "map<string,struct<`x`:double>>",
    t.BinaryType(): "binary",
    t.DateType(): "date",
    t.BooleanType(): "boolean",
    t.FloatType(): "float",
}
"""What Spark calls the type, and what the table's column is read as."""


@pytest.mark.parametrize(("kind", "read_as"), KINDS.items(), ids=str)
def test_columns_of_every_type_come_back_as_they_were(kind: t.DataType, read_as: str) -> None:
    (field,) = fields_of(rows_with(kind))

    assert (field.optional, spark_type(field.type)) == (True, read_as)


@pytest.mark.parametrize("kind", [t.NullType(), t.DayTimeIntervalType(), t.VariantType()], ids=str)
def test_a_type_that_no_table_has_is_named_with_its_column(kind: t.DataType) -> None:
    with pytest.raises(SpecError, match=r"odd\[\] is of type .*, which no table has") as refused:
        fields_of(rows_with(t.ArrayType(kind)))
    assert refused.value.todo == "CAST it in the query."
    assert fields_of(rows_with(t.ArrayType(t.StringType())))  # as CAST(odd AS ARRAY<STRING>) makes it


def rows_with(kind: t.DataType) -> Any:
    """As much of rows as tells their columns."""
    return SimpleNamespace(schema=t.StructType().add("odd", kind))
