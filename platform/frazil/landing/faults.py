"""What a failed Spark job means for a landing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from frazil.errors import (
    CommitConflictError,
    FrazilError,
    OffsetsLostError,
    OvertakenError,
    PartDownError,
)
from frazil.landing.plan import Plan
from frazil.tables.catalog import STALE
from frazil.tables.spark import silent_part

__all__ = ["overtaken", "spark_errors"]

_NOTHING = "Nothing of this landing is visible; the next one starts at the same position."
_LOST = (
    "KafkaIllegalStateException",
    "OffsetOutOfRange",
    "KAFKA_DATA_LOSS",
    "PARTITION_OFFSET_CHANGED",
)
_RENAMED = ("EXTRA_COLUMNS", "CANNOT_FIND_DATA")  # a migration was applied in between
_CONFLICT = (STALE, "CommitFailedException", *_RENAMED)
_BRANCH_GONE = "Cannot use branch (does not exist)"
_KAFKA_DOWN = (
    "org.apache.kafka.common.errors.TimeoutException", "DisconnectException",
    "COULD_NOT_READ_OFFSET_RANGE", "Failed to create new KafkaAdminClient",
    "java.util.concurrent.TimeoutException",
)  # fmt: skip


@contextmanager
def spark_errors(plan: Plan) -> Iterator[None]:
    """Turns what Spark throws into one clear error.

    Raises:
        CommitConflictError: Another commit came in between.
        OffsetsLostError: The planned offsets are no longer there.
        OvertakenError: Another landing was quicker, and the one after it dropped this one's branch.
        PartDownError: Kafka or Spark does not answer.
        FrazilError: Anything else; the server's log has the whole story.
    """
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as e:
        raise _meaning(str(e), plan) from e


def overtaken(plan: Plan) -> OvertakenError:
    """What it means that a landing's branch is gone: only a later landing drops it."""
    return OvertakenError(
        f"Another landing of topic {plan.topic} was quicker; this one was dropped.",
        where=f"planned {dict(plan.busy)}",
        meaning="Every record is in the table exactly once; nothing of this landing is visible.",
        todo="Nothing. Land again if more records wait.",
    )


def _meaning(text: str, plan: Plan) -> FrazilError:
    if any(sign in text for sign in _LOST):
        return OffsetsLostError(
            f"Records of topic {plan.topic} vanished while they were read.",
            where=f"within {dict(plan.busy)}",
            meaning=_NOTHING,
            todo="Land again: the plan will say which offsets are lost.",
        )
    if _BRANCH_GONE in text:
        return overtaken(plan)
    if any(sign in text for sign in _CONFLICT):
        return CommitConflictError(
            f"The catalog refused a branch of topic {plan.topic}'s table.",
            where=f"{text.splitlines()[0]:.200}",
            meaning=_NOTHING,
            todo="Land again; others commit to the table at the same time.",
        )
    if part := silent_part(text) or ("Kafka" if any(sign in text for sign in _KAFKA_DOWN) else None):
        return PartDownError(
            f"{part} stopped answering during a landing.",
            where=f"topic {plan.topic}: {text.splitlines()[0]:.200}",
            meaning=_NOTHING,
            todo="`frazil status` shows what runs; then land again.",
        )
    return FrazilError(
        "The Spark job of a landing failed.",
        where=f"topic {plan.topic}: {text.splitlines()[0]:.300}",
        meaning=_NOTHING,
        todo="The log of the Spark server has the whole story.",
    )
