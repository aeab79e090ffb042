"""`frazil up --secure`: the same work by the profile alone, and nobody gets in without a part's secret.

After a day of work with a secret in every setting, none of them is found in what the day wrote.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from frazil.checks.run import run_checks
from frazil.cli.selection import select
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.derive.derive import derive
from frazil.errors import ConfigureError, FrazilError, PartDownError
from frazil.formats.registry.subjects import subject_versions
from frazil.kafka.facts import topic_fact
from frazil.landing.land import land
from frazil.publishing.targets import targets_of
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.spark.redaction import SECRETS
from frazil.tables.spark.session import open_spark
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from frazil_local.generators import GENERATORS
from frazil_local.generators.generator import generate
from frazil_local.home import Home, secret
from frazil_local.locks import locks_of
from frazil_local.ports import LOOPBACK, recall
from kit.graph.day import IN_ENVIRONMENTS, KEPT, Day, a_day_of_work, events, log_events
from kit.logins.leaks import Search
from kit.logins.planted import MARK, PARTS, plant_parts, planted, secret_settings, secrets_of
from kit.stack.own_stack import Own
from kit.stack.shared_stack import bring_down, bring_up, is_to_stay

TRADES, FLAGGED = "stock_trades", "flagged_stock_trades"
COUNT = 200


@pytest.fixture(scope="module")
def locked(stack_home: Home, by_day: bool) -> Iterator[Own]:
    """A locked stack, in force as any other; it needs none beside it, and by day no Spark of upkeep's."""
    home = Home(stack_home.root.with_name(f"{stack_home.root.name}-locked-secret"))  # Spark hides that word
    stays = is_to_stay(home)
    plant_parts(home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FRAZIL_ALARMS__SLACK", planted("alarms.slack"))  # of whoever starts the stack
        patch.setenv("JAVA_TOOL_OPTIONS", f"{os.environ['JAVA_TOOL_OPTIONS']} {log_events(home)}")
        bring_up(home, locked=True, without=["spark-upkeep"] if by_day else [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FRAZIL_HOME", str(home.root))
        yield Own(home)
    if not stays:
        bring_down(home)


def test_records_are_landed_derived_shown_and_checked_by_the_profile_alone(locked: Own) -> None:
    selection = select([TRADES, FLAGGED], every=False)
    connections = selection.connections
    trades, flagged = selection.specs
    assert isinstance(trades, TableSpec)
    assert isinstance(flagged, DerivedSpec)

    produced = generate(GENERATORS[TRADES], connections.settings, count=COUNT)
    landed = land(trades, connections)
    derived = derive(flagged, connections)
    for spec in selection.specs:
        for target in targets_of(spec, connections.settings):
            target.sync(connections)
    results = run_checks(selection.specs, connections, deep=True)

    assert produced.records == COUNT
    assert landed.records == COUNT
    assert derived.snapshot_id
    assert {r.asset[0] for r in results} == {"iceberg", "glue", "snowflake"}
    assert [(r.check, r.text) for r in results if r.failed] == []


@pytest.mark.nightly
def test_files_are_compacted_by_the_profile_alone(locked: Own) -> None:
    selection = select([TRADES], every=False)
    (trades,) = selection.specs
    assert isinstance(trades, TableSpec)
    for _ in range(2):
        generate(GENERATORS[TRADES], selection.connections.settings, count=COUNT)
        land(trades, selection.connections)

    compacted = compact(trades, selection.connections, time.time(), Order(everything=True))

    assert compacted.done, compacted.text


def ask_kafka(connections: Connections) -> object:
    return topic_fact(connections.admin, "a_topic")


def ask_registry(connections: Connections) -> object:
    return subject_versions(connections.registry, "a_subject")


def ask_catalog(connections: Connections) -> object:
    with catalog_errors(connections.settings):
        return connections.catalog.list_namespaces()


def ask_spark(connections: Connections) -> object:
    return open_spark(connections.settings)


OPEN_KAFKA = {"ca": None, "mechanism": None, "username": None, "password": None}
NO_CLIENT = {"token_url": None, "client_id": None, "client_secret": None}


@pytest.mark.parametrize(
    ("ask", "changes", "error", "expected"),
    [
        pytest.param(  # by day connect/test_kafka_access.py has it, and it waits for five seconds
            ask_kafka, {"kafka": OPEN_KAFKA}, PartDownError, "FRAZIL_KAFKA__TLS", marks=pytest.mark.nightly
        ),
        (ask_kafka, {"kafka": {"password": "wrong"}}, ConfigureError, "FRAZIL_KAFKA__"),
        (ask_kafka, {"kafka": {"ca": None, "tls": True}}, ConfigureError, "certificate verify failed"),
        (ask_registry, {"registry": {"user_info": None}}, ConfigureError, "FRAZIL_REGISTRY__USER_INFO"),
        (ask_registry, {"registry": {"user_info": "frazil:wrong"}}, ConfigureError, "FRAZIL_REGISTRY__"),
        (ask_registry, {"registry": {"ca": None}}, ConfigureError, "FRAZIL_REGISTRY__"),
        (ask_catalog, {"rest": NO_CLIENT}, ConfigureError, "FRAZIL_REST__"),
        (ask_catalog, {"rest": {"client_secret": "wrong"}}, ConfigureError, "FRAZIL_REST__"),
        (ask_catalog, {"rest": {"ca": None}}, ConfigureError, "certificate verify failed"),
        (ask_spark, {"spark": {"token": None}}, ConfigureError, "FRAZIL_SPARK__TOKEN"),
    ],
)
def test_whoever_lacks_a_secret_is_told_which_setting_to_mend(
    locked: Own, ask: Callable[[Connections], object], changes: dict[str, Any],
    error: type[FrazilError], expected: str,
) -> None:  # fmt: skip
    with pytest.raises(error, match=expected) as refusal:
        ask(Clients(locked.settings.with_changes(**changes)))

    assert not [part for part in PARTS if secret(locked.home, part) in str(refusal.value)]


def listening(own: Own) -> set[int]:
    """Every port on which a process of the stack takes connections."""
    sockets = [each for process in own.processes for each in process.net_connections("tcp")]
    return {each.laddr.port for each in sockets if each.status == psutil.CONN_LISTEN}


ASKED = {
    "rest": "/v1/warehouse/namespaces",
    "s3": "/lake?list-type=2",
    "storage-filer": "/buckets/lake/",
}
"""What each would tell those whom it lets in."""

OPEN = {"glue", "snowflake"}
"""Stand-ins of clouds (docs/connect.md)."""


def knock(port: int, path: str) -> int | None:
    """The status of the answer to a request without any secret; None where there is no such answer."""
    visit = http.client.HTTPConnection(LOOPBACK, port, timeout=3)
    try:
        visit.request("GET", path)
        return visit.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        visit.close()


def test_no_port_of_the_stack_lets_in_whoever_knocks(locked: Own) -> None:
    names = {port: name for name, port in recall(locked.home.ports).items()}
    ports = listening(locked)

    statuses = {
        names.get(port, str(port)): knock(port, ASKED.get(names.get(port, ""), "/"))
        for port in ports
        if names.get(port) not in OPEN
    }

    assert {
        "kafka",
        "kafka-controller",
        "registry",
        "catalog",
        "rest",
        "s3",
        "storage-filer",
    } <= statuses.keys()
    assert {name: status for name, status in statuses.items() if status and status < 400} == {}
    assert (statuses["rest"], statuses["s3"]) == (403, 400)


@pytest.mark.parametrize("name", ["kafka", "kafka-controller", "registry", "catalog", "s3"])
def test_who_listens_shows_a_certificate_of_the_stacks_own_authority(locked: Own, name: str) -> None:
    locks = locks_of(locked.home)
    assert locks
    context = ssl.create_default_context(cafile=locks.ca)
    port = recall(locked.home.ports)[name]

    with (
        socket.create_connection((LOOPBACK, port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname=LOOPBACK) as encrypted,
    ):
        assert encrypted.version() == "TLSv1.3"


@pytest.mark.parametrize("role", ["master", "volume", "filer", "admin"])
@pytest.mark.parametrize("kind", ["", "-grpc"])
def test_storages_inner_servers_take_only_who_shows_a_certificate(locked: Own, role: str, kind: str) -> None:
    locks = locks_of(locked.home)
    assert locks
    port = recall(locked.home.ports)[f"storage-{role}{kind}"]
    stranger, known = (ssl.create_default_context(cafile=locks.ca) for _ in range(2))
    known.load_cert_chain(locks.certificate, locks.key)
    for context in (stranger, known):
        context.set_alpn_protocols(["h2" if kind else "http/1.1"])

    assert answers(known, port)
    assert not answers(stranger, port)


def answers(context: ssl.SSLContext, port: int) -> bool:
    """Whether a server says anything after the handshake: by TLS 1.3 it refuses a client only then."""
    with (
        socket.create_connection((LOOPBACK, port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname=LOOPBACK) as encrypted,
    ):
        encrypted.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            return bool(encrypted.recv(1))
        except ssl.SSLError:
            return False


OF_A_DAY = pytest.mark.nightly
"""A day of work takes minutes; cli/test_planted_secrets.py and test_masked_values.py run each time."""


@pytest.fixture(scope="module")
def day(locked: Own, tmp_path_factory: pytest.TempPathFactory) -> Day:
    return a_day_of_work(locked, tmp_path_factory.mktemp("day"))


@pytest.fixture(scope="module")
def search(locked: Own, day: Day) -> Search:
    return Search(secrets_of(locked.home, day.planting))


@OF_A_DAY
def test_every_setting_that_is_a_secret_has_one_on_that_day(day: Day) -> None:
    assert day.planting.settings == secret_settings()
    assert len(day.planting.settings) >= 20


@OF_A_DAY
def test_only_what_nobody_answers_fails_on_that_day(day: Day) -> None:
    failed = {name: day.outputs[name] for name, code in day.codes.items() if code}

    assert list(failed) == [
        "land elsewhere.planted_trades --json",
        "doctor --pipeline elsewhere --json",
        "dagster",
    ]
    assert "causes are open: webhook told" in day.outputs["alarms"]
    findings = json.loads(day.outputs["doctor --json"])["findings"]
    # pytest compiles tests in a way of its own, which looks slow to the doctor of this process.
    assert [f for f in findings if f["status"] == "slow" and f["system"] != "python"] == []


@OF_A_DAY
def test_what_was_said_and_sent_tells_no_secret(day: Day, search: Search) -> None:
    assert search.texts(day.outputs) == {}
    assert search.texts({str(i): text for i, text in enumerate(day.sent)}) == {}


@OF_A_DAY
def test_no_process_list_shows_a_secret(day: Day, search: Search) -> None:
    assert any("weed" in line for line in day.command_lines)
    assert search.texts({line: line for line in day.command_lines}) == {}


def test_no_process_has_a_secret_in_its_environment_but_those_of_its_own(locked: Own) -> None:
    variables = [variable for environment in locked.environments for variable in environment.items()]

    holding = {name for name, value in variables if MARK in value}
    assert holding - IN_ENVIRONMENTS == {name for name in holding if name.startswith("WEED_JWT_")}


@OF_A_DAY
def test_no_file_of_the_stack_holds_a_secret_but_those_made_for_it(locked: Own, search: Search) -> None:
    home = locked.home
    kept = {home.secrets, home.tls, home.profile, *(home.root / name for name in KEPT)}

    logged = {json.loads(line)["Event"] for file in events(home).rglob("events_*") for line in file.open()}
    assert {"SparkListenerJobStart", "SparkListenerStageSubmitted"} <= logged
    assert search.files(home.root, kept) == {}


@OF_A_DAY
def test_no_other_file_holds_one(day: Day, search: Search) -> None:
    assert search.files(day.folder, {day.planting.folder}) == {}


@OF_A_DAY
def test_spark_shows_none_of_a_session(locked: Own, day: Day, search: Search) -> None:
    session = open_spark(locked.settings)

    shown = {row[0]: str(row) for statement in ("SET", "SET -v") for row in session.sql(statement).collect()}
    assert set(SECRETS) & shown.keys()
    assert search.texts(shown) == {}
    assert search.texts(session.conf.getAll) == {}


@OF_A_DAY
def test_no_table_tells_one_wherever_it_is_shown(locked: Own, day: Day, search: Search) -> None:
    connections = Clients(locked.settings)
    names = connections.catalog.list_tables("planted")

    shown = {str(name): connections.catalog.load_table(name).metadata.model_dump_json() for name in names}
    shown["Glue"] = str(connections.glue.get_tables(DatabaseName="planted")["TableList"])
    assert len(shown) == 3
    assert search.texts(shown) == {}


def test_it_says_that_it_is_locked_and_stays_so(locked: Own) -> None:
    status, opened = locked.here("status", "--json"), locked.here("up", "--no-secure")

    assert status.document["locked"] is True
    assert opened.code == 1
    assert "The stack runs, and it is locked." in opened.err
    assert "frazil down" in opened.err
    assert locks_of(locked.home)
    assert Settings.of_profile(locked.home.profile).kafka.protocol == "SASL_SSL"
