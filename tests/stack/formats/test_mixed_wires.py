"""One topic of three formats and seven wires: each record is a row of its table, or bad with a reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.landing.land import land
from frazil.spec.names import things
from frazil_local.generators.producer import produce
from kit.readers.compared import note
from kit.records.topics import Topic, create_topic
from kit.wires.gate import gate, uncompressed
from kit.wires.mixed import FORMATS, Mixed, Sent, with_guids

COUNT = 1_600
NAMED = {
    "prefix": "schema id 2147483641 is not of subject", "guid": "header __value_schema_id names schema",
    "id_in_header": "schema id 2147483641 is not of subject", "object": "fingerprint 0000000000000000",
    "content_id": "schema id 2147483641 is not of subject",
    "global_id": "header apicurio.value.globalId is 2147483641",
    "long_id": "id 2147483641 of eight bytes",
}  # fmt: skip
"""What the reason says of a schema that nobody knows, by the wire that names it."""


@pytest.fixture(scope="module")
def clients(connections: Connections) -> Iterator[Connections]:
    """Clients of a stack whose registry tells GUIDs."""
    url = connections.settings.registry.url
    with gate(url, lambda _: True, signed=uncompressed, edited=with_guids) as url:
        changed = {"url": url, "eight_byte_ids": "global"}
        yield Clients(connections.settings.with_changes(registry=changed))


@pytest.fixture(scope="module")
def compared(clients: Connections, request: pytest.FixtureRequest) -> None:
    """All three tables have their rows compared while there is that registry."""
    request.getfixturevalue("rows_are_their_records")


def test_each_record_is_a_row_of_its_own_table_or_bad_with_its_wire_and_reason(
    clients: Connections, fresh_name: str
) -> None:
    mixed = Mixed(fresh_name, bad=7)
    create_topic(clients.admin, fresh_name, 3, {})
    mixed.register(clients)
    sent = [*mixed.sent(COUNT)]
    records = ((each.number % 3, *mixed.record(each)) for each in sent)
    placed = ((b"k", value, headers, partition, None) for partition, value, headers in records)
    produce(clients.settings, fresh_name, placed)

    for kind in FORMATS:
        spec = mixed.spec(kind, namespace="wires")
        note(Topic(fresh_name, clients, spec))
        report = land(spec, clients)
        name = things(spec, clients.settings).table
        rows = clients.catalog.load_table(name.identifier).scan().to_arrow().to_pylist()
        letters = clients.catalog.load_table(name.dead_letters.identifier).scan().to_arrow().to_pylist()

        wanted = [each.row for each in sent if each.format == kind and not each.bad]
        assert (
            sorted(({f: row[f] for f in each.row} for row in rows for each in sent[:1]), key=_number)
            == wanted
        )
        bad = {
            _place(each): each for each in sent if each.bad == "unknown" or (each.bad and each.format == kind)
        }
        assert {(row["partition"], row["offset"]) for row in letters} == set(bad)
        for row in letters:
            each = bad[row["partition"], row["offset"]]
            if each.bad == "unknown" and (kind != "protobuf" or each.format == kind):
                assert NAMED[each.wire] in row["reason"], (kind, each, row["reason"])
            assert row["reason"]
        assert report.skipped == COUNT - len(wanted) - len(bad)


def _number(row: dict[str, object]) -> int:
    number = row["n"]
    assert isinstance(number, int)
    return number


def _place(each: Sent) -> tuple[int, int]:
    return each.number % 3, each.number // 3
