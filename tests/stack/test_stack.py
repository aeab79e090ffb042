"""A stack of its own beside the tests' shared one: started, looked at, crashed, stopped, wiped.

The tests build on each other's stack, in the order of the file; the last ones take it down.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.settings.profile import Settings
from frazil_local.home import Home
from frazil_local.ports import LOOPBACK
from kit.runs.processes import is_up, kill
from kit.runs.waiting import PATIENCE
from kit.stack.everywhere import read_everywhere, write_everywhere, written
from kit.stack.own_stack import FRAZIL, Own
from kit.stack.shared_stack import bring_down, free_offset

KEEPERS = ("storage", "aws", "kafka", "registry", "snowflake")
"""The parts that hold data."""
PARTS = {*KEEPERS, "spark", "spark-upkeep"}


@pytest.fixture(scope="module")
def offset() -> int:
    return free_offset()


@pytest.fixture(scope="module")
def own(stack: Settings, tmp_path_factory: pytest.TempPathFactory, offset: int) -> Iterator[Own]:
    """A second stack, beside the one that all tests share."""
    own = Own(Home(tmp_path_factory.mktemp("frazil home")))
    try:
        own.up("--port-offset", str(offset))
        yield own
    finally:
        bring_down(own.home)


@pytest.fixture
def unstarted(stack_home: Home, tmp_path: Path) -> Iterator[Own]:
    own = Own(Home(tmp_path / "home"))
    yield own
    bring_down(own.home)


@dataclass(frozen=True, slots=True)
class Answers:
    """What commands of the stack said, each asked once: it takes seconds to start one."""

    status: int
    env: dict[str, Any]
    folder: Path
    """An empty one, in which they were run."""


@pytest.fixture(scope="module")
def answers(own: Own, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    folder = tmp_path_factory.mktemp("empty")
    status, env = (
        subprocess.run(
            [FRAZIL, *words], env=own.environment, cwd=folder, check=False, capture_output=True, text=True
        )
        for words in (["status"], ["env", "--json"])
    )
    return Answers(status.returncode, json.loads(env.stdout), folder)


def test_every_part_is_up_after_the_first_start(own: Own, answers: Answers) -> None:
    assert {name: part.state for name, part in own.parts.items()} == dict.fromkeys(PARTS, "up")
    assert answers.status == 0


@pytest.mark.nightly  # by day two starts at once find it running
def test_a_second_start_finds_it_running(own: Own) -> None:
    before = own.pids

    own.up()

    assert own.pids == before


def test_two_starts_at_once_do_not_fight(own: Own) -> None:
    before = own.pids

    with ThreadPoolExecutor(2) as threads:
        codes = [result.returncode for result in threads.map(own.frazil, ["up", "up"])]

    assert codes == [0, 0]
    assert own.pids == before


def test_nothing_listens_beyond_loopback(own: Own) -> None:
    sockets = [each for process in own.processes for each in process.net_connections("inet")]
    listening = {each.laddr.ip for each in sockets if each.status == psutil.CONN_LISTEN}

    assert listening <= {LOOPBACK, f"::ffff:{LOOPBACK}"}


def test_every_part_listens_on_the_ports_chosen_and_on_no_other_known_one(own: Own, offset: int) -> None:
    ports = json.loads(own.home.ports.read_text())["ports"]
    sockets = [each for process in own.processes for each in process.net_connections("inet")]
    listening = {each.laddr.port for each in sockets if each.status == psutil.CONN_LISTEN}

    of_spark = {port for port in listening if port > 32_000}  # drivers and block managers: any free one
    of_others = {
        n for name, n in ports.items() if name in ("catalog", "postgres", "connect") or "cloud" in name
    }  # locked, --with northwind, --with cloud
    assert listening - of_spark == set(ports.values()) - of_others
    assert len(of_spark) <= 2 * 2


def test_only_upkeep_works_in_the_background(own: Own) -> None:
    parts = own.parts
    nice = {name for name, part in parts.items() if psutil.Process(part.pid).nice() > 0}

    assert nice == {"spark-upkeep"}
    assert own.settings.spark.upkeep_remote == f"sc://{LOOPBACK}:{parts['spark-upkeep'].port}"


def secrets(own: Own) -> list[str]:
    """What nobody but the stack's user may read."""
    values = [own.settings.aws.secret_key, own.settings.spark.token]
    assert all(values)
    return [secret.get_secret_value() for secret in values if secret]


def test_no_secret_is_in_the_process_list(own: Own) -> None:
    key = (own.home.secrets / "snowflake_key.p8").read_text().splitlines()[1]

    commands = "\n".join(own.commands)

    assert "weed" in commands
    assert not [secret for secret in (*secrets(own), key) if secret in commands]


def test_no_secret_is_in_a_log_or_readable_by_others(own: Own) -> None:
    logs = [log.read_text(errors="replace") for log in own.home.logs.iterdir()]

    assert not [secret for secret in secrets(own) for log in logs if secret in log]
    assert stat.S_IMODE(own.home.root.stat().st_mode) & 0o077 == 0
    assert stat.S_IMODE(own.home.profile.stat().st_mode) == 0o600


def test_together_they_hold_less_than_4_gigabytes_at_rest(own: Own) -> None:
    assert sum(part.memory for part in own.parts.values()) < 4 * 2**30


def test_the_working_folder_stays_clean(answers: Answers) -> None:
    assert list(answers.folder.iterdir()) == []


