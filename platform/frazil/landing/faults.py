"""What a landing says where its Spark job failed: Kafka's own signs, and who was quicker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.errors import FrazilError, OffsetsLostError, OvertakenError, UnreadableTimesError
from frazil.landing.ledger import read_ledger
from frazil.landing.plan import Plan
from frazil.tables.branches import LANDING, REDRIVE, REPLAY
from frazil.tables.faults import Job, cause_line

if TYPE_CHECKING:
    from pyiceberg.table import Table

_LOST = (
    "KafkaIllegalStateException",
    "OffsetOutOfRange",
    "KAFKA_DATA_LOSS",
    "PARTITION_OFFSET_CHANGED",
)
_TOO_LATE = ("ArithmeticException", "long overflow")
"""What Spark's Kafka source says where a record's time is more milliseconds than a long of microseconds holds
(KafkaRecordToRowConverter, DateTimeUtils.fromJavaTimestamp)."""

_AGAIN = {LANDING: "Land again.", REDRIVE: "Redrive again.", REPLAY: "Replay again."}
"""What to do where work fails, by the prefix of its branch."""

KAFKA_DOWN = (
    "org.apache.kafka.common.errors.TimeoutException", "DisconnectException",
    "COULD_NOT_READ_OFFSET_RANGE", "Failed to create new KafkaAdminClient",
    "java.util.concurrent.TimeoutException",
)  # fmt: skip
"""What a Spark job says where Kafka does not answer."""


def landing_job(plan: Plan, table: Table | None = None, branch: str = "") -> Job:
    """The reading of what was planned, and its writing to a branch.

    Args:
        plan: What is read.
        table: As it was planned for; None where nothing is written.
        branch: Of a landing, or of a redrive or replay, which no landing overtakes.
    """
    prefix = next((prefix for prefix in _AGAIN if branch.startswith(prefix)), LANDING)
    work = prefix.rstrip("_")
    unseen = f"Nothing of this {work} is visible; the next one starts at the same position."

    def met(text: str) -> FrazilError | None:
        if all(sign in text for sign in _TOO_LATE):
            return _too_late(plan, unseen, text)
        return _vanished(plan, unseen) if any(sign in text for sign in _LOST) else None

    return Job(
        work=work,
        of=f"topic {plan.topic}",
        unseen=unseen,
        again=_AGAIN[prefix],
        silent={"Kafka": KAFKA_DOWN},
        known=met,
        overtaken=lambda: _overtaken(plan, table) if table and prefix == LANDING else None,
    )


def _overtaken(plan: Plan, before: Table) -> OvertakenError | None:
    now, then = _position(before.catalog.load_table(before.name())), _position(before)
    if now == then:
        return None
    return OvertakenError(
        f"Another landing of topic {plan.topic} was quicker, or a rollback was; this one was dropped.",
        where=f"planned {dict(plan.busy)}, position now {dict(now)}",
        meaning="Every record is in the table exactly once; nothing of this landing is visible.",
        todo="Nothing. Land again if more records wait.",
    )


def _position(table: Table) -> Mapping[int, int]:
    ledger = read_ledger(table.metadata)
    return ledger.position if ledger else {}


def _too_late(plan: Plan, unseen: str, text: str) -> UnreadableTimesError:
    return UnreadableTimesError(
        f"Spark can't read records of topic {plan.topic}: a number does not fit.",
        where=f"within {dict(plan.busy)}: {cause_line(text)}",
        meaning=unseen,
        todo="Frazil reads such records by itself. If it fails all the same, please report this.",
    )


def _vanished(plan: Plan, unseen: str) -> OffsetsLostError:
    return OffsetsLostError(
        f"Records of topic {plan.topic} vanished while they were read.",
        where=f"within {dict(plan.busy)}",
        meaning=unseen,
        todo="Land again: the plan will say which offsets are lost.",
    )
