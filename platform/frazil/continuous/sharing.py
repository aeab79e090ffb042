"""Which of several runners lands a table. Kafka's group protocol says who is there, a hash whose it is.

Runners that are started with the same tables join one group of Kafka's, in which nobody reads and nothing is
committed. A table is that member's whose name and the table's hash highest (rendezvous hashing, Thaler and
Ravishankar 1998), so that only the tables of who comes or goes move. No table depends on it: what two land
at once, one commits.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from frazil.continuous.progress import Progress, Say
from frazil.errors import FrazilError
from frazil.kafka.clients import admin_client, asked, consumer
from frazil.settings.profile import Settings
from frazil.spec.names import things
from frazil.spec.topic import TableSpec

_SESSION_MS = 10_000
"""After which Kafka takes a runner for dead that it does not hear of."""

_ASKS_EVERY = 2.0
_ANSWERS_WITHIN = 5.0

_PATIENCE = 15.0
"""Seconds for which a runner goes by what it knew last, where Kafka does not list it as a member."""

_NAMED = 20
"""Topics by which runners join: one that is there is enough."""


def owner_of(table: str, members: Iterable[str]) -> str:
    """The member whose the table is."""
    return max(members, key=lambda member: blake2b(f"{member}\0{table}".encode()).digest())


class Sharing:
    """A runner among others.

    Args:
        topics: Those of all runners of the group: who has others is in another group, and lands on its own.
        settings: Whose Kafka they meet in.
    """

    def __init__(self, topics: Sequence[TableSpec], settings: Settings, say: Say) -> None:
        tables = sorted(str(things(spec, settings).table) for spec in topics)
        digest = blake2b("\0".join(tables).encode(), digest_size=6).hexdigest()
        self.group = f"{settings.kafka.group}-run-{digest}"
        self._settings, self._say = settings, say
        self._members: tuple[str, ...] = ()
        self._listed_at, self._asked_at = time.monotonic(), 0.0
        self._reported = ""
        self._admin = admin_client(settings)
        joins: dict[str, str | int | bool] = {"group.id": self.group, "session.timeout.ms": _SESSION_MS}
        self._client = consumer(settings, **joins)
        named = sorted({spec.topic for spec in topics})[:_NAMED]
        self._client.subscribe(named, on_assign=_read_nothing)

    def own(self, specs: Sequence[TableSpec]) -> Sequence[TableSpec]:
        """Those that this runner lands now; all where nobody knows of others."""
        self._client.poll(0)  # joins, and is heard of
        if time.monotonic() - self._asked_at >= _ASKS_EVERY:
            self._ask(len(specs))
        if not self._members:
            return specs if self._is_alone else ()
        me = self._client.memberid()
        return [s for s in specs if owner_of(str(things(s, self._settings).table), self._members) == me]

    def close(self) -> None:
        """Leaves, so that others take over at once."""
        self._client.close()

    @property
    def _is_alone(self) -> bool:
        """Whether nobody has listed this runner for so long that it lands what it can."""
        return time.monotonic() - self._listed_at >= _PATIENCE

    def _ask(self, tables: int) -> None:
        self._asked_at = time.monotonic()
        why = ""
        try:
            members = self._listed()
        except FrazilError as e:
            members, why = (), f" ({e.what})"
        if self._client.memberid() in members:
            self._members, self._listed_at = members, time.monotonic()
        elif self._is_alone:
            self._members = ()
        else:
            return
        self._tell(tables, why)

    def _tell(self, tables: int, why: str) -> None:
        """Tells how many there are, when that is news."""
        count = len(self._members)
        alone = f"Kafka does not list this runner{why}: it lands all {tables} tables, as others may do."
        text = f"Runners that share {tables} tables: {count}." if count else alone
        if text != self._reported:
            self._say(Progress("shares", "", text, {"runners": count, "group": self.group}))
        self._reported = text

    def _listed(self) -> tuple[str, ...]:
        def ask() -> Any:
            answers = self._admin.describe_consumer_groups([self.group], request_timeout=_ANSWERS_WITHIN)
            return answers[self.group].result()

        return tuple(sorted(member.member_id for member in asked(self.group, self._admin, ask).members))


def _read_nothing(client: Consumer, _: list[TopicPartition]) -> None:
    """A member without partitions stays a member."""
    client.assign([])
