"""The dead-letter table: bad records as they came, why they are bad, and each of them once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

from frazil.errors import CommitConflictError, OvertakenError
from frazil.exact import rows_of, utc, value_of, values_of
from frazil.formats.logical import Field, Map, Primitive
from frazil.formats.types import to_iceberg
from frazil.formats.wires.naming import SCHEMA_HEADER
from frazil.landing.position.ledger import EMPTY, Ledger, read_ledger
from frazil.landing.publication import Landed
from frazil.landing.repairs.bad_records import BadRecord
from frazil.landing.repairs.seal import AS_THEY_CAME, Seal
from frazil.tables.catalogs.handle import TableHandle, name_of
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import LONGEST, commit
from frazil.tables.commits.erasure import forgettings as looked_for
from frazil.tables.commits.stage import StagedFiles, publish
from frazil.tables.creation import create_table, load_with_head
from frazil.tables.keys import Key, keys_in
from frazil.tables.writing.data_files import write_files

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table, Transaction

_STRING, _INT, _LONG, _BINARY = (Primitive(k) for k in ("string", "int", "long", "binary"))
_FIELDS = (
    Field("topic", _STRING),
    Field("partition", _INT),
    Field("offset", _LONG),
    Field("timestamp", Primitive("timestamptz"), optional=True),
    Field("headers", Map(_STRING, _BINARY, value_optional=True), optional=True),
    Field("raw_key", _BINARY, optional=True),
    Field("raw_value", _BINARY, optional=True),
    Field("schema_id", _INT, optional=True, doc="As the half that is at fault claims."),
    Field("reason_code", _STRING, doc="Faults of the key begin with key_."),
    Field("reason", _STRING),
    Field("timestamp_type", _INT, optional=True, doc="As Kafka numbers them: 0 made, 1 appended."),
    Field("leader_epoch", _INT, optional=True),
    Field("landing", _STRING, optional=True, doc="frazil.landing of the landing that met the record."),
    Field(
        "topic_id", _STRING, optional=True, doc="Of the topic; another one after it was made anew, or cut."
    ),
    Field(
        "seal", _STRING, optional=True, doc="The key by which raw key and value are encrypted, or withheld."
    ),
    Field("sealed", _BINARY, optional=True, doc="Raw key and value, encrypted."),
)
_PARTITION_BY = (("day", "timestamp"),)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A bad record as it came, and why it is bad. What a repair function is given.

    Attributes:
        timestamp: None also where Python's own dates can't hold it; see `timestamp_micros`.
        reason_code: For machines; of a key at fault it begins with `key_`.
        reason: For people.
        timestamp_type: As Kafka numbers them: 0 made, 1 appended.
        landing: The landing that met the record.
        topic_id: The topic's identity, where it was noted.
        seal: The name of the key by which the bytes are encrypted, or `withheld`; None where they are as they
            came. A redrive opens them first.
        sealed: The encrypted bytes.
        timestamp_micros: The same as `timestamp`, as the table holds it: microseconds since 1970.
    """

    topic: str
    partition: int
    offset: int
    timestamp: datetime | None
    headers: Mapping[str, bytes | None] | None
    raw_key: bytes | None
    raw_value: bytes | None
    schema_id: int | None
    reason_code: str
    reason: str
    timestamp_type: int | None = None
    leader_epoch: int | None = None
    landing: str | None = None
    topic_id: str | None = None
    seal: str | None = None
    sealed: bytes | None = field(default=None, repr=False)
    timestamp_micros: int | None = None

    @property
    def key(self) -> Key:
        """Partition and offset."""
        return self.partition, self.offset


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """A dead-letter table at a glance: everything that was ever kept, redriven or not."""

    rows: int = 0
    by_reason: Mapping[str, int] | None = None
    newest: datetime | None = None


@dataclass(frozen=True)
class _Kept(Landed):
    """Dead letters of one landing, on the very head that was looked at."""

    last: str = ""
    forgettings: int = 0  # how often dead letters had been looked for to be forgotten

    def next_entry(self, table: Table) -> Ledger:
        """See `Staged.next_entry`; the position may stand still where the table is ahead of its main one."""
        name = name_of(table)
        if self.forgettings != looked_for(table.metadata):
            raise _forgotten(f"Dead letters of {name}")
        if (read_ledger(table.metadata) or EMPTY).landing != self.last:
            raise OvertakenError(
                f"Another landing was quicker to keep its bad records in {name}; this one was dropped.",
                meaning="Every bad record is kept once; nothing of this landing is visible.",
                todo="Land again.",
            )
        return self.ledger.following(read_ledger(table.metadata))


def _forgotten(what: str) -> CommitConflictError:
    return CommitConflictError(
        f"{what} were forgotten while some dead letters were about to be kept.",
        meaning="Nothing of this work is visible.",
        todo="Try again.",
    )


