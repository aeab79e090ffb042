"""Spark: whether it answers, and whether its own clients reach the catalog and the storage."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from frazil.connections import Connections
from frazil.doctor import preflight
from frazil.doctor.catalog import ProbeTable
from frazil.doctor.probe import Patient, Probe, Probes
from frazil.tables.catalog import catalog_errors
from frazil.tables.faults import Job, spark_job
from frazil.tables.spark import spark_errors, spark_name

_AS_WHO = (
    "Spark's servers ask catalog and S3 as somebody of their own: give that identity (AWS: the role of its "
    "machines) the rights that Frazil itself has."
)


def probes(patient: Patient) -> Probes:
    """A query, the preflight, and in each namespace a table of the doctor's own to write to and read."""
    connections = patient.connections
    if not (yield Probe("answer a query", partial(_query, connections))).fine:
        return
    yield from preflight.probes(connections, kafka=bool(patient.topics))
    for namespace in patient.namespaces:
        table, of = ProbeTable(connections, namespace), f"namespace {namespace}"
        if (yield Probe("find a table", partial(_find, connections, table), of, _AS_WHO)).fine:
            yield Probe("write and read it", partial(_fill, connections, table), of, _AS_WHO)
        if table.begun:
            yield Probe("drop it", table.drop, of)


def _query(connections: Connections) -> None:
    _run(connections, "query", lambda: connections.spark.sql("SELECT 1").collect())


def _find(connections: Connections, table: ProbeTable) -> None:
    with catalog_errors(connections.settings):
        table.make()
    _run(connections, "look", lambda: connections.spark.table(spark_name(table.name)).schema)


def _fill(connections: Connections, table: ProbeTable) -> None:
    name, sql = spark_name(table.name), connections.spark.sql
    _run(connections, "write", lambda: sql(f"INSERT INTO {name} VALUES (1)").collect())
    _run(connections, "read", lambda: table.check(sql(f"SELECT * FROM {name}").count()))


def _run(connections: Connections, work: str, ask: Callable[[], object]) -> None:
    job = Job(work, "the doctor's own table", "No table of a pipeline was touched.", "Ask again.")
    with spark_errors(connections.settings), spark_job(job):
        ask()
