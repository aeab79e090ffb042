"""Kafka: its brokers, and what landings read of the topics."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from frazil.doctor.probe import Patient, Probe, Probes, Unproven
from frazil.doctor.remedies import kafka_acl
from frazil.errors import PartDownError
from frazil.kafka.clients import kafka_errors
from frazil.kafka.facts import topic_fact
from frazil.kafka.probe import ONE_RECORD, open_probe
from frazil.kafka.provisioning import as_specified, check_creatable
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient, BrokerMetadata

_SECONDS = 5.0
_AT_ONCE = 16


def probes(patient: Patient) -> Probes:
    """The brokers, then each topic: described, its offsets, and a record."""
    settings, admin = patient.connections.settings, patient.connections.admin
    known = yield Probe("reach every broker", partial(_reach, admin, settings))
    if not known.fine:
        return
    for spec in {spec.topic: spec for spec in patient.topics}.values():
        for right, ask, operations in _rights(spec):
            grant = kafka_acl(settings, spec.topic, *operations)
            found = yield Probe(right, partial(ask, admin, settings, spec), spec.topic, grant)
            if found.status == "down":
                return


Ask = Callable[["AdminClient", Settings, TableSpec], object]


def _rights(spec: TableSpec) -> list[tuple[str, Ask, tuple[str, ...]]]:
    """What is asked for of a topic, and Kafka's words for it."""
    described = ("Describe", "DescribeConfigs") if spec.topic_config else ("Describe",)
    return [
        ("describe the topic", _describe, (*described, *(("Create",) if _is_to_make(spec) else ()))),
        ("read the topic", _read, ("Read",)),
    ]


def _is_to_make(spec: TableSpec) -> bool:
    """Whether the spec says how the topic shall be, so that Frazil can make it."""
    return bool(spec.partitions or spec.replication or spec.topic_config or spec.value_schema)


def _describe(admin: AdminClient, _: Settings, spec: TableSpec) -> None:
    if as_specified(admin, spec):
        topic_fact(admin, spec.topic)
    elif _is_to_make(spec):
        check_creatable(admin, spec)
    else:
        topic_fact(admin, spec.topic)  # says which topics have a like name


def _read(admin: AdminClient, settings: Settings, spec: TableSpec) -> None:
    if not as_specified(admin, spec):
        raise Unproven("The topic is not there yet: materializing its asset makes it.")
    facts = topic_fact(admin, spec.topic)
    filled = [p for p, end in facts.end.items() if end > facts.first[p]]
    partition = min(filled or facts.first)
    with open_probe(settings, spec.topic, **ONE_RECORD) as probe:
        probe.first({partition: facts.first[partition]})


def _reach(admin: AdminClient, settings: Settings) -> None:
    """Raises PartDownError where a broker does not answer at the address that it tells clients."""
    where = settings.kafka.bootstrap_servers
    with kafka_errors(where, admin):
        brokers = admin.list_topics(timeout=_SECONDS).brokers.values()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        silent = [text for text in pool.map(_silence, brokers) if text]
    if silent:
        raise PartDownError(
            f"{len(silent)} of {len(brokers)} brokers can't be reached.",
            where="; ".join(silent),
            meaning="Partitions that they lead can't be read.",
            todo="Open the way to those addresses, or mend advertised.listeners of the brokers.",
        )


def _silence(broker: BrokerMetadata) -> str:
    try:
        socket.create_connection((broker.host, broker.port), _SECONDS).close()
    except OSError as e:
        return f"broker {broker.id} at {broker.host}:{broker.port} ({e})"
    return ""
