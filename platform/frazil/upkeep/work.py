"""Kinds of upkeep: what is due, what was done, and where a table remembers it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from frazil.spec.table import AnyTable

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

__all__ = ["KINDS", "Kind", "LastWork", "Number", "Work", "WorkReport", "last_work", "remembered"]

Kind = Literal["compaction", "expiry", "orphans", "row_expiry"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Number = int | float
_PREFIX = "frazil.upkeep."


@dataclass(frozen=True, slots=True)
class Work:
    """One kind of upkeep that one table needs.

    Args:
        kind: What is to be done.
        spec: The table's spec.
        table: Its identifier, namespace.name.
        reason: Why, in a sentence with the numbers behind it.
        numbers: The same numbers, to be plotted.
    """

    kind: Kind
    spec: AnyTable
    table: str
    reason: str
    numbers: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorkReport:
    """What one run of upkeep did to one table.

    Args:
        table: Its identifier.
        kind: Which work.
        done: Whether anything was changed, or, on a dry run, would be.
        text: What was done and what it gained, or why nothing was: a sentence with numbers.
        snapshot_id: The snapshot that the work made on `main`, if it made one.
        numbers: Files and bytes before and after, and what else counts.
        conflicts: How often it was tried again on a new head.
        dry_run: Whether nothing was touched.
        seconds: How long it took.
    """

    table: str
    kind: Kind
    done: bool
    text: str
    snapshot_id: int | None = None
    numbers: Mapping[str, Number] = field(default_factory=dict)
    conflicts: int = 0
    dry_run: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class LastWork:
    """What a table remembers of its last work of one kind.

    Args:
        at: When it ended, in seconds since the epoch.
        text: What it did.
        snapshot_id: The head of `main` when it ended; the table is quiet while that is still the head.
    """

    at: float
    text: str
    snapshot_id: int | None


def last_work(metadata: TableMetadata, kind: Kind) -> LastWork | None:
    """The table's memory of a kind of work, from its properties; None where it has none."""
    text = metadata.properties.get(_PREFIX + kind)
    return LastWork(**json.loads(text)) if text else None


def remembered(kind: Kind, last: LastWork) -> dict[str, str]:
    """The same as table properties, to be set when the work is done."""
    known = {"at": round(last.at, 3), "text": last.text, "snapshot_id": last.snapshot_id}
    return {_PREFIX + kind: json.dumps(known)}
