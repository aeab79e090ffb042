"""Soft deletes of long rows whose records carry headers, as Debezium 3 sends them: Spark stays alive.

https://debezium.io/documentation/reference/3.0/transformations/event-changes.html tells of such headers.
"""

from __future__ import annotations

import pytest

from frazil.connections import Connections
from frazil.landing.land import land
from kit.records.envelopes import Written, captured
from kit.records.topics import topic_maker

HEADERS = [
    ("__debezium.context.connectorName", b"postgresql"),
    ("__debezium.newkey", None),
    ("", b"\x00\xff"),
]


@pytest.mark.nightly  # landing/test_cdc.py has shorter ones each time
@pytest.mark.parametrize("written", ["avro", "json"])
def test_deletes_that_leave_no_row_upon_the_branch_carry_their_headers(
    connections: Connections, fresh_name: str, written: Written
) -> None:
    make = topic_maker(connections, fresh_name, "field_reports")
    made = captured(make, written, delete="soft")
    for number in range(3):
        made.text = "".join(chr(33 + (n * 7919 + number) % 90) for n in range(9000 + 1111 * number))
        made.send(((f"k{number}-{n}", n) for n in range(60)), headers=HEADERS)
        land(made.topic.spec, connections)
        changes = ((f"k{number}-{n}", None if n % 3 == 0 else n + 100) for n in range(60))
        made.send(changes, headers=HEADERS[: number + 1])

        report = land(made.topic.spec, connections)

        assert (report.updated, report.deleted) == (40, 20)
        rows = {row["key"]: row for row in made.topic.rows()}
        assert {key: row["quantity"] for key, row in rows.items() if not row["$$deleted"]} == made.rows
        gone = [rows[f"k{number}-{n}"] for n in range(0, 60, 3)]
        assert [row["note"] for row in gone] == [f"n{n}{made.text}" for n in range(0, 60, 3)]
        assert {row["$$op"] for row in gone} == {"d"}
        assert all(row["$$headers"] == HEADERS[: number + 1] for row in gone)
