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

import boto3
import pytest

from frazil.clients import Clients
from frazil.local.home import Home
from frazil.local.parts import known_stack, prepared_stack
from frazil.local.stack import Stack
from frazil.settings.profile import Settings
from kit.alone import alone
from kit.shared_stack import free_offset
from kit.shell import Command, Said
from kit.waiting import wait_for

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
MANAGER = f"/confluent_cloud_resource/{NAME}/kafka_cluster/app_manager/python_client"
TABLES = ("STOCK_TRADES", "STOCK_TRADES_WITH_TOTALS")
SCHEMA = "TABLEFLOW_KICKSTARTER_DATABASE.TABLEFLOW_KICKSTARTER_SCHEMA"
TOTALS = f"SELECT COUNT(*), SUM(total_price - quantity * price) FROM {SCHEMA}.{TABLES[1]}"


@dataclass
class Clock:
    """How long each step took; `-s` shows it."""

    took: dict[str, float] = field(default_factory=dict)

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


def done(said: Said) -> Said:
    assert said.code == 0, said.err
    return said


def in_it(frazil: Command) -> dict[str, str]:
    """`eval "$(frazil env --deployment tableflow_kickstarter)"`."""
    told = {}
    for line in done(frazil("env", "--deployment", NAME)).out.splitlines():
        name, _, value = line.removeprefix("export ").partition("=")
        told[name] = "".join(shlex.split(value))
    return told


def as_manager() -> dict[str, str]:
    """The key of the manager's account, which may write: consumers may not."""
    return {
        "FRAZIL_KAFKA__USERNAME": f"aws-secret:{MANAGER}#sasl.username",
        "FRAZIL_KAFKA__PASSWORD": f"aws-secret:{MANAGER}#sasl.password",
    }


@contextmanager
def snowflake(environment: dict[str, str]) -> Iterator[Callable[[str], Any]]:
    """Asks Snowflake for a row, as the service user."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        settings = Settings.load()
    with Clients(settings).snowflake() as connection:
        yield lambda query: connection.cursor().execute(query).fetchone()


def left_at_aws(home: Home) -> list[str]:
    """Databases of Glue and buckets."""
    told = json.loads(home.administrator.read_text())["aws"]
    keys = {"aws_access_key_id": told["access_key"], "aws_secret_access_key": told["secret_key"]}
    clients = [
        boto3.client(each, endpoint_url=told["endpoint"], region_name="us-east-1", **keys)
        for each in ("glue", "s3")
    ]
    databases, buckets = clients[0].get_databases()["DatabaseList"], clients[1].list_buckets()["Buckets"]
    return [each["Name"] for each in (*databases, *buckets)]


def test_the_shipped_deployment_lives_on_the_stand_ins(
    home: Home, frazil: Command, record_property: Callable[[str, object], None]
) -> None:
    clock = Clock()
    for command in COMMANDS:
        if command[0] == "generate":
            use(home, frazil, command, clock)
        elif command[0] != "up":  # the stack is up
            clock(command[command[0] == "deploy"], lambda: done(frazil(*command)))  # noqa: B023
        if command[1] == "create":
            assert done(frazil("deploy", "plan", NAME, "--json")).document["steps"] == []
    assert "Nothing is left of it." in done(frazil(*COMMANDS[-1])).err
    assert left_at_aws(home) == []
    for step, seconds in clock.took.items():
        record_property(step, seconds)
    print("\n" + "\n".join(f"{step}: {seconds} s" for step, seconds in clock.took.items()))


def use(home: Home, frazil: Command, command: Sequence[str], clock: Clock) -> None:
    """Datagen's trades are there. A record comes, after Tableflow and Flink were down and up."""
    inside = in_it(frazil)
    with snowflake(inside) as ask:

        def counted() -> list[int]:
            return [ask(f"SELECT COUNT(*) FROM {SCHEMA}.{table}")[0] for table in TABLES]

        wait_for(lambda: counted() == [TRADES, TRADES])
        restarted(known_stack(home))
        done(frazil(*command, **{**inside, **as_manager()}))
        clock("read", lambda: wait_for(lambda: counted() == [TRADES + 1, TRADES + 1]))
        assert ask(TOTALS) == (TRADES + 1, 0)


def restarted(stack: Stack) -> None:
    """Confluent stops and starts, as with `frazil down` and `frazil up`: Tableflow and Flink go on."""
    stack.down(lambda *_: None, ["cloud-confluent"])
    stack.up(lambda *_: None, ["cloud-confluent"])
