"""A REST catalog that hands out the keys to a table's storage, as Polaris and Unity do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import ConfigureError, NotAllowedError
from frazil.landing.land import land
from frazil.settings.profile import Settings
from frazil.settings.secret import revealed
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.spark.faults import Job, spark_job
from frazil.tables.spark.session import spark_name
from kit.records.topics import topic_maker
from kit.wires.gate import gate, signer

TOKEN = "a-static-token"
STRANGER = {"access_key": "nobody", "secret_key": "nobodys"}
"""An identity of the settings that S3 does not know: only what the catalog hands out opens it."""


@contextmanager
def vending(stack: Settings, keys: Mapping[str, str | None]) -> Iterator[str]:
    """The stack's catalog, which hands out keys with each table to those who ask for them."""

    def with_keys(headers: Mapping[str, str], body: bytes) -> bytes:
        if (
            headers.get("X-Iceberg-Access-Delegation") != "vended-credentials"
            or b"metadata-location" not in body
        ):
            return body
        answer = json.loads(body)
        return json.dumps({**answer, "config": {**answer.get("config", {}), **keys}}).encode()

    def lets_in(headers: Mapping[str, str]) -> bool:
        return headers.get("Authorization") == f"Bearer {TOKEN}"

    with gate(stack.rest.uri, lets_in, signed=signer(stack), edited=with_keys) as address:
        yield address


@pytest.fixture
def through(stack: Settings) -> Callable[..., Clients]:
    """Clients who have no key of their own to S3."""

    def clients(address: str, *, asks: bool = True) -> Clients:
        rest = {"uri": address, "token": TOKEN, "vended_credentials": asks}
        return Clients(stack.with_changes(rest=rest, aws=STRANGER))

    return clients


def keys_of(stack: Settings) -> dict[str, str | None]:
    return {
        "s3.access-key-id": revealed(stack.aws.access_key),
        "s3.secret-access-key": revealed(stack.aws.secret_key),
    }


def test_records_land_with_keys_that_the_catalog_hands_out(
    stack: Settings, through: Callable[..., Clients], fresh_name: str
) -> None:
    with vending(stack, keys_of(stack)) as address:
        clients = through(address)
        topic = topic_maker(clients, fresh_name, "connect_tests")()
        topic.trades(10)

        assert land(topic.spec, clients).records == 10
        assert len(topic.rows()) == 10


def test_who_does_not_ask_for_them_gets_none(
    connections: Connections, stack: Settings, through: Callable[..., Clients], fresh_name: str
) -> None:
    topic = topic_maker(connections, fresh_name, "connect_tests")()
    topic.trades(1)
    with vending(stack, keys_of(stack)) as address:
        clients = through(address, asks=False)

        with pytest.raises(ConfigureError, match="FRAZIL_AWS__"):
            land(topic.spec, clients)


def test_spark_and_pyiceberg_take_the_keys_that_are_handed_out_and_no_other(
    connections: Connections, stack: Settings, through: Callable[..., Clients], fresh_name: str
) -> None:
    """The stack's Spark has an identity in its environment: keys that are handed out come before it."""
    topic = topic_maker(connections, fresh_name, "connect_tests")()
    topic.trades(1)
    land(topic.spec, connections)
    wrong = {"s3.access-key-id": "wrong", "s3.secret-access-key": "wrong"}
    with vending(stack, wrong) as address:
        clients, name = through(address), topic.things.table

        with pytest.raises(ConfigureError, match="AWS does not"), catalog_errors(clients.settings):
            clients.catalog.load_table(name.identifier).scan().to_arrow()
        with pytest.raises(NotAllowedError), spark_job(Job("query", str(name), "", "")):
            clients.spark.table(spark_name(name)).collect()
