"""Spark sessions that know the catalog."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from frazil.connections import Connections
from frazil.errors import STAYS, ConfigureError, FrazilError, PartDownError, RetryError
from frazil.quoting import quoted
from frazil.settings.nearby import to_start
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.tables.catalogs.client_properties import spark_properties
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.metadata.rows import rows_left
from frazil.tables.metadata.snapshots import number, summary_of
from frazil.tables.spark.faults import Job, spark_job
from frazil.tables.spark.redaction import OF_SESSION, SECRETS, SPARK_CATALOG

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot
    from pyspark.sql import Column, DataFrame, SparkSession

_SESSION = {
    "spark.sql.session.timeZone": "UTC",
    # A name or a constant of a schema may look like ${env:SECRET}, which Spark would fill in.
    "spark.sql.variable.substitute": "false",
    # A record may carry one header key twice; map_from_entries would fail the whole landing.
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    # Since 4.1 a union of one-task reads would itself be one task: all slices after each other.
    "spark.sql.unionOutputPartitioning": "false",
    # Without kafka: its old source turns every record into a Row and back, 10 % of a landing's CPU.
    "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
}

UPKEEP_POOL = "upkeep"
"""Pool of Spark's scheduler that gets what landings leave over; only where `spark.scheduler.mode` is FAIR."""

ISOLATED = "spark.sql.artifact.isolation.enabled"
"""Setting of a session: Python workers of its own. Spark Connect's server has it on."""

_SILENT = (
    PartDownError,
    "Spark does not answer.",
    "",
)

_FORGOTTEN = (
    RetryError,
    "Spark was started again, or has forgotten the session.",
    "Try again: another session is opened.",
)

_REFUSALS: Mapping[str, tuple[type[FrazilError], str, str]] = {
    "UNAUTHENTICATED": (
        ConfigureError,
        "Spark refuses the token, or misses one.",
        "Set FRAZIL_SPARK__TOKEN to what the server has as SPARK_CONNECT_AUTHENTICATE_TOKEN.",
    ),
    "CERTIFICATE_VERIFY_FAILED": (
        ConfigureError,
        "Spark's certificate is not signed by an authority that is known here.",
        "Name the authority's PEM file in FRAZIL_SPARK__CA.",
    ),
    "UNAVAILABLE": _SILENT,
    "Connection refused": _SILENT,
    "RetriesExceeded": _SILENT,
    "INVALID_HANDLE.SESSION": _FORGOTTEN,
    "NO_ACTIVE_SESSION": _FORGOTTEN,  # PySpark says so of one whose server has said it
}
"""What opening a session, or asking one, meets, by a sign in the error; the first one that fits says it."""

Measures = Mapping[str, str]
"""Aggregates in SQL, by alias."""

InTask = Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]
"""What a task of Spark does with rows."""


def open_spark(settings: Settings) -> SparkSession:
    """A new session on `settings.spark.remote` that knows the catalog as `frazil`.

    New, because a session keeps a catalog as it first found it: two profiles need two sessions.
    """
    from pyspark.sql import SparkSession

    _silence_logs_of_errors()
    with spark_errors(settings):
        if is_connect(settings.spark.remote):
            from frazil.tables.spark.connect import connect_session

            return configure_session(connect_session(settings), settings)
        here: SparkSession = SparkSession.builder.master(settings.spark.remote).getOrCreate()
        return configure_session(here.newSession(), settings)


