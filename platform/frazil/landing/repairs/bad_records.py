"""Which records are bad, and why; read a second time where the first pass did not bring them along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.errors import AuditFailedError, RepairError, SuspendedError
from frazil.exact import rows_of
from frazil.formats.batches.oversize import TOO_LARGE, is_too_large, why_too_large
from frazil.formats.checks.batch import FAILED
from frazil.formats.protocol import KEY, UNREADABLE, VALUE
from frazil.formats.record import BAD, RecordDecoder
from frazil.landing.decoding import with_decoded
from frazil.landing.faults import landing_job
from frazil.landing.plan import Plan
from frazil.landing.write import Written
from frazil.spec.names import TableName
from frazil.tables.keys import Key
from frazil.tables.spark.faults import spark_job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST = 100_000
"""Bad records of one landing beyond which a person should look, whatever the spec says."""


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that can't be decoded, and why."""

    partition: int
    offset: int
    reason_code: str
    reason: str
    record: Mapping[str, Any]

    @property
    def key(self) -> Key:
        """Partition and offset."""
        return self.partition, self.offset


def find_bad(records: DataFrame, decoder: RecordDecoder, plan: Plan, written: Written) -> list[BadRecord]:
    """Explains the bad ones of the planned records, by partition and offset.

    Raises:
        RepairError: There are more than `MOST`: a schema or a producer is wrong, not a record.
        AuditFailedError: They are not as many as expected.
    """
    if written.bad > MOST:
        sample = [_explained(decoder, row) for row in (written.bad_rows or ())[:_MANY]]
        setting = setting_for(sample, len(sample), 0)
        raise RepairError(
            f"{written.bad} of {plan.offsets} records of topic {plan.topic} can't be decoded.",
            where="; ".join([f"within {dict(plan.busy)}", *(r.reason for r in sample[:1])]),
            meaning="Nothing of this landing is visible.",
            todo=f"{setting or 'Look at what the producers write'}; this many are no accident. Those that "
            f"are: on_bad_record: dead_letter or skip, and max_records: {MOST}, for fewer at a time.",
        )
    rows = _read_again(records, decoder, written, plan) if written.bad_rows is None else written.bad_rows
    if len(rows) != written.bad:
        raise AuditFailedError(
            f"The first pass found {written.bad} bad records of topic {plan.topic}, the second {len(rows)}.",
            where=f"within {dict(plan.busy)}",
            meaning="Nothing of it is visible; the table's rows are as they were.",
            todo="Try again: the topic may be compacted right now.",
        )
    explained = [_explained(decoder, r) for r in rows]
    return sorted(explained, key=lambda r: (r.partition, r.offset))


def _read_again(
    records: DataFrame, decoder: RecordDecoder, written: Written, plan: Plan
) -> Sequence[Mapping[str, Any]]:
    with spark_job(landing_job(plan)):
        # The verdict is asked here: Spark would push a filter on it below the join, and decode everything.
        rows = with_decoded(_at(records, written.bad_at), decoder).selectExpr(
            "partition", "offset", "timestamp", "timestampType AS timestamp_type", "leader_epoch",
            "map_from_entries(headers) AS headers", "raw_key", "raw_value", TOO_LARGE,
            f"{KEY.ok} AS key_ok", f"{VALUE.ok} AS value_ok", f"{BAD} AS bad", f"{decoder.fault} AS fault",
        ).toArrow()  # fmt: skip
    return [{n: v for n, v in row.items() if n != "bad"} for row in rows_of(rows) if row["bad"]]


def _at(records: DataFrame, keys: Sequence[Key]) -> DataFrame:
    """Only the records at these places; found before they are decoded."""
    import pyarrow as pa
    from pyspark.sql import functions as F

    partitions, offsets = ([k[part] for k in keys] for part in (0, 1))
    columns = {"partition": pa.array(partitions, pa.int32()), "offset": pa.array(offsets, pa.int64())}
    places = records.sparkSession.createDataFrame(pa.table(columns))
    return records.join(F.broadcast(places), ["partition", "offset"], "left_semi")


def _explained(decoder: RecordDecoder, row: Mapping[str, Any]) -> BadRecord:
    if text := row.get(TOO_LARGE):
        return BadRecord(row["partition"], row["offset"], *why_too_large(text), row)
    reason = decoder.explain(
        row["raw_key"], row["raw_value"], row["key_ok"], row["value_ok"], row.get("fault"),
        [*dict(row["headers"] or ()).items()],
    )  # fmt: skip
    return BadRecord(row["partition"], row["offset"], *reason, row)


def first_bad(records: Sequence[BadRecord]) -> dict[int, BadRecord]:
    """The first bad record of each partition."""
    return {r.partition: r for r in reversed(records)}


