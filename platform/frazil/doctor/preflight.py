"""What a Spark must bring with it: versions, jars, Python workers; and what makes it slow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from frazil.connections import Connections
from frazil.doctor.probe import Probe, Probes, Slow
from frazil.errors import ConfigureError, FrazilError
from frazil.tables.spark.faults import cause_line
from frazil.tables.spark.session import shares_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Look = Callable[["SparkSession"], None]

_JARS = "Put the jars that jars.lock lists for spark on its class path, as docs/deploy.md says."
_JAR_OF = {
    "Iceberg": "reflect('org.apache.iceberg.IcebergBuild', 'version')",
    "client of S3": "reflect('software.amazon.awssdk.services.s3.S3Client', 'serviceMetadata')",
    "client of Kafka": "reflect('org.apache.kafka.common.utils.AppInfoParser', 'getVersion')",
}
"""What is in a jar of each; Spark looks for it when it plans the query."""

_ABSENT = ("UNEXPECTED_CLASS_TYPE", "Failed to find")
_CACHES = ("spark.kafka.consumer.cache.timeout", "spark.kafka.consumer.fetchedData.cache.timeout")
_COMPILES = "-XX:-DontCompileHugeMethods"


def probes(connections: Connections, *, kafka: bool) -> Probes:
    """Asked one after the other in the session of landings; `kafka`: whether topics are landed with it."""
    looks: list[tuple[str, Look]] = [("be of the client's version", _version), ("have every jar", _jars)]
    looks += [("run Python that imports frazil", _workers)]
    if kafka:
        looks += [
            ("let go of Kafka's consumers", _consumers),
            ("compile large methods", _compiler),
            ("share Python workers between sessions", _sharing),
        ]
    for right, look in looks:
        yield Probe(right, partial(_asked, connections, look))


def _asked(connections: Connections, look: Look) -> None:
    look(connections.spark)


def _version(session: SparkSession) -> None:
    import pyspark

    here, there = pyspark.__version__, session.version
    if here.split(".")[:2] != there.split(".")[:2]:
        raise ConfigureError(
            f"Spark is {there}, and its client here is {here}.",
            meaning="Landings are tested with equal versions only.",
            todo=f"Run Spark {here}.",
        )


def _jars(session: SparkSession) -> None:
    plans: dict[str, Callable[[], DataFrame]]
    plans = {what: partial(session.range(1).selectExpr, sql) for what, sql in _JAR_OF.items()}
    plans["source of Kafka"] = session.read.format("kafka").load
    missing = [what for what, plan in plans.items() if not _planned(plan)]
    if missing:
        raise ConfigureError(f"Spark has no {', no '.join(missing)}.", todo=_JARS)


def _planned(plan: Callable[[], DataFrame]) -> bool:
    """Whether Spark finds all classes that a query needs."""
    from pyspark.errors import PySparkException

    try:
        _ = plan().schema
    except PySparkException as e:
        if not any(sign in str(e) for sign in _ABSENT):
            raise
        return False
    return True


def _workers(session: SparkSession) -> None:
    from pyspark.errors import PySparkException

    try:
        session.range(1).mapInArrow(unchanged, "id long").collect()
    except PySparkException as e:
        raise _of_python(str(e)) from None


def unchanged(batches: Iterable[Any]) -> Iterator[Any]:
    """A Python worker finds this function by importing the module that it is in."""
    yield from batches


def _of_python(text: str) -> FrazilError:
    lines = (line.strip() for line in text.splitlines())
    cause = next((line for line in lines if "ModuleNotFoundError" in line), cause_line(text))
    return ConfigureError(
        "Spark's Python workers can't import frazil.",
        where=cause,
        meaning="No topic can be landed, nor tables derived by functions: all records are decoded there.",
        todo="Install the wheel on all workers, with the client's Python, and name it in PYSPARK_PYTHON.",
    )


def _consumers(session: SparkSession) -> None:
    kept = [name for name in _CACHES if not _seconds(session.conf.get(name, "5m"))]
    if kept:
        options = " and ".join(f"{name}=1s" for name in kept)
        raise Slow(f"Consumers keep what they fetched for minutes: 40 landings fill the heap. Set {options}.")


def _seconds(text: str | None) -> bool:
    return str(text).strip().removesuffix("s").isdecimal() and str(text).strip().endswith("s")


def _compiler(session: SparkSession) -> None:
    here = (session.conf.get("spark.master", "") or "").startswith("local")
    name = f"spark.{'driver' if here else 'executor'}.extraJavaOptions"
    if _COMPILES not in (session.conf.get(name, "") or ""):
        raise Slow(f"Java interprets what Spark writes for tables of many fields. Add {_COMPILES} to {name}.")


def _sharing(session: SparkSession) -> None:
    if not shares_workers(session):
        raise Slow(
            "It can't clone sessions, so each has Python workers of its own, and leaves 44 MB of them in each"
            " executor: decoding, writing and functions in Python fill the memory. Run Spark 4.1, or later."
        )
