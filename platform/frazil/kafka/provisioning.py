"""Makes a topic and its subject as the spec says; what exists otherwise is never changed in silence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import stamina
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType, TopicDescription

from frazil.errors import ConfigureError, DifferentError, MissingError
from frazil.formats.protocol import WriterSchema
from frazil.formats.registry.wanted import WantedSchema, read_schema, register, version_like
from frazil.kafka.clients import asked, kafka_errors
from frazil.kafka.facts import describe, topic_fact
from frazil.spec.names import subject_name
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    from frazil.formats.registry.client import RegistryClient

_PARTITIONS = 6
_TIMEOUT = 10.0


class Clients(Protocol):
    """The part of `frazil.connections.Connections` that is needed here."""

    @property
    def admin(self) -> AdminClient:
        """Kafka's admin client."""

    @property
    def registry(self) -> RegistryClient:
        """The schema registry's client."""


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic and its subjects, as they are now."""

    topic: str
    topic_id: str
    partitions: int
    created: bool
    first: dict[int, int]
    end: dict[int, int]
    subject: str | None  # of its values; None where there is none. Likewise of its keys below.
    schema_id: int | None  # of the spec's schema, or of the newest version
    schema_version: int | None  # likewise
    key_subject: str | None = None
    key_schema_id: int | None = None


@dataclass(frozen=True, slots=True)
class _Subject:
    """A subject of the topic: what it shall hold, and what it holds."""

    name: str
    wanted: WantedSchema | None
    registered: WriterSchema | None

    def provided(self, registry: RegistryClient) -> _Subject:
        """With its schema registered, where that was missing."""
        if self.registered or self.wanted is None:
            return self
        return replace(self, registered=register(registry, self.name, self.wanted))


def ensure_topic(spec: TableSpec, connections: Clients) -> TopicState:
    """Makes the topic and registers the schemas of the spec's files, where they are missing.

    Looks at all before it changes any. May be called again, and by two at a time.

    Raises:
        DifferentError: Topic or subject exist, and are not as the spec says; the text says in what.
        ConfigureError: Kafka or the registry refuse what the spec says.
        PartDownError: Kafka or the registry does not answer.
    """
    key, value = _wanted(spec)
    return provide_topic(spec, connections, key=key, value=value)


def ensure_subjects(spec: TableSpec, connections: Clients) -> None:
    """Registers the schemas of the spec's files where they are missing, and leaves the topic alone.

    Where there is no topic, nothing is registered: its name may be a mistake.

    Raises:
        DifferentError: A subject exists, and no version of it is the file's schema.
    """
    if not (spec.key_schema or spec.value_schema) or not describe(connections.admin, [spec.topic]):
        return
    for subject in _of_files(spec, connections.registry):
        subject.provided(connections.registry)


def unregistered(spec: TableSpec, registry: RegistryClient) -> list[str]:
    """The subjects that the next landing registers: they have a file, and no version yet.

    Raises:
        DifferentError: A subject exists, and no version of it is the file's schema.
    """
    return [subject.name for subject in _of_files(spec, registry) if not subject.registered]


def _of_files(spec: TableSpec, registry: RegistryClient) -> list[_Subject]:
    """The subjects for which the spec has a file."""
    key, value = _wanted(spec)
    wanted = {subject_name(spec, "key"): key, subject_name(spec, "value"): value}
    return [_look(registry, name, schema) for name, schema in wanted.items() if schema]


def _wanted(spec: TableSpec) -> tuple[WantedSchema | None, WantedSchema | None]:
    """The schemas of the spec's files, of keys and of values."""
    key, value = (read_schema(file) if file else None for file in (spec.key_schema, spec.value_schema))
    return key, value


def provide_topic(
    spec: TableSpec, connections: Clients, *, key: WantedSchema | None, value: WantedSchema | None
) -> TopicState:
    """Like `ensure_topic`, with schemas that lie in no file; none: whatever the subject holds."""
    admin, registry = connections.admin, connections.registry
    exists = as_specified(admin, spec)
    looked = [
        _look(registry, subject_name(spec, "key"), key),
        _look(registry, subject_name(spec, "value"), value),
    ]
    # Schemas first: a topic without its subject would be filled by producers with schemas of their own.
    keys, values = (subject.provided(registry) for subject in looked)
    created = not exists and _create(admin, spec)
    return _state(admin, spec.topic, created, keys, values)


