"""Of brokers that do not answer `frazil up` is advised where they are on this machine."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from frazil.errors import PartDownError
from frazil.kafka.clients import Admin, Reader, kafka_errors


@pytest.mark.parametrize(("servers", "here"), [("127.0.0.1:1", True), ("broker.example:9092", False)])
@pytest.mark.parametrize("kind", [Admin, Reader])
def test_frazil_up_is_advised_for_brokers_of_this_machine(
    kind: type[Admin] | type[Reader], servers: str, here: bool
) -> None:
    client = kind({"bootstrap.servers": servers, "group.id": "g", "log_level": 0})

    with pytest.raises(PartDownError) as raised, kafka_errors("topic t", client):
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    assert ("`frazil up`" in raised.value.todo) is here
