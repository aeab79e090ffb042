"""`frazil discover` on real topics: what it prints lands them."""

from __future__ import annotations

import json
import time

from confluent_kafka import Producer

from frazil.connections import Connections
from frazil.kafka.clients import client_config
from kit.records.topics import Topic, create_topic
from kit.runs.shell import Command, Shell


def test_what_it_proposes_lands_the_topics_as_they_are(
    frazil: Command, shell: Shell, topic: Topic, connections: Connections, fresh_name: str
) -> None:
    text, empty = f"{fresh_name}_text", f"{fresh_name}_empty"
    for name in (text, empty):
        create_topic(connections.admin, name, 1, {})
    producer, now = Producer(client_config(connections.settings)), int(time.time() * 1000)
    hostile = b"x: [}\n- &a {{ env('HOME') }}\x1b[2J"
    for hours in range(3):
        producer.produce(text, hostile, hostile, timestamp=now - hours * 3_600_000)
    producer.flush()

    document = frazil("discover", f"{fresh_name}*", "--json").document["topics"]
    printed = frazil("discover", f"{fresh_name}*")
    (shell.pipelines / "found").mkdir()
    (shell.pipelines / "found/defs.yaml").write_text(printed.out)
    landed = frazil("land", text, "--no-sync", "--json")

    by_topic = {finding["topic"]: finding for finding in document}
    assert set(by_topic) == {text, empty}  # the third one is in a pipeline
    (proposal,) = by_topic[text]["proposals"]
    assert proposal["table"] == {"topic": text, "key_format": "string", "value_format": "string"}
    assert (by_topic[text]["records"], by_topic[text]["bytes_per_day"]) == (3, 2 * len(hostile) * 3 * 12)
    assert (by_topic[empty]["records"], by_topic[empty]["proposals"]) == (0, [])
    assert "\x1b" not in printed.err + printed.out
    assert text in printed.err
    assert [report["records"] for report in landed.document] == [3]

    flat = f"{fresh_name}_flat"
    create_topic(connections.admin, flat, 1, {})
    for number in range(3):
        value = {"id": number, "user": {"name": "Ann"}, "at": "2026-11-26T10:00:00Z"}
        producer.produce(flat, json.dumps(value), timestamp=now)
    producer.flush()
    frazil("discover", flat, "--fields", "--write")
    frazil("validate")
    (report,) = frazil("land", flat, "--no-sync", "--json").document
    assert (report["records"], report["dead_letters"]) == (3, 0)