def _silence_logs_of_errors() -> None:
    """PySpark prints each error of a query as 10 kB of JSON with frames of Java, and raises it then."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def is_connect(remote: str) -> bool:
    """Whether it is the address of a Spark Connect server."""
    return remote.startswith("sc://")


def is_spent(session: SparkSession) -> bool:
    """Whether its server has said that it knows the session no more; one within this process never is."""
    return bool(getattr(session, "is_stopped", False))


def shares_workers(session: SparkSession) -> bool:
    """Whether Python workers serve other sessions, too; else Spark keeps some of each session forever.

    A process of 44 MB and a thread in each executor, until that ends: SPARK-54055.
    """
    return session.conf.get(ISOLATED, "false") != "true"


def in_background(session: SparkSession) -> SparkSession:
    """Puts the jobs of a session into upkeep's pool; returns the same session.

    Spark hands every setting of a session that begins with `spark` to its jobs as a local property, and
    the scheduler goes by that: there is no other way through Spark Connect.
    """
    session.conf.set("spark.scheduler.pool", UPKEEP_POOL)
    return session


@contextmanager
def spark_errors(settings: Settings) -> Iterator[None]:
    """Turns "nobody answers", and "not with this token", into one clear error."""
    try:
        yield
    except FrazilError:
        raise
    except Exception as e:
        text = f"{type(e).__name__} {e} {e.__cause__}"
        known = next((error for sign, error in _REFUSALS.items() if sign in text), None)
        if known is None:
            raise
        kind, what, todo = known
        where = settings.spark.remote.partition(";")[0]
        raise kind(what, where=where, meaning=STAYS, todo=todo or to_start(where)) from None


def configure_session(session: SparkSession, settings: Settings) -> SparkSession:
    """Tells a session the catalog and what landings rely on; returns the same session."""
    prefix = f"spark.sql.catalog.{SPARK_CATALOG}"
    options = {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        **{f"{prefix}.{name}": value for name, value in spark_properties(settings).items()},
        **_SESSION,
        **OF_SESSION,
    }
    if is_connect(settings.spark.remote):
        from frazil.tables.spark.connect import set_at_once

        set_at_once(session, SECRETS, options)
        return session
    for name in SECRETS:
        session.conf.unset(name)
    for name, value in options.items():
        session.conf.set(name, value)
    return session


def spark_name(name: TableName, branch: str = "") -> str:
    """The table as Spark SQL names it, quoted; with a branch, that branch of it."""
    parts = [SPARK_CATALOG, *name.identifier, *([f"branch_{branch}"] if branch else [])]
    return quoted(*parts)


def at_snapshot(spark: SparkSession, name: TableName, snapshot: int) -> DataFrame:
    """The rows of a table at a snapshot of any branch: by its id, for others may move a branch."""
    return spark.read.option("versionAsOf", str(snapshot)).table(spark_name(name))


def live_rows(connections: Connections, name: TableName, snapshot: Snapshot | None) -> int:
    """Rows of a table at a snapshot.

    From its summary, or from manifests where it has vectors. Where it has other delete files Spark counts:
    these may name rows that are gone.
    """
    summary = summary_of(snapshot)
    if snapshot is None or not number(summary, "total-delete-files"):
        return number(summary, "total-records")
    left = rows_left(TableHandle(connections.catalog, name).load(), snapshot)
    if left is not None:
        return left
    at = f"{spark_name(name)} VERSION AS OF {snapshot.snapshot_id}"
    return int(connections.spark.sql(f"SELECT count(1) FROM {at}").collect()[0][0])


def aggregated(rows: DataFrame, measures: Measures, job: Job) -> dict[str, Any]:
    """Aggregates over some rows; Spark takes no empty list of them."""
    if not measures:
        return {}
    with spark_job(job):
        values: dict[str, Any] = rows.agg(*_columns(measures)).collect()[0].asDict()
    return values


def grouped(rows: DataFrame, keys: Iterable[str], measures: Measures) -> DataFrame:
    """One row for each combination of keys, with aggregates; there may be none of these."""
    by = [*map(quoted, keys)]
    return rows.groupBy(*by).agg(*_columns(measures)) if measures else rows.select(*by).distinct()


def filled(rows: DataFrame, columns: Mapping[str, str]) -> DataFrame:
    """The same columns, some of them filled anew by SQL; there may be none of these."""
    return rows.selectExpr(*(f"{columns.get(c, quoted(c))} AS {quoted(c)}" for c in rows.columns))


def in_tasks(rows: DataFrame, columns: Mapping[str, str], run: InTask, returned: pa.Schema) -> DataFrame:
    """What tasks return that are given rows as Arrow; `columns` are those of the rows, as SQL by name."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import NullType, StructField, StructType

    given = rows.selectExpr(*(f"{sql} AS {quoted(name)}" for name, sql in columns.items()))
    # PySpark would ask the server for their types, 13 ms, and take the names only.
    given.__dict__["_cached_schema"] = StructType([StructField(name, NullType()) for name in columns])
    return given.mapInArrow(run, from_arrow_schema(returned, prefer_timestamp_ntz=True))


def samples(table: Table) -> bool:
    """Whether rows are read twice as they are written, once for a sample that tells the ranges."""
    return table.properties.get("write.distribution-mode") == "range"


class Watched:
    """Rows, and aggregates over them that are known once the rows were read, were it twice.

    Errors speak of the job. What is counted or collected must be a column of the rows, or plain arithmetic:
    an expression such as `to_json` keeps its last argument, and goes back inside Spark's accumulator when the
    memory of that row has others in it. Java then reads anything, or ends by SIGSEGV.
    """

    def __init__(self, rows: DataFrame, measures: Measures, job: Job, *, twice: bool = False) -> None:
        from pyspark.sql import Observation

        if odd := not_plain(measures):
            raise AssertionError(f"make a column of it before it is observed: {', '.join(sorted(odd))}")
        self._plain, self._measures, self._job, self._twice = rows, measures, job, twice
        self._seen = Observation()
        self.rows = rows.observe(self._seen, *_columns(measures)) if measures else rows

    @property
    def measured(self) -> dict[str, Any]:
        """The aggregates, by alias; what is read for it now must still be what was read then."""
        if not self._measures:
            return {}
        # A busy Connect server waits 100 ms for them, and then sends none (Observation.getRowOrEmpty).
        seen = None if self._twice else self._seen.get
        return seen or aggregated(self._plain, self._measures, self._job)


_PLAIN = frozenset({
    "bit_or", "bit_xor", "cast", "coalesce", "collect_list", "count", "count_if", "if", "max", "min", "not",
    "octet_length", "percentile_approx", "shiftleft", "sum", "unix_micros",
    "unix_millis", "xxhash64", "and", "or", "when", "then",
})  # fmt: skip
"""Words before a bracket in what may be observed: aggregates, and expressions that keep no argument."""

_CALL = re.compile(r"(\w+)\s*\(")
_QUOTED = re.compile(r"`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'")


def not_plain(measures: Measures) -> set[str]:
    """The functions in some aggregates that may not be observed."""
    texts = (_QUOTED.sub(" ", sql) for sql in measures.values())
    return {word.lower() for sql in texts for word in _CALL.findall(sql)} - _PLAIN


def _columns(measures: Measures) -> list[Column]:
    # Only where there are rows: before a process has a session, PySpark takes these for a JVM's of its own.
    from pyspark.sql import functions as F

    return [F.expr(sql).alias(name) for name, sql in measures.items()]
