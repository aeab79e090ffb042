"""`frazil schema diff`: a schema judged against the live table before anybody registers it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from frazil.checks.candidate import Preview, preview
from frazil.connections import Connections
from frazil.errors import SpecError
from frazil.formats.protocol import KEY, VALUE, Half
from frazil.landing.land import land
from frazil.landing.position.state import table_states
from frazil.spec.migrations import Drop, Migration
from frazil.spec.names import things
from frazil.spec.topic import TableSpec
from kit.records.topics import TRADE, Topic, create_topic
from kit.runs.shell import Command, Shell

NESTED = {
    **TRADE,
    "fields": [
        *TRADE["fields"],  # type: ignore[misc]
        {
            "name": "venue",
            "type": {"type": "record", "name": "Venue", "fields": [{"name": "code", "type": "int"}]},
        },
    ],
}


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def record(*fields: dict[str, Any]) -> dict[str, Any]:
    return {**TRADE, "fields": list(fields)}


SIDE, QUANTITY, SYMBOL = TRADE["fields"]  # type: ignore[misc]
VENUE = NESTED["fields"][3]  # type: ignore[index]


@pytest.fixture(scope="module")
def landed(connections: Connections) -> Topic:
    """A table with a nested column, and two rows in it."""
    name = f"t{uuid.uuid4().hex[:12]}"
    create_topic(connections.admin, name, 1, {})
    topic = Topic(name, connections, TableSpec(topic=name, namespace="schema_diff_tests"))
    topic.register(NESTED)
    row = {"side": "BUY", "quantity": 1, "symbol": "Z", "venue": {"code": 1}}
    topic.send([topic.encode(row)] * 2)
    land(topic.spec, connections)
    return topic


@pytest.fixture
def diff(landed: Topic, tmp_path: Path) -> Callable[..., Preview]:
    """Judges a candidate: `diff(schema, publish=("glue",))`."""

    def run(schema: dict[str, Any] | str, suffix: str = ".avsc", half: Half = VALUE, **spec: Any) -> Preview:
        file = (tmp_path / "candidate").with_suffix(suffix)
        file.write_text(schema if isinstance(schema, str) else json.dumps(schema))
        wanted = landed.spec.model_copy(update=spec)
        return preview(wanted, landed.things, landed.connections, file, half)

    return run


Diff = Callable[..., Preview]


def judged(changes: Preview) -> dict[str, tuple[str, str]]:
    return {v.field: (v.change, v.outcome) for v in changes.verdicts}


def venue(*fields: dict[str, Any]) -> dict[str, Any]:
    return field("venue", {"type": "record", "name": "Venue", "fields": list(fields)})


def metadata(landed: Topic) -> str:
    return landed.connections.catalog.load_table(landed.things.table.identifier).metadata_location


def test_each_change_has_its_verdict_and_the_table_its_new_columns(landed: Topic, diff: Diff) -> None:
    before = metadata(landed)
    note = field("note", ["null", "string"], default=None)

    changes = diff(
        record(SIDE, note, {**QUANTITY, "type": "long"}, SYMBOL, venue(note, field("code", "long")))
    )

    assert not changes.refused
    assert judged(changes) == {
        "note": ("add", "applied"),
        "quantity": ("widen", "applied"),
        "venue.note": ("add", "applied"),
        "venue.code": ("widen", "applied"),
    }
    columns = {c.name: c for c in changes.columns}
    assert list(columns)[:6] == ["key", "side", "quantity", "symbol", "venue", "note"]
    assert (columns["quantity"].iceberg, columns["quantity"].shown["glue"]) == ("long", "bigint")
    assert columns["quantity"].shown["snowflake"] == "NUMBER(19,0)"
    assert columns["venue"].shown["glue"] == "struct<code:bigint,note:string>"
    assert columns["venue"].shown["snowflake"] == "OBJECT(code NUMBER(19,0), note VARCHAR)"
    assert [c.name for c in changes.columns if c.touched] == ["quantity", "venue", "note"]
    assert metadata(landed) == before


def test_whoever_shows_a_touched_column_is_named(landed: Topic, diff: Diff) -> None:
    wider = record(SIDE, {**QUANTITY, "type": "long"}, SYMBOL, VENUE)

    everywhere, nowhere = diff(wider).readers, diff(wider, publish=()).readers

    table = landed.things.table.table
    assert [r.relation.rpartition(".")[2] for r in everywhere] == [
        table,
        table.upper(),
        f"{table.upper()}_CLEAN",
    ]
    assert {r.columns for r in everywhere} == {("quantity",)}
    assert [r.asset.split("/")[0] for r in everywhere] == ["glue", "snowflake", "snowflake"]
    assert nowhere == ()


def test_a_refused_change_leaves_the_columns_as_they_are(diff: Diff) -> None:
    changes = diff(record(SIDE, {**QUANTITY, "type": "string"}, VENUE))

    assert judged(changes) == {"quantity": ("retype", "refused"), "symbol": ("drop", "refused")}
    assert {c.name: c.iceberg for c in changes.columns}["quantity"] == "int"
    assert "`- {id: drop-symbol, drop: {column: symbol}}`" in changes.refused[1].todo


def test_an_approved_migration_turns_the_verdict_around(diff: Diff) -> None:
    gone = Migration(id="no-symbol", drop=Drop(column="symbol"))

    changes = diff(record(SIDE, QUANTITY, VENUE), migrations=(gone,))

    assert judged(changes) == {"symbol": ("drop", "applied")}
    assert "symbol" not in {c.name for c in changes.columns}


def test_a_key_schema_is_judged_against_the_key_column(diff: Diff) -> None:
    changes = diff({"type": "record", "name": "K", "fields": [field("id", "long")]}, half=KEY)

    assert judged(changes) == {"id": ("add", "applied"), "key": ("drop", "refused")}


JSON = """{"type": "object", "required": ["side", "quantity", "symbol", "venue"], "properties": {
    "side": {"type": "string", "connect.index": 0}, "symbol": {"type": "string", "connect.index": 2},
    "quantity": {"type": "integer", "connect.type": "int32", "connect.index": 1},
    "venue": {"type": "object", "required": ["code"], "connect.index": 3,
              "properties": {"code": {"type": "integer"}}}}}"""
PROTOBUF = """syntax = "proto3"; message Trade {
    string side = 1; int32 quantity = 2; string symbol = 3; Venue venue = 4; int32 fee = 5;
    message Venue { int64 code = 1; } }"""


@pytest.mark.parametrize(
    ("suffix", "text", "expected"),
    [
        (".json", JSON, {"venue.code": ("widen", "applied")}),
        (
            ".proto",
            PROTOBUF,
            {"venue.code": ("widen", "applied"), "venue": ("relax", "applied"), "fee": ("add", "applied")},
        ),
    ],
)
def test_candidates_of_every_format_are_judged_alike(
    diff: Diff, suffix: str, text: str, expected: dict[str, tuple[str, str]]
) -> None:
    assert judged(diff(text, suffix)) == expected


def test_a_schema_that_no_table_can_hold_is_refused_as_a_whole(diff: Diff) -> None:
    changes = diff(record(SIDE, {**SIDE, "name": "Side"}))

    assert [(v.change, v.outcome) for v in changes.verdicts] == [("unmappable", "refused")]
    assert "differ" in changes.verdicts[0].rule


def test_without_a_table_the_columns_are_those_that_it_would_have(
    connections: Connections, landed: Topic, tmp_path: Path
) -> None:
    spec = landed.spec.model_copy(update={"table": "not_there_yet"})
    names = things(spec, connections.settings)
    file = tmp_path / "candidate.avsc"
    file.write_text(json.dumps(NESTED))

    changes = preview(spec, names, connections, file, VALUE)

    assert (changes.exists, changes.verdicts) == (False, ())
    assert [c.name for c in changes.columns][:5] == ["key", "side", "quantity", "symbol", "venue"]


@pytest.mark.parametrize("text", ["{", '{"type": "record", "name": "NoFields"}', "3"])
def test_a_file_that_is_no_schema_is_refused_as_a_whole(diff: Diff, text: str) -> None:
    assert [(v.change, v.outcome) for v in diff(text).verdicts] == [("unmappable", "refused")]


@pytest.mark.parametrize("name", ["missing.avsc", "schema.txt"])
def test_a_file_that_is_missing_or_of_no_known_format_is_a_clear_error(landed: Topic, name: str) -> None:
    with pytest.raises(SpecError, match=name):
        preview(landed.spec, landed.things, landed.connections, Path(name), VALUE)


@pytest.fixture
def pipelines(landed: Topic, shell: Shell) -> Shell:
    """The command, with a pipeline of the landed table."""
    shell.write({"topic": landed.name, "namespace": landed.spec.namespace})
    return shell


def test_the_command_guards_a_pull_request_by_its_exit_code(
    pipelines: Shell, landed: Topic, tmp_path: Path
) -> None:
    (tmp_path / "refused.avsc").write_text(json.dumps(record(SIDE, QUANTITY, VENUE)))
    candidate = str(tmp_path / "refused.avsc")

    result = pipelines("schema", "diff", str(landed.things.table), "--candidate", candidate, "--json")

    assert result.code == 1, result.err
    document = result.document
    assert (document["allowed"], document["verdicts"][0]["field"]) == (False, "symbol")
    assert "1 of 1 changes would suspend table" in result.err
    assert "  Next: Keep symbol in the schema" in result.err


@pytest.mark.usefixtures("pipelines")
def test_a_suspended_table_is_described_with_its_verdicts_until_the_schema_is_withdrawn(
    frazil: Command, landed: Topic
) -> None:
    registry, subject, name = landed.connections.registry, f"{landed.name}-value", str(landed.things.table)
    registry.set_compatibility(subject, level="NONE")
    landed.register(record(SIDE, {**QUANTITY, "type": "string"}, SYMBOL, VENUE))

    refused, described = frazil("land", name), frazil("describe", name, "--json")
    registry.delete_version(subject, 2)
    land(landed.spec, landed.connections)

    assert refused.code == 3, refused.err
    assert "field quantity: int can't become string" in refused.err
    document = described.document
    assert document["state"]["state"] == "suspended"
    assert [(v["field"], v["outcome"]) for v in document["schema"]] == [("quantity", "refused")]
    assert [s.state for s in table_states([landed.spec], landed.connections)] == ["current"]
