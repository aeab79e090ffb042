"""Behind each module of tests: the tables that it left beside their topics, by the verifier.

Tests look at what they are about. What else landings do is seen here: the verifier shares no code with them.
Suites have it for all their modules, that of upkeep for those that move rows. A module that makes rows wrong
by hand has a fixture `compared` of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Protocol

import pytest

from frazil.checks.result import Subject
from frazil.checks.verification import request, unknown
from frazil.connections import Connections
from frazil.errors import MissingError
from frazil.kafka.facts import topic_facts
from frazil.landing.position.ledger import read_ledger
from frazil.settings.profile import Settings
from frazil.spec.names import things
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.metadata.snapshots import ancestors
from frazil_verify.findings import UnverifiableError
from frazil_verify.request import Request
from frazil_verify.values.bad import NotComparedError
from frazil_verify.verification import Verification
from kit.stack.shared_stack import shared_home

if TYPE_CHECKING:
    from pyiceberg.table import Table

__all__ = ["note", "rows_are_their_records"]

_MOST = int(os.environ.get("FRAZIL_TEST_COMPARED", "2"))
"""Tables of a module, drawn by its name, so that each run has the same ones, and the night two more: each
takes half a second."""


class _Made(Protocol):
    """A topic that a test made, and the spec that lands it."""

    @property
    def connections(self) -> Connections: ...

    @property
    def spec(self) -> TableSpec: ...


_LEFT: list[tuple[str, _Made]] = []
"""What tests made, and the id of the test."""


def note(made: _Made) -> None:
    """Has the rows of a topic's table compared once the module is through; nothing outside of tests."""
    if test := os.environ.get("PYTEST_CURRENT_TEST"):
        _LEFT.append((test.partition(" ")[0].partition("[")[0], made))


@pytest.fixture(scope="module")
def rows_are_their_records(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Verifies some of the tables that a module leaves on the plain stack."""
    _LEFT.clear()
    yield
    left, _LEFT[:] = list(_LEFT), []
    stack = Settings.of_profile(shared_home().profile) if left else Settings()
    whole = [(test, made) for test, made in left if _is_whole(made, stack)]
    drawn = Random(request.node.name).sample(whole, min(len(whole), _MOST))
    verdicts = ((test, _disagreement(made, tmp_path_factory.mktemp("verified"))) for test, made in drawn)
    wrong = [f"{test}\t{text}" for test, text in verdicts if text]
    assert not wrong, "\n".join(wrong)


def _disagreement(made: _Made, folder: Path) -> str:
    """What the verifier says against a table; nothing where it can't say anything."""
    subject = Subject(made.spec, things(made.spec, made.connections.settings), made.connections)
    if unknown(made.spec, made.connections.settings):
        return ""
    try:
        report = Verification.of(Request.model_validate(request(subject)), folder / "entries").report()
    except (UnverifiableError, MissingError) as e:  # a test took the topic, or a subject, away
        return f"a record can't be read: {e.__cause__}" if isinstance(e.__cause__, NotComparedError) else ""
    except Exception as e:  # noqa: BLE001 - it is what the verifier says of this table
        return f"{type(e).__name__}: {e}"
    return "" if report.is_sound else f"{subject.things.table}: {dict(report.counts)} {report.samples[:3]}"


def _is_by_others(table: Table) -> bool:
    """Whether another engine changed its rows: which ones stay, no record tells."""
    summaries = (s.summary for s in ancestors(table.metadata) if s.summary)
    return any(not any(key.startswith("frazil.") for key in s.additional_properties) for s in summaries)


def _is_whole(made: _Made, stack: Settings) -> bool:
    """Whether its records and its rows are there, behind no gate, and each row is of one record."""
    settings, spec = made.connections.settings, made.spec
    parts = ("spark", "catalog", "registry")  # of which a module may have its own
    plain = settings.model_copy(update={part: getattr(stack, part) for part in parts}) == stack
    if not plain or not topic_facts(made.connections.admin, [spec.topic]):
        return False
    table = TableHandle(made.connections.catalog, things(spec, settings).table).load_or_none()
    if table is None or _is_by_others(table):
        return False
    ledger = read_ledger(table.metadata)
    return ledger is not None and not (ledger.total_forgotten or ledger.total_redriven)
