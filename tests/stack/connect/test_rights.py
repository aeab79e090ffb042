"""The doctor where a server says no: the right is named with the line that gives it, and nothing stays."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.doctor.probe import Finding, Patient
from frazil.doctor.run import examine
from frazil.errors import NotAllowedError
from frazil.landing.land import land
from frazil.spec.topic import TableSpec
from kit.records.topics import TRADE, topic_maker
from kit.runs.waiting import PATIENCE
from kit.wires.over_the_wire import over_the_wire
from kit.wires.wire import Asked, Wire, commits, puts, wired


@pytest.fixture(scope="module")
def wire_and_clients(connections: Connections) -> Iterator[tuple[Wire, Connections]]:
    with over_the_wire(connections.settings) as (wire, clients):
        yield wire, clients


Examined = Callable[..., Finding]
"""What is missing of a system, on a catalog, while some requests are forbidden."""


@pytest.fixture
def examined(wire_and_clients: tuple[Wire, Connections], fresh_name: str) -> Iterator[Examined]:
    wire, clients = wire_and_clients
    spec = TableSpec(topic=fresh_name, namespace=fresh_name)

    def examined(system: str, forbidden: Callable[[Asked], bool], catalog: str = "rest") -> Finding:
        asking = Clients(clients.settings.with_changes(catalog=catalog))
        wire.always("forbidden", forbidden)
        findings = examine(Patient([spec], asking), (system,), PATIENCE)
        (missing,) = [finding for finding in findings if not finding.fine]
        wire.calm()
        assert asking.catalog.list_tables(fresh_name) == []
        return missing

    yield examined
    wire.calm()


def of_java(asked: Asked) -> bool:
    return puts(asked) and "java" in asked.agent.lower()


def statement(mend: str) -> dict[str, Any]:
    allowed: dict[str, Any] = json.loads(mend[mend.index("{") :])
    return allowed


def test_commits_that_the_catalog_does_not_allow(examined: Examined) -> None:
    missing = examined("catalog", commits)

    assert (missing.right, missing.status) == ("make a table", "missing")
    assert "does not allow it" in missing.what
    assert "create, read, write and drop tables" in missing.mend


def test_a_landing_that_the_catalog_does_not_allow_is_whole_once_the_right_is_there(
    wire_and_clients: tuple[Wire, Connections], fresh_name: str
) -> None:
    """The embedded catalog has no rights to give: what forbids and allows here is a wire before it."""
    wire, clients = wire_and_clients
    topic = topic_maker(clients, fresh_name, "connect_tests")()
    topic.trades(3)
    land(topic.spec, clients)
    topic.trades(4)
    wire.always("forbidden", commits)
    with pytest.raises(NotAllowedError, match="The Iceberg catalog does not allow it") as raised:
        land(topic.spec, clients)
    wire.calm()  # what `todo` says
    assert "create, read, write and drop tables and namespaces there" in raised.value.todo
    assert len(topic.rows()) == 3

    assert land(topic.spec, clients).records == 4
    assert [row["quantity"] for row in topic.rows()] == list(range(7))


# Of Glue: the stack's REST catalog tells clients where S3 is, past the wire.
def test_files_that_storage_does_not_take_from_frazil(examined: Examined) -> None:
    missing = examined("catalog", puts, "glue")

    assert missing.status == "missing"
    assert statement(missing.mend)["Action"] == "s3:PutObject"
    assert statement(missing.mend)["Resource"].startswith("arn:aws:s3:::")


@pytest.mark.parametrize("operation", ["CreateTable", "UpdateTable"])
def test_commits_that_glue_does_not_allow(examined: Examined, operation: str) -> None:
    missing = examined("catalog", lambda asked: asked.operation == operation, "glue")

    assert (missing.right, missing.status) == ("make a table", "missing")
    assert statement(missing.mend)["Action"] == f"glue:{operation}"


def test_files_that_storage_does_not_take_from_spark(examined: Examined) -> None:
    missing = examined("spark", of_java, "glue")

    assert (missing.right, missing.status) == ("write and read it", "missing")
    assert "gives Spark no access" in missing.what
    assert "give that identity" in missing.mend


@contextmanager
def registry_that_forbids(connections: Connections, method: str) -> Iterator[Clients]:
    def forbids(asked: Asked) -> Any:
        return "forbidden" if asked.method == method else None

    with wired({"registry": connections.settings.registry.url}, forbids) as (_, urls):
        address = urls["registry"] + "/apis/ccompat/v7"
        yield Clients(connections.settings.with_changes(registry={"url": address}))


@pytest.mark.parametrize(("method", "right"), [("GET", "read"), ("POST", "write")])
def test_subjects_that_the_registry_keeps_to_itself(
    connections: Connections, fresh_name: str, tmp_path: Path, method: str, right: str
) -> None:
    file = tmp_path / "trade.avsc"
    file.write_text(json.dumps(TRADE))
    spec = TableSpec(topic=fresh_name, key_format="none", value_schema=file if right == "write" else None)

    with registry_that_forbids(connections, method) as clients:
        (missing,) = examine(Patient([spec], clients), ("registry",))

    assert (missing.status, missing.of) == ("missing", f"{fresh_name}-value")
    assert f"the right to {right} subject {fresh_name}-value" in missing.mend


def test_asking_for_the_right_to_register_registers_nothing(
    connections: Connections, fresh_name: str, tmp_path: Path
) -> None:
    file = tmp_path / "trade.avsc"
    file.write_text(json.dumps(TRADE))
    spec = TableSpec(topic=fresh_name, key_format="none", value_schema=file)

    (finding,) = examine(Patient([spec], connections), ("registry",))

    assert (finding.right, finding.status) == ("register the subject", "ok")
    assert f"{fresh_name}-value" not in connections.registry.get_subjects()
