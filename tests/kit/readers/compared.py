"""Behind each module of tests: rows of the tables that it left against their records, by the other decoder.

Tests look at what they are about. What else landings do to values is seen here: `frazil check T --values N`;
and of tables that have one row per key, whether each row is of the newest record of its key. Suites have it
for all their modules. A module that makes rows wrong by hand has a fixture `compared` of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Protocol

import pytest

from frazil.checks.run import run_values
from frazil.connections import Connections
from frazil.kafka.facts import topic_facts
from frazil.landing.position.ledger import read_ledger
from frazil.settings.profile import Settings
from frazil.spec.names import things
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.metadata.snapshots import ancestors
from kit.readers.newest import newest_places
from kit.stack.shared_stack import shared_home

if TYPE_CHECKING:
    from pyiceberg.table import Table

__all__ = ["note", "rows_are_their_records"]

_EACH = 2
"""Rows of each partition that are compared."""

_MOST = 4
"""Tables of a module, drawn by its name, so that each run has the same ones: each takes half a second."""


class _Made(Protocol):
    """A topic that a test made, and the spec that lands it."""

    @property
    def connections(self) -> Connections: ...

    @property
    def spec(self) -> TableSpec: ...


_LEFT: list[_Made] = []


def note(made: _Made) -> None:
    """Has the rows of a topic's table compared once the module is through."""
    _LEFT.append(made)


@pytest.fixture(scope="module")
def rows_are_their_records(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compares a few rows of each table that a module leaves on the plain stack."""
    _LEFT.clear()
    yield
    left, _LEFT[:] = [*_LEFT], []
    stack = Settings.of_profile(shared_home().profile) if left else Settings()
    whole = [made for made in left if _is_whole(made, stack)]
    drawn = Random(request.node.name).sample(whole, min(len(whole), _MOST))
    found = [run_values(made.spec, made.connections, _EACH) for made in drawn]
    # Where there are no numbers it could not look: a test took a subject away, or suspended the table.
    wrong = [f"{each.table}: {each.text}" for each in found if each.failed and each.numbers]
    wrong += [each for made in drawn if made.spec.is_keyed and (each := _by_key(made))]
    assert not wrong, "\n".join(wrong)


def _by_key(made: _Made) -> str:
    """What is wrong with a table that has one row per key: which records its rows are of."""
    spec, connections = made.spec, made.connections
    name = things(spec, connections.settings).table
    table = TableHandle(connections.catalog, name).load_or_none()
    ledger = read_ledger(table.metadata) if table is not None else None
    columns = ("$$partition", "$$offset")
    plain = spec.on_bad_record == "suspend" and not (spec.key_fields or spec.keeps_deleted or spec.by_lsn)
    if table is None or ledger is None or not plain or spec.keeps_versions or ledger.total_forgotten:
        return ""
    if not {*columns} <= {field.name for field in table.schema().fields} or _is_by_others(table):
        return ""
    wanted = newest_places(connections.settings, spec.topic, ledger.position)
    rows = table.scan(selected_fields=columns).to_arrow().select(columns).to_pylist()
    found = sorted((row["$$partition"], row["$$offset"]) for row in rows)
    if wanted is None or found == sorted(wanted):
        return ""
    return f"{name}: rows of {found}, and the newest records of each key are {sorted(wanted)}"


def _is_by_others(table: Table) -> bool:
    """Whether another engine changed its rows: which ones stay, no record tells."""
    summaries = (s.summary for s in ancestors(table.metadata) if s.summary)
    return any(not any(key.startswith("frazil.") for key in s.additional_properties) for s in summaries)


def _is_whole(made: _Made, stack: Settings) -> bool:
    """Whether its records and its rows are there, behind no gate, and each row is of one record."""
    settings, spec = made.connections.settings, made.spec
    plain = settings.model_copy(update={"spark": stack.spark, "catalog": stack.catalog}) == stack
    if not plain or not topic_facts(made.connections.admin, [spec.topic]):
        return False
    table = TableHandle(made.connections.catalog, things(spec, settings).table).load_or_none()
    return table is not None and read_ledger(table.metadata) is not None