_FRAMING = (
    "Their {half}s do not begin with the zero byte and the schema id that Confluent's serializers write. Set "
    "framing: none if they are Avro, JSON or Protobuf without these five bytes, or {half}_format: string or "
    "bytes if they are none of these"
)
_SETTING = {
    **dict.fromkeys(("magic_byte", "too_short", "message_indexes"), _FRAMING),
    "schema_id": "Their schemas stand under another subject, which {half}_subject says, or subject_names "
    "with record_type; or in another registry: see FRAZIL_REGISTRY__URL",
    "null_value": "Say what a record without a value is: on_null_value: skip, keep or delete",
}
"""What to set where all records are bad for one reason, by its code."""

_OTHERWISE = "Register the schema that their {half}s were written with, or set {half}_format"

_FEW, _MANY = 2, 100
"""Records that show the cause to be none of theirs: where none was landed before, and where some were."""


def setting_for(bad: Sequence[BadRecord], read: int, landed: int) -> str:
    """What to set where the records that were read are all bad, and all alike; nothing where some are good.

    To leave records out then would cost all of them, one by one.

    Args:
        read: How many records were read.
        landed: How many records the table holds of earlier landings.
    """
    if len(bad) < read or read < (_MANY if landed else _FEW):
        return ""
    # Of unframed texts some are too short, and others begin with another byte: one setting mends both.
    settings = {_setting_of(code) for code in {r.reason_code for r in bad}}
    return settings.pop() if len(settings) == 1 else ""


def _setting_of(code: str) -> str:
    if is_too_large(code) or code.startswith(FAILED):
        return ""  # the record is to blame, and all others like it
    if code.removeprefix("key_") == UNREADABLE:
        return ""  # the schema is; `suspended` says it
    known = _SETTING.get(code.removeprefix("key_"))
    half = "key" if code.startswith("key_") else "value"
    return (known or _OTHERWISE).format(half=half)


def suspended(
    name: TableName, topic: str, first: Mapping[int, BadRecord], setting: str = "", read: int = 0
) -> SuspendedError:
    """The error that stops the table before its first bad records.

    Args:
        setting: What `setting_for` says where no record is to blame, but what is set for all of them.
        read: How many records were read.
    """
    where = "; ".join(f"partition {p}, offset {r.offset}: {r.reason}" for p, r in sorted(first.items()))
    if setting:
        return _all_alike(name, f"topic {topic}, {where}", setting, read)
    if all(r.reason_code.removeprefix("key_") == UNREADABLE for r in first.values()):
        return _unreadable(name, f"topic {topic}, {where}")
    is_large = any("FRAZIL_SPARK__MAX_RECORD_BYTES" in r.reason for r in first.values())
    mend, keeps = _BY_SIZE if is_large else _BY_SCHEMA
    return SuspendedError(
        f"Table {name} is suspended: a record can't be decoded.",
        where=f"topic {topic}, {where}",
        meaning="All records before it are landed; none after it in that partition.",
        todo=f"{mend} and `frazil resume {name}`; no producer fixes what the topic has. Or leave these "
        f"records out, `frazil resume {name} {_past(first)}`. Or set on_bad_record to dead_letter, which "
        f"{keeps}, or to skip, and `frazil resume {name}`.",
    )


def _all_alike(name: TableName, where: str, setting: str, read: int) -> SuspendedError:
    return SuspendedError(
        f"Table {name} is suspended: none of {read:,} records can be decoded, all for the same reason.",
        where=where,
        meaning="Nothing was landed of them; the topic keeps them.",
        todo=f"{setting} (docs/formats.md), in the table's entry in defs.yaml. Then "
        f"`frazil resume {name}` lands all of them.",
    )


def _unreadable(name: TableName, where: str) -> SuspendedError:
    return SuspendedError(
        f"Table {name} is suspended: the newest schema can't read records of an older one.",
        where=where,
        meaning="All records before them are landed; none after them in their partitions.",
        todo="Every record of that schema fails alike. Register a version of the subject that reads "
        f"both, or delete the newest one if it was a mistake; then `frazil resume {name}`. Or set "
        "on_bad_record to dead_letter, which keeps such records apart, or to skip, and "
        f"`frazil resume {name}`.",
    )


_BY_SCHEMA = "Fix the schema", "keeps such records apart"
_BY_SIZE = (
    "Give Spark more memory, raise FRAZIL_SPARK__MAX_RECORD_BYTES (docs/limits.md)",
    "notes such records without the part that is too large",
)
"""What fixes a record, and what its dead letter would have of it."""


def _past(first: Mapping[int, BadRecord]) -> str:
    return " ".join(f"--past {p}:{r.offset}" for p, r in sorted(first.items()))
