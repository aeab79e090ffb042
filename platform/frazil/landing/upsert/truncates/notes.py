"""The truncates that matter to a landing of versions, and how a table remembers them for late ones.

They stand in a property of the table, each with its topic's id, and are never taken out of it: a rollback may
be taken back. Which of them hold the position tells: those behind it do not, until they are landed again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace

from frazil.landing.position.ledger import Ledger
from frazil.landing.upsert.truncates.truncate import Truncate
from frazil.tables.commits.ledger import read, whole_number

PROPERTY = "frazil.truncates"

Noted = tuple[str, Truncate]
"""The id of a topic, and a truncate that was landed of it."""


@dataclass(frozen=True, slots=True)
class Truncates:
    """Those of a landing, and those that the table had before."""

    new: tuple[Truncate, ...] = ()
    known: tuple[Truncate, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.new or self.known)

    @property
    def since(self) -> int | None:
        """When the first one of the landing was done; versions that ended before stay as they are."""
        return min((t.time for t in self.new), default=None)

    def for_rows_since(self, timestamp: int | None) -> Truncates:
        """The same without known ones that can't be newer than new rows; None: there are no new rows."""
        late = (t for t in self.known if timestamp is not None and timestamp < t.timestamp)
        return replace(self, known=tuple(late))


def known_truncates(properties: Mapping[str, str], ledger: Ledger | None) -> tuple[Truncate, ...]:
    """Those that a table remembers of what its ledger says that it holds.

    Raises:
        PositionLostError: The property can't be read.
    """
    logs = ledger.logs if ledger else ()

    def landed(topic_id: str, truncate: Truncate) -> bool:
        spans = (spans.get(truncate.partition, (0, 0)) for id_, spans in logs if id_ == topic_id)
        return any(start <= truncate.offset < end for start, end in spans)

    return tuple(t for topic_id, t in _noted(properties) if landed(topic_id, t))


def with_truncates(properties: Mapping[str, str], topic_id: str, new: Iterable[Truncate]) -> dict[str, str]:
    """The property with more truncates; each is in it once, however often it is landed."""
    every = dict.fromkeys([*_noted(properties), *((topic_id, t) for t in new)])
    rows = [[id_, *astuple(replace(t, lsn=None))[:-1]] for id_, t in every]
    return {PROPERTY: json.dumps(rows, separators=(",", ":"))}


def _noted(properties: Mapping[str, str]) -> list[Noted]:
    return read(PROPERTY, properties.get(PROPERTY, "[]"), lambda text: list(_parsed(text)))


def _parsed(text: str) -> Iterator[Noted]:
    for topic_id, partition, offset, timestamp, source_time in json.loads(text):
        place = whole_number(partition), whole_number(offset), whole_number(timestamp)
        yield (
            str(topic_id),
            Truncate(*place, None if source_time is None else whole_number(source_time), None),
        )
