"""Kafka: its brokers, and what landings read of the topics."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from confluent_kafka.admin import AclOperation

from frazil.doctor.probe import Patient, Probe, Probes, Unproven
from frazil.doctor.remedies import kafka_acl
from frazil.errors import NotAllowedError, PartDownError
from frazil.kafka.clients import asked
from frazil.kafka.facts import allowed_operations, topic_fact
from frazil.kafka.probe import ONE_RECORD, open_probe
from frazil.kafka.provisioning import as_specified, check_creatable
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient, BrokerMetadata

_SECONDS = 5.0
_AT_ONCE = 16

Ask = Callable[["AdminClient", Settings, TableSpec], None]


def probes(patient: Patient) -> Probes:
    """The brokers, then each topic: described with its offsets, and a record of it read; or written to."""
    settings, admin = patient.connections.settings, patient.connections.admin
    known = yield Probe("reach every broker", partial(_reach, admin, settings))
    if not known.fine:
        return
    for topic, (right, ask, spec, operations) in _rights(patient):
        grant = kafka_acl(settings, topic, *operations)
        finding = yield Probe(right, partial(ask, admin, settings, spec), topic, grant)
        if finding.status == "down":
            return


def _rights(patient: Patient) -> Iterator[tuple[str, tuple[str, Ask, TableSpec, tuple[str, ...]]]]:
    """By topic what is asked for, and Kafka's words for it."""
    for topic, spec in {spec.topic: spec for spec in patient.topics}.items():
        configs = ("DescribeConfigs",) if spec.topic_config else ()
        making = ("Create",) if _is_to_make(spec) else ()
        yield topic, ("describe the topic", _describe, spec, ("Describe", *configs, *making))
        yield topic, ("read the topic", _read, spec, ("Read",))
    for spec in patient.feeds:
        yield spec.topic, ("write to the topic", _write, spec, ("Write", "Describe", "Create"))


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


def _write(admin: AdminClient, _: Settings, spec: TableSpec) -> None:
    if not as_specified(admin, spec):
        check_creatable(admin, spec)
        raise Unproven("The topic is not there yet: the first derivation that feeds it makes it.")
    allowed = allowed_operations(admin, spec.topic)
    if allowed is None:
        raise Unproven("These brokers do not tell who may write.")
    if AclOperation.WRITE not in allowed:
        raise NotAllowedError("Kafka does not allow this user to write to the topic.")


def _reach(admin: AdminClient, settings: Settings) -> None:
    """Raises PartDownError where a broker does not answer at the address that it tells clients."""
    where = settings.kafka.bootstrap_servers
    brokers = asked(where, admin, lambda: admin.list_topics(timeout=_SECONDS).brokers.values())
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        silent = [text for text in pool.map(_silence, brokers) if text]
    if silent:
        raise PartDownError(
            f"{len(silent)} of {len(brokers)} brokers can't be reached.",
            where="; ".join(silent),
            meaning="Partitions that they lead can't be read.",
            todo="Open the way to those addresses, or fix advertised.listeners of the brokers.",
        )


def _silence(broker: BrokerMetadata) -> str:
    try:
        socket.create_connection((broker.host, broker.port), _SECONDS).close()
    except OSError as e:
        return f"broker {broker.id} at {broker.host}:{broker.port} ({e})"
    return ""
