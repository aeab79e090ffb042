"""The deployment that comes with Frazil, whole: made, used, proved, changed by nobody, rotated, removed.

By the commands of docs/cloud.md alone, on a stack with clouds, where Tableflow and Flink are played.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
from confluent_kafka import Producer

from frazil.clients import Clients
from frazil.kafka.clients import client_config
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.tables.catalogs.catalog import open_catalog
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.metadata.rows import stored_rows
from frazil_cloud.cli.administrator import find_deployment
from frazil_cloud.confluent.tableflow import sync_problems
from frazil_cloud.deployment import open_clouds, reconciler_of
from frazil_local.home import Home
from frazil_local.parts import known_stack, prepared_stack
from frazil_local.stack import Stack
from kit.clouds.in_clouds import at_aws, done, in_it, settings_in
from kit.clouds.three_clouds import write_deployment
from kit.deployments.key_clients import KeyClients
from kit.deployments.rotations import AT_ONCE
from kit.runs.alone import alone
from kit.runs.shell import Command
from kit.runs.waiting import wait_for
from kit.stack.shared_stack import free_offset

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "cloud.md").read_text()
COMMANDS = [
    shlex.split(line, comments=True)[1:]
    for line in PAGE.partition("## Try all of it")[2].partition("\n## ")[0].splitlines()
    if line.strip().startswith("frazil ")
]
"""What a reader of the docs does."""
PARTS = ("kafka", "registry", "spark", "cloud-aws", "cloud-confluent", "cloud-snowflake")
SHIPPED = ROOT / "assets" / "deployments"
NAME, BUCKET, TRADES = "tableflow_kickstarter", "kickstarter-4711", 2000
TABLES = ("STOCK_TRADES", "STOCK_TRADES_WITH_TOTALS")
SCHEMA = "TABLEFLOW_KICKSTARTER_DATABASE.TABLEFLOW_KICKSTARTER_SCHEMA"
TOTALS = f"SELECT COUNT(*), SUM(total_price - quantity * price) FROM {SCHEMA}.{TABLES[1]}"


@dataclass
class Clock:
    """How long each step took, and how often clients logged in meanwhile; `-s` shows it."""

    took: dict[str, float] = field(default_factory=dict)
    logins: dict[str, int] = field(default_factory=dict)

    def __call__(self, step: str, deed: Callable[[], Any]) -> Any:
        begun = time.monotonic()
        done = deed()
        self.took[step] = round(time.monotonic() - begun, 1)
        return done


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A stack with clouds, of which what this path needs is started."""
    home = Home(tmp_path_factory.mktemp("clouds") / "home")
    with alone(home.root):
        stack = prepared_stack(home, {}, free_offset(), clouds=True)
        stack.up(lambda *_: None, PARTS)
        yield home
        stack.down(lambda *_: None)


