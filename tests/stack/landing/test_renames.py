"""Records of older versions fill the column that their field became by a rename, however they come in.

The table remembers the rename: the spec has it for one landing only.
Each field may be absent: with another name its value would be null, and every check green.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema

from frazil.checks.result import Subject
from frazil.checks.verification import verify
from frazil.landing.land import land
from frazil.landing.repairs.redrive import redrive
from frazil.landing.replay.run import replay
from frazil.spec.migrations import Migration
from kit.records.topics import MakeTopic, Topic
from kit.renamed.formats import FORMATS, JSON, PROTOBUF, NamedFormat, Version

MIGRATIONS = tuple(
    Migration.model_validate({"id": to, "rename": {"from": path, "to": to}})
    for path, to in [("old", "new"), ("home.zip", "code")]
)
FIRST: Version = {"old": None, "home": {"zip": None}}
SECOND: Version = {"new": None, "home": {"code": None}}
THIRD: Version = {**SECOND, "old": None}
"""The name that the first version's field had is another field's by now."""


@dataclass
class Renamed:
    """A topic of one format, of whose records some wait while the schema goes on."""

    topic: Topic
    form: NamedFormat
    ids: dict[str, int] = field(default_factory=dict)
    sent: int = 0

    def register(self, version: Version) -> None:
        subject, text = f"{self.topic.name}-value", self.form.schema(version)
        self.topic.connections.registry.set_compatibility(subject, level="NONE")
        known = self.topic.connections.registry.register_schema(subject, Schema(text, self.form.kind))
        self.ids[str(version)] = int(known)

    def send(self, version: Version, *values: Mapping[str, Any], cut: int = 0) -> None:
        """Sends records by keys of their own, without their last bytes if that is asked for."""
        records = [self.form.record(version, self.ids[str(version)], value) for value in values]
        keyed = [(str(n).encode(), raw[: len(raw) - cut]) for n, raw in enumerate(records, self.sent)]
        self.topic.send_keyed(keyed, plain="offsets are named")
        self.sent += len(keyed)

    def rows(self) -> list[tuple[Any, ...]]:
        return [(r["new"], r["home"] and r["home"]["code"], r["old"]) for r in self.topic.rows()]

    def verify(self) -> Mapping[str, Any]:
        topic = self.topic
        return verify(Subject(topic.spec, topic.things, topic.connections)).document


def of_first(text: str) -> dict[str, Any]:
    return {"old": text, "home": {"zip": text}}


def renamed(make_topic: MakeTopic, form: NamedFormat, **spec: Any) -> Renamed:
    """A topic of one landed record, of others that waited while it was renamed, and of later versions."""
    made = Renamed(make_topic(trades=False, **spec), form)
    topic = made.topic
    made.register(FIRST)
    made.send(FIRST, of_first("a"), of_first("b"))
    made.send(FIRST, of_first("c"), cut=int("on_bad_record" in spec))
    land(topic.spec, topic.connections, max_records=1)
    made.register(SECOND)
    land(topic.spec.model_copy(update={"migrations": MIGRATIONS}), topic.connections, max_records=1)
    made.send(FIRST, of_first("d"))
    made.send(SECOND, {"new": "e", "home": {"code": "e"}})
    made.register(THIRD)
    made.send(THIRD, {"new": "f", "home": {"code": "f"}, "old": "g"})
    land(topic.spec, topic.connections)
    return made


ROWS = [*((text, text, None) for text in "abcde"), ("f", "f", "g")]


@pytest.mark.plain(why="offsets are named")
@pytest.mark.each_time("rest-avro", "rest-json")
@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_records_that_waited_and_a_letter_that_is_redriven_have_their_values(
    make_topic: MakeTopic, form: NamedFormat
) -> None:
    made = renamed(make_topic, form, on_bad_record="dead_letter")
    topic, whole = made.topic, form.payload(FIRST, of_first("c"))

    redrive(topic.spec, topic.connections, repair=lambda letter: (letter.raw_value or b"") + whole[-1:])

    assert made.rows() == ROWS
    document = made.verify()
    assert "altered" not in document["counts"], document
    assert document["not_compared"] == {}


@pytest.mark.plain(why="offsets are named")
@pytest.mark.parametrize("form", [pytest.param(JSON, marks=pytest.mark.nightly), PROTOBUF], ids=str)
def test_rows_by_key_have_them_too(make_topic: MakeTopic, form: NamedFormat) -> None:
    made = renamed(make_topic, form, mode="upsert", key_format="string")

    assert made.rows() == ROWS
    assert made.verify()["counts"] == {}


@pytest.mark.nightly
@pytest.mark.plain(why="offsets are named")
@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_so_have_records_that_are_replayed(make_topic: MakeTopic, form: NamedFormat) -> None:
    made = renamed(make_topic, form)

    replay(made.topic.spec, made.topic.connections, {0: (0, 2)})

    assert made.rows() == ROWS
    assert made.verify()["counts"] == {}
