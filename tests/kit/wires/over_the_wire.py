"""The embedded stack, asked over a wire that loses answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.settings.profile import Settings
from kit.stack.brokers import FarBroker
from kit.wires.kafka_wire import wired_broker
from kit.wires.wire import Wire, wired

__all__ = ["over_the_wire"]

SHORT = {"socket.timeout.ms": "3000", "request.timeout.ms": "3000"}
"""How long librdkafka and Java's clients wait for an answer of Kafka: a hang costs three seconds, not 15."""


@contextmanager
def over_the_wire(settings: Settings, broker: FarBroker | None = None) -> Iterator[tuple[Wire, Connections]]:
    """A calm wire before Glue, the REST catalog and S3, and clients that know the servers by it only.

    Spark's sessions are told the same addresses: they ask over the wire, too.

    Args:
        broker: Holds the topics in place of the stack's, and is behind the wire as well.
    """
    assert settings.glue.endpoint
    assert settings.s3.endpoint
    servers = {"rest": settings.rest.uri, "glue": settings.glue.endpoint, "s3": settings.s3.endpoint}
    with wired(servers) as (wire, urls), wired_broker(wire, broker) if broker else nullcontext():
        at: dict[str, dict[str, object]] = {
            "rest": {"uri": urls["rest"]},
            "glue": {"endpoint": urls["glue"]},
            "s3": {"endpoint": urls["s3"]},
        }
        if broker:
            at["kafka"] = {"bootstrap_servers": broker.address, "client": SHORT}
        yield wire, Clients(settings.with_changes(**at))
