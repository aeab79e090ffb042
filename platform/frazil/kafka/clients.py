"""Clients of Kafka, and what their errors mean for the reader."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from frazil.errors import ConfigureError, FrazilError, MissingError, PartDownError
from frazil.settings import Settings

__all__ = ["admin_client", "client_config", "consumer", "kafka_error", "kafka_errors"]

_FORBIDDEN = frozenset({
    KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED,
})  # fmt: skip
_ABSENT = frozenset(
    {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}
)
_DOWN = frozenset({
    KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE, KafkaError._TIMED_OUT,
    KafkaError._MSG_TIMED_OUT, KafkaError.REQUEST_TIMED_OUT, KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.NETWORK_EXCEPTION,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
})  # fmt: skip


def client_config(settings: Settings) -> dict[str, str]:
    """What every librdkafka client of this environment starts from."""
    return {
        "bootstrap.servers": settings.bootstrap_servers,
        "client.id": "frazil",
        "socket.timeout.ms": "10000",
        "socket.connection.setup.timeout.ms": "5000",
        "reconnect.backoff.max.ms": "1000",
        # librdkafka writes to stderr by itself; what matters comes back as an error and is raised.
        "log_level": "2",
        **settings.kafka_client,
    }


def admin_client(settings: Settings) -> AdminClient:
    """A client for questions about topics. Keep it while its futures are open."""
    return AdminClient({**client_config(settings)})


def consumer(settings: Settings, **extra: str | int | bool) -> Consumer:
    """A consumer outside any group's work: it is assigned, commits nothing, reads committed records.

    Further librdkafka settings are given as `**{"fetch.wait.max.ms": 10}`.
    """
    config: dict[str, str | int | bool] = {
        **client_config(settings),
        "group.id": "frazil",  # librdkafka wants one; nothing joins it
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "fetch.queue.backoff.ms": 20,  # the default of 1000 reads three times slower
    }
    return Consumer({**config, **extra})


def kafka_error(error: KafkaError, where: str) -> FrazilError:
    """An error of librdkafka as one of ours, at these brokers, or this topic and partition."""
    code, text = error.code(), error.str().rstrip(".")
    if code in _ABSENT:
        return MissingError("Kafka does not know this topic.", where=where, todo="Make the topic first.")
    if code in _FORBIDDEN:
        return ConfigureError(
            f"Kafka refuses access: {text}.", where=where, todo="Look at kafka_client in the settings."
        )
    if code in _DOWN or error.retriable():
        return PartDownError(
            "Kafka does not answer.",
            where=f"{where}: {text}",
            meaning="Nothing was changed.",
            todo="See `frazil status`, start it with `frazil up`, or mend bootstrap_servers.",
        )
    return ConfigureError(f"Kafka says: {text}.", where=where, todo="Mend what Kafka names.")


@contextmanager
def kafka_errors(where: str) -> Iterator[None]:
    """Turns librdkafka's exceptions into ours."""
    try:
        yield
    except KafkaException as e:
        raise kafka_error(e.args[0], where) from None