def keep_dead_letters(
    handle: TableHandle,
    ledger: Ledger,
    bad: Sequence[BadRecord],
    forgettings: tuple[int, int] | None = None,
    still: Callable[[Table], object] | None = None,
    seal: Seal = AS_THEY_CAME,
) -> None:
    """Writes bad records to the dead-letter table, under its own position.

    That position may be ahead of the main table's where an earlier landing died in between: what
    was kept then is not written again.

    Args:
        name: The topic's table.
        ledger: What the main table's snapshot will say.
        forgettings: How often dead letters, and the table's rows, had been looked for to be forgotten when
            these were compared.
        still: Raises where the topic's table is no longer as the work that met these records takes it. What
            another landing brought meanwhile may be forgotten by now, and must not be kept again.
        seal: How the bytes are kept.

    Raises:
        CommitConflictError: Some were forgotten since.
        OvertakenError: Another landing keeps the same records, or has published them.
        RetryError: It took hours, after which orphan removal may have taken the files.
    """
    table = _table(handle.dead_letters)
    of_letters, of_rows = forgettings or (looked_for(table.metadata), None)
    # Behind the table's making: who forgets beside it finds the table, or is found here.
    if still:
        still(handle.load())
    if of_rows is not None and of_rows != looked_for(handle.load().metadata):
        raise _forgotten(f"Rows of {handle}")
    before = read_ledger(table.metadata) or EMPTY
    log = ledger.log
    ahead = before.position if before.log == log else {}
    kept = _kept(table, log, ahead, bad)
    rows = [_row(ledger, log, b, seal) for b in bad if b.key not in kept]
    if rows:
        entry, until = _ahead(ledger, ahead, len(rows)), time.time() + LONGEST
        staged = _Kept(
            StagedFiles(_data_files(table, rows), until=until),
            entry,
            before,
            last=before.landing,
            forgettings=of_letters,
        )
        publish(handle.dead_letters, staged)


def of_log(log: str) -> BooleanExpression:
    """The dead letters of one log, and not of another one of its name; old ones name none."""
    from pyiceberg.expressions import EqualTo, IsNull, Or

    return Or(EqualTo(term="topic_id", value=log), IsNull(term="topic_id"))


def read_letters(table: Table, where: BooleanExpression, keys: Collection[Key]) -> list[DeadLetter]:
    """The chosen dead letters, each once, by partition and offset."""
    names = [f.name for f in fields(DeadLetter)]
    by_key: dict[Key, DeadLetter] = {}
    for batch in table.scan(where).to_arrow_batch_reader():
        for row in _rows_of(batch, keys):
            micros = row["timestamp"]
            values: dict[str, Any] = {**{n: row.get(n) for n in names}, "headers": _map(row["headers"])}
            letter = DeadLetter(**{**values, "timestamp": utc(micros), "timestamp_micros": micros})
            by_key.setdefault(letter.key, letter)
    return [by_key[key] for key in sorted(by_key)]


def survey(handle: TableHandle, reason: str = "reason_code", at: str = "timestamp") -> DeadLetters:
    """What the dead-letter table of a table holds; nothing where no record was ever bad.

    `reason` and `at` are its columns; of a reason, what follows its colon is its details.
    """
    import pyarrow.compute as pc

    table = handle.dead_letters.load_or_none()
    if table is None:
        return DeadLetters(by_reason={})
    rows, counts = table.scan(selected_fields=(reason, at)).to_arrow(), Counter[str]()
    for group in values_of(pc.value_counts(rows[reason])):
        counts[str(group["values"]).partition(":")[0]] += group["counts"]
    return DeadLetters(rows.num_rows, dict(sorted(counts.items())), utc(value_of(pc.max(rows[at]))))


def letters_schema() -> Schema:
    """The columns of a dead-letter table."""
    return to_iceberg(_FIELDS)


def _table(handle: TableHandle) -> Table:
    table = load_with_head(handle)
    if table is None:
        return create_table(handle, _FIELDS, _PARTITION_BY, {})
    if len(table.schema().fields) < len(_FIELDS):  # made by an earlier version
        return commit(handle, _with_all_fields, work="schema change").table
    return table


def _with_all_fields(table: Table) -> Transaction:
    tx = transaction(table)
    with tx.update_schema() as update:
        update.union_by_name(letters_schema())
    return tx


def _kept(table: Table, log: str, position: Mapping[int, int], bad: Iterable[BadRecord]) -> set[Key]:
    """What a landing that died kept. Asked of the rows: that landing may have found other records bad."""
    behind = [b.key for b in bad if b.offset < position.get(b.partition, 0)]
    return keys_in(table, behind, where=of_log(log))


def _ahead(ledger: Ledger, kept: Mapping[int, int], rows: int) -> Ledger:
    spans = {p: (min(a, kept.get(p, a)), max(b, kept.get(p, b))) for p, (a, b) in ledger.spans.items()}
    return Ledger(
        topic=ledger.topic, topic_id=ledger.topic_id, spans=spans, start=ledger.start, records=rows,
        landing=ledger.landing, run_id=ledger.run_id, version=ledger.version,
        earlier_logs=ledger.earlier_logs,
    )  # fmt: skip


def _row(ledger: Ledger, log: str, bad: BadRecord, seal: Seal) -> dict[str, Any]:
    own = {
        "topic": ledger.topic,
        "schema_id": _claimed_id(bad),
        "reason_code": bad.reason_code,
        "reason": bad.reason,
        "landing": ledger.landing,
        "topic_id": log,
        "seal": None,
        "sealed": None,
        **seal.kept(bad.record, ledger.topic),
    }
    return {f.name: own[f.name] if f.name in own else bad.record[f.name] for f in _FIELDS}


def _claimed_id(bad: BadRecord) -> int | None:
    half = bad.record["raw_key" if bad.reason_code.startswith("key_") else "raw_value"]
    if bad.reason_code.endswith(SCHEMA_HEADER):
        return None  # what the payload begins with is no id
    framed = half is not None and len(half) >= 5 and half[0] == 0
    return int.from_bytes(half[1:5], "big", signed=True) if framed else None


def _data_files(table: Table, rows: list[dict[str, Any]]) -> tuple[Any, ...]:
    import pyarrow as pa

    return write_files(table, pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))


def _rows_of(batch: Any, keys: Collection[Key]) -> list[dict[str, Any]]:
    import pyarrow as pa

    pairs = zip(values_of(batch["partition"]), values_of(batch["offset"]), strict=True)
    return rows_of(batch.filter(pa.array([p in keys for p in pairs], pa.bool_())))


def _map(pairs: Any) -> dict[str, bytes | None] | None:
    return None if pairs is None else dict(pairs)
