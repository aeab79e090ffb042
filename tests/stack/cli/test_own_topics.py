"""The first topic of one's own lands at the first try, by `frazil discover --write` and what that prints."""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from frazil.connections import Connections
from kit.formats.formats import plain, produce
from kit.records.own_topics import OWN_TOPICS, OwnTopic
from kit.runs.shell import Command, Output, Shell
from kit.runs.waiting import PATIENCE

BY_DAY = {
    "mixed",
    "optional",
    "millis",
    "odd_names",
    "empty_values",
    "protobuf",
    "protobuf_file",
    "avro_keys",
    "long_keys",
    "compacted",
    "debezium_avro",
    "several",
}
"""Each way in which topics differ from others once: the rest lands at night.

Records that are nested, plain text, or described by JSON Schema land each day in tests/stack/formats.
"""
TOPICS = [
    pytest.param(topic, id=topic.name, marks=[] if topic.name in BY_DAY else [pytest.mark.nightly])
    for topic in OWN_TOPICS
]


@pytest.fixture(scope="module")
def topics(by_day: bool) -> list[OwnTopic]:
    """Those whose tables are looked at in this run."""
    return [topic for topic in OWN_TOPICS if topic.name in BY_DAY or not by_day]


@pytest.fixture(scope="module")
def prefix() -> str:
    return f"own{uuid.uuid4().hex[:8]}"


@dataclass(frozen=True, slots=True)
class Evening:
    """What the commands answered."""

    answers: list[Output]
    tables: Output  # before anything was landed


@dataclass(frozen=True, slots=True)
class Memory:
    """Both streams of this process, for longer than one test."""

    out: StringIO = field(default_factory=StringIO)
    err: StringIO = field(default_factory=StringIO)

    def readouterr(self) -> tuple[str, str]:
        written = (self.out.getvalue(), self.err.getvalue())
        for stream in (self.out, self.err):
            stream.seek(0)
            stream.truncate()
        return written


@contextmanager
def within(pipelines: Path) -> Iterator[Command]:
    """The command in this process, with a folder of pipelines of its own."""
    memory = Memory()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(memory.out), redirect_stderr(memory.err):
        patch.setenv("FRAZIL_PIPELINES", str(pipelines))
        yield Command(patch, memory)


@pytest.fixture(scope="module")
def evening(
    connections: Connections, prefix: str, topics: list[OwnTopic], tmp_path_factory: pytest.TempPathFactory
) -> Evening:
    """All topics are produced, discovered, and landed by the commands that `frazil discover` printed."""
    wanted = [NewTopic(f"{prefix}_{t.name}", 1, config=dict(t.config)) for t in topics]
    for future in connections.admin.create_topics(wanted).values():
        future.result(PATIENCE)
    for topic in topics:
        name = f"{prefix}_{topic.name}"
        produce(connections, name, topic.send(name, connections.registry))
    folder = tmp_path_factory.mktemp("pipelines")
    with within(folder) as frazil:
        results = [_discover(frazil, folder.parent, f"{prefix}_{t.name}", *t.file) for t in topics if t.file]
        results.append(Shell(folder)("discover", f"{prefix}_*", "--write"))
        commands = dict.fromkeys(command for each in results for command in each.out.splitlines())
        tables = frazil("tables", "--json")
        done = [frazil(*shlex.split(command)[1:]) for command in commands]
    return Evening([*results, *done], tables)


@pytest.fixture(scope="module")
def answers(evening: Evening) -> list[Output]:
    return evening.answers


def _discover(frazil: Command, folder: Path, topic: str, name: str, text: str) -> Output:
    (folder / name).write_text(text)
    return frazil("discover", topic, "--schema", str(folder / name), "--write")


def test_each_command_that_is_printed_ends_well(answers: list[Output]) -> None:
    assert [(each.code, each.err) for each in answers if each.code] == []


def test_before_the_first_landing_every_table_is_new(evening: Evening) -> None:
    states = {row["identifier"]: row["state"] for row in evening.tables.document}

    assert set(states.values()) == {"new"}, states


@pytest.mark.parametrize("topic", TOPICS)
def test_the_table_has_what_the_records_say(
    answers: list[Output], connections: Connections, prefix: str, topic: OwnTopic
) -> None:
    name = f"{prefix}_{topic.name}"

    assert {behind: rows_of(connections, f"{name}{behind}") for behind in topic.rows} == topic.rows
    if topic.dead:
        assert len(rows_of(connections, f"{name}__dead_letters")) == topic.dead


def test_it_says_what_it_is_not_sure_of(answers: list[Output], prefix: str) -> None:
    lines = {
        line.split()[0]: line for each in answers for line in each.err.splitlines() if prefix in line[:60]
    }

    assert "value (integer 1 times and string 1 times and object 1 times)" in lines[f"{prefix}_mixed"]
    assert "note (2 times, first at 0:0)" in lines[f"{prefix}_optional"]
    assert "created_at is milliseconds since 1970" in lines[f"{prefix}_millis"]
    assert "shop.Order, which is not the first message" in lines[f"{prefix}_protobuf"]
    assert "1 of 20 sampled records can't be decoded: 0:19" in lines[f"{prefix}_empty_values"]
    assert "LongSerializer" in lines[f"{prefix}_long_keys"]
    assert "`mode: upsert`" in lines[f"{prefix}_compacted"]


def rows_of(connections: Connections, table: str) -> list[dict[str, Any]]:
    """Without what Kafka says of the records; in their order."""
    namespace = connections.settings.cluster.lower().replace("-", "_")
    rows = plain(connections.catalog.load_table((namespace, table)).scan().to_arrow())
    ordered = sorted(rows, key=lambda row: row.get("$$offset", 0))
    return [{name: value for name, value in row.items() if "$$" not in name} for row in ordered]
