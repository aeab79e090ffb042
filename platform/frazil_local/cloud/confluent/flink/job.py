"""Plays a statement of Flink SQL that makes each row of one topic a row of another: its filter and columns.

DuckDB computes the SELECT, batch by batch. Rows and the place in the source are in one transaction of Kafka,
so that a statement goes on where it was. What groups, joins or unites is not played.
"""

from __future__ import annotations

import io
import json
import logging
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
from confluent_kafka import Consumer, KafkaException, Message, Producer

from frazil.clients import Clients
from frazil.errors import FrazilError, MissingError
from frazil.formats.registry.subjects import subject_versions
from frazil.formats.registry.wanted import WantedSchema, register
from frazil.kafka.clients import client_config
from frazil.settings.profile import Settings
from frazil_local.cloud.confluent.organization import Organization

if TYPE_CHECKING:
    from frazil.formats.registry.client import RegistryClient

_log = logging.getLogger(__name__)

_MAKES = re.compile(
    r"\s*CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?`?(?P<to>[\w.-]+)`?.*?"
    r"\bAS\s+(?P<select>SELECT\b.*?\bFROM\s+`?(?P<source>[\w.-]+)`?(?:\s+WHERE\b.*)?)\s*;?\s*",
    re.IGNORECASE | re.DOTALL,
)
_BEYOND = re.compile(
    r"\b(JOIN|GROUP\s+BY|UNION|OVER|DISTINCT|HAVING|ORDER\s+BY|LIMIT|WITH\s+\w+\s+AS)\b"
    r"|\b(SUM|COUNT|AVG|MIN|MAX|TUMBLE|HOP)\s*\(",
    re.IGNORECASE,
)
_ROWTIME = "$rowtime"
_BATCH, _SECONDS = 2000, 0.5

_MOMENT = pa.timestamp("ms")
"""In UTC, without saying so: DuckDB computes moments with a zone by an extension that it lacks here."""
_TYPES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(), "float": pa.float32(),
    "double": pa.float64(), "string": pa.string(), "bytes": pa.binary(),
}  # fmt: skip
_AVRO = {kind: name for name, kind in _TYPES.items()}
_IN_AVRO = {"type": "long", "logicalType": "timestamp-millis"}


@dataclass(frozen=True, slots=True)
class Selection:
    """Rows of one topic that become rows of another."""

    source: str
    to: str
    select: str  # as DuckDB takes it


def selection_of(sql: str) -> Selection | None:
    """What a statement computes; None where that is beyond what is played."""
    match = _MAKES.fullmatch(sql)
    if match is None or _BEYOND.search(match["select"]):
        return None
    select = match["select"].replace(_ROWTIME, f'"{_ROWTIME}"').replace("`", '"')
    return Selection(match["source"], match["to"], select)


@dataclass(frozen=True, slots=True)
class Types:
    """The columns of the source, and the schema of what is made of them."""

    source: pa.Schema
    made: dict[str, Any]  # of Avro


def types_of(selection: Selection, registry: RegistryClient) -> Types:
    """Asks the registry for the newest schema of the source.

    Raises:
        ValueError: A column, or a type, that is not known.
    """
    import duckdb

    try:
        newest = subject_versions(registry, f"{selection.source}-value")[-1]
    except MissingError:
        raise ValueError(f"Table '{selection.source}' has no schema: only `key` and `val`") from None
    if newest.kind != "AVRO":
        raise ValueError(f"values of {selection.source} are in {newest.kind}: the stand-in reads Avro alone")
    fields = [(each["name"], _arrow(each["type"])) for each in json.loads(newest.text)["fields"]]
    source = pa.schema([*fields, (_ROWTIME, _MOMENT)])
    try:
        made = _computed(selection, source.empty_table()).schema
    except duckdb.Error as e:
        raise ValueError(f"SQL validation failed. {e}") from None
    columns = [{"name": each.name, "type": ["null", _avro(each.type)], "default": None} for each in made]
    named = {"name": f"{selection.to}_value", "namespace": "org.apache.flink.avro.generated.record"}
    return Types(source, {"type": "record", **named, "fields": columns})


def _computed(selection: Selection, rows: pa.Table) -> pa.Table:
    import duckdb

    with duckdb.connect() as here:
        here.register(selection.source, rows)
        return here.execute(selection.select).to_arrow_table()


def _arrow(kind: Any) -> pa.DataType:
    if isinstance(kind, list):
        kind = next(each for each in kind if each != "null")
    if isinstance(kind, dict):
        if kind.get("logicalType") == "timestamp-millis":
            return _MOMENT
        kind = kind["type"] if "logicalType" not in kind else str(kind)
    if kind not in _TYPES:
        raise ValueError(f"the stand-in knows no columns of type {kind}")
    return _TYPES[kind]


def _avro(kind: pa.DataType) -> Any:
    if pa.types.is_timestamp(kind):
        return _IN_AVRO
    if kind not in _AVRO:
        raise ValueError(f"the stand-in makes no columns of type {kind}")
    return _AVRO[kind]


