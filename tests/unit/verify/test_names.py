"""Columns that had other names before: records of then are read by them, and by nothing else."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import fastavro
import pytest

from frazil_verify.ledger import Eras, disagreements
from frazil_verify.log.registry import Schema
from frazil_verify.table.metadata import SnapshotRows, TableMetadata, columns_of
from frazil_verify.table.names import NOWHERE, as_named, former_names, left_behind, names_of
from frazil_verify.values.avro import AvroReader
from frazil_verify.values.json import JsonReader


def fields(**named: Any) -> dict[str, Any]:
    """A struct of fields: `name=(id, type)`."""
    return {
        "type": "struct",
        "fields": [{"id": at, "name": n, "type": kind, "required": False} for n, (at, kind) in named.items()],
    }


FIRST = fields(side=(1, "string"), quantity=(2, "int"), home=(3, fields(zip=(4, "string"))))
RENAMED = fields(way=(1, "string"), quantity=(2, "int"), home=(3, fields(code=(4, "string"))))
RETYPED = fields(way=(1, "string"), quantity=(5, "string"), quantity__v1=(2, "int"))
TAKEN = fields(way=(1, "string"), side=(6, "string"))


def test_a_renamed_column_has_its_former_name_at_any_depth() -> None:
    assert former_names([FIRST, RENAMED], RENAMED) == {1: ("side",), 2: (), 3: (), 4: ("zip",)}
    assert left_behind([FIRST, RENAMED], RENAMED) == {}


def test_records_of_the_former_name_do_not_fill_what_a_retype_left_nor_what_lost_its_name_to_another() -> (
    None
):
    former = former_names([FIRST, RETYPED], RETYPED)

    assert 2 not in former
    assert left_behind([FIRST, RETYPED], RETYPED) == {2: "quantity"}
    assert former_names([FIRST, TAKEN], TAKEN) == {1: (), 6: ()}


@pytest.mark.parametrize(
    ("former", "expected"),
    [({1: ("side",)}, ("BUY", None)), ({}, (None, None)), ({2: ("side",)}, (None, "BUY"))],
)
def test_a_former_name_counts_as_an_alias_of_its_own_column_alone(
    former: Mapping[int, tuple[str, ...]], expected: tuple[Any, ...]
) -> None:
    one, other = (
        Schema(
            1,
            "AVRO",
            json.dumps({"type": "record", "name": "R", "fields": [{"name": n, "type": "string"}]}),
            {},
        )
        for n in ("side", "way")
    )
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(one.text)), {"side": "BUY"})
    wanted = fields(way=(1, "string"), note=(2, "string"))

    assert AvroReader(one, other, wanted, former=former)(out.getvalue()) == expected


def test_a_record_is_read_by_the_names_of_the_day_when_it_was_landed() -> None:
    types = {"side": {"type": "string"}, "quantity": {"type": "integer"}}
    schema = Schema(1, "JSON", json.dumps({"properties": types}), {})
    then = as_named(columns_of(RETYPED), names_of(FIRST))
    wanted = {
        "type": "struct",
        "fields": [{"id": c.id, "name": c.name, "type": c.type, "required": False} for c in then],
    }

    assert [c.name for c in then] == ["side", NOWHERE, "quantity"]
    assert JsonReader(schema, wanted)(b'{"quantity": 7, "side": "BUY"}') == ("BUY", None, 7)


@dataclass
class Snapshots:
    """Snapshots of a table, one a landing: what each says, and under which schema."""

    landings: list[tuple[dict[str, Any], int]]
    schemas: ClassVar = {3: None, 4: None, 7: None}
    document: ClassVar = {"current-schema-id": 7}

    @property
    def history(self) -> list[dict[str, Any]]:
        return [
            {"summary": {f"frazil.{k}": json.dumps(v) for k, v in says.items()}, "schema-id": schema}
            for says, schema in self.landings
        ]

    def rows_of(self, snapshot: Mapping[str, Any]) -> SnapshotRows:
        return SnapshotRows(0, 0, False)


def test_an_offset_is_of_the_schema_that_its_landing_had_or_of_the_oldest_where_no_snapshot_tells() -> None:
    table = Snapshots(
        [
            ({"spans": {"0": [10, 20]}}, 4),
            ({"spans": {"0": [20, 20], "1": [0, 5]}}, 7),
            ({"spans": {"0": [20, 30]}}, 7),
        ]
    )

    eras = Eras.of(cast("TableMetadata", table))

    assert [eras.schema_at(0, at)[0] for at in (0, 9, 10, 19, 20, 29)] == [3, 3, 4, 4, 7, 7]
    assert [eras.schema_at(0, at)[1] for at in (0, 9, 10, 29)] == [False, False, True, True]
    assert [eras.schema_at(1, at) for at in (0, 4)] == [(7, True)] * 2
    assert eras.schema_at(2, 0) == (3, False)


@pytest.mark.parametrize(("lost", "disagreeing"), [(4, []), (3, [9]), (5, [9]), (0, [9])])
def test_a_gap_of_the_ledger_is_accounted_for_by_as_many_records_as_are_noted_as_lost(
    lost: int, disagreeing: list[int]
) -> None:
    table = Snapshots([({"spans": {"0": [0, 5]}}, 7), ({"spans": {"0": [9, 15]}, "lost": {"0": lost}}, 7)])

    findings = disagreements(cast("TableMetadata", table), each_is_a_row=True)

    assert [each.offset for each in findings] == disagreeing
