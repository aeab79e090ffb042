"""The rows that records make, by the columns that the table had when they were landed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from confluent_kafka import Message

from frazil_verify.entries import BAD, GOOD, LARGE, Made
from frazil_verify.expected import Expected
from frazil_verify.ledger import Eras
from frazil_verify.table.names import Names


@dataclass(frozen=True)
class Readings:
    """What records make now, and what they made on the day.

    Args:
        expected: By the columns of today.
        eras: Which schema the table had when.
        names: The names of the columns by schema.
        repaired: Whether rows may have come later than the landing of their offsets.
    """

    expected: Expected
    eras: Eras
    names: Mapping[int, Names]
    repaired: bool

    def __call__(self, message: Message) -> tuple[Made, Made]:
        """What a record makes: two rows that are both right, which are the same but for old records.

        Where a kept snapshot landed it under other names, and nothing brought rows later, these names count
        alone: by those of today a value that the renaming lost would be none.
        """
        now = self.expected(message)
        if now.kind not in (GOOD, BAD, LARGE) or self._is_one_way:
            return now, now
        schema, is_known = self.eras.schema_at(message.partition() or 0, message.offset() or 0)
        ways = self._ways[schema]
        is_exact = is_known and not self.repaired and any(way.then for way in ways)
        then = [way(message) for way in ways]
        right = [made for made in (then if is_exact else [now, *then]) if made.row]
        return (right[0], right[-1]) if right else (now, now)

    @cached_property
    def _is_one_way(self) -> bool:
        return not any(self._ways.values())

    @cached_property
    def _ways(self) -> dict[int, tuple[Expected, ...]]:
        return {number: self.expected.as_of(names) for number, names in self.names.items()}
