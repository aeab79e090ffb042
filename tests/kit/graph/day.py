"""A day of work: commands, runs of Dagster and ticks of its sensors, and all that they said and showed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import psutil
import pytest
import yaml
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from frazil.definitions import defs
from frazil_local.home import Home, write_private
from frazil_local.ports import recall, url
from kit.logins.planted import ELSEWHERE, Planting, profile_of_a_day
from kit.logins.receivers import mail_receiver, web_receiver
from kit.runs.shell import TABLES, TOPICS, run_here
from kit.runs.waiting import PATIENCE, wait_for
from kit.stack.own_stack import Own
from resources.connections import FrazilConnections

NAMESPACE, TOPIC = "planted", "planted_trades"
TRADES, LARGE = f"{NAMESPACE}.{TOPIC}", f"{NAMESPACE}.large_trades"
_COMMANDS = (
    ("generate", "stock_trades", "--topic", TOPIC, "--count", "100", "--json"),
    ("land", TRADES, "--json"),
    ("derive", LARGE, "--json"),
    ("compact", TRADES, "--everything", "--json"),
    ("expire", TRADES, "--json"),
    ("sync", TRADES),
    ("check", TRADES, "--json"),
    ("describe", TRADES),
    ("tables",),
    ("metrics",),
    ("doctor", "--json"),
)
_IN_VAIN = (("land", f"{ELSEWHERE}.{TOPIC}", "--json"), ("doctor", "--pipeline", ELSEWHERE, "--json"))


KEPT = {
    "data/kafka/server.properties": "whom Kafka lets in; only its owner reads it",
    "data/registry/registry.properties": "whom the registry lets in; only its owner reads it",
    "logs/storage.log": "the id of the access key, as the name of a user",
}
"""Files of the stack that hold a secret, and why."""

IN_ENVIRONMENTS = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "SPARK_CONNECT_AUTHENTICATE_TOKEN"}
"""How servers are told whom to let in, and who they are: only their owner reads it."""


@dataclass
class Day:
    """What became of it."""

    planting: Planting
    folder: Path
    codes: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    command_lines: set[str] = field(default_factory=set)

    @property
    def here(self) -> Path:
        """A folder of pipelines."""
        return self.folder / "pipelines"

    @property
    def there(self) -> Path:
        """One of those that nobody answers."""
        return self.folder / "others"

    def command(self, *arguments: str) -> None:
        """A command of Frazil, and what it said."""
        name, output = " ".join(arguments), run_here(*arguments)
        self.codes[name], self.outputs[name] = output.code, output.out + output.err

    def materialize(self, *paths: str) -> None:
        """A run of Dagster by its own command line."""
        program = str(Path(sys.executable).with_name("dagster"))
        select = " or ".join(f'key:"{path}"' for path in paths)
        asked = [program, "asset", "materialize", "-m", "frazil.definitions", "--select", select]
        done = subprocess.run(
            asked, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE
        )
        self.codes["dagster"], self.outputs["dagster"] = done.returncode, done.stdout

    def tick(self, sensor: str) -> None:
        """A look of a sensor at what the day brought."""
        definitions = defs()
        frazil = (definitions.resources or {})["frazil"]
        assert isinstance(frazil, FrazilConnections)
        with (
            dg.DagsterInstance.from_config(os.environ["DAGSTER_HOME"]) as instance,
            dg.build_sensor_context(instance, resources={"frazil": frazil}) as context,
        ):
            tick = definitions.resolve_sensor_def(sensor).evaluate_tick(context)
        self.outputs[sensor] = str(tick)


def events(home: Home) -> Path:
    """Where Spark logs its events, once it is told to."""
    return home.scratch / "events"


def log_events(home: Home) -> str:
    """Java's options that switch on Spark's log of events, of which its UI is made."""
    events(home).mkdir(exist_ok=True)
    place = f"-Dspark.eventLog.dir={events(home).as_uri()}"
    return f"-Dspark.eventLog.enabled=true -Dspark.eventLog.compress=false {place}"


def a_day_of_work(own: Own, folder: Path) -> Day:
    """The work, with a profile of planted secrets; what keeps these is in the folder `kept`."""
    (kept := folder / "kept").mkdir()
    day = Day(Planting(kept, url(recall(own.home.ports), "glue")), folder)
    with (
        web_receiver(lambda body: body.decode(errors="replace")) as web,
        mail_receiver() as mail,
        web_receiver(ExportTraceServiceRequest.FromString) as collector,
        pytest.MonkeyPatch.context() as patch,
        _watching(day.command_lines),
    ):
        profile = profile_of_a_day(own.home, day.planting, f"http://127.0.0.1:{web.port}", mail.port)
        _settle(patch, day, json.dumps(profile), {"FRAZIL_TRACING__ENDPOINT": collector.url})
        patch.setenv("DAGSTER_HOME", str(own.home.dagster))
        for command in _COMMANDS:
            day.command(*command)
        day.tick("arrivals")
        day.tick("upkeep")
        patch.setenv("FRAZIL_PIPELINES", os.pathsep.join(map(str, (day.here, day.there))))
        for command in _IN_VAIN:
            day.command(*command)
        day.materialize(f"iceberg/{NAMESPACE}/{TOPIC}", f"kafka/{ELSEWHERE}/{TOPIC}")
        day.tick("alarms")
        wait_for(lambda: collector.posts and mail.letters)
        day.sent = [*map(str, collector.posts), *map(str, mail.letters), *map(str, web.posts)]
    return day


def _settle(patch: pytest.MonkeyPatch, day: Day, profile: str, environment: dict[str, str]) -> None:
    """The surroundings of the day's work."""
    temporary = day.folder / "tmp"
    temporary.mkdir()
    write_private(file := day.planting.folder / "profile.json", profile)
    _write_pipelines(day)
    settings = {
        "FRAZIL_PROFILE": file,
        "FRAZIL_PIPELINES": day.here,
        "FRAZIL_LOG__FORMAT": "json",
        "FRAZIL_LOG__LEVEL": "DEBUG",
        "OTEL_BSP_SCHEDULE_DELAY": "10",
        "TMPDIR": temporary,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for name, value in {**settings, **environment, **day.planting.environment}.items():
        patch.setenv(name, str(value))
    patch.setattr(tempfile, "tempdir", str(temporary))


def _write_pipelines(day: Day) -> None:
    trades = {"namespace": NAMESPACE, "topic": TOPIC}
    large = {"namespace": NAMESPACE, "table": LARGE.partition(".")[2], "sql": "large.sql", "publish": []}
    here = [
        {"type": TOPICS, "attributes": {"tables": [trades]}},
        {"type": TABLES, "attributes": {"tables": [large]}},
    ]
    elsewhere = {"connection": ELSEWHERE, "tables": [trades | {"namespace": ELSEWHERE}]}
    there = [{"type": TOPICS, "attributes": elsewhere}]
    for pipeline, documents in ((day.here / "here", here), (day.there / ELSEWHERE, there)):
        pipeline.mkdir(parents=True)
        (pipeline / "defs.yaml").write_text(yaml.safe_dump_all(documents))
    (day.here / "here" / "large.sql").write_text(f"SELECT * FROM {TOPIC} WHERE quantity > 1000")


@contextmanager
def _watching(seen: set[str]) -> Iterator[None]:
    """Notes every command line that the process list shows meanwhile."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.3):
            for process in psutil.process_iter():
                with suppress(psutil.Error):
                    seen.add(" ".join(process.cmdline()))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
