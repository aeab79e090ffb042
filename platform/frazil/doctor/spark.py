"""Spark: whether it answers, and whether its own clients reach the catalog and the storage."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from frazil.connections import Connections
from frazil.doctor import preflight
from frazil.doctor.catalog import ProbeTable, in_catalog
from frazil.doctor.probe import Patient, Probe, Probes, Unproven
from frazil.errors import NotAllowedError
from frazil.kafka.facts import topic_facts
from frazil.landing.faults import KAFKA_DOWN
from frazil.landing.source import read_slices
from frazil.settings.profile import Settings
from frazil.tables.spark.faults import Job, cause_line, spark_job
from frazil.tables.spark.session import spark_errors, spark_name

_OFF_KAFKA = ("AuthenticationException", "AuthorizationException", *KAFKA_DOWN)

_TO_KAFKA = (
    "Let Spark's servers get to the brokers, at the addresses that those advertise. They log in as Frazil "
    "does, by FRAZIL_KAFKA__..., in Java."
)

_AS_WHO = (
    "Spark's servers ask catalog and S3 as somebody of their own: give that identity (AWS: the role of its "
    "machines) the rights that Frazil itself has."
)

Known = Callable[[str], NotAllowedError | None]
"""What a job's error means, where the doctor knows better than any job would."""


def probes(patient: Patient) -> Probes:
    """A query, the preflight, a record of Kafka, and in each namespace a table of the doctor's own."""
    connections = patient.connections
    if not (yield Probe("answer a query", partial(_query, connections))).fine:
        return
    yield from preflight.probes(connections, kafka=bool(patient.topics))
    if patient.topics:
        yield Probe("read from Kafka", partial(_read_kafka, patient), mend=_TO_KAFKA)
    for namespace in patient.namespaces:
        table, of = ProbeTable(connections, namespace), f"namespace {namespace}"
        if (yield Probe("find a table", partial(_find, connections, table), of, _AS_WHO)).fine:
            yield Probe("write and read it", partial(_fill, connections, table), of, _AS_WHO)
        if table.begun:
            yield Probe("drop it", partial(in_catalog, connections, table.drop), of)
    if connections.settings.spark.upkeep_remote:  # the last: it may wait for all other processes
        yield Probe("open a session of upkeep", partial(_open_upkeep, connections))


def _query(connections: Connections) -> None:
    _run(connections.settings, "query", lambda: connections.spark.sql("SELECT 1").collect())


def _open_upkeep(connections: Connections) -> None:
    _run(connections.settings.of_upkeep, "session", lambda: connections.background_spark.version)


def _read_kafka(patient: Patient) -> None:
    """Reads one record of any topic: Spark's servers have a way of their own to the brokers."""
    connections, settings = patient.connections, patient.connections.settings
    for facts in topic_facts(connections.admin, [spec.topic for spec in patient.topics]).values():
        for partition, at in facts.first.items():
            if facts.end[partition] > at:
                one = {(facts.topic, partition): (at, at + 1)}
                frame = read_slices(connections.spark, settings, [one], {})
                _run(settings, "read", frame.select("offset").collect, _off_kafka)
                return
    raise Unproven("No topic holds a record yet.")


def _find(connections: Connections, table: ProbeTable) -> None:
    in_catalog(connections, table.make)
    _run(connections.settings, "look", lambda: connections.spark.table(spark_name(table.name)).schema)


def _fill(connections: Connections, table: ProbeTable) -> None:
    name, sql, settings = spark_name(table.name), connections.spark.sql, connections.settings
    _run(settings, "write", lambda: sql(f"INSERT INTO {name} VALUES (1)").collect())
    _run(settings, "read", lambda: table.check(sql(f"SELECT * FROM {name}").count()))


def _run(settings: Settings, work: str, ask: Callable[[], object], known: Known = lambda _: None) -> None:
    job = Job(work, "the doctor", "No table of a pipeline was touched.", "Ask again.", known=known)
    with spark_errors(settings), spark_job(job):
        ask()


def _off_kafka(text: str) -> NotAllowedError | None:
    """What a job says that could not read what Frazil itself can."""
    if not any(sign in text for sign in _OFF_KAFKA):
        return None
    return NotAllowedError("Spark does not get to Kafka, or is not let in.", where=cause_line(text))
