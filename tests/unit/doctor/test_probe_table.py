"""The doctor's own table is gone when it is done, whatever the catalog said in between."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pytest
from pyiceberg.exceptions import ForbiddenError

from frazil.clients import Clients
from frazil.doctor import catalog
from frazil.doctor.probe import Finding, Patient
from frazil.doctor.run import findings_of
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from kit.wires.lying import LOST, LyingCatalog

STEPS = ["list the tables", "make a table", "write to it", "read from it", "delete a file of it", "drop it"]


class Lake(Clients):
    """An environment whose catalog is in this process, and says what it is told to."""

    def __init__(self, warehouse: Path) -> None:
        super().__init__(Settings())
        self.warehouse = warehouse

    @cached_property
    def catalog(self) -> LyingCatalog:
        return LyingCatalog(self.warehouse)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    lake = Lake(tmp_path / "warehouse")
    yield lake
    lake.catalog.close()


def examined(lake: Lake) -> list[Finding]:
    patient = Patient([TableSpec(topic="orders", namespace="shop")], lake)
    return list(findings_of("catalog", catalog.probes(patient)))


def left(lake: Lake) -> list[Path]:
    """Files of the doctor's tables, and their entries."""
    assert lake.catalog.list_tables("shop") == []
    return [path for path in lake.warehouse.rglob("*") if path.is_file()]


def test_a_table_is_made_filled_read_and_dropped(lake: Lake) -> None:
    findings = examined(lake)

    assert [f.right for f in findings] == STEPS
    assert {(f.status, f.of) for f in findings} == {("ok", "namespace shop")}
    assert left(lake) == []


@pytest.mark.parametrize("lie", LOST)
def test_answers_that_are_lost_leave_nothing_behind(lake: Lake, lie: str) -> None:
    lake.catalog.lies += [LOST[lie], LOST[lie], LOST[lie]]  # of the table, of its head, and of the row

    findings = examined(lake)

    assert [f.status for f in findings] == ["ok"] * len(STEPS)
    assert left(lake) == []


def test_a_right_that_is_missing_is_named_and_the_table_goes(lake: Lake) -> None:
    def forbid(send: object, commit: bool) -> None:
        raise ForbiddenError("no commits for you")

    lake.catalog.lies += [lambda send, commit: send(), forbid]

    findings = examined(lake)

    assert [(f.right, f.status) for f in findings] == [
        ("list the tables", "ok"),
        ("make a table", "missing"),
        ("drop it", "ok"),
    ]
    assert "no commits for you" in findings[1].what
    assert findings[1].mend.startswith("Let the identity of FRAZIL_AWS__... and")
    assert left(lake) == []


def test_what_a_doctor_left_that_was_killed_goes_an_hour_later(lake: Lake) -> None:
    for age in (7200, 60):
        killed = catalog.ProbeTable(lake, "shop")
        killed.name = TableName("shop", f"frazil_doctor_{int(time.time()) - age}_abcd")
        killed.make()

    examined(lake)

    assert lake.catalog.list_tables("shop") == [killed.name.identifier]
