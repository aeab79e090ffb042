"""What others wrote into a table's notes is refused by its name; what is no number counts as none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil

from frazil.derive.feeds.position import FedTo
from frazil.derive.positions.ledger import DerivedLedger
from frazil.errors import PositionLostError
from frazil.landing.position.ledger import Ledger
from frazil.tables.commits.works import started_at
from frazil.tables.metadata.snapshots import ancestors, number
from frazil.tables.migrations import MIGRATIONS, retired
from frazil.upkeep.facts import read_facts
from kit.tables.commits import Lake

GOOD = {
    "frazil.spans": '{"0":[0,2]}', "frazil.topic": "t", "frazil.topic-id": "id", "frazil.start": '{"0":0}',
}  # fmt: skip
DERIVED = {"frazil.inputs": '{"n.u": ["uuid", 7, 1]}', "frazil.query": "q", "frazil.derivation": "d"}


@pytest.mark.usefixtures("garbage_waits")
@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        (Ledger, "frazil.spans", "{"),
        (Ledger, "frazil.spans", '{"0": [0, "2"]}'),
        (Ledger, "frazil.spans", '{"0": [2, 0]}'),
        (Ledger, "frazil.spans", '{"0": [0, 1e999]}'),
        (Ledger, "frazil.spans", "[" * 10_000),
        (Ledger, "frazil.start", '{"x": 0}'),
        (Ledger, "frazil.records", "many"),
        (Ledger, "frazil.earlier-logs", "7"),
        (Ledger, "frazil.ledger", "two"),
        (DerivedLedger, "frazil.inputs", '{"n.u": ["uuid", "7", 1]}'),
        (DerivedLedger, "frazil.inputs", '{"n.u": []}'),
        (DerivedLedger, "frazil.read", '{"n.u": null}'),
        (DerivedLedger, "frazil.watermark", "NaN"),
    ],
)
def test_a_note_of_another_form_is_refused_by_its_name(kind: Any, name: str, text: str) -> None:
    good = GOOD if kind is Ledger else DERIVED
    assert kind.parse(good)

    with pytest.raises(PositionLostError, match=f"can't be read: {name}"):
        kind.parse({**good, name: text})


def test_a_ledger_that_lacks_its_topic_is_refused() -> None:
    with pytest.raises(PositionLostError, match=r"can't be read: frazil\.topic\."):
        Ledger.parse({k: v for k, v in GOOD.items() if k != "frazil.topic"})


@pytest.mark.parametrize("start", [3, -1])
def test_a_ledger_whose_partition_ends_before_its_start_is_refused(start: int) -> None:
    with pytest.raises(PositionLostError, match="a partition ends before it begins"):
        Ledger.parse({**GOOD, "frazil.start": f'{{"0": {start}}}'})


@pytest.mark.parametrize("text", ["7", "[]", '["u", 1, 2, "3", false, 0, ""]', '["u", "1", 2]'])
def test_a_feed_that_can_not_be_read_is_refused(text: str) -> None:
    with pytest.raises(PositionLostError, match="the feed's position"):
        FedTo.parse(text)


def test_numbers_and_names_of_others_tell_nothing() -> None:
    assert [number({"n": text}, "n") for text in ("7", "seven", "9" * 5000, "-7")] == [7, 0, 0, 0]
    assert [started_at(name) for name in ("landing_x", "landing", "landing_7000_a")] == [0.0, 0.0, 7.0]


@pytest.mark.parametrize("text", ["9" * 5000, "\u00b2", "x", "-1"])
def test_a_size_that_is_no_number_is_not_known_to_upkeep(lake: Lake, text: str) -> None:
    made = json.loads(lake.table.metadata.model_dump_json(by_alias=True))
    for snapshot in made["snapshots"]:
        snapshot["summary"]["total-data-files"] = text

    assert read_facts(broken(lake, snapshots=made["snapshots"])).files is None


def broken(lake: Lake, **changed: Any) -> TableMetadata:
    made = json.loads(lake.table.metadata.model_dump_json(by_alias=True))
    return TableMetadataUtil.parse_obj({**made, **changed})


def test_migrations_that_can_not_be_read_are_refused(lake: Lake) -> None:
    with pytest.raises(PositionLostError, match=MIGRATIONS):
        retired(broken(lake, properties={MIGRATIONS: '{"a": {"did": "x", "field_id": "1"}}'}))


def test_a_line_of_snapshots_that_ends_in_itself_ends(lake: Lake) -> None:
    made = json.loads(lake.table.metadata.model_dump_json(by_alias=True))
    first, *_, last = made["snapshots"]
    first["parent-snapshot-id"] = last["snapshot-id"]

    metadata = broken(lake, snapshots=made["snapshots"])

    assert len(list(ancestors(metadata))) == len(list(ancestors(lake.table.metadata)))
