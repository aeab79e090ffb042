"""An entry of Glue is cut to what Glue takes, and says so; judged by botocore's model of Glue."""

from __future__ import annotations

from typing import Any

import botocore.session
import pytest

from frazil.tables.catalogs.glue_limits import COMMENT, DESCRIPTION, NAME, TYPE, fit_request
from frazil_local.servers.glue_model import refusals

LONG = "A comment of a field, as a modeller writes it.\n" * 10


def entry(name: str = "c", kind: str = "int", comment: str = "", description: str = "") -> dict[str, Any]:
    column = {"Name": name, "Type": kind, "Comment": comment, "Parameters": {"iceberg.field.id": "1"}}
    storage = {"Columns": [column], "Location": "s3://lake/t"}
    return {"Name": "t", "Description": description, "StorageDescriptor": storage, "Parameters": {"a": "b"}}


def sent(table: dict[str, Any]) -> dict[str, Any]:
    """What goes to Glue."""
    request = {"DatabaseName": "d", "TableInput": table}
    fit_request(request)
    assert refusals("CreateTable", request) == []
    return request["TableInput"]


@pytest.mark.parametrize(
    "table",
    [
        entry(comment=LONG),
        entry(comment="two\nlines"),
        entry(comment="\U0001f600" * 200),
        entry(comment="a\0b\x7f\ufffe"),
        entry(name="n" * 300),
        entry(name="line\nbreak"),
        entry(kind=f"struct<{','.join(f'field_{n}:string' for n in range(9000))}>"),
        entry(description=LONG * 10),
    ],
    ids=lambda table: str(table["StorageDescriptor"]["Columns"][0])[:40],
)
def test_what_glue_would_refuse_is_cut(table: dict[str, Any]) -> None:
    """https://github.com/apache/paimon/issues/8917: a comment of more than 255 letters."""
    assert refusals("CreateTable", {"DatabaseName": "d", "TableInput": table})

    sent(table)


def test_what_is_cut_says_so_and_stands_whole_beside() -> None:
    entry_sent = sent(entry(name="n" * 300, comment=LONG, description=LONG * 10))
    (column,) = entry_sent["StorageDescriptor"]["Columns"]

    assert column["Comment"] == LONG.replace("\n", " ")[: COMMENT - 3] + "..."
    assert len(column["Name"]) <= NAME
    assert column["Parameters"] == {"iceberg.field.id": "1", "frazil.name": "n" * 300, "frazil.comment": LONG}
    assert entry_sent["Description"] == (LONG * 10)[: DESCRIPTION - 3] + "..."


def test_two_long_names_that_begin_alike_stay_two() -> None:
    one, two = (sent(entry(name="n" * 300 + end))["StorageDescriptor"]["Columns"][0] for end in "ab")

    assert one["Name"] != two["Name"]


def test_what_fits_is_sent_as_it_is() -> None:
    table = entry(comment="a" * COMMENT, name="ü" * NAME, kind="x" * TYPE, description="two\nlines")

    assert sent(table) == table


def test_the_limits_are_those_of_glues_model() -> None:
    model = botocore.session.get_session().get_service_model("glue")
    table = model.operation_model("CreateTable").input_shape.members["TableInput"]
    column = table.members["StorageDescriptor"].members["Columns"].member.members

    limits = {name: column[name].metadata["max"] for name in ("Name", "Type", "Comment")}
    assert limits == {"Name": NAME, "Type": TYPE, "Comment": COMMENT}
    assert table.members["Description"].metadata["max"] == DESCRIPTION


@pytest.mark.parametrize(
    ("action", "request_", "why"),
    [
        ("GetTable", {"DatabaseName": "d"}, "'Name'"),
        ("GetTable", {"DatabaseName": "d", "Name": ""}, "greater than or equal to 1"),
        ("CreateDatabase", {"DatabaseInput": {"Name": "a\nb"}}, "regular expression"),
        ("UpdateTable", {"DatabaseName": "d", "TableInput": entry() | {"Retention": -1}}, "Retention"),
    ],
)
def test_any_call_is_judged_by_the_model(action: str, request_: dict[str, Any], why: str) -> None:
    (refusal_given,) = refusals(action, request_)

    assert why in refusal_given
