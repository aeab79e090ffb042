"""What a landing says where its Spark job failed: Kafka's own signs."""

from __future__ import annotations

from frazil.errors import FrazilError, OffsetsLostError, UnreadableTimesError
from frazil.landing.plan import Plan
from frazil.tables.commits.works import LANDING, REDRIVE, REPLAY
from frazil.tables.spark.faults import Job, cause_line

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
"""What to do where work fails, by how its name begins."""

KAFKA_DOWN = (
    "org.apache.kafka.common.errors.TimeoutException", "DisconnectException",
    "COULD_NOT_READ_OFFSET_RANGE", "Failed to create new KafkaAdminClient",
    "java.util.concurrent.TimeoutException",
)  # fmt: skip
"""What a Spark job says where Kafka does not answer."""


def landing_job(plan: Plan, work: str = LANDING) -> Job:
    """The reading of what was planned, and its writing to files.

    Args:
        plan: What is read.
        work: The name of a landing, a redrive or a replay, or how it begins.
    """
    prefix = next((prefix for prefix in _AGAIN if work.startswith(prefix)), LANDING)
    kind = prefix.rstrip("_")
    unseen = f"Nothing of this {kind} is visible; the next one starts at the same position."

    def met(text: str) -> FrazilError | None:
        if all(sign in text for sign in _TOO_LATE):
            return _too_late(plan, unseen, text)
        return _vanished(plan, unseen) if any(sign in text for sign in _LOST) else None

    return Job(
        work=kind,
        of=f"topic {plan.topic}",
        unseen=unseen,
        again=_AGAIN[prefix],
        silent={"Kafka": KAFKA_DOWN},
        known=met,
    )


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
