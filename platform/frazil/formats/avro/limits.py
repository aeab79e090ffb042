"""Limits without which a damaged Avro record ends the JVM that reads it: 8 bytes can claim any length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from frazil.errors import ConfigureError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Kafka's records are of 1 MB at most by default; two damaged strings of 100 MB each were one too many for
# a heap of 1.5 GB.
MOST_ITEMS, MOST_BYTES = 1_000_000, 16 * 2**20
"""Most items of an array or a map, and most bytes of a text or of bytes."""

LIMITS = {
    "org.apache.avro.limits.collectionItems.maxLength": MOST_ITEMS,
    "org.apache.avro.limits.string.maxLength": MOST_BYTES,
    "org.apache.avro.limits.bytes.maxLength": MOST_BYTES,
}
"""Properties of a Java that reads Avro, and the values of the embedded stack."""

JAVA_OPTIONS = " ".join(f"-D{name}={limit}" for name, limit in LIMITS.items())
"""The same as Java takes them."""

_NONE = 2**30  # what Avro does without a limit is nearly twice that
_limited: WeakSet[Any] = WeakSet()


def check_limits(session: SparkSession) -> None:
    """Asks a Spark for its limits, once per session; raises ConfigureError where it lacks one."""
    if session in _limited:
        return
    if missing := [name for name, found in _asked(session).items() if not _limits(found)]:
        raise ConfigureError(
            "Avro is not read on this Spark: one damaged record of 8 bytes could end its JVM.",
            where=f"its executors have no {', '.join(missing)}",
            meaning="Nothing was landed. Other formats need no limits.",
            todo=f"Add to spark.driver.extraJavaOptions and spark.executor.extraJavaOptions: {JAVA_OPTIONS}",
        )
    _limited.add(session)


def _asked(session: SparkSession) -> dict[str, str]:
    """What Java has as these properties where a task runs; by a job of one task."""
    asked = [f"reflect('java.lang.System', 'getProperty', '{name}') AS `{name}`" for name in LIMITS]
    found: dict[str, str] = session.range(1).selectExpr(*asked).collect()[0].asDict()
    return found


def _limits(found: str) -> bool:
    return found.isdecimal() and int(found) < _NONE
