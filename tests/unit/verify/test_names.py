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
from frazil_verify.log.registry import Schema, Schemas
from frazil_verify.request import Half
from frazil_verify.table.metadata import SnapshotRows, TableMetadata, columns_of
from frazil_verify.table.names import NOWHERE, as_known, left_behind, names_of, renames_of
from frazil_verify.values.avro import AvroReader
from frazil_verify.values.half import HalfReader, struct


def fields(**named: Any) -> dict[str, Any]:
    """A struct of fields: `name=(id, type)`."""
    return {
        "type": "struct",
        "fields": [{"id": at, "name": n, "type": kind, "required": False} for n, (at, kind) in named.items()],
    }


FIRST = fields(side=(1, "string"), quantity=(2, "int"), home=(3, fields(zip=(4, "string"))))
RENAMED = fields(way=(1, "string"), quantity=(2, "int"), home=(3, fields(code=(4, "string"))))
RETYPED = fields(way=(1, "string"), quantity=(5, "string"), quantity__v1=(2, "int"))


def test_a_table_says_which_renames_it_went_through_and_in_which_order() -> None:
    done = ("rename side to way", "drop old", "retype quantity to string", "rename home.zip to code")
    noted = {str(n): {"did": did, "field_id": n, "kept": False} for n, did in enumerate(done)}

    properties, renames = {"frazil.migrations": json.dumps(noted)}, (("side", "way"), ("home.zip", "code"))

    assert renames_of(properties, [FIRST]) == renames_of(properties, [FIRST, RENAMED]) == renames
    assert renames_of({}, [FIRST]) == ()


def test_a_rename_that_another_engine_made_is_known_by_the_ids_of_columns() -> None:
    moved = fields(way=(1, "string"), quantity=(2, "int"), place=(3, fields(code=(4, "string"))))

    assert renames_of({}, [FIRST, moved]) == (("side", "way"), ("home", "place"), ("place.zip", "code"))
    assert renames_of({}, [FIRST, RETYPED]) == (("side", "way"),)


def test_the_column_that_a_retype_left_has_its_former_name() -> None:
    assert left_behind([FIRST, RENAMED], RENAMED) == {}
    assert left_behind([FIRST, RETYPED], RETYPED) == {2: "quantity"}


@pytest.mark.parametrize(
    ("names", "expected"),
    [({1: "side"}, ("BUY", None)), ({}, (None, None)), ({2: "side"}, (None, "BUY"))],
)
def test_what_a_version_calls_a_field_fills_its_own_column_alone(
    names: Mapping[int, str], expected: tuple[Any, ...]
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

    assert AvroReader(one, other, wanted, names=names)(out.getvalue()) == expected


def test_a_record_fills_no_column_that_the_table_did_not_have_when_it_was_landed() -> None:
    types = {"side": {"type": "string"}, "quantity": {"type": "integer"}}
    answers = {
        "subjects/s/versions?deleted=true": [1],
        "subjects/s/versions/1?deleted=true": {"id": 1},
        "schemas/ids/1": {"schema": json.dumps({"properties": types}), "schemaType": "JSON"},
        "subjects/s/versions/latest": {"id": 1, "schema": "{}", "schemaType": "JSON"},
    }
    then = as_known(columns_of(RETYPED), names_of(FIRST))
    reader = HalfReader(
        Half(format="registry", subject="s"),
        Schemas(answers.get),
        struct(then),
        renames=[("side", "way")],
        then={1: "side", 2: "quantity"},
    )

    assert [c.name for c in then] == ["way", NOWHERE, "quantity__v1"]
    assert reader(b'\0\0\0\0\1{"quantity": 7, "side": "BUY"}') == ("BUY", None, 7)


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
