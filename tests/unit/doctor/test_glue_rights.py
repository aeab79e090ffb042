"""Rights at Glue are asked for of an entry that is not there; each that is missing comes with a statement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from frazil.clients import Clients
from frazil.doctor import glue
from frazil.doctor.probe import Finding, Patient
from frazil.doctor.run import findings_of
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from kit.wires.wire import Wire

RIGHTS = ["find the database", "get an entry", "update an entry", "make an entry", "read the table's entry"]
OF_AN_ENTRY = {
    "GetTable": "get an entry", "UpdateTable": "update an entry", "CreateTable": "make an entry",
}  # fmt: skip


@pytest.fixture
def clients(wire_and_url: tuple[Wire, str], tmp_path: Path) -> Clients:
    keys = {"access_key": "key", "secret_key": "secret"}
    return Clients(Settings(glue={"endpoint": wire_and_url[1], "database": tmp_path.name}, aws=keys))


def examined(clients: Clients) -> dict[str, Finding]:
    patient = Patient([TableSpec(topic="orders", publish=("glue",))], clients)
    return {finding.right: finding for finding in findings_of("glue", glue.probes(patient))}


def test_a_database_that_is_not_there_yet_is_no_failure(clients: Clients, wire: Wire) -> None:
    findings = examined(clients)

    assert list(findings) == RIGHTS
    assert findings["find the database"].status == "unproven"
    assert "glue:CreateDatabase" in findings["find the database"].mend


def test_nothing_is_left_of_what_was_asked_for(clients: Clients, wire: Wire, tmp_path: Path) -> None:
    clients.glue.create_database(DatabaseInput={"Name": tmp_path.name})

    findings = examined(clients)

    assert {f.status for f in findings.values()} == {"ok"}
    assert clients.glue.get_tables(DatabaseName=tmp_path.name)["TableList"] == []


@pytest.mark.parametrize("operation", OF_AN_ENTRY)
def test_a_right_that_is_missing_comes_with_its_statement(
    clients: Clients, wire: Wire, tmp_path: Path, operation: str
) -> None:
    clients.glue.create_database(DatabaseInput={"Name": tmp_path.name})
    wire.always("forbidden", lambda asked: asked.operation == operation)

    finding = examined(clients)[OF_AN_ENTRY[operation]]

    assert finding.status == "missing"
    assert json.loads(finding.mend[finding.mend.index("{") :])["Action"] == f"glue:{operation}"


def test_an_entry_that_could_not_be_deleted_is_not_made(clients: Clients, wire: Wire, tmp_path: Path) -> None:
    clients.glue.create_database(DatabaseInput={"Name": tmp_path.name})
    wire.always("forbidden", lambda asked: asked.operation == "DeleteTable")

    finding = examined(clients)["make an entry"]

    assert finding.status == "unproven"
    assert clients.glue.get_tables(DatabaseName=tmp_path.name)["TableList"] == []


def test_a_glue_that_is_down_is_asked_once(clients: Clients, wire: Wire) -> None:
    wire.always("refused", lambda _: True)

    findings = examined(clients)

    assert [(f.right, f.status) for f in findings.values()] == [("find the database", "down")]
