"""Plays Tableflow: topics that are on become tables in the customer's bucket and in Glue.

Frazil's own engine lands them, from the stack's Kafka and registry, on the stack's Spark. At AWS it is the
customer's role, taken as Confluent takes it: a right that the role lacks is met here.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError
from pydantic import SecretStr

from frazil.clients import Clients
from frazil.errors import ConfigureError, MissingError, NotAllowedError, RetryError, StopError, explain
from frazil.settings.profile import Settings
from frazil.tables.catalogs.handle import TableHandle
from frazil_local.cloud.confluent.organization import Json, Organization
from frazil_local.cloud.confluent.tableflow.customer import keys_of_customer
from frazil_local.cloud.confluent.tableflow.materialization import OnTopic, note, topics_on

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

_KEYS_LIVE = 1800.0
"""Seconds after which the role is taken anew: its keys end in an hour."""


@dataclass
class _Customer:
    """The clients of a customer's role."""

    settings: Settings
    since: float = field(default_factory=time.monotonic)
    sessions: list[SparkSession] = field(default_factory=list)
    clients: Clients = field(init=False)

    def __post_init__(self) -> None:
        self.clients = Clients(self.settings, self._open_spark)

    def _open_spark(self, settings: Settings) -> SparkSession:
        from frazil.tables.spark.session import open_spark

        self.sessions.append(open_spark(settings))
        return self.sessions[-1]

    def close(self) -> None:
        """Ends its sessions of Spark."""
        for session in self.sessions:
            with suppress(Exception):  # the server may be gone, and the session with it
                session.stop()


class Materializer(threading.Thread):
    """Looks at all topics that are on, again and again.

    Args:
        organization: Says what is on, and is told what was met.
        settings: How Kafka, the registry and Spark are reached.
    """

    def __init__(self, organization: Organization, settings: Settings) -> None:
        super().__init__(daemon=True, name="tableflow")
        self._organization, self._settings = organization, settings
        self._ended = threading.Event()
        self._customers: dict[str, _Customer] = {}

    def run(self) -> None:
        """Goes on until `end`; a fault of one look does not end Tableflow."""
        while not self._ended.wait(self._organization.delays.materialize):
            try:
                self.look()
            except Exception:  # noqa: BLE001
                _log.exception("a look at Tableflow's topics failed")

    def end(self) -> None:
        """Ends it, after the table that it is at work on."""
        self._ended.set()
        if self.is_alive():
            self.join()

    def look(self) -> None:
        """One look at all topics: all tables are there before the first record is landed."""
        with self._organization.lock:
            topics = topics_on(self._organization)
        for step in (_make, _land):
            topics = [topic for topic in topics if self._is_done(step, topic)]

    def _is_done(self, step: _Step, topic: OnTopic) -> bool:
        """Takes a step, and has the API tell what it met."""
        if self._ended.is_set():
            return False
        error = self._met(step, topic)
        if isinstance(error, RetryError | StopError):
            _log.warning("%s: %s", topic.table, error)  # of the stack, not of the customer
            return False
        if error or step is _land:  # made alone, a table is not in step
            with self._organization.lock:
                note(self._organization, topic, error)
        return error is None

    def _met(self, step: _Step, topic: OnTopic) -> Exception | None:
        """What keeps a topic's records from the table, if anything does."""
        try:
            step(topic, self._customer_of(topic).clients)
        except (ClientError, BotoCoreError) as e:  # where the role is taken; the engine explains its own
            role = topic.role["customer_iam_role_arn"]
            return NotAllowedError(f"Tableflow cannot assume role {role}.", where=str(e))
        except Exception as e:  # noqa: BLE001 - the API tells it, as the real one does
            error = explain(e)
            if isinstance(error, ConfigureError) and not isinstance(error, NotAllowedError | MissingError):
                self._forget(topic)  # AWS may not know the keys any more
            return error
        return None

    def _customer_of(self, topic: OnTopic) -> _Customer:
        known = self._customers.get(topic.cluster)
        if known and time.monotonic() - known.since > _KEYS_LIVE:
            self._forget(topic)
        if topic.cluster not in self._customers:
            keys = keys_of_customer(self._organization, topic.role)
            self._customers[topic.cluster] = _Customer(self._as(keys, topic))
        return self._customers[topic.cluster]

    def _forget(self, topic: OnTopic) -> None:
        if known := self._customers.pop(topic.cluster, None):
            known.close()

    def _as(self, keys: Json, topic: OnTopic) -> Settings:
        aws = self._organization.places.aws
        own: dict[str, Any] = {
            "access_key": SecretStr(keys["AccessKeyId"]),
            "secret_key": SecretStr(keys["SecretAccessKey"]),
            "session_token": SecretStr(keys["SessionToken"]),
        }
        glue = {"endpoint": aws, "catalog_id": None, "database": None}
        return self._settings.with_changes(
            cluster=topic.cluster,
            catalog="glue",
            aws={**own, "endpoint": aws},
            s3={"endpoint": aws},
            glue=glue,
        )


def _make(topic: OnTopic, clients: Clients) -> None:
    """Makes the table where Tableflow said that it would be."""
    from frazil.formats.record import decoder_for
    from frazil.landing.schema.tables import ensure_table
    from frazil.tables.catalogs.catalog import catalog_errors

    with catalog_errors(clients.settings):
        if TableHandle(clients.catalog, topic.table).load_or_none() is None:
            columns = decoder_for(topic.spec, clients.registry, {}).columns
            ensure_table(topic.spec, TableHandle(clients.catalog, topic.table), columns, location=topic.place)


def _land(topic: OnTopic, clients: Clients) -> None:
    """Lands what the topic has and the table lacks."""
    from frazil.landing.land import land
    from frazil.landing.many import quiet_tables

    if not any(quiet_tables([topic.spec], clients)):
        land(topic.spec, clients)


_Step = Callable[[OnTopic, Clients], None]
