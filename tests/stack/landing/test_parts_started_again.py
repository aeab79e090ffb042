"""Parts that are started again beneath a process that goes on forever: it needs no help to go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psutil
import pytest

from frazil.checks.run import run_check
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.continuous.work import WarmWork
from frazil.errors import RetryError
from frazil.landing.land import land
from frazil.publishing.targets import targets_of
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil.tables.spark.session import configure_session
from frazil.upkeep.kind import Order
from frazil.upkeep.kinds import KINDS as UPKEEP
from frazil.upkeep.run import do_work
from frazil_local.home import Home
from frazil_local.parts import prepared_stack
from frazil_local.stack import Stack
from kit.readers.opened import data_files
from kit.records.topics import Topic, create_topic
from kit.runs.processes import kill
from kit.runs.waiting import wait_for
from kit.stack.shared_stack import all_parts_alike, free_offset
from kit.wires.killed import NAMESPACE
from resources.connections import spark_resource

pytestmark = [
    pytest.mark.nightly,  # cli/test_failures.py names a part that is down each time
    # Spark's client says so where it gives up; pytest would make an error of it.
    pytest.mark.filterwarnings("ignore:.RETRIES_EXCEEDED"),
]

PARTS = ("storage", "aws", "kafka", "registry", "spark")
"""What landings need."""
OTHERS = ("snowflake", "spark-upkeep")
"""What shows their tables, and what compacts them."""

SPEC: dict[str, Any] = {"namespace": NAMESPACE, "publish": []}
SPECS: dict[str, dict[str, Any]] = {"snowflake": {"publish": ["glue", "snowflake"]}, "spark-upkeep": {}}

Does = Callable[[TableSpec], object]
Work = tuple[str, Does]
"""Who does something again and again, and what."""


@pytest.fixture(scope="module")
def own_stack(stack_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack that may be broken."""
    stack = prepared_stack(Home(tmp_path_factory.mktemp("own") / "home"), {}, free_offset())
    with all_parts_alike():
        stack.up(lambda *_: None, (*PARTS, *OTHERS))
    yield stack
    stack.down(lambda *_: None)


@dataclass(frozen=True)
class Processes:
    """Those that go on forever: each keeps its clients for as long as the module's tests run."""

    run: WarmWork
    served: Clients

    def that_land(self) -> list[Work]:
        return [
            (RUN, lambda spec: self.run.land(spec, 1_000)),
            (SERVER, lambda spec: land(spec, self.served)),
        ]

    def of(self, part: str) -> list[Work]:
        """Who needs a part that landings don't need."""
        if part == "snowflake":
            return [(RUN, lambda spec: self.run.show(spec, lambda *_: None)), (SERVER, self._show)]
        return [(SERVER, self._compact)]

    def _show(self, spec: TableSpec) -> object:
        return [target.sync(self.served) for target in targets_of(spec, self.served.settings)]

    def _compact(self, spec: TableSpec) -> object:
        return do_work(UPKEEP["compaction"], spec, self.served, time.time(), Order(everything=True))


RUN, SERVER = "frazil run, and sensors", "Dagster's code server"


@pytest.fixture(scope="module")
def processes(own_stack: Stack) -> Iterator[Processes]:
    settings = Settings.of_profile(own_stack.home.profile)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FRAZIL_HOME", str(own_stack.home.root))  # Dagster's resource asks the profile in force
        session = spark_resource(settings)
        served = Clients(settings, lambda options: configure_session(session.spark_session, options))
        yield Processes(WarmWork(lambda: Clients(settings), run_id="run"), served)


def start_again(stack: Stack, part: str) -> None:
    pid = next(each.pid for each in stack.status() if each.name == part)
    assert pid
    process = psutil.Process(pid)
    kill([*process.children(recursive=True), process])
    with all_parts_alike():
        stack.up(lambda *_: None, (*PARTS, *OTHERS))


def topic_of(stack: Stack, name: str, **spec: Any) -> Topic:
    connections: Connections = Clients(Settings.of_profile(stack.home.profile))
    create_topic(connections.admin, name, 1, {})
    return Topic(name, connections, TableSpec.model_validate({**SPEC, **spec, "topic": name}))


