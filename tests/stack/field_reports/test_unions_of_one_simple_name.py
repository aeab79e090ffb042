"""Unions whose branches files call otherwise: two records of one simple name, names by Confluent's hints.

https://avro.apache.org/docs/1.12.0/specification/#unions
"""

from __future__ import annotations

from typing import Any

import pytest

from frazil.connections import Connections
from frazil.landing.land import land
from kit.records.topics import MakeTopic, topic_maker
from kit.records.upserts import upserts


def order(namespace: str, **fields: Any) -> dict[str, Any]:
    own = [{"name": name, "type": ["null", kind], "default": None} for name, kind in fields.items()]
    return {"type": "record", "name": "Order", "namespace": namespace, "fields": own}


UNION = [order("shop.v1", id="long", note="string"), order("shop.v2", id="long", price="double")]
EVENT = {
    "type": "record",
    "name": "Event",
    "namespace": "events",
    "fields": [
        {"name": "event", "type": UNION},
        {"name": "hinted", "type": ["null", "int", "string"], "default": None,
         "confluent:union": [{"name": "a-number"}, {"name": "a.text"}]},
        {"name": "list", "type": {"type": "array", "items": ["shop.v1.Order", "shop.v2.Order"]}},
        {"name": "by_name", "type": {"type": "map", "values": ["shop.v1.Order", "shop.v2.Order"]}},
    ],
}  # fmt: skip

FIRST, SECOND = ("shop.v1.Order", {"id": 1, "note": "a"}), ("shop.v2.Order", {"id": 2, "price": 2.5})
VALUES = [
    {"event": FIRST, "hinted": 7, "list": [FIRST, SECOND], "by_name": {"k": SECOND}},
    {"event": SECOND, "hinted": "seven", "list": [], "by_name": {}},
]
V1, V2 = [FIRST[1], None], [None, SECOND[1]]
ROWS = [
    {"event": V1, "hinted": [7, None], "list": [V1, V2], "by_name": [("k", V2)]},
    {"event": V2, "hinted": [None, "seven"], "list": [], "by_name": []},
]
"""The branches in their order: what they are called is another test's."""


@pytest.fixture
def make_topic(lake: Connections, fresh_name: str) -> MakeTopic:
    return topic_maker(lake, fresh_name, "field_reports")


@pytest.mark.each_time("rest-upsert")
@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_each_branch_of_a_union_lands_whatever_files_call_it(make_topic: MakeTopic, mode: str) -> None:
    if mode == "append":
        topic = make_topic(trades=False)
    else:
        topic = upserts(make_topic, partitions=1, partition_by=["bucket(2, key)"]).topic
    schema_id = topic.register(EVENT)
    topic.send_keyed([(b"k%d" % n, topic.encode(VALUES[n], schema_id)) for n in (0, 1)])
    land(topic.spec, topic.connections)
    topic.send_keyed([(b"k2", topic.encode(VALUES[0], schema_id))])
    land(topic.spec, topic.connections)

    assert list(map(by_place, topic.rows())) == [*ROWS, ROWS[0]]


def by_place(row: dict[str, Any]) -> dict[str, Any]:
    def branches(union: dict[str, Any]) -> list[Any]:
        return list(union.values())

    return {
        "event": branches(row["event"]),
        "hinted": branches(row["hinted"]),
        "list": list(map(branches, row["list"])),
        "by_name": [(key, branches(value)) for key, value in row["by_name"]],
    }