def begun(selection: Selection, settings: Settings) -> str:
    """Registers the schema of what a selection makes; always empty.

    Raises:
        ValueError: It can't be computed.
        FrazilError: The registry does not answer, or has another schema.
    """
    registry = Clients(settings).registry
    _registered(selection, types_of(selection, registry), registry)
    return ""


def _registered(selection: Selection, types: Types, registry: RegistryClient) -> int:
    wanted = WantedSchema("AVRO", json.dumps(types.made))
    return register(registry, f"{selection.to}-value", wanted).schema_id


def running(organization: Organization) -> dict[str, Selection]:
    """The statements that run and are played. One of a name that was used before begins anew."""
    paths = [path for path in organization.objects if path.startswith("/sql/v1/")]
    there = [stored for path in paths for stored in organization.of(path).values() if stored.leaves is None]
    selections = {
        f"{stored.body['name']}-{stored.born:.3f}": selection_of(stored.body["spec"]["statement"])
        for stored in there
        if stored.body["status"]["phase"] == "RUNNING"
    }
    return {name: selection for name, selection in selections.items() if selection}


class Jobs:
    """The statements that run.

    Args:
        settings: How Kafka and the registry are reached.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._running: dict[str, Job] = {}

    def settle(self, wanted: Mapping[str, Selection]) -> None:
        """Starts and ends jobs, until these run."""
        for name in self._running.keys() - wanted.keys():
            self._running.pop(name).end()
        for name in wanted.keys() - self._running.keys():
            job = self._running[name] = Job(name, wanted[name], self._settings)
            job.start()


class Job(threading.Thread):
    """A statement that runs, until it is ended or its process is."""

    def __init__(self, name: str, selection: Selection, settings: Settings) -> None:
        super().__init__(daemon=True, name=f"statement {name}")
        self._selection, self._settings = selection, settings
        self._registry = Clients(settings).registry
        self._writers: dict[int, Any] = {}
        self._own = f"_confluent-flink-{name}"
        self._ended = threading.Event()

    def end(self) -> None:
        """Ends it, after the batch that it is at work on."""
        self._ended.set()

    def run(self) -> None:
        """Begins anew where it was when Kafka or the registry did not answer."""
        while not self._ended.is_set():
            try:
                self._go_on()
            except (KafkaException, FrazilError, OSError, ValueError) as e:
                _log.warning("%s: %s", self.name, e)
                self._ended.wait(1.0)

    def _go_on(self) -> None:
        types = types_of(self._selection, self._registry)
        self._source, self._made = types.source, fastavro.parse_schema(types.made)
        self._prefix = _prefix(_registered(self._selection, types, self._registry))
        base = {**client_config(self._settings), "log_level": "0"}
        consumer = Consumer(
            {**base, "group.id": self._own, "enable.auto.commit": False, "auto.offset.reset": "earliest",
             "isolation.level": "read_committed"}
        )  # fmt: skip
        producer = Producer({**base, "transactional.id": self._own})
        try:
            producer.init_transactions(30)
            consumer.subscribe([self._selection.source])
            while not self._ended.is_set():
                if messages := [m for m in consumer.consume(_BATCH, _SECONDS) if not _faulty(m)]:
                    self._hand_on(messages, consumer, producer)
        finally:
            consumer.close()

    def _hand_on(self, messages: Sequence[Message], consumer: Consumer, producer: Producer) -> None:
        producer.begin_transaction()
        for row in _computed(self._selection, self._rows(messages)).to_pylist():
            producer.produce(self._selection.to, self._prefix + self._encoded(row))
            producer.poll(0)
        where = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(where, consumer.consumer_group_metadata(), 30)
        producer.commit_transaction(30)

    def _rows(self, messages: Sequence[Message]) -> pa.Table:
        values = [(m.timestamp()[1], m.value()) for m in messages]
        rows = [self._decoded(value) | {_ROWTIME: _moment(at)} for at, value in values if value]
        return pa.Table.from_pylist(rows, self._source)

    def _decoded(self, value: bytes) -> dict[str, Any]:
        number = int.from_bytes(value[1:5], "big")
        if number not in self._writers:
            text = self._registry.get_schema(number).schema_str
            self._writers[number] = fastavro.parse_schema(json.loads(text or ""))
        read: Any = fastavro.schemaless_reader(io.BytesIO(value[5:]), self._writers[number], None)
        return dict(read)

    def _encoded(self, row: dict[str, Any]) -> bytes:
        stream = io.BytesIO()
        values = {n: v.replace(tzinfo=UTC) if isinstance(v, datetime) else v for n, v in row.items()}
        fastavro.schemaless_writer(stream, self._made, values)
        return stream.getvalue()


def _prefix(schema_id: int) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big")


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).replace(tzinfo=None)


def _faulty(message: Message) -> bool:
    if error := message.error():
        raise KafkaException(error)
    return False
