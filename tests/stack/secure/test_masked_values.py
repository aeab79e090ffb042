"""Ten thousand planted values under masks: none is in any byte of what a landing and a run of Dagster wrote.

The topic has them, and so has a table of the same records without masks, in which the same search finds them.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest
import yaml
from pydantic import SecretStr
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.landing.land import land
from frazil.spec.topic import TableSpec
from frazil_local.home import Home
from kit.graph.day import events, log_events
from kit.logins.leaks import Search
from kit.readers.stored import files_under
from kit.records.topics import Topic, create_topic
from kit.runs.shell import TOPICS, run_here
from kit.runs.waiting import PATIENCE
from kit.stack.own_stack import Own
from kit.stack.shared_stack import bring_down, bring_up, is_to_stay

MARK, OPEN, KEY = "pii5e1f", "open9c2d", "a key of more than sixteen characters"
COUNT = 10_000
NAMESPACE = TOPIC = f"masked_{uuid.uuid4().hex[:8]}"  # a stack that is kept has those of earlier runs
FIELDS = ("email", "iban", "notes", "card", "name")
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Person",
    "fields": [
        *({"name": name, "type": "string"} for name in FIELDS),
        {"name": "home", "type": {"type": "record", "name": "Home", "fields": [
            {"name": "phone", "type": "string"}]}},
    ],
}  # fmt: skip
COLUMNS: dict[str, Any] = {
    "email": {"mask": "hash"}, "iban": {"mask": "redact"}, "notes": {"drop": True}, "card": {"mask": "last4"},
    "home.phone": {"mask": "hash"},
}  # fmt: skip
SPECS: list[dict[str, Any]] = [
    {"table": "people", "on_bad_record": "dead_letter", "dead_letters": {"encrypt_with": "letters"},
     "partition_by": ["bucket(4, email)"], "sort_by": ["email"], "first_rows": 5},
    {"table": "others", "on_bad_record": "suspend", "where": "name <> 'nobody'"},
]  # fmt: skip


def person(number: int) -> dict[str, Any]:
    own = {name: f"{MARK}-{name}-{number}-0000" for name in FIELDS[:-1]}
    return {**own, "name": f"{OPEN}-{number}", "home": {"phone": f"{MARK}-phone-{number}"}}


@dataclass(frozen=True)
class Work:
    own: Own
    connections: Connections
    topic: Topic
    outputs: dict[str, str]
    kept: Path
    """What Dagster and the commands wrote, and temporary files."""


EVENTS = "a stack of its own, whose Spark logs its events"


@pytest.fixture(scope="module")
def own(stack_home: Home, request: pytest.FixtureRequest) -> Iterator[Own]:
    """The shared stack, or the one that a test names."""
    if not hasattr(request, "param"):
        request.getfixturevalue("stack")
        yield Own(stack_home)
        return
    home = Home(stack_home.root.with_name(f"{stack_home.root.name}-masked"))
    stays = is_to_stay(home)
    home.make()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", f"{os.environ['JAVA_TOOL_OPTIONS']} {log_events(home)}")
        bring_up(home)
    yield Own(home)
    if not stays:
        bring_down(home)


@pytest.fixture(scope="module")
def work(own: Own, tmp_path_factory: pytest.TempPathFactory) -> Work:
    """Records, good and bad ones, landed by a run of Dagster and by a command."""
    folder = tmp_path_factory.mktemp("masked")
    keys = {"masks": KEY, "letters": KEY}
    connections = Clients(own.settings.with_changes(named_keys={n: SecretStr(k) for n, k in keys.items()}))
    create_topic(connections.admin, TOPIC, 1, {})
    topic = Topic(TOPIC, connections, TableSpec(topic=TOPIC, namespace=NAMESPACE), SCHEMA)
    number = topic.register(SCHEMA)
    topic.send([topic.encode(person(n), number) for n in range(COUNT)])
    topic.send([topic.encode(person(n), number)[:-1] for n in range(20)])
    tables = [
        {"topic": TOPIC, "namespace": NAMESPACE, "key_format": "none", "columns": COLUMNS, **s} for s in SPECS
    ]
    (folder / "pipeline").mkdir()
    text = yaml.safe_dump({"type": TOPICS, "attributes": {"tables": tables}})
    (folder / "pipeline" / "defs.yaml").write_text(text)
    kept = folder / "kept"
    for each in ("dagster", "tmp"):
        (kept / each).mkdir(parents=True)
    environment = {
        "FRAZIL_HOME": str(own.home.root), "FRAZIL_NAMED_KEYS": json.dumps(keys),
        "FRAZIL_PIPELINES": str(folder), "DAGSTER_HOME": str(kept / "dagster"), "FRAZIL_LOG__LEVEL": "DEBUG",
        "TMPDIR": str(kept / "tmp"),
    }  # fmt: skip
    run = ["dagster", "asset", "materialize", "-m", "frazil.definitions", "--select", "kind:iceberg"]
    commands = [
        ("land", f"{NAMESPACE}.others"),
        ("sync", f"{NAMESPACE}.people"),
        ("describe", f"{NAMESPACE}.people"),
        ("check", f"{NAMESPACE}.people", "--values", "50"),
    ]
    outputs = {"dagster": _output(run, {**os.environ, **environment})}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(tempfile, "tempdir", str(kept / "tmp"))
        for words in commands:
            output = run_here(*words)
            outputs[words[0]] = output.out + output.err
    return Work(own, connections, topic, outputs, kept)


def _output(command: list[str], environment: dict[str, str]) -> str:
    program = str(Path(sys.executable).with_name(command[0]))
    done = subprocess.run(
        [program, *command[1:]], env=environment, check=False, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=PATIENCE,
    )  # fmt: skip
    return done.stdout


def contents(table: Table) -> dict[str, str]:
    """Every object of a table, as it is and as its readers see it."""
    texts = {}
    for path in files_under(table):
        raw = table.io.new_input(path).open().read()
        seen = repr(raw)
        if path.endswith(".parquet"):
            seen += repr(pq.read_table(io.BytesIO(raw)).to_pylist())
        elif path.endswith(".avro"):
            seen += repr([*fastavro.reader(io.BytesIO(raw))])
        texts[path] = seen
    return texts


def table_of(work: Work, name: str) -> Table:
    return work.connections.catalog.load_table((NAMESPACE, name))


def test_the_tables_hold_the_records(work: Work) -> None:
    assert table_of(work, "people").scan().count() == COUNT, work.outputs["dagster"]
    assert table_of(work, "people__dead_letters").scan().count() == 20
    assert "is suspended" in work.outputs["land"]


@pytest.mark.parametrize("name", ["people", "people__dead_letters", "others"])
def test_no_object_of_a_table_holds_one(work: Work, name: str) -> None:
    texts = contents(table_of(work, name))

    assert {Path(path).suffix for path in texts} >= {".json", ".avro"}
    assert Search([MARK]).texts(texts) == {}


def test_what_is_not_masked_is_found_and_so_is_each_value_of_a_table_without_masks(work: Work) -> None:
    spec = TableSpec(topic=TOPIC, namespace=NAMESPACE, table="plain", key_format="none", on_bad_record="skip")
    try:
        plain = table_of(work, "plain")
    except NoSuchTableError:
        land(spec, work.connections)
        plain = table_of(work, "plain")

    assert Search([OPEN]).texts(contents(table_of(work, "people")))
    leaks = Search([MARK]).texts(contents(plain))
    assert {Path(path).suffix for path in leaks} == {".parquet", ".avro"}


def test_no_log_and_nothing_of_dagster_holds_one(work: Work) -> None:
    assert [*work.kept.rglob("*.db")]
    for folder in (work.kept, work.own.home.logs):
        assert Search([MARK, KEY]).files(folder) == {}
    assert Search([MARK, KEY]).texts(work.outputs) == {}


@pytest.mark.nightly
@pytest.mark.parametrize("own", [EVENTS], indirect=True)
def test_no_event_of_spark_and_no_other_file_of_a_stack_holds_one(work: Work) -> None:
    home = work.own.home
    exempt = {home.root / "data"}  # Kafka's topic, and the objects of storage, which are searched above

    assert table_of(work, "people").scan().count() == COUNT, work.outputs["dagster"]
    assert [*events(home).rglob("events_*")]
    assert Search([MARK, KEY]).files(home.root, exempt) == {}


def test_no_process_list_and_no_glue_entry_shows_one(work: Work) -> None:
    texts = {"Glue": str(work.connections.glue.get_tables(DatabaseName=NAMESPACE)["TableList"])}

    assert Search([MARK, KEY]).texts(texts | {line: line for line in work.own.commands}) == {}
