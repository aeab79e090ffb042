"""A real PostgreSQL and a real Debezium, in a stack of their own that is started `--with northwind`."""

from __future__ import annotations

import urllib.error
from collections.abc import Iterator

import psutil
import pytest

from frazil.kafka.clients import admin_client
from frazil.kafka.facts import topic_facts
from frazil.local.home import Home, secret
from frazil.local.northwind.connect import connector_states
from frazil.local.northwind.database import DATABASE
from frazil.local.northwind.postgres import open_database
from frazil.local.northwind.rows import COUNTS
from frazil.local.ports import LOOPBACK, recall, url
from frazil.local.server import get
from kit.own_stack import Own
from kit.processes import kill
from kit.shared_stack import free_offset
from kit.waiting import wait_for

PARTS = ("kafka", "postgres", "connect")
ONLY = [word for part in PARTS for word in ("--only", part)]


@pytest.fixture(scope="module")
def own(stack_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    """The parts that a database's changes pass through."""
    own = Own(Home(tmp_path_factory.mktemp("northwind")))
    try:
        own.up("--with", "northwind", "--port-offset", str(free_offset()), *ONLY)
        yield own
    finally:
        own.frazil("down", "--wipe")


def sent(own: Own) -> dict[str, int]:
    """Records by table: those that Debezium sent."""
    names = [f"{DATABASE}.public.{table}" for table in COUNTS]
    facts = topic_facts(admin_client(own.settings), names)
    return {name.rpartition(".")[2]: sum(found.end.values()) for name, found in facts.items()}


def test_the_parts_come_up_and_send_the_rows_that_are_there(own: Own) -> None:
    assert {part: own.parts[part]["state"] for part in PARTS} == dict.fromkeys(PARTS, "up")

    wait_for(lambda: sent(own) == {table: count for table, count in COUNTS.items() if count})


def test_nobody_gets_in_without_the_password_and_nobody_reads_it(own: Own) -> None:
    ports = recall(own.home.ports)
    listening = [
        each.laddr.ip
        for process in own.processes
        for each in process.net_connections("inet")
        if each.status == psutil.CONN_LISTEN
    ]
    keys = [secret(own.home, part) for part in ("postgres", "connect")]
    told = [*own.commands, *(log.read_text(errors="replace") for log in own.home.logs.iterdir())]

    assert set(listening) <= {LOOPBACK, f"::ffff:{LOOPBACK}"}
    assert not [key for key in keys for text in told if key in text]
    with pytest.raises(urllib.error.HTTPError, match="401"):
        get(f"{url(ports, 'connect')}/connectors")


def test_after_a_crash_of_both_what_changed_meanwhile_is_sent(own: Own) -> None:
    ports = recall(own.home.ports)
    before = sent(own)["shippers"]
    kill([psutil.Process(own.pids["connect"])])
    with open_database(own.home, ports, DATABASE) as connection:
        connection.execute("UPDATE shippers SET phone = '1' WHERE shipper_id = 1")
    kill(each for each in own.processes if each.name() == "postgres")
    assert own.parts["postgres"]["state"] == "dead"

    own.up(*ONLY)

    assert connector_states(own.home, ports, DATABASE) == ["RUNNING", "RUNNING"]
    wait_for(lambda: sent(own)["shippers"] > before)