@pytest.fixture
def frazil(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """The command of whoever administers the clouds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAZIL_PROFILE", str(home.administrator))
    monkeypatch.setenv("FRAZIL_DEPLOYMENTS", str(SHIPPED))
    monkeypatch.setenv("TABLEFLOW_BUCKET", BUCKET)
    return Command(monkeypatch, capsys)


@contextmanager
def snowflake(environment: dict[str, str]) -> Iterator[Callable[[str], Any]]:
    """Asks Snowflake for a row, as the service user."""
    with Clients(settings_in(environment)).snowflake() as connection:
        yield lambda query: connection.cursor().execute(query).fetchone()


def left_at_aws(home: Home) -> list[str]:
    """Databases of Glue and buckets."""
    databases = at_aws(home, "glue").get_databases()["DatabaseList"]
    return [each["Name"] for each in (*databases, *at_aws(home, "s3").list_buckets()["Buckets"])]


def test_the_shipped_deployment_lives_on_the_stand_ins(
    home: Home, frazil: Command, record_property: Callable[[str, object], None]
) -> None:
    clock = Clock()
    for command in COMMANDS:
        if command[0] == "generate":
            use(home, frazil, command, clock)
        elif command[0] == "rotate":
            rotate(frazil, command, clock)
        elif command[0] != "up":  # the stack is up
            clock(command[command[0] == "deploy"], lambda: done(frazil(*command)))  # noqa: B023
        if command[1] == "create":
            assert done(frazil("deploy", "plan", NAME, "--json")).document["steps"] == []
    assert "Nothing is left of it." in done(frazil(*COMMANDS[-1])).err
    assert left_at_aws(home) == []
    for step, seconds in clock.took.items():
        record_property(step, seconds)
    print("\n" + "\n".join(f"{step}: {seconds} s" for step, seconds in clock.took.items()))
    print("logins:", ", ".join(f"{count} of {who}" for who, count in clock.logins.items()))


def use(home: Home, frazil: Command, command: Sequence[str], clock: Clock) -> None:
    """Datagen's trades are there. A record comes, after Tableflow and Flink were down and up."""
    inside = in_it(frazil, NAME)
    with snowflake(inside) as ask:
        wait_for(lambda: counted(ask) == [TRADES, TRADES])
        restarted(known_stack(home))
        done(frazil(*command, **inside))
        clock("read", lambda: wait_for(lambda: counted(ask) == [TRADES + 1, TRADES + 1]))
        assert ask(TOTALS) == (TRADES + 1, 0)


def rotate(frazil: Command, command: Sequence[str], clock: Clock) -> None:
    """Meanwhile clients of all keys log in again and again: none is refused, and no record is lost."""
    clients = clients_of(Settings.load())
    before = clients.secrets()
    with snowflake(in_it(frazil, NAME)) as ask:
        with clients.at_work() as loads:
            clock("rotate", lambda: done(frazil(*command)))
        after = clients.secrets()
        assert [use for use in before if before[use] == after[use]] == []
        assert {name: load.refused for name, load in loads.items()} == dict.fromkeys(loads, 0)
        clock.logins |= {name: load.served for name, load in loads.items()}
        taken = TRADES + 1 + loads["app_producer by Kafka"].served
        wait_for(lambda: counted(ask) == [taken, taken])
    assert done(frazil("deploy", "plan", NAME, "--json")).document["steps"] == []


def clients_of(settings: Settings) -> KeyClients:
    """Clients of the deployment's keys; who administers it reads their secrets."""
    spec = find_deployment(settings, NAME).spec
    known = reconciler_of(spec, settings).facts()
    return KeyClients(spec, open_clouds(spec, settings), known, AT_ONCE, "stock_trades")


def counted(ask: Callable[[str], Any]) -> list[int]:
    """The rows that Snowflake shows of each table."""
    return [ask(f"SELECT COUNT(*) FROM {SCHEMA}.{table}")[0] for table in TABLES]


def restarted(stack: Stack) -> None:
    """Confluent stops and starts, as with `frazil down` and `frazil up`: Tableflow and Flink go on."""
    stack.down(lambda *_: None, ["cloud-confluent"])
    stack.up(lambda *_: None, ["cloud-confluent"])


LAB: dict[str, Any] = {
    "name": "lab",
    "confluent": {
        "topics": [{"name": "stock_trades"}],
        "connectors": [{"name": "SampleSource", "topic": "stock_trades"}],
        "tableflow": ["stock_trades"],
    },
    "aws": {"bucket": "lab-bucket-4711"},
}
ROLE = "lab_s3_glue_role"


def test_tableflow_meets_a_right_that_lacks_and_a_bad_record_and_is_healed(
    home: Home, frazil: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy(frazil, monkeypatch, tmp_path / "first", LAB)
    inside = in_it(frazil, "lab")
    wait_for(lambda: rows(inside) == TRADES)
    wait_for(lambda: sync_problems(topic_state(home)) == "")

    take_away(home, "glue:UpdateTable")
    done(frazil("generate", "stock_trades", "--count", "1", **inside))
    wait_for(lambda: "glue:UpdateTable" in sync_problems(topic_state(home)))
    assert rows(inside) == TRADES
    done(frazil("deploy", "create", "lab", "--yes"))
    wait_for(lambda: rows(inside) == TRADES + 1)
    wait_for(lambda: sync_problems(topic_state(home)) == "")

    produce_no_avro(settings_in(inside))
    wait_for(lambda: topic_state(home)["spec"]["suspended"])
    drifted = frazil("deploy", "drift", "lab", "--json")
    assert [step["address"] for step in drifted.document["steps"]] == ["confluent/tableflow/stock_trades"]
    skips = {**LAB["confluent"], "tableflow_settings": {"on_bad_record": "skip"}}
    deploy(frazil, monkeypatch, tmp_path / "second", {**LAB, "confluent": skips})
    done(frazil("generate", "stock_trades", "--count", "1", **inside))
    wait_for(lambda: rows(inside) == TRADES + 2)

    asked_of_tableflow(home, "DELETE")
    drifted = frazil("deploy", "drift", "lab", "--json")
    assert [step["address"] for step in drifted.document["steps"]] == ["confluent/tableflow/stock_trades"]
    done(frazil("deploy", "create", "lab", "--yes"))  # beside the files that Tableflow left
    assert done(frazil("deploy", "plan", "lab", "--json")).document["steps"] == []
    done(frazil("deploy", "delete", "lab", "--yes"))
    assert left_at_aws(home) == []


def deploy(
    frazil: Command, monkeypatch: pytest.MonkeyPatch, folder: Path, deployment: dict[str, Any]
) -> None:
    monkeypatch.setenv("FRAZIL_DEPLOYMENTS", str(write_deployment(folder, deployment)))
    done(frazil("deploy", "create", "lab", "--yes"))


def rows(environment: dict[str, str]) -> int:
    """How many Glue's table has; none where there is no such table."""
    settings = settings_in(environment)
    name = TableName(settings.kafka.cluster_id, "stock_trades")
    table = TableHandle(open_catalog(settings), name).load_or_none()
    return stored_rows(table, table.current_snapshot()) if table else 0


def topic_state(home: Home) -> dict[str, Any]:
    """What Tableflow says of the topic."""
    state: dict[str, Any] = asked_of_tableflow(home, "GET").json()
    return state


def asked_of_tableflow(home: Home, method: str) -> requests.Response:
    """The answer of Tableflow about the topic, asked with its own key."""
    secret = at_aws(home, "secretsmanager").get_secret_value(
        SecretId="/confluent_cloud_resource/lab/tableflow"
    )
    values = json.loads(secret["SecretString"])
    where = {"environment": values["environment.id"], "spec.kafka_cluster": values["kafka.cluster.id"]}
    address = Settings.of_profile(home.administrator).confluent.endpoint
    asked = requests.request(
        method, f"{address}/tableflow/v1/tableflow-topics/stock_trades",
        params=where, auth=(values["api.key"], values["api.key.secret"]), timeout=30,
    )  # fmt: skip
    asked.raise_for_status()
    return asked


def take_away(home: Home, right: str) -> None:
    """Takes a right from the writer's role."""
    iam = at_aws(home, "iam")
    (policy,) = iam.list_role_policies(RoleName=ROLE)["PolicyNames"]
    document = iam.get_role_policy(RoleName=ROLE, PolicyName=policy)["PolicyDocument"]
    for statement in document["Statement"]:
        if right in statement["Action"]:
            statement["Action"] = [each for each in statement["Action"] if each != right]
    iam.put_role_policy(RoleName=ROLE, PolicyName=policy, PolicyDocument=json.dumps(document))


def produce_no_avro(settings: Settings) -> None:
    producer = Producer(client_config(settings))
    producer.produce("stock_trades", b"no Avro")
    producer.flush()