def test_env_gives_scripts_what_they_need(answers: Answers) -> None:
    given = answers.env

    assert given["dagster_home"]
    assert {"region", "access_key", "secret_key"} <= set(given["aws"])
    assert {"host", "port", "user"} <= set(given["snowflake"])
    assert {"remote", "upkeep_remote", "parallelism"} <= set(given["spark"])
    assert all((
        given["kafka"]["bootstrap_servers"], given["registry"]["url"], given["s3"]["endpoint"],
        given["rest"]["uri"], given["rest"]["warehouse"], given["glue"]["endpoint"],
    ))  # fmt: skip


def test_the_shell_takes_the_exports_of_env(own: Own, answers: Answers) -> None:
    script = 'eval "$("$0" env)" && echo "$DAGSTER_HOME|$AWS_ACCESS_KEY_ID|$FRAZIL_AWS__SECRET_KEY"'

    done = subprocess.run(
        ["sh", "-c", script, FRAZIL], env=own.environment, capture_output=True, text=True, check=True
    )

    given = answers.env
    expected = [given["dagster_home"], given["aws"]["access_key"], given["aws"]["secret_key"]]
    assert done.stdout.strip().split("|") == expected


def test_other_ports_are_refused_while_it_runs(own: Own) -> None:
    result = own.here("up", "--port", "glue=1234")

    assert result.code == 1
    assert "runs with other ports" in result.err
    assert own.settings.glue.endpoint != "http://127.0.0.1:1234"


def test_two_stacks_do_not_see_each_others_data(own: Own, connections: Connections, fresh_name: str) -> None:
    connections.catalog.create_namespace(fresh_name)

    assert connections.catalog.namespace_exists(fresh_name)
    assert not Clients(own.settings).catalog.namespace_exists(fresh_name)


def test_a_crashed_part_is_shown_and_started_again_alone(own: Own) -> None:
    before = own.pids
    kill([psutil.Process(before["aws"])])

    crashed = own.here("status", "--json")
    own.up()

    assert crashed.code == 5
    dead = [part["name"] for part in crashed.document["parts"] if part["state"] == "dead"]
    assert dead == ["aws"]
    after = own.pids
    assert after.pop("aws") != before.pop("aws")
    assert after == before


@pytest.mark.nightly
def test_a_part_that_is_only_slow_to_answer_is_not_started_anew(own: Own) -> None:
    before = own.pids
    aws = psutil.Process(before["aws"])
    aws.suspend()
    try:
        ill = own.parts["aws"].state
        with subprocess.Popen([FRAZIL, "up"], env=own.environment, stderr=subprocess.PIPE, text=True) as up:
            assert up.stderr
            assert "aws: runs, but does not answer yet\n" in iter(up.stderr.readline, "")
            aws.resume()
            up.communicate(timeout=PATIENCE)
    finally:
        aws.resume()

    assert ill == "ill"
    assert up.returncode == 0
    assert own.pids == before


@pytest.mark.nightly
def test_data_survives_a_crash_of_all_that_holds_it(own: Own, fresh_name: str) -> None:
    write_everywhere(Clients(own.settings), fresh_name)
    running = own.pids

    kill(psutil.Process(running[name]) for name in KEEPERS)
    crashed = own.parts
    own.up(*only(KEEPERS))

    assert {crashed[name].state for name in KEEPERS} == {"dead"}
    assert read_everywhere(Clients(own.settings), fresh_name) == written(fresh_name)


@pytest.mark.nightly
def test_data_survives_down_and_up(own: Own, fresh_name: str) -> None:
    write_everywhere(Clients(own.settings), fresh_name)
    before = own.pids

    assert own.frazil("down").returncode == 0
    left = [pid for pid in before.values() if is_up(pid)]
    own.up(*only(KEEPERS))

    assert left == []
    assert read_everywhere(Clients(own.settings), fresh_name) == written(fresh_name)


def test_wipe_clears_the_data_and_keeps_the_ports(own: Own) -> None:
    ports = own.home.ports.read_text()

    before = own.pids

    assert own.frazil("down", "--wipe").returncode == 0

    assert [pid for pid in before.values() if pid and is_up(pid)] == []
    assert not (own.home.root / "data").exists()
    assert not own.home.profile.exists()
    assert own.home.ports.read_text() == ports
    assert {part.state for part in own.parts.values()} == {"down"}


def test_a_taken_port_is_named_with_the_process_that_holds_it(unstarted: Own) -> None:
    with socket.create_server((LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]
        result = unstarted.frazil("up", "--only", "aws", "--port", f"glue={port}")

    assert result.returncode == 1
    assert f"Port {port} is taken by process {os.getpid()} " in result.stderr
    assert unstarted.parts["aws"].state == "down"


@pytest.mark.nightly
def test_a_part_that_cannot_start_fails_with_the_end_of_its_log(unstarted: Own) -> None:
    log = unstarted.home.data("kafka") / "log"
    log.mkdir()
    (log / "meta.properties").write_text("version=1\ncluster.id=someone-elses\nnode.id=77\n")

    result = unstarted.frazil("up", "--only", "kafka", "--port-offset", str(free_offset()))

    assert result.returncode == 5
    assert "kafka did not start: its process ended." in result.stderr
    assert "kafka.log ends with" in result.stderr
    assert "77" in result.stderr
    assert "Fix what the log says, then `frazil up` again." in result.stderr

    (log / "meta.properties").unlink()
    unstarted.up("--only", "kafka")


def only(parts: Iterable[str]) -> list[str]:
    return [word for part in parts for word in ("--only", part)]
