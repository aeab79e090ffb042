"""`make soak HOURS=6`: tables of all formats and modes live through hours in which each part is restarted.

`python tests/bench/soak.py [--hours 6] [--rate 500] [--restart 20] [--folder soak] [--page FILE]` produces
into the twelve topics of mixed.py, and into two whose tables have masks and all versions, beside `frazil run`
and `dagster dev` with all sensors on. Each minute somebody reads; each ten minutes there is upkeep; each
twenty minutes a part is restarted, or the runner killed; each hour a schema gets a field. What processes and
folders hold is written to files all along. In the end each table is verified against its topic. Exits with 1
where a table is wrong, a reader saw rows go, a command failed, or the runner or a process of Dagster's grew.
With --page FILE the numbers and plots are written there, as Markdown: docs/design/soak.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from confluent_kafka.schema_registry import Schema
from continuous import FRAZIL, NAMESPACE, runner, write_pipeline
from figures import Line, show
from mixed import Fed, Fill, changes_in_avro, fed_topic, kinds, produce, sampled
from soak_page import page

from frazil.clients import Clients
from frazil.settings.profile import Settings
from frazil.settings.profile_file import frazil_home
from frazil_local.home import Home
from frazil_local.parts import known_stack
from frazil_local.stack import Stack
from kit.soak.watch import Sample, Stored, Watched, growth_of, stored, watched
from kit.stack.dagster_servers import free_port, serving

PARTS = ("spark", "kafka", "registry", "storage")
MINUTE = 60.0
MOST_MEMORY, MOST_DESCRIPTORS = 150 * 2**20, 60
OURS = {
    "dagster daemon": "dagster._daemon",
    "dagster code server": "code-server start",
    "dagster definitions": "api grpc",
    "dagster webserver": "dagster_webserver",
}
"""Processes of `dagster dev`, by a word of their command lines."""
_MAY_FAIL = 3
"""The exit code of what another try may get done: a part is being restarted."""


@dataclass
class Life:
    """What happens to the tables, and what was seen of it."""

    folder: Path
    clients: Clients
    fed: Sequence[Fed]
    stack: Stack
    happened: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    run: ExitStack = field(default_factory=ExitStack)
    pid: int = 0

    def start(self) -> None:
        """Starts the runner."""
        self.pid = self.run.enter_context(runner(self.folder))[0].pid

    def restart(self, part: str) -> None:
        """Stops a part and starts it; the runner is killed."""
        if part == "runner":
            os.kill(self.pid, 9)
            self.run.close()
            self.start()
        else:
            self.stack.down(lambda *_: None, [part])
            self.stack.up(lambda *_: None)
        self.happened[f"restarts of {part}"] += 1

    def upkeep(self) -> None:
        """All kinds of upkeep that are due."""
        for word in ("compact", "expire", "orphans"):
            self.frazil(word, "--all")

    def read(self) -> None:
        """Counts the rows of tables that only grow."""
        for each in self.fed:
            if each.spec:
                continue
            done = self.frazil("query", f'SELECT count(*) AS n FROM {NAMESPACE}."{each.topic}"', "--json")
            if done.returncode:
                continue
            count = int(json.loads(done.stdout)["rows"][0]["n"])
            if count < (before := self.rows.get(each.topic, 0)):
                self.wrong.append(f"{each.topic} had {before} rows, and then {count}")
            self.rows[each.topic] = count

    def widen(self) -> None:
        """Adds a field to the first topic's schema."""
        subject = f"{self.fed[0].topic}-value"
        latest = json.loads(self.clients.registry.get_latest_version(subject).schema.schema_str)
        name = f"extra_{len(latest['fields'])}"
        latest["fields"].append({"name": name, "type": ["null", "string"], "default": None})
        self.clients.registry.register_schema(subject, Schema(json.dumps(latest), "AVRO"))
        self.happened["new fields"] += 1

    def frazil(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs a command, and notes how it ended."""
        done = subprocess.run([FRAZIL, *arguments], capture_output=True, text=True, timeout=30 * MINUTE)
        self.happened[f"{arguments[0]}: {done.returncode}"] += 1
        if done.returncode not in (0, _MAY_FAIL):
            self.wrong.append(f"frazil {arguments[0]}: {done.returncode}: {done.stderr[-500:]}")
        return done

    def end(self) -> list[dict[str, Any]]:
        """Stops the runner, lands what is left, and gives what the verifier says of each table."""
        self.run.close()
        self.frazil("land", "--all")
        verified: list[dict[str, Any]] = json.loads(self.frazil("verify", "--all", "--json").stdout)
        return verified

    def processes(self) -> dict[str, Watched]:
        """The processes that are watched; those of Dagster without the runs that they start."""
        parts = {each.name: Watched(each.pid) for each in self.stack.status() if each.pid}
        return {**parts, "runner": Watched(self.pid), **dict(_of_dagster())}


def main() -> None:
    """Lives, judges, and prints."""
    options = _arguments()
    with ExitStack() as opened:
        life = _begun(opened, options.freshness)
        samples, sizes = _watched(opened, life, options)
        _live(life, options)
        verified = life.end()
    lines = list(_lines(life, samples, verified))
    for text in life.wrong:
        sys.stderr.write(f"{text}\n")
    show(lines)
    if options.page:
        settings = (
            f"{options.hours:g} hours, {options.rate} records a second, tables as fresh as "
            f"{options.freshness}, a restart each {options.restart:g} minutes"
        )
        options.page.write_text(page(lines, samples, sizes, settings))
    sys.exit(bool(life.wrong) or not all(line.met for line in lines))


def _begun(opened: ExitStack, freshness: str) -> Life:
    """Topics, their tables in a pipeline, Dagster and the runner."""
    clients, home = Clients(Settings.load()), Home(frazil_home())
    folder = Path(opened.enter_context(TemporaryDirectory()))
    fed = [fed_topic(opened, clients, *each) for each in (*kinds(), *_more_kinds())]
    write_pipeline(folder, [{**each.spec, "topic": each.topic} for each in fed], freshness)
    os.environ |= {"FRAZIL_PIPELINES": str(folder), "DAGSTER_HOME": str(home.dagster)}
    home.dagster.mkdir(exist_ok=True)
    opened.enter_context(serving(["dagster", "dev"], home.dagster, free_port()))
    life = Life(folder, clients, fed, known_stack(home))
    opened.callback(life.run.close)
    life.start()
    return life


def _watched(
    opened: ExitStack, life: Life, options: argparse.Namespace
) -> tuple[Sequence[Sample], Sequence[Stored]]:
    """What processes and folders hold, from now on."""
    options.folder.mkdir(exist_ok=True)
    home = life.stack.home
    disks = {f"disk of {part}": home.data(part) for part in ("kafka", "storage")}
    disks["disk of dagster"] = home.dagster
    samples = watched(life.processes, options.watch, options.folder / "processes.csv")
    sizes = stored(disks, MINUTE, options.folder / "disks.csv")
    return opened.enter_context(samples), opened.enter_context(sizes)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=6)
    parser.add_argument("--rate", type=int, default=500, help="records a second, of all topics together")
    parser.add_argument("--freshness", default="10s", help="what each table asks for")
    parser.add_argument("--restart", type=float, default=20, help="minutes between two restarts")
    parser.add_argument("--upkeep", type=float, default=10, help="minutes between two times of upkeep")
    parser.add_argument("--widen", type=float, default=60, help="minutes between two new fields")
    parser.add_argument("--watch", type=float, default=15, help="seconds between two samples")
    parser.add_argument("--folder", type=Path, default=Path("soak"), help="where samples are written")
    parser.add_argument("--page", type=Path, help="where to write numbers and plots, as Markdown")
    return parser.parse_args()


def _more_kinds() -> Iterator[tuple[str, dict[str, Any], Fill]]:
    yield "masked", {"columns": {"account": {"mask": "last4"}}}, partial(sampled, "avro")
    yield "versions", {"mode": "cdc", "versions": "all"}, changes_in_avro


def _of_dagster() -> Iterator[tuple[str, Watched]]:
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            words = " ".join(process.cmdline())
            yield from (
                (name, Watched(process.pid, alone=True)) for name, word in OURS.items() if word in words
            )


def _live(life: Life, options: argparse.Namespace) -> None:
    """Produces a minute at a time, and does between two what is due."""
    parts = cycle(("runner", *PARTS))
    every: dict[Callable[[], None], float] = {
        life.read: 1,
        life.upkeep: options.upkeep,
        lambda: life.restart(next(parts)): options.restart,
        life.widen: options.widen,
    }
    begun = time.monotonic()
    due = {each: begun + minutes * MINUTE for each, minutes in every.items()}
    while time.monotonic() < begun + options.hours * 3600:
        produce(life.clients, life.fed, options.rate, MINUTE)
        for work in (each for each, at in due.items() if at <= time.monotonic()):
            work()
            due[work] = time.monotonic() + every[work] * MINUTE


def _lines(life: Life, samples: Sequence[Sample], verified: Sequence[dict[str, Any]]) -> Iterator[Line]:
    yield from (Line(what, count, "") for what, count in sorted(life.happened.items()))
    unknown = [each["unverifiable"] for each in verified if each.get("unverifiable")]
    sound, judged = sum(bool(each.get("sound")) for each in verified), len(life.fed) - len(unknown)
    yield Line("tables that agree with their topic", sound, "", f"{judged}", 0 < sound == judged)
    yield from (Line(f"not verified: {why}", 1, "table") for why in unknown)
    yield Line("records verified", sum(each.get("records", 0) for each in verified), "")
    for name, grown in sorted(growth_of(samples).items()):
        is_ours = name in ("runner", *OURS)
        met = grown.memory < MOST_MEMORY and grown.descriptors < MOST_DESCRIPTORS
        target = "under 150 MB, 60 descriptors" if is_ours else ""
        more = f"{grown.descriptors:+.0f} descriptors, {grown.threads:+.0f} threads"
        yield Line(
            f"{name}: growth within one life; {more}", grown.memory / 2**20, "MB", target, met or not is_ours
        )


if __name__ == "__main__":
    main()