def passes(does: Does, topic: Topic, met: list[Exception]) -> bool:
    """Whether a try did it; only what passes by itself may keep it from that."""
    try:
        does(topic.spec)
    except RetryError as e:
        met.append(e)
        return False
    return True


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_started_again_while_a_process_is_idle_costs_it_two_tries_at_most(
    own_stack: Stack, processes: Processes, fresh_name: str, part: str
) -> None:
    works = [(work, topic_of(own_stack, f"{fresh_name}_{n}")) for n, work in enumerate(processes.that_land())]
    for (_, does), topic in works:
        topic.trades(3)
        does(topic.spec)

    start_again(own_stack, part)

    for (who, does), topic in works:
        topic.trades(3)
        assert tries(does, topic) <= 2, who
        assert len(topic.rows()) == 6


def tries(does: Does, topic: Topic) -> int:
    """How many tries fail before one does it."""
    met: list[Exception] = []
    wait_for(lambda: passes(does, topic, met))
    return len(met)


def lands_twice(processes: Processes, topic: Topic) -> None:
    """Two files, and a snapshot that nobody was shown."""
    for _ in range(2):
        topic.trades(3)
        land(topic.spec, processes.served)


def is_done(part: str, topic: Topic) -> bool:
    """What the part is for, as another client sees it."""
    if part == "snowflake":
        return run_check("snowflake_current", topic.spec, Clients(topic.connections.settings)).passed
    return len(data_files(topic)) == 1


@pytest.mark.parametrize("part", OTHERS)
def test_who_shows_and_who_compacts_go_on_when_their_part_was_started_again_while_they_were_idle(
    own_stack: Stack, processes: Processes, fresh_name: str, part: str
) -> None:
    for n, (who, does) in enumerate(processes.of(part)):
        topic = topic_of(own_stack, f"{fresh_name}_{n}", **SPECS[part])
        lands_twice(processes, topic)
        does(topic.spec)
        lands_twice(processes, topic)

        start_again(own_stack, part)

        assert tries(does, topic) <= 2, who
        assert is_done(part, topic)


@pytest.mark.parametrize("part", OTHERS)
def test_who_shows_and_who_compacts_go_on_when_their_part_is_started_again_while_they_work(
    own_stack: Stack, processes: Processes, fresh_name: str, part: str
) -> None:
    for n, (who, does) in enumerate(processes.of(part)):
        topic, other = topic_of(own_stack, f"{fresh_name}_{n}", **SPECS[part]), list[Exception]()
        lands_twice(processes, topic)

        with all_the_time(does, topic, other):
            start_again(own_stack, part)
            lands_twice(processes, topic)
            wait_for(lambda topic=topic: is_done(part, topic))

        assert other == [], who
        assert sorted(row["quantity"] for row in topic.rows()) == list(range(12))


@contextmanager
def all_the_time(does: Does, topic: Topic, other: list[Exception]) -> Iterator[None]:
    """Work in a thread, again and again; what ends it once but does not pass by itself is noted."""
    stop = threading.Event()

    def work() -> None:
        met: list[Exception] = []
        while not stop.is_set():
            try:
                passes(does, topic, met)
            except Exception as e:  # noqa: BLE001 - it is what the test asks for
                other.append(e)
            stop.wait(0.2)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_started_again_while_a_process_lands_ends_no_later_landing_of_it(
    own_stack: Stack, processes: Processes, fresh_name: str, part: str
) -> None:
    topic, other = topic_of(own_stack, fresh_name), list[Exception]()
    _, does = processes.that_land()[0]
    topic.trades(3)
    does(topic.spec)
    topic.trades(50)

    with all_the_time(does, topic, other):
        start_again(own_stack, part)
        topic.trades(3)
        wait_for(lambda: is_whole(topic, 56))

    assert sorted(row["quantity"] for row in topic.rows()) == list(range(56))
    assert other == []


def is_whole(topic: Topic, records: int) -> bool:
    try:
        return len(topic.rows()) == records
    except OSError:
        return False  # storage that was killed answers before it finds all that it holds