def _look(registry: RegistryClient, name: str, wanted: WantedSchema | None) -> _Subject:
    return _Subject(name, wanted, version_like(registry, name, wanted))


def as_specified(admin: AdminClient, spec: TableSpec) -> bool:
    """Whether the topic is there.

    Raises:
        DifferentError: It is, and not as the spec says.
    """
    description = describe(admin, [spec.topic]).get(spec.topic)
    if description is None:
        return False
    wrong = [*_layout(description, spec), *_settings(admin, spec)]
    if wrong:
        raise DifferentError(
            f"Topic {spec.topic} is not as the spec says.",
            where="; ".join(wrong),
            meaning="Nothing was changed.",
            todo="Make defs.yaml say what the topic is, or alter the topic with Kafka's own tools.",
        )
    return True


def _layout(description: TopicDescription, spec: TableSpec) -> list[str]:
    have = len(description.partitions)
    copies = min((len(p.replicas) for p in description.partitions), default=0)
    wrong = []
    if spec.partitions not in (None, have):
        wrong.append(f"it has {have} partitions, the spec says {spec.partitions}")
    if spec.replication not in (None, copies):
        wrong.append(f"it has {copies} replicas, the spec says {spec.replication}")
    return wrong


def _settings(admin: AdminClient, spec: TableSpec) -> list[str]:
    if not spec.topic_config:
        return []
    topic = ConfigResource(ResourceType.TOPIC, spec.topic)

    def ask() -> dict[str, Any]:
        (future,) = admin.describe_configs([topic], request_timeout=_TIMEOUT).values()
        return {name: entry.value for name, entry in future.result().items()}

    have = asked(f"topic {spec.topic}", admin, ask)
    return [
        f"{name} is {have.get(name, 'unknown to Kafka')}, the spec says {wanted}"
        for name, wanted in spec.topic_config.items()
        if have.get(name) != wanted
    ]


def check_creatable(admin: AdminClient, spec: TableSpec) -> None:
    """Raises where Kafka would not make the topic; makes none."""
    with kafka_errors(f"topic {spec.topic}", admin):
        _send(admin, spec, validate_only=True)


def _create(admin: AdminClient, spec: TableSpec) -> bool:
    """Makes the topic; whether it was this call that made it."""
    try:
        _send(admin, spec)
    except KafkaException as e:
        return _not_created(admin, spec, e)
    return True


def _send(admin: AdminClient, spec: TableSpec, *, validate_only: bool = False) -> None:
    wanted = NewTopic(
        spec.topic,
        num_partitions=spec.partitions or _PARTITIONS,
        replication_factor=spec.replication or -1,  # -1: the broker's default
        config=dict(spec.topic_config),
    )
    answers = admin.create_topics([wanted], request_timeout=_TIMEOUT, validate_only=validate_only)
    for future in answers.values():
        future.result()


def _not_created(admin: AdminClient, spec: TableSpec, error: KafkaException) -> bool:
    """Another caller was faster, or Kafka does not want such a topic."""
    with kafka_errors(f"topic {spec.topic}"):
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise error
    if not as_specified(admin, spec):
        raise ConfigureError(
            f"Topic {spec.topic} is being deleted.", todo="Try again when Kafka is done with it."
        )
    return False


# A new topic is known to the controller some milliseconds before it is known to every broker.
@stamina.retry(on=MissingError, timeout=10, attempts=50, wait_initial=0.05, wait_jitter=0.05, wait_max=0.5)
def _state(admin: AdminClient, topic: str, created: bool, keys: _Subject, values: _Subject) -> TopicState:
    facts, key, value = topic_fact(admin, topic), keys.registered, values.registered
    return TopicState(
        topic=topic,
        topic_id=facts.topic_id,
        partitions=len(facts.first),
        created=created,
        first=facts.first,
        end=facts.end,
        subject=values.name if value else None,
        schema_id=value.schema_id if value else None,
        schema_version=value.version if value else None,
        key_subject=keys.name if key else None,
        key_schema_id=key.schema_id if key else None,
    )
